"""Documents come out as they went in, and what is wrong is said without a word of the file."""

import gzip
import io
import json
import os
import re
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError, InvalidValue
from discreet.text.faults import told_names
from discreet.text.jsonl import BadLine, FieldCutter
from discreet.text.readers import Batch, open_documents

MARKER = "zanzibar"


def texts_of(path: Path | str, **options: object) -> list[str]:
    with open_documents(path, **options) as reader:
        return [text for batch in reader for text in batch.texts]


def in_chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, everything it was raised from or during, and what those carry along."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def assert_says_nothing(error: BaseException) -> None:
    for link in in_chain(error):
        assert MARKER not in str(link)
        assert MARKER not in repr(vars(link))
        assert not isinstance(link, UnicodeError | json.JSONDecodeError)  # they hold the text


TXT = [
    (b"one\ntwo\n", ["one", "two"]),
    (b"one\ntwo", ["one", "two"]),
    (b"one\r\ntwo\r\n", ["one", "two"]),
    (b"one\r", ["one"]),
    (b"one\r\r\n", ["one"]),
    (b"a\rb\n", ["a\rb"]),
    (b"one\n\nthree\n", ["one", "", "three"]),
    (b"\n", [""]),
    (b"\xef\xbb\xbfone\n", ["one"]),
    ("a\u2028b\x0bc\x0cd\x85e\x1cf\n".encode(), ["a\u2028b\x0bc\x0cd\x85e\x1cf"]),
    ("naïve 😀\n".encode(), ["naïve 😀"]),
]


@pytest.mark.parametrize(("content", "expected"), TXT)
@pytest.mark.parametrize("batch_bytes", [1, 2, 5, 2**25])
def test_txt_is_one_document_per_line(
    tmp_path: Path, content: bytes, expected: list[str], batch_bytes: int
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(content)
    assert texts_of(path, batch_bytes=batch_bytes) == expected


def test_csv_values_stay_strings_and_fields_may_hold_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'\xef\xbb\xbfid,text,n\r\n007,"a\nb, ""c""\r\nd",1.00\r\n008,,"x"\r\n\r\n')
    with open_documents(path) as reader:
        (batch,) = reader
    assert reader.header == ["id", "text", "n"]
    assert reader.text_index == 1
    assert batch == Batch(1, ['a\nb, "c"\r\nd', ""], [("007", "1.00"), ("008", "x")])


@pytest.mark.parametrize("sign", [";", "|", "tab", "\\t"])
def test_csv_may_have_another_delimiter(tmp_path: Path, sign: str) -> None:
    path, mark = tmp_path / "in.csv", "\t" if len(sign) > 1 else sign
    path.write_text(f'id{mark}text\n1{mark}a, b\n2{mark}"c{mark}d"\n')
    with open_documents(path, delimiter=sign) as reader:
        (batch,) = reader
    assert batch == Batch(1, ["a, b", f"c{mark}d"], [("1",), ("2",)])
    assert reader.shape.delimiter == mark
    with pytest.raises(
        InputError, match=re.escape(f"in.csv has {mark if mark != chr(9) else 'tabs'} between")
    ):
        open_documents(path)


