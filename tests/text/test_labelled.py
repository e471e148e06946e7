"""Texts with labels and second texts, from every format that has fields."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import InputError, InvalidValue
from discreet.text.labelled import Labelled, read_labelled

ROWS = [("tea is good", "so it is", 1.5), ("cup", "no, tea", 2)]


def _write(path):
    lines = {
        "csv": ["a,b,y", *(f'{a},"{b}",{y}' for a, b, y in ROWS)],
        "tsv": ["a\tb\ty", *(f"{a}\t{b}\t{y}" for a, b, y in ROWS)],
        "jsonl": [f'{{"y": {y}, "a": "{a}", "b": "{b}"}}' for a, b, y in ROWS],
    }
    kind = path.suffix[1:]
    if kind == "parquet":
        columns = dict(zip("aby", map(list, zip(*ROWS, strict=True)), strict=True))
        pq.write_table(pa.table(columns), path)
    else:
        path.write_text("\n".join(lines[kind]) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format(tmp_path, kind):
    path = _write(tmp_path / f"rows.{kind}")
    found = read_labelled(path, text_field="a", second_field="b", label_field="y")
    assert found.texts == [a for a, _, _ in ROWS]
    assert found.seconds == [b for _, b, _ in ROWS]
    assert found.numbers() == [1.5, 2.0]
    alone = read_labelled(path, text_field="b", label_field=None)
    assert (alone.seconds, alone.labels) == (None, None)
    assert found.part([1]).texts == ["cup"]


def test_what_is_missing_is_named_and_never_shown(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "zanzibar", "label": 1}\n{"text": "zanzibar"}\n')
    with pytest.raises(InputError, match="row 2") as caught:
        read_labelled(path)
    assert "zanzibar" not in str(caught.value)
    path.write_text('{"text": "zanzibar", "label": null}\n')
    with pytest.raises(InputError, match="row 1"):
        read_labelled(path)
    empty = tmp_path / "rows.csv"
    empty.write_text("text,label\nzanzibar,1\nzanzibar,\n")
    with pytest.raises(InputError, match=r"row 2 .* empty label"):
        read_labelled(empty)
    plain = tmp_path / "rows.txt"
    plain.write_text("zanzibar\n")
    with pytest.raises(InputError, match="plain text"):
        read_labelled(plain)
    assert len(read_labelled(plain, label_field=None)) == 1


def test_columns_must_be_as_long_as_the_texts():
    with pytest.raises(InvalidValue, match="2 texts need as many labels; got 1"):
        Labelled(["a", "b"], None, ["1"])
    with pytest.raises(InvalidValue, match="second texts"):
        Labelled(["a", "b"], ["c"], None)
    for bad in ("good", "nan", "inf"):
        with pytest.raises(InvalidValue, match="row 2 is not a number"):
            Labelled(["a", "b"], None, ["1", bad]).numbers()
