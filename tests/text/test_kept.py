"""What is written as it is has the values of its rows, and brings nothing else along."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import InputError
from discreet.text.kept import bare_schema, bare_table, only_rows

HIDDEN = "a hidden one, longer than a view holds inline"
NAMES = ["a", None, "b", HIDDEN]
CODES = pa.array(NAMES).dictionary_encode()
SAID = {"said": HIDDEN}


def _of_codes(kind):
    return pa.DictionaryArray.from_arrays(pa.array([2, 0, None], kind), ["low", HIDDEN, "high"])


def _with_null():
    """A structure that is null, and whose fields have values all the same."""
    fields = [pa.field("in", pa.string(), nullable=False), pa.field("x", pa.int64())]
    values = [pa.array(["a", HIDDEN, "b"]), pa.array([1, 2, None])]
    null = pa.array([False, True, False])
    return pa.StructArray.from_arrays(values, fields=fields, mask=null)


# Most hold, or say in their types, what their rows do not have.
COLUMNS = {
    "slice": pa.array(NAMES).slice(0, 3),
    "numbers": pa.array([1, 2, None, 9]).slice(0, 3),
    "truths": pa.array([True, None, False]).slice(1),
    "nothing": pa.nulls(2),
    "views": pa.array(["a", HIDDEN], pa.string_view()).slice(0, 1),
    "codes": CODES.slice(0, 3),
    "small codes": _of_codes(pa.int8()),
    "codes in chunks": pa.chunked_array([CODES.slice(0, 1), CODES.slice(1, 2)]),
    "no chunks": pa.chunked_array([], CODES.type),
    "codes of lists": pa.DictionaryArray.from_arrays([1, 0], pa.array([["a"], ["b"], [HIDDEN]])),
    "lists": pa.array([["a"], ["b"], [HIDDEN]]).slice(0, 2),
    "list views": pa.array([["a"], [HIDDEN]], pa.list_view(pa.string())).slice(0, 1),
    "lists of codes": pa.ListArray.from_arrays([0, 1, 3], CODES.slice(0, 3)),
    "pairs": pa.FixedSizeListArray.from_arrays(CODES.slice(0, 2), 2),
    "maps": pa.MapArray.from_arrays([0, 1], pa.array(["k"]), CODES.slice(0, 1)),
    "structures": pa.StructArray.from_arrays(
        [CODES.slice(0, 2)], fields=[pa.field("in", CODES.type, metadata=SAID)]
    ),
    "null structures": _with_null(),
    "null structures in structures": pa.StructArray.from_arrays([_with_null()], ["s"]),
    "null structures in lists": pa.ListArray.from_arrays([0, 2, 2, 3], _with_null()),
    "null structures in pairs": pa.FixedSizeListArray.from_arrays(_with_null(), 3),
    "null structures in maps": pa.MapArray.from_arrays([0, 2, 3], [*"abc"], _with_null()),
    "structures of nothing": pa.array([{}, None], pa.struct([])),
    "opaque": pa.ExtensionArray.from_storage(
        pa.opaque(pa.string(), HIDDEN, "somebody"), pa.array(["a"])
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_has_its_rows_and_no_more(name):
    column = COLUMNS[name]
    out = only_rows(column)
    assert out.to_pylist() == column.to_pylist()
    assert HIDDEN.encode() not in pickle.dumps(out)
    schema = pa.schema([pa.field("c", column.type, metadata=SAID)], metadata=SAID)
    bare = bare_schema(schema)
    assert bare.field("c").type == out.type
    assert HIDDEN.encode() not in bare.serialize().to_pybytes()
    if not isinstance(column, pa.ChunkedArray):
        batch = pa.RecordBatch.from_arrays([column], schema=schema)
        for table in (batch, pa.table(batch)):
            assert bare_table(table).schema.equals(bare, check_metadata=True)
            assert bare_table(table).column(0).to_pylist() == column.to_pylist()


def test_values_that_have_an_order_keep_it():
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    coded = pa.DictionaryArray.from_arrays([2, 0], ["low", "middle", "high"], ordered=True)
    out = only_rows(coded.cast(kind))
    assert out.type == kind
    assert out.dictionary.to_pylist() == ["low", "high"]


def test_what_was_under_a_null_is_gone():
    numbers = np.array([1, 77, 3])
    masked = pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\5"), pa.py_buffer(numbers)])
    assert 77 not in np.frombuffer(only_rows(masked).buffers()[1], np.int64)


def test_what_cannot_be_laid_out_anew_is_refused():
    runs = pa.RunEndEncodedArray.from_arrays([1, 2], ["a", HIDDEN])
    with pytest.raises(InputError, match="cannot be kept") as refused:
        only_rows(runs)
    assert HIDDEN not in str(refused.value)