def test_a_blank_line_among_rows_of_several_fields_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,text\n1,a\n\n2,b\r\n\r\n3,\n\n")
    assert texts_of(path) == ["a", "b", ""]


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "latin-1")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("batch_bytes", [1, 3, 2**25])
def test_other_encodings_are_read_as_the_same_text(
    tmp_path: Path, encoding: str, batch_bytes: int
) -> None:
    expected = ["café", "", "naïve ÿ" * 9]
    path = tmp_path / "in.csv.gz"
    lines = "".join(f'{i},"{text}"\r\n' for i, text in enumerate(expected))
    path.write_bytes(gzip.compress(f"id,text\r\n{lines}".encode(encoding)))
    assert texts_of(path, encoding=encoding, batch_bytes=batch_bytes) == expected


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("in.txt", b"x", {"delimiter": ";"}, "a delimiter is for csv, and the input is txt"),
        ("in.tsv", b"text\n", {"delimiter": ";"}, "a delimiter is for csv"),
        ("in.csv", b"text\n", {"delimiter": ";;"}, "must be a single character"),
        ("in.csv", b"text\n", {"delimiter": '"'}, "must be a single character"),
        ("in.csv", b"text\n", {"delimiter": ""}, "must be a single character"),
        ("in.csv", b"text\n", {"encoding": "klingon"}, "one that Python knows"),
        ("in.csv", b"text\n", {"encoding": "base64"}, "one that Python knows"),
        ("in.parquet", b"PAR1", {"encoding": "cp1252"}, "Parquet says itself"),
        ("in.txt", b"ab\nzanzibar\xff", {"encoding": "ascii"}, "is not valid ascii"),
        ("in.txt", b"\xff\xfeabc", {"encoding": "utf-16"}, "is not valid utf-16"),
        ("in.txt", b"\xff\xfe\x00\xd8a\x00", {"encoding": "utf-16"}, "is not valid utf-16"),
    ],
)
def test_a_wrong_delimiter_or_encoding_is_an_error(
    tmp_path: Path, name: str, content: bytes, options: dict[str, str], message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises((InputError, InvalidValue), match=message) as caught:
        texts_of(path, **options)
    assert_says_nothing(caught.value)


def test_tsv_is_split_on_tabs(tmp_path: Path) -> None:
    path = tmp_path / "in.tsv"
    path.write_text('text\tid\na, b "c"\t1\n"d\te"\t2\n')
    with open_documents(path) as reader:
        (batch,) = reader
    assert batch == Batch(1, ['a, b "c"', "d\te"], [("1",), ("2",)])


def test_jsonl_is_cut_around_the_text(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(
        '{"n":1.00, "text" : "caf\\u00e9 \\ud83d\\ude00", "m": {"text": "other"}}\r\n'
        '{"te\\u0078t": "a\\nb", "big": 12345678901234567890e400}\n \n\n'
    )
    with open_documents(path) as reader:
        (batch,) = reader
    assert batch.texts == ["café 😀", "a\nb"]
    assert batch.rows == [
        ('{"n":1.00, "text" : ', ', "m": {"text": "other"}}'),
        ('{"te\\u0078t": ', ', "big": 12345678901234567890e400}'),
    ]


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(['"', "\\", 'text"', '"text":', "text"])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.just("text"), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(max_size=5) | st.just("tex"), values, max_size=4),
    st.text(max_size=10),
    st.integers(0, 4),
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")]),
)
def test_the_quick_cut_and_the_walk_agree_with_a_json_parser(
    others: dict[str, object], text: str, place: int, ascii_only: bool, marks: tuple[str, str]
) -> None:
    others.pop("text", None)
    members = list(others.items())
    members.insert(place, ("text", text))
    line = json.dumps(dict(members), ensure_ascii=ascii_only, separators=marks)
    before, found, after = FieldCutter("text").cut(line)
    assert (before, found, after) == FieldCutter("text").walk(line)
    assert found == text
    assert json.loads(f'{before}"new"{after}') == {**others, "text": "new"}


@given(st.text(alphabet='{}[]",:\\ntexu0019-.eE \t', max_size=25))
def test_the_quick_cut_accepts_only_json(line: str) -> None:
    line = '{"text":"a",' + line
    try:
        parsed = json.loads(line)
    except ValueError:
        parsed = None
    try:
        before, _, after = FieldCutter("text").cut(line)
    except BadLine:
        return
    assert parsed is not None
    assert json.loads(f'{before}"new"{after}') == {**parsed, "text": "new"}


@pytest.mark.parametrize("number", ["1" * 5000, "1.0", "1e3", "-0.1000", "NaN", "1E+400"])
def test_numbers_of_any_shape_are_stepped_over(number: str) -> None:
    line = f'{{"n": {number}, "text": "a", "l": [{number}]}}'
    before, text, after = FieldCutter("text").cut(line)
    assert (before + '"a"' + after, text) == (line, "a")


