"""A part read, drawn, staged and committed in one task: what every engine calls, and nothing else.

An engine may run a task again: because a worker was lost, because it seemed slow, because a result
was asked for twice. Every run draws anew. So that only one draw of a part can ever be seen,

- what a task writes is invisible until it is complete;
- the record of the part is created last, and creating it succeeds only once: whoever finds it taken
  throws its own draw away unread;
- a task that finds the record draws nothing at all.

Every attempt is counted before it draws, and the receipt states how many there were.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.engines.plan import Part
from discreet.engines.row_prints import RowPrints
from discreet.errors import InputError
from discreet.files import plain_json, staged
from discreet.staging import PRIVATE, Digest, Staged, sync_folder


@dataclass(frozen=True)
class PartReceipt:
    """What one part is: of what, made with what, and how much of it there is."""

    part: Part
    made_with: str
    """Fingerprint of everything that decides what is released."""
    digest: Digest
    counts: Mapping[str, Any]
    prints: str = ""
    """SHA-256 of the prints of its rows, if a ledger wants to know them."""

    def to_json(self) -> str:
        """What is written beside the part until all parts are there."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, path: Path) -> "PartReceipt | None":
        """The record of a part, if there is one."""
        try:
            values = plain_json(path.read_bytes())
            part, digest = Part.from_dict(values["part"]), Digest(**values["digest"])
            more = values["counts"], str(values.get("prints", ""))
            return cls(part, values["made_with"], digest, *more)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} is not the record of a part; delete the unfinished folder and begin again"
            ) from error

    def fits(self, path: Path) -> bool:
        """Whether a file is what this was written for."""
        return path.is_file() and Digest.of(path) == self.digest


def record_of(target: Path) -> Path:
    """Where the record of a part lies until the folder is complete."""
    return target.with_suffix(".json")


def attempts_of(target: Path) -> Path:
    """A file with a byte for every time that a part was begun."""
    return target.with_suffix(".attempts")


def prints_of(target: Path) -> Path:
    """Where the prints of a part's rows lie until a ledger has them."""
    return target.with_suffix(".rows")


def commit_part(
    part: Part,
    target: Path,
    made_with: str,
    write: Callable[[Staged], Mapping[str, Any]],
    prints: RowPrints | None = None,
) -> PartReceipt:
    """Draw a part once, and put it in its place unless somebody else has.

    Args:
        part: what to release.
        target: where it goes.
        made_with: fingerprint of everything that decides what is released.
        write: draws and writes the part to a file that nobody sees, and counts it.
        prints: of the rows that are written, which a ledger will ask for.
    """
    place = record_of(target)
    if (done := PartReceipt.read(place)) is not None:
        return done
    part.require_unchanged()
    target.parent.mkdir(exist_ok=True)
    _count_attempt(attempts_of(target))
    with staged(target) as output, staged(place, mode=PRIVATE) as record:
        counts = write(output)
        part.require_unchanged()
        printed = "" if prints is None else _keep_prints(prints, prints_of(target))
        receipt = PartReceipt(part, made_with, output.digest, counts, printed)
        record.path.write_text(receipt.to_json(), "utf-8")
        output.sync()
        record.sync()
        if not record.claim():
            committed = PartReceipt.read(place)
            if committed is None:
                raise InputError(f"{place} was removed while the part was made; begin again")
            return committed
        output.put()
    sync_folder(target.parent)
    return receipt


def _keep_prints(prints: RowPrints, place: Path) -> str:
    """Before the record, which has their digest: every attempt prints the same rows alike."""
    raw = prints.to_bytes()
    with staged(place, mode=PRIVATE) as file:
        file.path.write_bytes(raw)
        file.sync()
        file.put()
    return hashlib.sha256(raw).hexdigest()


def _count_attempt(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE)
    try:
        os.write(descriptor, b".")
    finally:
        os.close(descriptor)
