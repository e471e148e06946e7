"""Documents streamed out of files: one per line, per row or per JSON object.

A file of any size passes through in batches. Everything but the text is carried along untouched in
:attr:`Batch.rows`, which never holds the text itself, so that a text that was not replaced cannot
be written by mistake. Messages name files, lines and columns, never a value.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from discreet.check import fail, whole
from discreet.errors import InputError
from discreet.settings import Setting, Settings, fields_as_keywords
from discreet.text import jsonl
from discreet.text.delimited import DelimitedRows
from discreet.text.faults import column_index, no_documents, refuse_other_delimiter
from discreet.text.formats import STANDARD_STREAM, UTF_8, delimiter_of, encoding_of, input_format
from discreet.text.lines import LineBlocks, display_name, lines_of, open_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.text.parquet import ParquetSource

    Rows = list[tuple[str, ...]] | pa.Table | None

MAX_DOCUMENT_BYTES = 4 * 2**20
"""Longer documents are refused unless more is allowed."""

_Piece = tuple[list[str], list[Any]]


@dataclass(frozen=True, kw_only=True)
class ReadingSettings(Settings):
    """How an input file is read.

    Attributes:
        format: ``txt``, ``csv``, ``tsv``, ``jsonl`` (each also with ``.gz``) or ``parquet``; by
            default what the file name says, and ``txt`` for standard input.
        delimiter: What stands between the fields of csv; a comma unless given.
        encoding: How characters are written; Parquet says it itself.
        max_document_bytes: Longer lines and documents are refused.
    """

    heading: ClassVar[str] = "Reading"

    format: str | None = Setting(
        "Format of the input, if its name does not show it: txt, csv, tsv, jsonl, parquet, or "
        "with .gz."
    ).default(None)
    delimiter: str | None = Setting(
        "What separates the fields of csv, if not a comma: ';', '|' or tab. The output uses it too."
    ).default(None)
    encoding: str = Setting(
        "Character encoding of INPUT, such as cp1252 or utf-16. OUTPUT is UTF-8."
    ).default(UTF_8)
    max_document_bytes: int = Setting(
        "Longer documents are refused.", at_least=1, option=False
    ).default(MAX_DOCUMENT_BYTES)


@dataclass(frozen=True)
class Batch:
    """Documents that follow each other in a file.

    Attributes:
        first_row: Number of the first document, from 1.
        texts: The documents.
        rows: What stood around them. ``None`` for txt; for csv and tsv the other fields of each
            row; for jsonl what stood before and after the text; for Parquet a table of the other
            columns.
    """

    first_row: int
    texts: list[str] = field(repr=False)
    rows: "Rows" = field(repr=False)

    def objects(self, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Of jsonl, the number and the fields of each row, with an empty text.

        Python refuses to read a row with a whole number of thousands of digits, or nested too
        deeply; ``source`` is what the error calls the file.
        """
        for row, fields in enumerate(self._objects, self.first_row):
            if fields is None:
                raise InputError(
                    f"row {row} of {source} holds a number that is too long to be read, or is "
                    "nested too deeply; write it as a string, or drop it"
                )
            yield row, fields

    @cached_property
    def _objects(self) -> list[dict[str, Any] | None]:
        """Parsed once for all who ask."""
        return [_parsed(f'{before}""{after}') for before, after in cast(Any, self.rows)]

    def with_texts(self, texts: list[str]) -> "Batch":
        """The same rows around other texts."""
        if len(texts) != len(self.texts):
            raise fail("texts", f"one for each of the {len(self.texts)} documents", len(texts))
        return replace(self, texts=texts)


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        values: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return values


@dataclass(frozen=True)
class Shape:
    """How documents lie in a file, so that they can be written in the same way.

    Attributes:
        header: The column names of csv and tsv, in order.
        schema: The Arrow schema of Parquet.
        text_index: The position of the text's column in csv, tsv and Parquet.
        group_rows: How many rows of Parquet to write at once; the text has no say in it.
        delimiter: What stands between the fields of csv and tsv.
    """

    header: list[str] | None = None
    schema: "pa.Schema | None" = None
    text_index: int | None = None
    group_rows: int = 1
    delimiter: str = ""


@dataclass(frozen=True)
class _Limits:
    document_bytes: int
    batch_bytes: int
    batch_documents: int