STRINGS = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]


@pytest.mark.parametrize("kind", STRINGS, ids=str)
def test_parquet_gives_texts_and_the_other_columns(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"id": [1, 2, 3], "text": pa.array(["a", "é", ""]).cast(kind)})
    pq.write_table(table, path, row_group_size=2)
    with open_documents(path) as reader:
        (batch,) = reader
        assert reader.schema == table.schema
        assert reader.bytes_read == reader.total_bytes == path.stat().st_size
    assert batch.texts == ["a", "é", ""]
    assert batch.rows.to_pydict() == {"id": [1, 2, 3]}


def corpus(directory: Path, name: str, rows: int = 200) -> Path:
    """The same documents in any format."""
    path = directory / name
    texts = [f"text {i} " + "é" * (i % 7) for i in range(rows)]
    base = name.removesuffix(".gz").rpartition(".")[2]
    if base == "parquet":
        pq.write_table(pa.table({"id": range(rows), "text": texts}), path, row_group_size=30)
        return path
    mark = "\t" if base == "tsv" else ","
    lines = {
        "txt": texts,
        "csv": ["id,text", *(f"{i},{text}" for i, text in enumerate(texts))],
        "tsv": ["id\ttext", *(f"{i}{mark}{text}" for i, text in enumerate(texts))],
        "jsonl": [json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)],
    }[base]
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


NAMES = ["in.txt", "in.txt.gz", "in.csv", "in.csv.gz", "in.tsv", "in.tsv.gz", "in.jsonl"]
NAMES += ["in.jsonl.gz", "in.parquet"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "limits", [{"batch_bytes": 300}, {"batch_documents": 7}, {"batch_bytes": 1}]
)
def test_small_batches_hold_the_same_rows_as_one(
    tmp_path: Path, name: str, limits: dict[str, int]
) -> None:
    path = corpus(tmp_path, name)
    with open_documents(path) as reader:
        (whole,) = reader
        assert reader.bytes_read == reader.total_bytes
    with open_documents(path, **limits) as reader:
        first, *rest = reader
    assert first.first_row == 1
    assert len(rest) > 5
    row = 1
    for batch in [first, *rest]:
        assert batch.first_row == row
        assert 0 < len(batch.texts) <= limits.get("batch_documents", 60)
        row += len(batch.texts)
    assert [text for batch in [first, *rest] for text in batch.texts] == whole.texts
    if name.endswith("parquet"):
        assert pa.concat_tables([first.rows, *(batch.rows for batch in rest)]) == whole.rows
    elif not name.startswith("in.txt"):
        assert [row for batch in [first, *rest] for row in batch.rows] == whole.rows


def test_progress_grows_with_the_batches(tmp_path: Path) -> None:
    path = corpus(tmp_path, "in.txt", rows=1000)
    with open_documents(path, batch_bytes=4000) as reader:
        positions = [reader.bytes_read for _ in reader]
    assert positions == sorted(set(positions))
    assert positions[0] < positions[-1] == path.stat().st_size


def test_a_large_file_streams(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"some words that make a line of text\n" * 400_000)  # 14 MB
    tracemalloc.start()
    with open_documents(path, batch_bytes=2**18) as reader:
        documents = sum(len(batch.texts) for batch in reader)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert documents == 400_000
    assert peak < 8 * 2**20


