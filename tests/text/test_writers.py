"""An output is its input with other texts in it, and it is there whole or not at all."""

import gc
import gzip
import io
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError, InvalidValue, OutputError
from discreet.text.readers import Batch, open_documents
from discreet.text.writers import DocumentWriter

MARKER = "zanzibar"


def shout(batch: Batch) -> list[str]:
    return [text.upper() for text in batch.texts]


def nothing() -> None:
    pass


def convert(
    source: Path,
    target: Path | str,
    change: Callable[[Batch], list[str]] = shout,
    *,
    notes: Mapping[Path, bytes] = MappingProxyType({}),
    force: bool = False,
    before_finish: Callable[[], object] = nothing,
    **limits: int,
) -> None:
    """What a command does: read, change the texts, write, finish."""
    with (
        open_documents(source, **limits) as reader,
        DocumentWriter(target, reader, force=force, companions=list(notes)) as writer,
    ):
        for batch in reader:
            writer.write(batch.with_texts(change(batch)))
        before_finish()
        writer.finish(notes)


def test_nothing_is_open_when_it_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Windows demands of every file, other than the descriptor of its lock."""
    source, moved = tmp_path / "in.txt", list[str]()
    source.write_text("one\n")

    def replace(old: Path, new: Path, real: Callable[[Path, Path], None] = os.replace) -> None:
        assert [path for path in open_for_writing() if path == str(old)] == []
        moved.append(new.name)
        real(old, new)

    def open_for_writing() -> Iterator[str]:
        for each in gc.get_objects():
            # By its type: some objects of other libraries warn whoever asks for their class.
            if issubclass(type(each), io.FileIO) and not each.closed and each.writable():
                yield str(each.name)

    monkeypatch.setattr(os, "replace", replace)
    convert(source, tmp_path / "out.txt", notes={tmp_path / "note": b"{}"})
    assert moved == ["out.txt", "note"]


ROUND_TRIPS = {
    "txt": (b"one\r\n\ntwo \xc3\xa9", b"ONE\n\nTWO \xc3\x89\n"),
    "csv": (
        b'id,text,n\r\n007,"a\nb, ""c""",1.00\r\n,,"x"\r\n"p\rq",d,\r\n',
        b'id,text,n\n007,"A\nB, ""C""",1.00\n,,x\n"p\rq","D",""\n',
    ),
    "tsv": (b'text\ta,b\n"x\ty"\t\xc3\xa9\nz\t"\n"\n', b'text\ta,b\n"X\tY"\t\xc3\xa9\nZ\t"\n"\n'),
    "jsonl": (
        b'{"n":1.00,"b":12345678901234567890, "text" : "a\\u00e9\\n\\"", "l":[1e3, 0.1000]}\n'
        b'{"text": "\\ud83d\\ude00b", "u": "\\u00e9 \xc3\xa9", "f": 1.0}\r\n',
        b'{"n":1.00,"b":12345678901234567890, "text" : "A\xc3\x89\\n\\"", "l":[1e3, 0.1000]}\n'
        b'{"text": "\xf0\x9f\x98\x80B", "u": "\\u00e9 \xc3\xa9", "f": 1.0}\n',
    ),
}


@pytest.mark.parametrize("format", ROUND_TRIPS)
@pytest.mark.parametrize("batch_bytes", [1, 2**25])
@pytest.mark.parametrize("compressed", [False, True])
def test_only_the_text_changes(
    tmp_path: Path, format: str, batch_bytes: int, compressed: bool
) -> None:
    given_bytes, expected = ROUND_TRIPS[format]
    source, target = tmp_path / f"in.{format}", tmp_path / f"out.{format}"
    source.write_bytes(given_bytes)
    if compressed:
        target = target.with_name(target.name + ".gz")
    convert(source, target, batch_bytes=batch_bytes)
    written = target.read_bytes()
    assert (gzip.decompress(written) if compressed else written) == expected
    assert sorted(tmp_path.iterdir()) == sorted([source, target])


@given(st.data())
def test_csv_reads_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    mark = data.draw(st.sampled_from([",", "\t"]))
    cell = st.text(st.sampled_from("a\"\n\r,\t; 'é\u2028")) | st.sampled_from(["007", "1.0", ""])
    width = data.draw(st.integers(0, 3))
    rows = data.draw(st.lists(st.tuples(cell, *[cell] * width), min_size=1, max_size=5))
    quoted = [[f'"{x}"' for x in (y.replace('"', '""') for y in row)] for row in rows]
    header = ["text", *(f"c{i}" for i in range(width))]
    folder = tmp_path_factory.mktemp("csv")
    suffix = "csv" if mark == "," else "tsv"
    source, target = folder / f"in.{suffix}", folder / f"out.{suffix}"
    lines = [mark.join(line) for line in [header, *quoted]]
    source.write_bytes("\n".join(lines).encode())
    convert(source, target)
    with open_documents(target) as reader:
        (batch,) = reader
    assert reader.header == header
    assert batch.texts == [row[0].upper() for row in rows]
    assert batch.rows == [row[1:] for row in rows]


NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,3})?")


@given(st.from_regex(NUMBER, fullmatch=True), st.text(), st.text())
def test_jsonl_keeps_every_other_character(
    tmp_path_factory: pytest.TempPathFactory, number: str, other: str, text: str
) -> None:
    text = text.replace("\0", "")
    folder = tmp_path_factory.mktemp("jsonl")
    start, end = f'{{"n": {number}, "text":', f', "o": {json.dumps(other)}}}'
    (folder / "in.jsonl").write_text(f"{start}{json.dumps(text)}{end}", encoding="utf-8")
    convert(folder / "in.jsonl", folder / "out.jsonl")
    written = (folder / "out.jsonl").read_bytes().decode()
    assert written.startswith(start)
    assert written.endswith(end + "\n")
    assert json.loads(written)["text"] == text.upper()


KINDS = [
    pa.string(),
    pa.large_string(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string(), ordered=True),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("batch_documents", [7, 1000])
def test_parquet_keeps_types_and_other_columns(
    tmp_path: Path, kind: pa.DataType, batch_documents: int
) -> None:
    rows = 100
    texts = pa.array([f"text {i % 40}" for i in range(rows)])
    if pa.types.is_dictionary(kind):
        coded = texts.cast(kind.value_type).dictionary_encode()
        texts = pa.DictionaryArray.from_arrays(
            coded.indices, coded.dictionary, ordered=kind.ordered
        )
    schema = pa.schema(
        [
            pa.field("id", pa.int16(), nullable=False),
            pa.field("text", kind, nullable=False, metadata={"a": "b"}),
            pa.field("tags", pa.list_(pa.string())),
            pa.field("when", pa.timestamp("us", "UTC")),
            pa.field("kind", pa.dictionary(pa.int8(), pa.string())),
        ],
        metadata={"origin": "test"},
    )
    columns = [
        pa.array(range(rows), pa.int16()),
        texts,
        pa.array([["x"] * (i % 3) if i % 5 else None for i in range(rows)]),
        pa.array(range(rows), schema.field("when").type),
        pa.array(["u", "v"] * (rows // 2)).dictionary_encode().cast(schema.field("kind").type),
    ]
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), source, row_group_size=30)
    convert(source, target, batch_documents=batch_documents)
    before, after = pq.read_table(source), pq.read_table(target)
    assert after.schema == before.schema
    assert after.schema.metadata is None
    assert after.schema.field("text").metadata is None
    assert after["text"].to_pylist() == [text.upper() for text in before["text"].to_pylist()]
    assert after.drop(["text"]).to_pydict() == before.drop(["text"]).to_pydict()


def test_parquet_categories_make_room_for_more_texts(tmp_path: Path) -> None:
    """A hundred categories need one byte each; a thousand different texts do not fit in it."""
    few = pa.array(["a", "b"] * 500).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"text": few}), source)
    many = [f"text {i}" for i in range(1000)]
    convert(source, target, lambda _: many)
    after = pq.read_table(target)
    assert after["text"].to_pylist() == many
    assert after.schema.field("text").type == pa.dictionary(pa.int32(), pa.string())


def source_in(directory: Path, format: str) -> Path:
    path = directory / f"in.{format}"
    if format == "parquet":
        pq.write_table(pa.table({"text": ["a", "b"], "id": [1, 2]}), path)
    else:
        content = {
            "txt": "a\nb\n",
            "csv": "text,id\na,1\nb,2\n",
            "tsv": "text\tid\na\t1\nb\t2\n",
            "jsonl": '{"text":"a"}\n{"text":"b"}\n',
        }
        path.write_text(content[format])
    return path


