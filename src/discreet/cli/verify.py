"""``discreet verify``: whether a file is the one its receipt speaks of, and what then holds."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import show
from discreet.receipt import verified


def verify(
    path: Annotated[
        Path,
        argument(
            "FILE",
            "A released file, its receipt (OUT.privacy.json), or the folder of "
            "'discreet train user-entity', or of parts.",
        ),
    ],
    as_json: options.Json = False,
) -> None:
    """Check a released file against its receipt, and say in plain words what is guaranteed.

    The receipt names the SHA-256 of what was released. A file that was changed, replaced or cut
    short since does not match, and ends with exit code 4; one without a receipt with 2.

    This shows that file and receipt belong together, and that the receipt's words and numbers say
    the same. It does not show who wrote them: a receipt is not signed, and whoever can write to it
    can make it say anything. A ledger can tell: 'discreet ledger verify LEDGER out.csv'.

    Example: discreet verify out.csv
    """
    output, receipt = verified(path)
    when = receipt.about.get("written", "an unknown time")
    lines = [
        f"{output} is what its receipt was written for, at {when} by discreet {receipt.version}.",
        *([receipt.parties] if receipt.parties else []),
        *receipt.statement.lines(),
    ]
    show({"file": str(output), "matches": True, **receipt.to_dict()}, lines, as_json=as_json)
