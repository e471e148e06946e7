"""What is done to every part, described in names and numbers so that any process can do it."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.arrays import Progress
from discreet.engines.noise import RunKey
from discreet.engines.parts import PartReceipt, commit_part
from discreet.engines.plan import Part
from discreet.engines.row_prints import RowPrints
from discreet.errors import InputError, InvalidValue
from discreet.randomness import secure_generator
from discreet.receipt import Receipt
from discreet.release.recipe import recipe_of, sanitizer_from
from discreet.release.rows import Noise, Tally, receipt_of_rows, release_rows
from discreet.release.strength import refuse_weak_words
from discreet.release.text import Sanitizer
from discreet.release.whole import DELTA, checked_delta, counted_in, whole_of
from discreet.spaces.index import build_index, cached_index, store_index
from discreet.staging import Staged
from discreet.statement import Notion, PrivacyStatement, Unit
from discreet.text.as_parquet import parquet_output
from discreet.text.columns import Columns
from discreet.text.fates import Fates
from discreet.text.readers import ReadingSettings, open_documents

if TYPE_CHECKING:
    import pyarrow as pa

_PEEK_BYTES, _PEEK_ROWS = 2**16, 100
_BATCH_BYTES, _BATCH_ROWS = 16 * 2**20, 100_000
"""So much of a file, and so many documents, are released at once."""


@dataclass(frozen=True, kw_only=True)
class Work(ABC):
    """Releases parts, and says what was released.

    Args:
        reading: how the files are read.
        accept_weak: release even if the setting promises next to nothing.
        keyed: whether the noise follows from a key of the run.
    """

    reading: ReadingSettings = field(default_factory=ReadingSettings)
    accept_weak: bool = False
    keyed: bool = False

    @cached_property
    def fingerprint(self) -> str:
        """Of everything that decides what is released."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @abstractmethod
    def to_json(self) -> str:
        """What :func:`work_from` takes."""

    @abstractmethod
    def schema_of(self, path: Path) -> "pa.Schema":
        """What would be written of a file, which is opened and refused if it cannot be."""

    @abstractmethod
    def prepare(self, size: int, progress: Progress | None = None) -> None:
        """Load what is public, once before all tasks; a setting that cannot be shows here.

        Args:
            size: of all files, in bytes.
            progress: called with (done, total) while something public is computed.
        """

    def release(
        self,
        part: Part,
        target: Path,
        key: RunKey | None = None,
        prints: RowPrints | None = None,
    ) -> PartReceipt:
        """Read, draw, stage and commit a part.

        Args:
            part: what to release.
            target: where it goes.
            key: of the run, if the noise follows from one.
            prints: gets the rows, if a ledger wants to know them.
        """
        noise = None if key is None else key.noise(part, self.fingerprint, *self._decides)
        write = partial(self._write, part, noise, prints)
        return commit_part(part, target, self.fingerprint, write, prints)

    @cached_property
    def _decides(self) -> tuple[str, ...]:
        """What of this machine decides, too, how random numbers are used."""
        return ()

    @abstractmethod
    def _write(
        self, part: Part, noise: Noise | None, prints: RowPrints | None, output: Staged
    ) -> Mapping[str, Any]:
        """Read and draw a part, write it to a file that nobody sees, and count it."""

    @abstractmethod
    def receipt(self, parts: Iterable[PartReceipt]) -> Receipt:
        """The receipt that one file would have, of all parts together."""

    @abstractmethod
    def longest(
        self, parts: Iterable[PartReceipt], receipt: Receipt, copies: int
    ) -> PrivacyStatement:
        """What holds for the whole of the longest text, as a ledger is charged for it.

        Args:
            parts: all of them.
            receipt: of :meth:`receipt`.
            copies: draws of the text that was drawn most, all copies of it together.
        """

    @abstractmethod
    def units(self, receipt: Receipt) -> int:
        """How many words or sentences were released."""


