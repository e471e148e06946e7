"""Every column has a fate that somebody chose, and no option is passed over in silence."""

import csv
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import MARKER, WORDS, Outcome, called, write_space

A, B, C = WORDS[:3]
EMAIL = f"{MARKER}@example.com"
ROWS = [
    {"id": "1", "body": f"{A} {MARKER}", "customer": f"{B} {MARKER} {C}", "email": EMAIL},
    {"id": "2", "body": f"{C}", "customer": f"{A}", "email": EMAIL},
    {"id": "3", "body": "", "customer": f"{MARKER}", "email": EMAIL},
]
FORMATS = ("csv", "tsv", "jsonl", "parquet")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("fates")
    write_space(directory / "space.txt")
    return directory


def write(path: Path, rows: list[dict]) -> Path:
    if path.suffix == ".parquet":
        table = pa.Table.from_pylist(rows)
        pq.write_table(table.replace_schema_metadata({"note": MARKER}), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, rows[0], delimiter="\t" if path.suffix == ".tsv" else ",")
            out.writeheader()
            out.writerows(rows)
    return path


def read(path: Path) -> list[dict]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def sanitize(place: Path, source: Path, *options: object, epsilon: float = 2) -> Outcome:
    target = source.with_name(f"out{source.suffix}")
    named = () if "-m" in options else ("-m", "santext")
    fixed = ("sanitize", source, "-o", target, "-e", epsilon, "-s", place / "space.txt")
    return called(*fixed, *named, *options, cache=place / "cache")


def output(source: Path) -> Path:
    return source.with_name(f"out{source.suffix}")


def receipt(source: Path) -> dict:
    return json.loads(Path(f"{output(source)}.privacy.json").read_text())


def refused(done: Outcome, source: Path, *says: str) -> None:
    assert done.code == 2, done.err
    assert MARKER not in done.err
    for each in says:
        assert each in done.err
    assert [path.name for path in source.parent.iterdir()] == [source.name]


# -- several texts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_each_text_field_is_sanitised_and_counted(place, tmp_path, format):
    source = write(tmp_path / f"in.{format}", ROWS)
    done = sanitize(
        place, source, "--text-field", "body", "--text-field", "customer", "--keep", "id",
        *("--surrogate", "email=email"),
    )  # fmt: skip
    assert done.code == 0, done.err
    written = read(output(source))
    assert [list(row) for row in written] == [["id", "body", "customer", "email"]] * 3
    assert [row["id"] for row in written] == ["1", "2", "3"]
    assert [len(row["body"].split()) for row in written] == [2, 1, 0]
    assert [len(row["customer"].split()) for row in written] == [3, 1, 1]
    assert all(re.fullmatch(r"[a-z.]+@example\.(com|org|net)", row["email"]) for row in written)
    assert MARKER.encode() not in output(source).read_bytes()
    said = receipt(source)
    assert said["counts"] == {
        "documents": 3,
        "words": 8,
        "words_of_field": {"body": 3, "customer": 5},
    }
    assert said["columns"] == {
        "id": "keep",
        "body": "sanitise",
        "customer": "sanitise",
        "email": "surrogate of type email",
    }
    assert said["input"]["text_field"] == ["body", "customer"]
    assert "may stand in the texts as well" in said["statement"]["caveats"][-1]
    assert "may stand in the texts as well" in done.err
    assert any("written as they are: id" in part for part in said["statement"]["public"])


@pytest.mark.parametrize(
    "again",
    [("-e", "1"), ("--epsilon", "1"), ("--seed", "1", "--seed", "2"), ("--force", "--force")],
)
def test_an_option_is_given_once(place, tmp_path, again):
    source = write(tmp_path / "in.csv", [{"text": MARKER}])
    refused(sanitize(place, source, *again), source, "is given twice")


