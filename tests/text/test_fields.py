"""Other fields than the text, out of every format, with no value in any message."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import InputError
from discreet.text.fields import field_of, labels_of, strings_of
from discreet.text.readers import open_documents

MARKER = "zanzibar"
ROWS = [
    {"id": 1, "text": "one", "label": "good", "more": "a, b"},
    {"id": 2, "text": 'two "quoted"', "label": "bad", "more": "c"},
    {"id": 3, "text": "three", "label": "good", "more": "d\ne"},
]


def write(path: Path) -> Path:
    names = list(ROWS[0])
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        mark = "," if path.suffix == ".csv" else "\t"
        quoted = [['"' + str(row[n]).replace('"', '""') + '"' for n in names] for row in ROWS]
        path.write_text("\n".join(mark.join(row) for row in [names, *quoted]) + "\n")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("most", [1, 100])
@pytest.mark.parametrize("text_field", ["text", "more", "label"])
def test_every_format_gives_the_field(tmp_path, suffix, most, text_field):
    path = write(tmp_path / f"in{suffix}")
    wanted = [name for name in ROWS[0] if name != text_field]
    with open_documents(path, text_field=text_field, batch_documents=most) as reader:
        takers = {name: field_of(reader, name) for name in wanted}
        found = {name: [] for name in wanted}
        for batch in reader:
            for name, take in takers.items():
                found[name] += take(batch)
    plain = suffix in (".csv", ".tsv")
    for name in wanted:
        assert found[name] == [str(row[name]) if plain else row[name] for row in ROWS]


def test_a_row_is_parsed_once_for_all_fields(tmp_path, monkeypatch):
    path, parsed, loads = write(tmp_path / "in.jsonl"), [], json.loads
    monkeypatch.setattr(json, "loads", lambda line: parsed.append(line) or loads(line))
    with open_documents(path) as reader:
        batch = next(reader)
        for name in ("id", "label", "more"):
            assert field_of(reader, name)(batch) == [row[name] for row in ROWS]
    assert len(parsed) == len(ROWS)
    assert not any("quoted" in line for line in parsed)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
def test_a_missing_field(tmp_path, suffix):
    with open_documents(write(tmp_path / f"in{suffix}")) as reader:
        # Of Parquet they surely are names.
        told = "its columns: id, " if suffix == ".parquet" else r"it has 4 \w+s"
        with pytest.raises(InputError, match=rf"has no (column|field) nothing; {told}") as error:
            field_of(reader, "nothing")(next(reader))
        assert "quoted" not in str(error.value)


def test_the_text_itself_and_plain_text(tmp_path):
    with (
        open_documents(write(tmp_path / "in.csv")) as reader,
        pytest.raises(InputError, match="is the text itself"),
    ):
        field_of(reader, "text")
    (tmp_path / "in.txt").write_text("one\n")
    with (
        open_documents(tmp_path / "in.txt") as reader,
        pytest.raises(InputError, match="plain text and has no field label"),
    ):
        field_of(reader, "label")


def jsonl(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_labels_are_as_the_file_spells_them(tmp_path):
    values = ['"good"', "1", "0", "true", "2.5", '""']
    path = jsonl(tmp_path, *(f'{{"text": "x", "label": {value}}}' for value in values))
    with open_documents(path) as reader:
        found = labels_of(reader, "label")(next(reader))
    assert found == ["good", "1", "0", "true", "2.5", ""]


@pytest.mark.parametrize(
    ("value", "take", "message"),
    [
        ("null", labels_of, "row 2 of .* neither a string nor a number"),
        (f'["{MARKER}"]', labels_of, "row 2 of .* neither a string nor a number"),
        ("5", lambda r, n: strings_of(r, n, "a second sentence"), "row 2 of .* not a string"),
        ("null", lambda r, n: strings_of(r, n, "a second sentence"), "row 2 of .* not a string"),
        ("9" * 5000, labels_of, "row 2 of .* too long"),
    ],
    ids=["null", "list", "number as text", "null as text", "an endless number"],
)
def test_values_that_cannot_be_used(tmp_path, value, take, message):
    path = jsonl(
        tmp_path, '{"label": "a", "text": "x"}', f'{{"text": "{MARKER}", "label": {value}}}'
    )
    with open_documents(path) as reader:
        taker = take(reader, "label")
        with pytest.raises(InputError, match=message) as error:
            taker(next(reader))
    assert MARKER not in str(error.value)
