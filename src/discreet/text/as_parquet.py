"""Rows of any format on their way into a Parquet file.

Parquet stays as it is. What was csv, tsv or jsonl has no types to rely on: every column is written
as strings, a JSON value that is no string as it stands in JSON, and a field that a row lacks as
null. The schema then follows from the names alone, and is the same for every file of a folder.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa

from discreet.errors import InputError
from discreet.text.columns import Columns, columns_of
from discreet.text.fates import DROP, KEEP, Fates
from discreet.text.faults import UNUSABLE
from discreet.text.readers import Batch, DocumentReader, Shape

GROUP_ROWS = 65_536
"""The most rows of a group, where the input has no groups."""
TEXT = "text"
"""The column of what was plain text."""


def parquet_output(
    reader: DocumentReader, fates: Fates
) -> tuple[Columns, Shape, Callable[[Batch], Batch]]:
    """The columns, how rows lie in Parquet, and what turns a batch as it is treated into that."""
    columns = columns_of(reader, fates, "parquet")
    if reader.schema is not None:
        return columns, columns.shape, lambda batch: batch
    if reader.format == "txt":
        return columns, _strings([TEXT], 0), lambda batch: replace(batch, rows=pa.table({}))
    if reader.header is not None and columns.shape.header is not None:
        written, place = columns.shape.header, cast(int, columns.shape.text_index)
        rest = [name for i, name in enumerate(written) if i != place]
        shape = _strings(written, place)
        return columns, shape, lambda batch: replace(batch, rows=_of_rows(batch, rest))
    names = json_fields(fates)
    shape = _strings(names, 0)
    return (
        columns,
        shape,
        lambda batch: replace(batch, rows=_of_objects(reader.name, batch, names[1:])),
    )


def json_fields(fates: Fates) -> list[str]:
    """The columns that fields of JSON become, the first text first; all must have been named."""
    if fates.others == KEEP:
        raise InputError(
            "the fields of jsonl may differ by row, and a Parquet folder has the same columns "
            "everywhere: name those to keep with --keep, and add --drop-others"
        )
    return [name for name in fates.named if fates.of(name) != DROP]


def _strings(names: list[str], text_index: int) -> Shape:
    schema = pa.schema([pa.field(name, pa.string()) for name in names])
    return Shape(schema=schema, text_index=text_index, group_rows=GROUP_ROWS)


def _of_rows(batch: Batch, names: list[str]) -> pa.Table:
    columns = list(zip(*cast(Any, batch.rows), strict=True)) or [()] * len(names)
    return _table(dict(zip(names, columns, strict=True)))


def _table(columns: Mapping[str, Sequence[str | None]]) -> pa.Table:
    arrays = []
    for column in columns.values():
        try:
            arrays.append(pa.array(column, pa.string()))
        except (pa.ArrowException, ValueError):  # its message holds a value
            break
    if len(arrays) < len(columns):
        raise InputError(f"the column {list(columns)[len(arrays)]} {UNUSABLE}")
    return pa.Table.from_arrays(arrays, names=list(columns))


def _of_objects(source: str, batch: Batch, names: list[str]) -> pa.Table:
    columns: dict[str, list[str | None]] = {name: [] for name in names}
    for _, fields in batch.objects(source) if names else ():
        for name, column in columns.items():
            value = fields.get(name)
            is_plain = value is None or isinstance(value, str)
            column.append(value if is_plain else json.dumps(value, ensure_ascii=False))
    return _table(columns)
