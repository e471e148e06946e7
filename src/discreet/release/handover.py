"""To whom a release is handed over, and whether it takes the place of another."""

from dataclasses import dataclass
from typing import ClassVar

from discreet.settings import Setting, Settings


@dataclass(frozen=True, kw_only=True)
class HandoverSettings(Settings):
    """Where an output goes and what the receipt says of it beside the guarantee.

    Attributes:
        force: Replace an output that exists.
        operator: Who releases it, for the receipt.
        recipient: Whom it is released for, for the receipt.
    """

    heading: ClassVar[str] = "Handing over"

    force: bool = Setting("Replace an output that exists.").default(False)
    operator: str | None = Setting("Who releases this; written into the receipt.").default(None)
    recipient: str | None = Setting("Whom this is released for; written into the receipt.").default(
        None
    )