@pytest.mark.parametrize(
    "command",
    [
        ["embed", "in.csv", "-o", "o.npz", "--text-field", "a", "--text-field", "b"],
        ["spaces", "inspect", "starter", "--max-words", "5", "--max-words", "9"],
        ["train", "map", "in.csv", "--text-field", "a", "--text-field", "b"],
        ["attack", "inversion", "--text-field", "a", "--text-field", "b"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_an_option_is_given_once_in_every_command(tmp_path, command):
    done = called(*command, cache=tmp_path)
    assert done.code == 2
    assert "is given twice" in done.err


# -- every column has a fate -----------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_without_a_fate_is_refused(place, tmp_path, format):
    source = write(tmp_path / f"in.{format}", ROWS)
    done = sanitize(place, source, "--text-field", "body", "--keep", "id")
    refused(done, source, "customer, email", "--drop customer --drop email", "--keep-others")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--drop-others"], ["body"]),
        (["--keep", "id", "--drop", "customer", "--drop", "email"], ["id", "body"]),
        (["--keep-others", "--drop", "email"], ["id", "body", "customer"]),
        (["--keep-others"], ["id", "body", "customer", "email"]),
    ],
    ids=" ".join,
)
def test_what_is_kept_is_kept_and_what_is_dropped_is_gone(place, tmp_path, format, options, left):
    source = write(tmp_path / f"in.{format}", ROWS)
    done = sanitize(place, source, "--text-field", "body", *options)
    assert done.code == 0, done.err
    written = read(output(source))
    assert [list(row) for row in written] == [left] * 3
    kept = [name for name in left if name != "body"]
    assert [[row[name] for name in kept] for row in written] == [
        [row[name] for name in kept] for row in ROWS
    ]
    if "customer" not in left and "email" not in left:
        assert MARKER.encode() not in output(source).read_bytes()


def test_a_lone_column_needs_no_word(place, tmp_path):
    for format in FORMATS:
        source = write(tmp_path / f"in.{format}", [{"text": A}, {"text": MARKER}])
        assert sanitize(place, source).code == 0


def test_a_field_of_a_later_row_needs_a_fate_too(place, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text(f'{{"text":"{A}"}}\n{{"text":"{A}","{MARKER}":1}}\n')
    refused(sanitize(place, source), source, "column 2 in line 2", "--drop-others")


def test_rows_do_not_tell_which_of_them_had_what_was_dropped(place, tmp_path):
    source = tmp_path / "in.jsonl"
    rest = f'"text":"{A}" , "m":[1]}}'
    source.write_text(f'{{"n":1.00,"ill":"{MARKER}",{rest}\n{{"n":1.00,  {rest}\n')
    done = sanitize(place, source, "--keep", "n", "--keep", "m", "--drop", "ill")
    assert done.code == 0, done.err
    shapes = [re.sub(r'"text":".*?"', "", row) for row in output(source).read_text().splitlines()]
    assert shapes == ['{"n":1.00, , "m":[1]}'] * 2


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--drop", "emial"], "emial"),
        (["--drop", "email", "--keep", "email"], "email is named 2 times"),
        (["--text-field", "body"], "body is named 2 times"),
        (["--drop-others"], "exclude each other"),
        (["--drop", "id,email"], "give the option once for each"),
        (["--surrogate", "email"], "COLUMN=TYPE"),
        (["--surrogate", "email=planet"], "must be one of"),
    ],
    ids=" ".join,
)
def test_a_mistake_about_columns_writes_nothing(place, tmp_path, format, options, says):
    source = write(tmp_path / f"in.{format}", ROWS)
    refused(
        sanitize(place, source, "--text-field", "body", "--keep-others", *options), source, says
    )


@pytest.mark.parametrize(
    ("header", "shown"),
    [("text,Jane Roe", "Jane Roe"), (f"text,{MARKER}@example.com", "column 2")],
)
def test_only_what_looks_like_a_name_is_repeated(place, tmp_path, header, shown):
    source = tmp_path / "in.csv"
    source.write_text(f"{header}\n{A},{B}\n")
    refused(sanitize(place, source), source, f"becomes of {shown} in")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("options", [("--drop-others",), (f"--drop={MARKER} has it", "--drop=id")])
def test_the_receipt_does_not_name_what_was_dropped(place, tmp_path, format, options):
    row = {"id": "1", "text": A, f"{MARKER} has it": "1", "column 2": "1"}
    source = write(tmp_path / f"in.{format}", [row])
    done = sanitize(place, source, *options, "--keep=column 2")
    assert done.code == 0, done.err
    assert MARKER not in json.dumps(receipt(source)) + done.err
    # In jsonl, rows may differ: what is known of columns is what was said of them.
    kept = "column 2" if format == "jsonl" else "column 4"
    left = format == "jsonl" and "--drop-others" in options
    dropped = {"every other field" if left else "2 others": "drop"}
    assert receipt(source)["columns"] == {"text": "sanitise", kept: "keep"} | dropped


