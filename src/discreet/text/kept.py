"""Columns of Arrow that are written as they are: their rows, and nothing that came along with them.

A table may say things of itself, of its columns and of what is inside them (metadata), and a column
may hold more than its rows have: values of a dictionary that none of them uses, what lies before
and after a slice, fields of a structure that is null, what an extension type was told. None of it
is among what a statement calls public, so it stays behind.
"""

from collections.abc import Sequence
from typing import Any, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import InputError

Frame = TypeVar("Frame", pa.Table, pa.RecordBatch)
_PACKED = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""Views share the values of all rows of the table that they were taken from."""


def bare_field(field: "pa.Field[Any]") -> "pa.Field[Any]":
    """A column without metadata, outside and inside, of the type that :func:`only_rows` gives."""
    kind = field.type
    if not pa.types.is_dictionary(kind):
        return pa.field(field.name, _bare_type(kind), field.nullable)
    kind = pa.dictionary(kind.index_type, _bare_type(kind.value_type), ordered=kind.ordered)
    return pa.field(field.name, kind, field.nullable)


def bare_schema(schema: pa.Schema) -> pa.Schema:
    """Columns without metadata, and with none of the table's own."""
    return pa.schema([bare_field(field) for field in schema])


def bare_table(table: Frame, but: Sequence[int] = ()) -> Frame:
    """A table without metadata whose columns hold its rows and no more.

    Args:
        table: a table or a record batch.
        but: positions of columns that are about to be replaced, and are left as they are.
    """
    out = table.replace_schema_metadata(None)
    for place, field in enumerate(table.schema):
        if place not in but:
            out = out.set_column(place, bare_field(field), only_rows(table.column(place)))
    return out


@overload
def only_rows(column: "pa.ChunkedArray[Any]") -> "pa.ChunkedArray[Any]": ...


@overload
def only_rows(column: "pa.Array[Any]") -> "pa.Array[Any]": ...


def only_rows(column: Any) -> Any:
    """The same values in an array that holds no others.

    >>> two = pa.array(["a", "b", "Jane Roe"]).dictionary_encode().slice(0, 2)
    >>> only_rows(two).dictionary.to_pylist()
    ['a', 'b']
    """
    kind = bare_field(pa.field("", column.type)).type
    if pa.types.is_dictionary(kind):
        if isinstance(column, pa.ChunkedArray):
            return pa.chunked_array([_with_used_values(column.combine_chunks(), kind)])
        return _with_used_values(column, kind)
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_copied(chunk, kind) for chunk in column.chunks], kind)
    return _copied(column, kind)


def _copied(array: Any, kind: Any) -> Any:
    return _without_hidden(_taken(array.cast(kind)))


def _taken(array: Any) -> Any:
    """A copy; what lies under a null is not copied, but for the fields of structures."""
    return array.take(pa.array(np.arange(len(array))))


def _without_hidden(array: Any) -> Any:
    """A copy whose structures have nothing in their fields where they are null themselves."""
    kind, types, children = array.type, pa.types, list[Any]()
    if types.is_struct(kind) and len(kind):
        children = [_without_hidden(_taken(field)) for field in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
    if types.is_map(kind):
        pairs = [array.keys, _without_hidden(array.items)]
        children = [pa.StructArray.from_arrays(pairs, fields=[kind.key_field, kind.item_field])]
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        children = [_without_hidden(array.values)]
    if not children:
        return array
    own = array.buffers()[: 1 if types.is_fixed_size_list(kind) else 2]
    return pa.Array.from_buffers(kind, len(array), own, children=children)


def _with_used_values(array: Any, kind: Any) -> Any:
    """In the order of the dictionary if that means something, else in that of the rows."""
    used = pc.unique(array.indices).drop_null()
    if kind.ordered:
        used = used.take(pc.array_sort_indices(used))
    indices = pc.index_in(array.indices, used).cast(kind.index_type)
    values = _copied(array.dictionary.take(used), kind.value_type)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)


def _bare_type(kind: Any) -> Any:
    """Of what is inside: no metadata, no dictionary and no extension."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _bare_type(kind.storage_type)
    if types.is_dictionary(kind):
        return _bare_type(kind.value_type)
    if types.is_struct(kind):
        # One that may not be null would have to hold something where its structure is.
        return pa.struct([_inside(kind.field(i)).with_nullable(True) for i in range(len(kind))])
    if types.is_map(kind):
        return pa.map_(_inside(kind.key_field), _inside(kind.item_field), kind.keys_sorted)
    if types.is_list(kind):
        return pa.list_(_inside(kind.value_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(_inside(kind.value_field), kind.list_size)
    if types.is_large_list(kind) or types.is_list_view(kind) or types.is_large_list_view(kind):
        return pa.large_list(_inside(kind.value_field))
    if types.is_union(kind) or types.is_run_end_encoded(kind):
        raise InputError(
            "a column whose type is a union, or encoded by runs, cannot be kept; cast it to a "
            "plain type, or drop it"
        )
    return _PACKED.get(kind, kind)


def _inside(field: Any) -> Any:
    return pa.field(field.name, _bare_type(field.type), field.nullable)