@pytest.mark.parametrize("format", ["txt", "csv", "tsv", "jsonl", "parquet"])
def test_any_format_may_become_txt(tmp_path: Path, format: str) -> None:
    convert(source_in(tmp_path, format), tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == b"A\nB\n"


@pytest.mark.parametrize("name", ["out", "out.data", "out.gz"])
def test_without_a_known_suffix_the_format_is_the_input_s(tmp_path: Path, name: str) -> None:
    convert(source_in(tmp_path, "csv"), tmp_path / name)
    written = (tmp_path / name).read_bytes()
    assert (gzip.decompress(written) if name == "out.gz" else written) == b"text,id\nA,1\nB,2\n"


@pytest.mark.parametrize(
    ("format", "name", "message"),
    [
        ("txt", "out.csv", "would be csv but the input is txt; give the output the suffix .txt"),
        ("csv", "out.XLSX", "would be xlsx but the input is csv"),
        ("csv", "out.json", "would be json but the input is csv"),
        (
            "jsonl",
            "out.json",
            "json but the input is jsonl; give the output the suffix .jsonl",
        ),
        ("txt", "out.zip", "would be zip but the input is txt"),
        ("csv", "out.tsv", "give the output the suffix .csv, or .txt for the texts alone"),
        ("csv", "out.jsonl.gz", "would be jsonl but the input is csv"),
        ("parquet", "out.csv", "would be csv but the input is parquet"),
        ("jsonl", "out.parquet", "would be parquet but the input is jsonl"),
        ("parquet", "out.parquet.gz", "drop .gz"),
        ("parquet", "out.gz", "drop .gz"),
    ],
)
def test_other_changes_of_format_are_refused(
    tmp_path: Path, format: str, name: str, message: str
) -> None:
    source = source_in(tmp_path, format)
    with pytest.raises(OutputError) as caught:
        convert(source, tmp_path / name)
    assert message in str(caught.value)
    assert ("texts alone" in str(caught.value)) is (
        "suffix" in str(caught.value) and format != "txt"
    )
    assert list(tmp_path.iterdir()) == [source]


def test_gzip_output_says_neither_when_nor_under_which_name(tmp_path: Path) -> None:
    source = source_in(tmp_path, "txt")
    for name in ("one.txt.gz", "two.txt.gz"):
        convert(source, tmp_path / name)
    written = (tmp_path / "one.txt.gz").read_bytes()
    assert written == (tmp_path / "two.txt.gz").read_bytes()
    assert written[3] == 0  # no flags: no name, no comment
    assert written[4:8] == bytes(4)  # no time


@pytest.mark.parametrize("text", [f"{MARKER}\nb", f"{MARKER}\r", "\n"])
def test_txt_has_no_place_for_line_breaks(tmp_path: Path, text: str) -> None:
    source = source_in(tmp_path, "jsonl")
    with pytest.raises(InputError, match="document 2 holds a line break") as caught:
        convert(source, tmp_path / "out.txt", lambda _: ["a\rb", text])
    assert MARKER not in str(caught.value)
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("format", ["txt", "csv", "jsonl", "parquet"])
@pytest.mark.parametrize("character", ["\ud800", "\0"])
def test_what_cannot_be_read_back_is_not_written(
    tmp_path: Path, format: str, character: str
) -> None:
    source = source_in(tmp_path, format)
    with pytest.raises(OutputError, match="document 2 has a text with NUL or half") as caught:
        convert(source, tmp_path / f"out.{format}", lambda _: ["a", MARKER + character])
    assert MARKER not in str(caught.value)
    assert caught.value.__context__ is None
    assert list(tmp_path.iterdir()) == [source]


def test_a_companion_appears_with_the_output(tmp_path: Path) -> None:
    source, target = source_in(tmp_path, "txt"), tmp_path / "out.txt"
    note = tmp_path / "out.txt.privacy.json"
    with (
        open_documents(source) as reader,
        DocumentWriter(target, reader, companions=[note]) as writer,
    ):
        for batch in reader:
            writer.write(batch)
        assert not target.exists()
        assert len(list(tmp_path.iterdir())) == 2  # it grows beside its place
        writer.finish({note: b"{}"})
        with pytest.raises(OutputError, match="is closed"):
            writer.write(batch)
        with pytest.raises(OutputError, match="is closed"):
            writer.finish({note: b"{}"})
    assert target.read_bytes() == b"a\nb\n"
    assert note.read_bytes() == b"{}"
    assert sorted(tmp_path.iterdir()) == sorted([source, target, note])
    plain = tmp_path / "plain"
    plain.touch()
    assert target.stat().st_mode == note.stat().st_mode == plain.stat().st_mode


def test_the_companions_are_those_announced(tmp_path: Path) -> None:
    source, target = source_in(tmp_path, "txt"), tmp_path / "out.txt"
    with open_documents(source) as reader:
        with DocumentWriter(target, reader, companions=[tmp_path / "note"]) as writer:
            with pytest.raises(InvalidValue, match="companion_files must be those announced"):
                writer.finish()
            with pytest.raises(InvalidValue, match="companion_files must be those announced"):
                writer.finish({tmp_path / "other": b""})
        with pytest.raises(InvalidValue, match="other files than the output"):
            DocumentWriter(target, reader, companions=[tmp_path / "x" / ".." / "out.txt"])
    assert list(tmp_path.iterdir()) == [source]


class Stop(BaseException):
    """As KeyboardInterrupt, which pytest would take for its own."""


@pytest.mark.parametrize("format", ["txt", "txt.gz", "csv", "csv.gz", "jsonl", "parquet"])
@pytest.mark.parametrize("when", ["before", "between", "after"])
@pytest.mark.parametrize("kind", [Stop, RuntimeError])
def test_an_exception_leaves_nothing(
    tmp_path: Path, format: str, when: str, kind: type[BaseException]
) -> None:
    source = source_in(tmp_path, format.removesuffix(".gz"))
    seen = []

    def stop() -> None:
        seen.append(sorted(path.suffix for path in tmp_path.iterdir()))
        raise kind

    def change(batch: Batch) -> list[str]:
        if (when, batch.first_row) in (("before", 1), ("between", 2)):
            stop()
        return batch.texts

    with pytest.raises(kind):
        convert(
            source,
            tmp_path / f"out.{format}",
            change,
            notes={tmp_path / "note": b"{}"},
            before_finish=stop,
            batch_documents=1,
        )
    assert seen == [sorted([".partial", source.suffix])]
    assert list(tmp_path.iterdir()) == [source]


def test_without_finish_nothing_is_written(tmp_path: Path) -> None:
    source = source_in(tmp_path, "txt")
    with open_documents(source) as reader, DocumentWriter(tmp_path / "out.txt", reader) as writer:
        for batch in reader:
            writer.write(batch)
    assert list(tmp_path.iterdir()) == [source]


def test_a_fault_in_a_later_batch_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_bytes(b"a\n" * 50 + b"\xff\n")
    with pytest.raises(InputError, match="line 51"):
        convert(source, tmp_path / "out.txt", batch_bytes=10)
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("fails", [1, 2])
@pytest.mark.parametrize("kind", [Stop, OSError])
def test_a_failing_rename_takes_back_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int, kind: type[BaseException]
) -> None:
    source, note = source_in(tmp_path, "txt"), tmp_path / "note"
    renamed: list[Path] = []
    replace = os.replace

    def failing(temporary: Path, place: Path) -> None:
        renamed.append(place)
        if len(renamed) == fails:
            raise kind(5, "Input/output error")
        replace(temporary, place)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OutputError if kind is OSError else Stop):
        convert(source, tmp_path / "out.txt", notes={note: b"{}"})
    assert renamed == [(tmp_path / "out.txt").resolve(), note.resolve()][:fails]
    assert list(tmp_path.iterdir()) == [source]


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """Files may grow to a few bytes only, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("format", ["txt", "csv.gz", "jsonl", "parquet"])
@pytest.mark.parametrize("length", [10, 500_000])  # failing at the end, and on the way
def test_a_full_disk_leaves_nothing(tmp_path: Path, format: str, length: int) -> None:
    source, target = source_in(tmp_path, format.removesuffix(".gz")), tmp_path / f"out.{format}"
    texts = [os.urandom(length).hex(), os.urandom(length).hex()]
    with pytest.raises(OutputError) as caught, disk_of(16):
        convert(source, target, lambda _: texts, notes={tmp_path / "note": b"{}"})
    assert str(target) in str(caught.value)
    assert "make room, or write elsewhere" in str(caught.value)
    assert list(tmp_path.iterdir()) == [source]


def test_a_companion_that_does_not_fit_takes_the_output_with_it(tmp_path: Path) -> None:
    source = source_in(tmp_path, "txt")
    with pytest.raises(OutputError, match="make room"), disk_of(64):
        convert(source, tmp_path / "out.txt", notes={tmp_path / "note": b"x" * 100})
    assert list(tmp_path.iterdir()) == [source]


def test_an_existing_output_is_replaced_only_by_force(tmp_path: Path) -> None:
    source, target = source_in(tmp_path, "txt"), tmp_path / "out.txt"
    note = tmp_path / "note"
    with open_documents(source) as reader:
        for existing, other in ((target, note), (note, target)):
            other.unlink(missing_ok=True)
            existing.write_text("old")
            with pytest.raises(OutputError, match=f"{existing.name} exists already; .* --force"):
                DocumentWriter(target, reader, companions=[note])
            assert existing.read_text() == "old"
        target.write_text("old")
        with DocumentWriter(target, reader, force=True, companions=[note]) as writer:
            for batch in reader:
                writer.write(batch)
            assert target.read_text() == note.read_text() == "old"
            writer.finish({note: b"new"})
    assert target.read_text() == "a\nb\n"
    assert note.read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 3


def test_an_output_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    source, target = source_in(tmp_path, "txt"), tmp_path / "out.txt"
    with pytest.raises(OutputError, match="exists already"):
        convert(
            source,
            target,
            notes={tmp_path / "note": b"{}"},
            before_finish=lambda: target.write_text("theirs"),
        )
    assert target.read_text() == "theirs"
    assert sorted(tmp_path.iterdir()) == sorted([source, target])


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "out.txt"
    link.symlink_to(tmp_path / "elsewhere" / "real.txt")
    convert(source_in(tmp_path, "txt"), link)
    assert link.is_symlink()
    assert link.read_text() == "A\nB\n"


PLACES = {
    "in.txt": "in.txt is the input itself; choose another name",
    "hard.txt": "is the input itself",
    "soft.txt": "is the input itself",
    "folder.txt": "is a directory; name a file in it",
    "none/out.txt": "is in a directory that does not exist; create it first",
    "in.txt/out.txt": "is in a directory that does not exist",
    "pipe.txt": "is not an ordinary file; use - for standard output",
    "x" * 300 + ".txt": "cannot be reached",
    "x" * 245 + ".txt": "cannot be written",  # nor can its temporary file
    "a\0.txt": "cannot be reached",
}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: repr(place[:20]))
@pytest.mark.parametrize("as_companion", [False, True])
def test_places_that_cannot_be_written_even_by_force(
    tmp_path: Path, place: str, as_companion: bool
) -> None:
    source = source_in(tmp_path, "txt")
    os.link(source, tmp_path / "hard.txt")
    (tmp_path / "soft.txt").symlink_to(source)
    (tmp_path / "folder.txt").mkdir()
    os.mkfifo(tmp_path / "pipe.txt")
    before = sorted(tmp_path.rglob("*"))
    path = tmp_path / place
    target, notes = (tmp_path / "out.txt", {path: b"{}"}) if as_companion else (path, {})
    with pytest.raises(OutputError) as caught:
        convert(source, target, notes=notes, force=True)
    assert PLACES[place] in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before
    assert source.read_text() == "a\nb\n"


class Stream:
    def __init__(self) -> None:
        self.buffer = io.BytesIO()


def test_standard_output_is_written_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, stream = source_in(tmp_path, "csv"), Stream()
    monkeypatch.setattr(sys, "stdout", stream)
    with (
        open_documents(source) as reader,
        DocumentWriter("-", reader, companions=[tmp_path / "note"]) as writer,
    ):
        for batch in reader:
            writer.write(batch)
        assert stream.buffer.getvalue() == b""
        writer.finish({tmp_path / "note": b"{}"})
    assert stream.buffer.getvalue() == source.read_bytes()
    assert list(tmp_path.iterdir()) == [source]


def test_standard_output_stays_empty_on_an_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream()
    monkeypatch.setattr(sys, "stdout", stream)

    def stop() -> None:
        raise Stop

    with pytest.raises(Stop):
        convert(source_in(tmp_path, "csv"), "-", before_finish=stop)
    assert stream.buffer.getvalue() == b""


PIPE = """
import sys
from discreet.errors import OutputError
from discreet.text.readers import open_documents
from discreet.text.writers import DocumentWriter
try:
    with open_documents("-", format=sys.argv[1]) as reader, DocumentWriter("-", reader) as writer:
        for batch in reader:
            writer.write(batch.with_texts([text.upper() for text in batch.texts]))
        writer.finish()
except OutputError as error:
    print(error, file=sys.stderr)
    sys.stdout = None
    raise SystemExit(2)
"""


def test_through_a_pipe() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PIPE, "jsonl"],
        input=b'{"a": 1.00, "text": "b"}\n' * 5,
        capture_output=True,
        check=True,
    )
    assert run.stdout == b'{"a": 1.00, "text": "B"}\n' * 5


def test_a_full_device_behind_standard_output() -> None:
    with open("/dev/full", "wb") as full:
        run = subprocess.run(
            [sys.executable, "-c", PIPE, "txt"],
            input=b"a\n" * 5,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert run.returncode == 2
    assert run.stderr.decode().startswith("standard output cannot be written (No space left")


def test_parquet_to_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream()
    monkeypatch.setattr(sys, "stdout", stream)
    convert(source_in(tmp_path, "parquet"), "-")
    stream.buffer.seek(0)
    assert pq.read_table(stream.buffer).to_pydict() == {"text": ["A", "B"], "id": [1, 2]}