class DocumentReader:
    """Batches of documents from one source; a context manager, and an iterator that runs once.

    Attributes:
        name: What messages call the source.
        path: The file, or ``None`` for standard input.
        format: ``txt``, ``csv``, ``tsv``, ``jsonl`` or ``parquet``.
        text_field: The column or field that holds the text; ``None`` for txt.
        text_index: The position of that column in csv, tsv and Parquet.
        header: The column names of csv and tsv, in order.
        schema: The Arrow schema of Parquet.
        group_rows: How many rows of Parquet to write at once; the text has no say in it.
        delimiter: What stands between the fields of csv and tsv.
        total_bytes: Size of the file on disk; ``None`` for standard input and pipes.
    """

    def __init__(
        self,
        source: str | Path,
        reading: ReadingSettings,
        text_field: str,
        limits: _Limits,
        row_groups: Sequence[int] | None = None,
    ) -> None:
        self.name = display_name(source)
        self.path = None if str(source) == STANDARD_STREAM else Path(source)
        self.format, compressed = input_format(str(source), reading.format)
        if self.format == "parquet" and self.path is None:
            raise InputError("Parquet cannot be read from standard input; give the name of a file")
        if self.format != "parquet" and row_groups is not None:
            raise fail("row_groups", "left out for anything but Parquet", list(row_groups))
        self.delimiter = delimiter_of(self.format, reading.delimiter)
        encoding = encoding_of(self.format, reading.encoding)
        self.text_field = None if self.format == "txt" else text_field
        self.text_index: int | None = None
        self.header: list[str] | None = None
        self.schema: pa.Schema | None = None
        self.group_rows = 1
        self._limits = limits
        self._group_rows: Callable[[Sequence[str]], int] | None = None
        self._progress: LineBlocks | ParquetSource
        self._file, self.total_bytes = open_bytes(source)
        try:
            self._batches = self._opened(text_field, compressed, encoding, row_groups)
        except BaseException:
            self.close()
            raise

    def _opened(
        self, text_field: str, compressed: bool, encoding: str, row_groups: Sequence[int] | None
    ) -> Iterator[Batch]:
        limits = self._limits
        if self.format == "parquet":
            from discreet.text.parquet import ParquetSource

            self._progress = parquet = ParquetSource(
                self._file, self.name, text_field, self.total_bytes, row_groups
            )
            self._group_rows = parquet.group_rows
            self.schema, self.text_index = parquet.schema, parquet.text_index
            self.group_rows = parquet.group_rows([text_field])
            return (Batch(*parts) for parts in parquet.batches(**vars(limits)))
        self._progress = blocks = LineBlocks(
            self._file,
            self.name,
            compressed=compressed,
            block_bytes=limits.batch_bytes,
            max_line_bytes=limits.document_bytes,
            encoding=encoding,
        )
        if self.format == "txt":
            pieces: Iterator[_Piece] = ((lines_of(text), []) for _, text in blocks)
        elif self.format == "jsonl":
            pieces = jsonl.pieces(blocks, self.name, text_field)
        else:
            table = DelimitedRows(blocks, self.name, self.delimiter, limits.document_bytes)
            self.header = table.header
            refuse_other_delimiter(self.header, text_field, self.name)
            self.text_index = column_index(self.header, text_field, self.name)
            pieces = table.pieces(self.text_index)
        return self._batched(pieces, blocks)

    @property
    def bytes_read(self) -> int:
        """How far into the file on disk the reading has come."""
        return self._progress.bytes_read

    @property
    def shape(self) -> Shape:
        """How its documents lie."""
        return Shape(self.header, self.schema, self.text_index, self.group_rows, self.delimiter)

    @property
    def max_document_bytes(self) -> int:
        """Longer documents are refused."""
        return self._limits.document_bytes

    def group_rows_beside(self, hidden: Sequence[str]) -> int:
        """As :attr:`group_rows`, with no say for any of these columns."""
        return 1 if self._group_rows is None else self._group_rows(hidden)

    def close(self) -> None:
        """Close the file; standard input is left open."""
        if self.path is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        return next(self._batches)

    def _batched(self, pieces: Iterator[_Piece], blocks: LineBlocks) -> Iterator[Batch]:
        """Pieces of any length gathered into batches within the limits."""
        most = self._limits.batch_documents
        texts: list[str] = []
        rows: list[Any] = []
        row = 1
        started = 0
        for more_texts, more_rows in pieces:
            texts += more_texts
            rows += more_rows
            full = blocks.consumed - started >= self._limits.batch_bytes
            done = 0
            while len(texts) - done >= most or (full and done < len(texts)):
                part = slice(done, done + most)
                yield Batch(row, texts[part], rows[part] if rows else None)
                row += min(most, len(texts) - done)
                done += most
            texts, rows = texts[done:], rows[done:]
            if full:
                started = blocks.consumed
        if texts:
            yield Batch(row, texts, rows or None)
        elif row == 1:
            raise no_documents(self.name)


@fields_as_keywords
def open_documents(
    source: str | Path,
    *,
    reading: ReadingSettings,
    text_field: str = "text",
    batch_bytes: int = 32 * 2**20,
    batch_documents: int = 2_000_000,
    row_groups: Sequence[int] | None = None,
) -> DocumentReader:
    """Open a file, or standard input for ``-``, to read its documents in batches.

    Args:
        source: A path, or ``-``.
        reading: How it is read; or its fields as keywords.
        text_field: The column or field that holds the text; txt has none.
        batch_bytes: About how much of the file, decompressed, goes into a batch.
        batch_documents: The most documents in a batch.
        row_groups: Of Parquet, the groups of rows to read, by number and in order; all of them
            unless given.

    Raises:
        InputError: The source cannot be read as what it is said to be. Some faults show only while
            the batches are read.
    """
    limits = _Limits(
        reading.max_document_bytes,
        whole(batch_bytes, "batch_bytes", at_least=1),
        whole(batch_documents, "batch_documents", at_least=1),
    )
    if Path(source).is_dir():  # before its name is asked for a format that it cannot have
        raise InputError(f"{display_name(source)} is a directory; name a file in it")
    return DocumentReader(source, reading, text_field, limits, row_groups)