def test_a_surrogate_says_nothing_of_the_value(place, tmp_path):
    # The same seed and other values, among them none at all: the same surrogates.
    made = []
    for name, email in (("a", EMAIL), ("b", "")):
        source = write(tmp_path / f"{name}.csv", [row | {"email": email} for row in ROWS])
        done = sanitize(
            place, source, "--text-field", "body", "--drop-others", "--surrogate", "email=email",
            *("--seed", 3, "--force"),
        )  # fmt: skip
        assert done.code == 0, done.err
        made.append(read(output(source)))
    assert made[0] == made[1]
    assert len({row["email"] for row in made[0]}) == 3


@pytest.mark.parametrize("options", [(), ("--keep", "ward"), ("--keep-others",)])
def test_what_a_parquet_file_holds_beside_its_rows_is_not_written(place, tmp_path, options):
    """Neither metadata nor the values of rows that were filtered out, alone or in a folder."""
    about = {"note": MARKER}
    wards = pa.array([A, B, MARKER]).dictionary_encode().slice(0, 2)
    columns = {
        "text": pa.field("text", pa.string(), metadata=about),
        "ward": pa.field("ward", wards.type, metadata=about),
        "tags": pa.field("tags", pa.list_(pa.field("element", pa.string(), metadata=about))),
    }
    table = pa.Table.from_arrays(
        [pa.array([A, B]), wards, pa.array([[C], None])], schema=pa.schema(columns.values(), about)
    )
    if not options:
        table = table.select(["text"])
    elif "ward" in options:
        table = table.select(["text", "ward"])
    source = tmp_path / "in.parquet"
    pq.write_table(table, source)
    assert MARKER.encode() in source.read_bytes()
    assert sanitize(place, source, *options).code == 0
    folder = tmp_path / "in"
    folder.mkdir()
    source.rename(folder / "in.parquet")
    assert sanitize(place, folder, *options).code == 0
    for written in (tmp_path / "out.parquet", *(tmp_path / "out").glob("*.parquet")):
        out = pq.read_table(written)
        assert out.drop_columns("text").to_pydict() == table.drop_columns("text").to_pydict()
        assert out.schema == table.schema
        assert MARKER.encode() not in written.read_bytes()


# -- a brake ---------------------------------------------------------------------------------------


def test_a_weak_setting_asks_to_be_confirmed(place, tmp_path):
    source = write(tmp_path / "in.csv", [{"text": A}])
    done = sanitize(place, source, epsilon=800)
    refused(done, source, "a word stays as it is with probability over 0.99", "--yes-weak")
    done = sanitize(place, source, "--yes-weak", epsilon=800)
    assert done.code == 0
    assert "most of the text comes out as it was" in done.err


def test_a_statement_that_says_nothing_asks_too(place, tmp_path):
    source = write(tmp_path / "in.csv", [{"text": A}])
    options = ("-m", "laplace", "--clip", "0.001")
    refused(sanitize(place, source, *options, epsilon=21), source, "any two words", "--yes-weak")
    assert sanitize(place, source, *options, epsilon=1).code == 0


def test_another_delimiter_goes_in_and_out(place, tmp_path):
    source = write(tmp_path / "in.csv", ROWS)
    source.write_text(source.read_text().replace(",", ";"))
    given = ("--text-field", "body", "--keep", "id", "--drop-others")
    refused(sanitize(place, source, *given), source, "add --delimiter ';'")
    done = sanitize(place, source, *given, "--delimiter", ";")
    assert done.code == 0, done.err
    assert output(source).read_text().startswith("id;body\n1;")


def test_another_encoding_is_read_and_utf_8_is_written(place, tmp_path):
    source = tmp_path / "in.csv"
    source.write_bytes(f"né,text\nö,{A}\n".encode("utf-16"))
    given = ("--keep-others", "--encoding", "utf-16")
    refused(sanitize(place, source, *given[:1]), source, "name its --encoding, such as utf-16")
    done = sanitize(place, source, *given)
    assert done.code == 0, done.err
    assert output(source).read_text("utf-8").startswith("né,text\nö,")