def test_an_endless_line_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """From a pipe whose writer never ends the line and waits for us to stop reading."""
    path = tmp_path / "endless"
    os.mkfifo(path)
    sent = []

    def feed() -> None:
        try:
            with open(path, "wb", buffering=0) as pipe:
                while len(sent) < 2000:
                    sent.append(pipe.write(b"x" * 65536))
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=feed)
    thread.start()
    with open_documents(path, format="txt") as reader:
        assert reader.total_bytes is None
        with pytest.raises(InputError, match=r"line 1 of .* is longer than 4 MB"):
            next(reader)
    thread.join()
    assert sum(sent) < 8 * 2**20


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"x" * 10, None),
        (b"x" * 10 + b"\r\n", None),
        (b"\xef\xbb\xbf" + b"x" * 10 + b"\n", None),
        (b"x" * 11, 1),
        (b"a\nb\n" + b"x" * 11 + b"\nc\n", 3),
        (b"a\n" + "é".encode() * 6, 2),
    ],
)
def test_the_limit_is_on_the_bytes_of_a_line(
    tmp_path: Path, content: bytes, line: int | None
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(content)
    if line is None:
        assert texts_of(path, max_document_bytes=10) == ["x" * 10]
    else:
        with pytest.raises(InputError, match=f"^line {line} of .* is longer than 10 bytes; split"):
            texts_of(path, max_document_bytes=10)


def test_ten_megabytes_in_one_line_are_refused_unless_allowed(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"ok\n" + b"x" * 10_000_000)
    with pytest.raises(InputError, match=r"line 2 of .* 4 MB; split it, or raise --max"):
        texts_of(path)
    assert len(texts_of(path, max_document_bytes=2**24)[1]) == 10_000_000


def broken_gzip(data: bytes, position: int) -> bytes:
    packed = bytearray(gzip.compress(data))
    packed[position] ^= 0xFF
    return bytes(packed)


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="none")
    return sink.getvalue()


