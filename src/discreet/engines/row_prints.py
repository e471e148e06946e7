"""What a ledger knows the rows of a folder by: keyed prints of their texts, in files by the parts.

A task prints the rows that it draws, at no second reading, so nothing can change in between. The
key is the ledger's own for rows, and opens nothing else of it. Like the prints it lies where only
the owner of the release can look, as long as parts are missing, and is deleted with that folder. No
setting, log or task description holds it.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from discreet.arrays import Ids
from discreet.errors import OutputError
from discreet.files import written_whole
from discreet.ledger.dataset import DatasetLedger
from discreet.ledger.keys import row_print
from discreet.release.whole import Copies, same_text
from discreet.staging import PRIVATE
from discreet.text.identifiers.secret_files import KEY_BYTES, read_key

_NAME = "rows.key"
_ROW = np.dtype([("text", "V16"), ("same", "<i8"), ("draws", "<i8")])
"""Of a text: its print, that of what it is but for white space and capitals, and its draws."""


@dataclass(frozen=True)
class RowKey:
    """What rows are printed with."""

    secret: bytes = field(repr=False)
    dataset: str = field(repr=False)

    @classmethod
    def make(cls, folder: Path, ledger: DatasetLedger) -> None:
        """Say how rows are to be printed; a release that was stopped goes on as it began."""
        own = cls(ledger.ledger.row_key, ledger.dataset)
        if not (folder / _NAME).exists():
            with written_whole(folder / _NAME, mode=PRIVATE) as temporary:
                name = own.dataset.encode("utf-8", "surrogatepass")
                temporary.write_bytes(own.secret + name)
        elif cls.read(folder) != own:
            raise OutputError(
                f"{folder} holds parts of a release for another ledger or data set; go on with the "
                "same --ledger and --dataset, or delete the folder: nothing of it was released"
            )

    @classmethod
    def read(cls, folder: Path) -> "RowKey | None":
        """How rows are to be printed; None where no ledger asks for it."""
        if not (folder / _NAME).exists():
            return None
        raw = read_key(folder / _NAME)
        return cls(raw[:KEY_BYTES], raw[KEY_BYTES:].decode("utf-8", "surrogatepass"))


class RowPrints:
    """The prints of the rows of a part.

    Args:
        key: what they are made with.

    >>> import numpy as np
    >>> prints = RowPrints(RowKey(bytes(32), "tickets"))
    >>> prints.add((["tea cup", "Tea  cup"], np.array([2, 2])))
    >>> table = prints.table
    >>> bool(table["text"][0] == table["text"][1]), bool(table["same"][0] == table["same"][1])
    (False, True)
    """

    def __init__(self, key: RowKey) -> None:
        self._key = key
        self._rows: list[np.ndarray] = []

    def add(self, *fields: tuple[Sequence[str], Ids]) -> None:
        """Print rows: for each field its texts, and how many draws each of these takes."""
        self._rows.append(np.stack([self._printed(texts, draws) for texts, draws in fields], 1))

    def _printed(self, texts: Sequence[str], draws: Ids) -> np.ndarray:
        rows = np.empty(len(texts), _ROW)
        secret, dataset = self._key.secret, self._key.dataset
        for place, text in enumerate(texts):
            same = same_text(text).encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(same, digest_size=8, key=secret).digest()
            own = bytes.fromhex(row_print(secret, dataset, text))
            rows[place] = own, int.from_bytes(digest, "little", signed=True), draws[place]
        return rows

    @property
    def table(self) -> np.ndarray:
        """A row for each row, a column for each field."""
        return np.concatenate(self._rows) if self._rows else np.empty((0, 1), _ROW)

    def to_bytes(self) -> bytes:
        """What is kept of them beside the part."""
        table = self.table
        width: int = table.shape[1]
        return width.to_bytes(8, "little") + table.tobytes()


@dataclass(frozen=True)
class FolderPrints:
    """The prints of all rows of a folder, part by part."""

    parts: Sequence[np.ndarray] = field(repr=False)

    @classmethod
    def read(cls, files: Sequence[Path]) -> "FolderPrints":
        """Those that tasks have written."""
        parts = []
        for path in files:
            raw = path.read_bytes()
            width = int.from_bytes(raw[:8], "little")
            parts.append(np.frombuffer(raw, _ROW, offset=8).reshape(-1, width))
        return cls(parts)

    @property
    def most(self) -> int:
        """Draws of the row whose texts were drawn most, all copies of them together."""
        copies = Copies()
        for table in self.parts:
            copies.add_prints(table["same"].T, table["draws"].T)
        return copies.most

    def texts(self) -> Iterator[dict[int, str]]:
        """The prints of texts that draws were made for, by their rows, some at a time."""
        first = 0
        for table in self.parts:
            for some in range(0, len(table), _AT_ONCE):
                for own in table[some : some + _AT_ONCE].T:
                    drawn = np.flatnonzero(own["draws"]).tolist()
                    yield {first + some + row: bytes(own["text"][row]).hex() for row in drawn}
            first += len(table)


_AT_ONCE = 100_000