@dataclass(frozen=True, kw_only=True)
class SanitizeWork(Work):
    """Sanitise texts, with the settings of :func:`discreet.release.text_files.sanitize_file`."""

    sanitizer: Sanitizer | Callable[[], Sanitizer] = field(repr=False)
    """Or a function that makes one, called once the files were looked at."""
    fates: Fates
    whole_delta: float = DELTA
    kind: str = field(default="sanitize", init=False)

    def __post_init__(self) -> None:
        checked_delta(self.whole_delta)

    @cached_property
    def made(self) -> Sanitizer:
        """What sanitises; made once in each process."""
        return self.sanitizer() if callable(self.sanitizer) else self.sanitizer

    def to_json(self) -> str:
        """With the fingerprint of what the recipe makes, which every worker compares with its."""
        recipe = recipe_of(self.made)
        if recipe is None:
            raise InvalidValue(
                "this Sanitizer cannot be made again in another process: load its space with "
                "load_space (save_space writes one), and build its mechanism with "
                "discreet.mechanism from plain settings"
            )
        own = {name: getattr(self, name) for name in _OWN}
        groups = {"fates": asdict(self.fates), "reading": asdict(self.reading)}
        return json.dumps({**own, "recipe": recipe.to_json(), **groups})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "SanitizeWork":
        """The inverse of :meth:`to_json`."""
        said: dict[str, Any] = values["fates"]
        fates: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in said.items()}
        own = {name: values[name] for name in _OWN if name != "kind"}
        make = partial(sanitizer_from, values["recipe"])
        reading = ReadingSettings(**values["reading"])
        return cls(sanitizer=make, fates=Fates(**fates), reading=reading, **own)

    def schema_of(self, path: Path) -> "pa.Schema":
        """The columns that the file would be written with."""
        with open_documents(
            path,
            reading=self.reading,
            text_field=self.fates.texts[0],
            batch_bytes=_PEEK_BYTES,
            batch_documents=_PEEK_ROWS,
        ) as reader:
            columns, shape, _ = parquet_output(reader, self.fates)
            if reader.format != "parquet":  # that says all in its schema
                columns.part(next(reader))
                columns.check_complete()
            self._seen.append((reader.format, columns))
        if shape.schema is None:
            raise InvalidValue(f"{path} cannot be written as Parquet")
        return shape.schema

    @cached_property
    def _seen(self) -> list[tuple[str, Columns]]:
        """The columns of the files that were looked at: all of them are alike."""
        return []

    def prepare(self, size: int, progress: Progress | None = None) -> None:
        """Load the space, and build its index if there is much to release."""
        mechanism = self.made.mechanism
        if not self.accept_weak:
            refuse_weak_words(self.made)
        large = size >= _WORTH_AN_INDEX
        if large and getattr(mechanism, "uses_index", False) and not cached_index(mechanism.space):
            store_index(mechanism.space, build_index(mechanism.space, progress=progress))

    @cached_property
    def _decides(self) -> tuple[str, ...]:
        """The index that draws are made with, in a line: with another one, they are others."""
        index = cached_index(self.made.mechanism.space)
        if index is None or not getattr(self.made.mechanism, "uses_index", False):
            return ("none",)
        parts = (index.neighbors.tobytes(), index.lower.tobytes())
        return (" ".join(hashlib.sha256(part).hexdigest() for part in parts),)

    def _write(
        self, part: Part, noise: Noise | None, prints: RowPrints | None, output: Staged
    ) -> Mapping[str, Any]:
        from discreet.text.parquet import ParquetSink

        with (
            open_documents(
                part.source,
                reading=self.reading,
                text_field=self.fates.texts[0],
                batch_bytes=_BATCH_BYTES,
                batch_documents=_BATCH_ROWS,
                row_groups=part.row_groups,
            ) as reader,
            output.open() as file,
        ):
            columns, shape, as_parquet = parquet_output(reader, self.fates)
            if shape.schema is None or shape.text_index is None:
                raise InputError(f"{part.source} cannot be written as Parquet")
            sink = ParquetSink(file, shape.schema, shape.text_index, shape.group_rows)
            with closing(sink):
                tally = release_rows(
                    reader,
                    columns,
                    self.made,
                    lambda batch: sink.write(as_parquet(batch)),
                    secure_generator() if noise is None else noise,
                    tell=None if prints is None else prints.add,
                )
            columns.check_complete()
        return tally.to_dict()

    def receipt(self, parts: Iterable[PartReceipt]) -> Receipt:
        tally = Tally()
        for each in parts:
            tally.add(Tally.from_dict(each.counts, self.made.statement))
        format, columns = self._seen[0]
        texts = list(tally.words)
        about = {
            "input": {
                "format": format,
                "text_field": (texts[0] or None) if len(texts) == 1 else texts,
            },
            "columns": columns.fates,
        }
        return receipt_of_rows(self.made, tally, columns.public, about, self.whole_delta)

    def longest(
        self,
        parts: Iterable[PartReceipt],  # noqa: ARG002
        receipt: Receipt,
        copies: int,
    ) -> PrivacyStatement:
        """What the receipt says of it; nothing is promised where it says nothing."""
        whole = receipt.about["whole"]["document"]
        if copies > whole["words"]:
            counted = counted_in(self.made.about)
            lifted = whole_of(receipt.statement, self.made.mechanism, self.whole_delta, counted)
            return lifted(copies, Unit.DOCUMENT)
        if whole["statement"] is None:
            return PrivacyStatement(notion=Notion.NONE, unit=Unit.DOCUMENT)
        return PrivacyStatement.from_dict(whole["statement"])

    def units(self, receipt: Receipt) -> int:
        return int(receipt.counts["words"])


_OWN = ("kind", "accept_weak", "whole_delta", "keyed")
_WORTH_AN_INDEX = 32 * 2**20


def work_from(text: str) -> Work:
    """What :meth:`Work.to_json` described."""
    values = json.loads(text)
    if values["kind"] == "embed":
        from discreet.engines.embed_work import EmbedWork

        return EmbedWork.from_dict(values)
    return SanitizeWork.from_dict(values)