Z = MARKER.encode()
BAD_UTF8_COLUMN = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\3\0\0\0"), pa.py_buffer(b"a\xff\xfe")]
)
WHOLE_PARQUET = parquet(pa.table({"text": [MARKER] * 50}))
BAD = {
    "empty txt": ("in.txt", b"", "in.txt holds no documents; check"),
    "empty csv": ("in.csv", b"", "in.csv holds no documents"),
    "only a byte order mark": ("in.jsonl", b"\xef\xbb\xbf", "holds no documents"),
    "empty gz": ("in.txt.gz", gzip.compress(b""), "holds no documents"),
    "header only": ("in.csv", b"id,text\n", "holds no documents"),
    "no jsonl object": ("in.jsonl", b"\n\n", "holds no documents"),
    "no parquet row": (
        "in.parquet",
        parquet(pa.table({"text": pa.array([], "string")})),
        "holds no",
    ),
    "invalid UTF-8": (
        "in.txt",
        Z + b"\nok\nb\xff" + Z + b"\n",
        "line 3 of * is not valid UTF-8; save",
    ),
    "cut UTF-8": ("in.txt", Z + b"\n\xc3", "line 2 of * is not valid UTF-8"),
    "UTF-8 in csv": ("in.csv", b"text\n" + Z + b"\n\xff\n", "line 3 of * is not valid UTF-8"),
    "UTF-16": ("in.txt", f"a\n{MARKER}".encode("utf-16"), "line 1 of * holds a NUL byte"),
    "NUL": ("in.txt", Z + b"\n" + Z + b"\0\n", "line 2 of * holds a NUL byte"),
    "NUL in csv": ("in.csv", b"text\n" + Z + b"\0\n", "line 2 of * holds a NUL byte"),
    "unknown column": (
        "in.csv",
        b"id,body\n1," + Z + b"\n",
        "no column text; it has 2 columns, not named here",
    ),
    "no header": ("in.csv", b"I saw " + Z + b" once\n", "it has 1 column, not named here"),
    "no header, label": ("in.csv", Z + b",1\n", "it has 2 columns, not named here"),
    "blank header": (
        "in.csv",
        b"\ntext\n" + Z,
        "line 1 of * is blank; begin with a line of column",
    ),
    "same column twice": (
        "in.csv",
        b"text,a,a\n" + Z + b",1,2\n",
        "columns 2 and 3 of * the same name",
    ),
    "short row": (
        "in.csv",
        b'id,text\n1,"a\nb"\n' + Z + b"\n",
        "row at line 4 of * has 1 fields where",
    ),
    "long row": (
        "in.tsv",
        b"id\ttext\n1\ta\n2\tb\t" + Z,
        "row at line 3 of * has 3 fields * header has 2",
    ),
    "open quote": (
        "in.csv",
        b'text\nok\n"' + Z + b"\nb\n",
        "row that starts at line 3 of * malformed",
    ),
    "text after quote": ("in.csv", b'text\n"a\nb"' + Z, "row that starts at line 2 of * malformed"),
    "bare return": ("in.csv", b"text\na\r" + Z, "row that starts at line 2 of * malformed"),
    "open quote in header": ("in.csv", b'"' + Z, "row that starts at line 1 of * malformed"),
    "blank csv line": (
        "in.csv",
        b"text\na\n\n" + Z,
        'line 3 of * is blank; remove it, or write ""',
    ),
    "not gzip": ("in.txt.gz", Z, "in.txt.gz is not intact gzip data"),
    "cut gzip": ("in.txt.gz", gzip.compress(Z + b"\n")[:-9], "ends in the middle of its gzip data"),
    "gzip header": ("in.txt.gz", broken_gzip(Z, 0), "is not intact gzip data; compress it again"),
    "gzip checksum": ("in.txt.gz", broken_gzip(Z, -8), "is not intact gzip data"),
    "gzip data": ("in.csv.gz", broken_gzip(b"text\n" + Z, 10), "is not intact gzip data"),
    "not JSON": (
        "in.jsonl",
        b'{"text": "a"}\n{"text": "' + Z + b"}\n",
        "line 2 of * is not valid JSON",
    ),
    "bad escape": ("in.jsonl", b'{"text": "' + Z + b'\\x"}\n', "line 1 of * is not valid JSON"),
    "bad value": ("in.jsonl", b'{"a": ' + Z + b', "text": "a"}', "line 1 of * is not valid JSON"),
    "more after": ("in.jsonl", b'{"text": "a"} ' + Z, "line 1 of * is not valid JSON"),
    "no comma": ("in.jsonl", b'{"text": "a" "' + Z + b'": 1}', "line 1 of * is not valid JSON"),
    "JSON array": ("in.jsonl", b'["' + Z + b'"]\n', "line 1 of * is not a JSON object"),
    "JSON string": ("in.jsonl", b'"' + Z + b'"\n', "line 1 of * is not a JSON object"),
    "deep": ("in.jsonl", b'{"a":' + b"[" * 10**5 + Z, "line 1 of * is nested too deeply"),
    "no field": (
        "in.jsonl",
        b'{"body": "' + Z + b'"}',
        "line 1 of * has no field text; it has 1 field, not named here",
    ),
    "no field, and a key that is text": (
        "in.jsonl",
        b'{"body": 1, "to ' + Z + b'@example.org": 2}',
        "line 1 of * has no field text; it has 2 fields, not named here",
    ),
    "no field later": (
        "in.jsonl",
        b'{"text": "a"}\n{"' + Z + b'": 1}',
        "line 2 of * has no field text; it has 1 field, not named here",
    ),
    "nearly the column": (
        "in.csv",
        b"id,texts\n1," + Z + b"\n",
        "no column text; column 2 of its 2 is spelt nearly so",
    ),
    "no fields": ("in.jsonl", b"{}", "line 1 of * has no field text; there are no fields"),
    "field twice": (
        "in.jsonl",
        b'{"text": "a", "te\\u0078t": "' + Z + b'"}',
        "has the field text twice",
    ),
    "plain twice": ("in.jsonl", b'{"text": "a", "text": "' + Z + b'"}', "has the field text twice"),
    "null": (
        "in.jsonl",
        b'{"a": "' + Z + b'", "text": null}',
        "line 1 of * has a text that is not a str",
    ),
    "number": (
        "in.jsonl",
        b'{"text": 7}',
        "line 1 of * has a text that is not a string; make it one",
    ),
    "half a pair": (
        "in.jsonl",
        b'{"text":""}\n{"text": "\\ud800' + Z + b'"}',
        "line 2 of * half a surr",
    ),
    "escaped NUL": (
        "in.jsonl",
        b'{"text": "\\u0000' + Z + b'"}',
        "line 1 of * has a text with NUL",
    ),
    "blank JSON line": (
        "in.jsonl",
        b'{"text": "a"}\n \n{"text": "' + Z + b'"}',
        "line 2 of * is blank",
    ),
    "not parquet": (
        "in.parquet",
        Z * 9,
        "in.parquet is not an intact Parquet file; write it again",
    ),
    "empty parquet": ("in.parquet", b"", "in.parquet is not an intact Parquet file"),
    "cut parquet": ("in.parquet", WHOLE_PARQUET[:-9], "is not an intact Parquet file"),
    "holed parquet": (
        "in.parquet",
        b"PAR1" + b"\xff" * 60 + WHOLE_PARQUET[64:],
        "not an intact Parquet",
    ),
    "parquet column": (
        "in.parquet",
        parquet(pa.table({"a": [MARKER]})),
        "no column text; its columns: a",
    ),
    "parquet numbers": (
        "in.parquet",
        parquet(pa.table({"text": [1]})),
        "text of * not of a string type",
    ),
    "parquet bytes": (
        "in.parquet",
        parquet(pa.table({"text": [Z]})),
        "text of * not of a string type",
    ),
    "parquet null": (
        "in.parquet",
        parquet(pa.table({"text": [MARKER, None]})),
        "row 2 of * has no text",
    ),
    "parquet NUL": (
        "in.parquet",
        parquet(pa.table({"text": ["a", "\0" + MARKER]})),
        "row 2 of * with NUL",
    ),
    "parquet twice": (
        "in.parquet",
        parquet(pa.Table.from_arrays([pa.array([MARKER])] * 2, ["text", "text"])),
        "columns 1 and 2 of * have the same name",
    ),
    "parquet UTF-8": (
        "in.parquet",
        parquet(pa.Table.from_arrays([BAD_UTF8_COLUMN], ["text"])),
        "row 2 of * has a text that is not valid UTF-8",
    ),
}


