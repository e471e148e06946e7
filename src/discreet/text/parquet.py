"""Parquet files: the text column taken out of a table, and put back."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from discreet.errors import InputError
from discreet.text.chunk_table import coded
from discreet.text.faults import UNUSABLE, column_index, first_unusable, no_documents, too_large
from discreet.text.kept import bare_schema, only_rows

if TYPE_CHECKING:
    from discreet.text.readers import Batch

_READ_ROWS = 65_536  # what a file says of its size leaves out repetition, so rows are read by these
GROUP_CHARACTERS = 1 << 25
"""A group of rows is written once its released texts have so many characters."""
_GROUP_BYTES = 1 << 25


class ParquetSource:
    """The columns of a Parquet file, without what it says of itself, and its rows in batches."""

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        text_field: str,
        total_bytes: int | None,
        row_groups: Sequence[int] | None = None,
    ) -> None:
        self._name = name
        self._total_bytes = total_bytes or 0
        self._rows_read = 0
        try:
            self._file = pq.ParquetFile(file)
            whole = self._file.schema_arrow
        except (pa.ArrowException, OSError, ValueError):
            intact = False
        else:
            intact = True
        if not intact:
            raise self._corrupt()
        self.schema = bare_schema(whole)
        count = self._file.metadata.num_row_groups
        self._groups = list(range(count) if row_groups is None else row_groups)
        if any(not 0 <= group < count for group in self._groups):
            raise self._corrupt()  # it was another file when its groups were counted
        before = range(min(self._groups, default=0))
        self._first = sum(self._file.metadata.row_group(group).num_rows for group in before)
        """How many rows of the file come before those that are read."""
        self.text_index = column_index(self.schema.names, text_field, name, sure=True)
        require_strings(self.schema.field(self.text_index), name)

    @property
    def bytes_read(self) -> int:
        """How far the reading has come, as a share of the file's size."""
        rows = sum(self._file.metadata.row_group(group).num_rows for group in self._groups)
        return self._total_bytes * self._rows_read // rows if rows else self._total_bytes

    def group_rows(self, hidden: Sequence[str]) -> int:
        """How many rows to hold, by what the other columns take: the hidden ones have no say."""
        # What a file says of a column is parsed when it is asked for, and Arrow ends the process if
        # it is damaged; a reader of the same columns says so in an exception.
        for group in self._groups:
            next(self._read(1, [group]), None)
        about = [self._file.metadata.row_group(i) for i in self._groups]
        columns = [group.column(j) for group in about for j in range(group.num_columns)]
        try:
            paths: list[str] | None = [column.path_in_schema for column in columns]
        except ValueError:  # the name of a column is not UTF-8
            paths = None
        if paths is None:
            raise self._corrupt()
        inside = tuple(f"{name}." for name in hidden)
        size = sum(
            column.total_uncompressed_size
            for path, column in zip(paths, columns, strict=True)
            if path not in hidden and not path.startswith(inside)
        )
        rows = sum(group.num_rows for group in about)
        return max(1, min(_READ_ROWS, _GROUP_BYTES * rows // max(size, 1)))

    def batches(
        self, *, document_bytes: int, batch_bytes: int, batch_documents: int
    ) -> Iterator[tuple[int, list[str], pa.Table]]:
        """For each batch the number of its first row, its texts, and a table of the rest."""
        texts: list[str] = []
        rest: list[pa.RecordBatch] = []
        size = 0
        first = self._first + 1
        about = self._file.metadata
        held = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        rows = min(batch_bytes * about.num_rows // max(held, 1), batch_documents, _READ_ROWS)
        for part in self._read(max(1, rows), self._groups):
            if texts and (size >= batch_bytes or len(texts) + len(part) > batch_documents):
                yield first, texts, pa.Table.from_batches(rest)
                first += len(texts)
                texts, rest, size = [], [], 0
            texts += self._texts(part.column(self.text_index), document_bytes)
            rest.append(part.remove_column(self.text_index))
            size += part.nbytes
            self._rows_read += len(part)
        if not texts:
            raise no_documents(self._name)
        yield first, texts, pa.Table.from_batches(rest)

    def _read(self, rows: int, groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
        parts = self._file.iter_batches(rows, row_groups=list(groups))
        while True:
            try:
                part = next(parts, None)
            except (pa.ArrowException, OSError, ValueError):
                break
            if part is None:
                return
            yield part
        raise self._corrupt()

    def _texts(self, column: Any, limit: int) -> list[str]:
        kind: Any = self.schema.field(self.text_index).type
        column = column.cast(kind.value_type if pa.types.is_dictionary(kind) else kind)
        if column.null_count:
            row = pc.index(column.is_null(), True).as_py()
            raise self._bad_row(row, "has no text; fill it in, or drop the row")
        too_long = pc.greater(pc.binary_length(column), pa.scalar(limit, pa.int64()))
        if (row := pc.index(too_long, True).as_py()) >= 0:
            raise too_large(f"the text in {self._row(row)}", limit)
        try:
            texts: list[str] = column.to_numpy(zero_copy_only=False).tolist()
        except (pa.ArrowException, ValueError):  # Arrow does not check on reading
            texts = []
        if len(texts) != len(column):
            raise self._bad_row(
                next(i for i, value in enumerate(column) if not _is_utf8(value)),
                "has a text that is not valid UTF-8; write the file again from text",
            )
        if (position := first_unusable(texts)) is not None:
            raise self._bad_row(position, UNUSABLE)
        return texts

    def _bad_row(self, row: int, problem: str) -> InputError:
        return InputError(f"{self._row(row)} {problem}")

    def _row(self, row: int) -> str:
        return f"row {self._first + self._rows_read + row + 1} of {self._name}"

    def _corrupt(self) -> InputError:
        return InputError(
            f"{self._name} is not an intact Parquet file; write it again, or say its true format"
        )


def require_strings(field: "pa.Field[Any]", source: str) -> None:
    """Refuse a column that holds no strings, neither by themselves nor in a dictionary."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(
            f"the column {field.name} of {source} is not of a string type; cast it to string, or "
            "name another column"
        )


def _is_utf8(value: "pa.StringScalar | pa.LargeStringScalar") -> bool:
    try:
        value.as_py()
    except UnicodeDecodeError:
        return False
    return True


class ParquetSink:
    """A Parquet file with the columns of the one that was read, and nothing that they hold beside.

    Rows are written in groups, and where a group ends is seen in the file. Batches end by the size
    of what was read, so they have no say in it: what was released has, and the public columns.

    Args:
        file: what to write to.
        schema: of the file that was read.
        text_index: the column of the text.
        group_rows: the most rows of a group, from :attr:`ParquetSource.group_rows`.
    """

    def __init__(
        self, file: IO[bytes], schema: pa.Schema, text_index: int, group_rows: int
    ) -> None:
        field = schema.field(text_index)
        kind = field.type
        if pa.types.is_dictionary(kind) and kind.index_type.bit_width < 32:
            # As many different texts may come out as there are documents.
            kind = pa.dictionary(pa.int32(), kind.value_type, ordered=kind.ordered)
            schema = schema.set(text_index, field.with_type(kind))
        self._kind = kind
        self._schema = schema
        self._index = text_index
        self._group_rows = group_rows
        self._texts: list[str] = []
        self._rest: list[pa.Table] = []
        self._writer = pq.ParquetWriter(file, schema)

    def write(self, batch: "Batch") -> None:
        """Add the rows of a batch."""
        self._texts += batch.texts
        self._rest.append(cast("pa.Table", batch.rows))
        while (rows := self._full()) <= len(self._texts):
            self._write_group(rows)

    def close(self) -> None:
        """Write the last rows and the end of the file."""
        if self._texts:
            self._write_group(len(self._texts))
        self._writer.close()

    def _full(self) -> int:
        """How many rows the next group has, or more than there are."""
        longest = self._group_rows
        sizes = np.fromiter(map(len, islice(self._texts, longest)), np.int64)
        return min(longest, int(np.searchsorted(np.cumsum(sizes), GROUP_CHARACTERS)) + 1)

    def _write_group(self, rows: int) -> None:
        texts, self._texts = self._texts[:rows], self._texts[rows:]
        kind = self._kind.value_type if pa.types.is_dictionary(self._kind) else self._kind
        columns: list[Any] = [coded(pa.array(texts, kind), self._kind)]
        if len(self._schema) > 1:
            rest = pa.concat_tables(self._rest)
            # Pages, too, end with the pieces that are handed over: so hand over one.
            group = rest.slice(0, rows).combine_chunks()
            kept = [only_rows(column) for column in group.columns]
            columns = [*kept[: self._index], *columns, *kept[self._index :]]
            self._rest = [rest.slice(rows)]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