def matches(pattern: str, message: str) -> bool:
    """Whether the parts between the stars stand in the message, in order."""
    position = 0
    for part in pattern.split(" * "):
        position = message.find(part, position)
        if position < 0:
            return False
    return True


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("batch_bytes", [1, 2**25])
def test_bad_input_is_named_and_not_repeated(tmp_path: Path, case: str, batch_bytes: int) -> None:
    name, content, message = BAD[case]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        texts_of(path, batch_bytes=batch_bytes)
    assert matches(message, str(caught.value)), str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert_says_nothing(caught.value)


def test_every_bad_file_could_have_told() -> None:
    """The check above is blind to a file without the marker; only few need none."""
    silent = {case for case, (_, content, _) in BAD.items() if Z not in content}
    compressed = {"UTF-16", "empty gz", "cut gzip", "gzip header", "gzip checksum", "gzip data"}
    nothing = {"empty txt", "empty csv", "only a byte order mark", "header only", "no jsonl object"}
    nothing |= {"no parquet row", "empty parquet", "no fields", "number"}
    assert silent <= compressed | nothing | {"parquet numbers", "parquet UTF-8"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path, "in.txt does not exist; check the path"),
        (lambda path: path.mkdir() or path, "in.txt is a directory; name a file in it"),
        (lambda path: path / "in.txt", "cannot be opened|does not exist"),
        (lambda path: str(path) + "\0.txt", "cannot be opened"),
    ],
)
def test_what_cannot_be_opened(tmp_path: Path, make: Callable[[Path], Path], message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_documents(make(tmp_path / "in.txt"))


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match="may not be read by this user; change its permissions"):
        open_documents(tmp_path / "in.txt")


@pytest.mark.parametrize("name", ["in.doc", "in", "in.gz", "txt", "in.txt.zip"])
def test_an_unknown_suffix_needs_a_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"a\n") if name.endswith(".gz") else b"a\n")
    with pytest.raises(InputError, match=r"\.txt, \.csv, \.tsv, \.jsonl .*\.gz.* and \.parquet"):
        open_documents(path)
    assert texts_of(path, format="txt") == ["a"]


def test_a_format_given_wins_over_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "IN.CSV"
    path.write_text("text\n")
    assert texts_of(path, format="txt") == ["text"]
    with pytest.raises(InvalidValue, match="format must be one of txt, csv"):
        open_documents(path, format="xml")


def test_parquet_in_gzip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="decompress it first"):
        open_documents(tmp_path / "in.parquet.gz")


def test_a_row_over_many_lines_counts_as_one_document(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text('text,id\nok,1\n"' + "zanzibar\n" * 10 + '",2\n')
    assert len(texts_of(path, max_document_bytes=90)) == 2
    for limit in (20, 89):
        with pytest.raises(
            InputError, match=r"row that starts at line 3 of .* longer than"
        ) as caught:
            texts_of(path, max_document_bytes=limit)
        assert_says_nothing(caught.value)
    path.write_text('text,id\nok,1\n"' + "é\n" * 20 + '",2\n')  # 40 characters, 60 bytes
    with pytest.raises(InputError, match="longer than 59 bytes"):
        texts_of(path, max_document_bytes=59)


def test_the_limit_of_the_csv_module_is_left_as_it_was(tmp_path: Path) -> None:
    import csv

    path = tmp_path / "in.csv"
    path.write_text("text\n" + "x" * 200_000 + "\n")
    before = csv.field_size_limit()
    assert texts_of(path) == ["x" * 200_000]
    assert csv.field_size_limit() == before


def test_a_parquet_text_above_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": ["a" * 10, "é" * 6]}), path)
    with pytest.raises(InputError, match=r"the text in row 2 of .* is longer than 10 bytes"):
        texts_of(path, max_document_bytes=10)
    assert texts_of(path, max_document_bytes=12) == ["a" * 10, "é" * 6]


class Stream:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (b"a\nb\n", None),
        (b"text\na\nb\n", "csv"),
        (b'{"text":"a"}\n{"text":"b"}\n', "jsonl"),
        (gzip.compress(b"text\tn\na\t1\nb\t2\n", mtime=0), "tsv.gz"),
    ],
)
def test_standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes, format: str | None) -> None:
    stream = Stream(data)
    monkeypatch.setattr(sys, "stdin", stream)
    with open_documents("-", format=format) as reader:
        assert [text for batch in reader for text in batch.texts] == ["a", "b"]
        assert reader.path is None
        assert reader.total_bytes is None
        assert reader.bytes_read == len(data)
    assert not stream.buffer.closed


def test_faults_of_standard_input_are_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stream(b"a\n\xff\n"))
    with pytest.raises(InputError, match=r"^line 2 of standard input is not valid UTF-8"):
        texts_of("-")
    with pytest.raises(InputError, match="Parquet cannot be read from standard input"):
        open_documents("-", format="parquet")


def test_a_batch_takes_as_many_texts_as_it_has_and_shows_none() -> None:
    batch = Batch(4, [MARKER, "b"], [(MARKER,), ("2",)])
    assert batch.with_texts(["x", "y"]) == Batch(4, ["x", "y"], [(MARKER,), ("2",)])
    with pytest.raises(InvalidValue, match="one for each of the 2 documents; got 1"):
        batch.with_texts(["x"])
    assert MARKER not in repr(batch)


def test_no_name_is_repeated_that_the_user_did_not_give() -> None:
    for names in (["id", "review"], ["zanzibar"], ["two words", "3"], [f"c{i}" for i in range(40)]):
        said = told_names(names, "text", "column")
        assert f"it has {len(names)} column" in said
        assert not any(re.search(rf"\b{re.escape(name)}\b", said) for name in names)
    assert told_names(["id", " TEXT"], "text", "column").startswith("column 2 of its 2 differs")
