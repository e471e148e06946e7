"""Bad input is a table: what goes in, what is said, which exit code; and nothing is written.

Every row runs in a directory of its own. One of each kind runs as the installed command; those that
differ in nothing but a path, an option's value or a file's content call its entry point, which is
quicker.
The input holds a marker word that must not be repeated by any message.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import COMMAND, MARKER, Outcome, called, discreet, environment, write_space
from discreet.spaces.loaders import save_space
from small_spaces import random_space

GOOD = f"babax kokox {MARKER}\nkokox\n".encode()
CSV = f"id,text\n1,{MARKER} babax\n".encode()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("bad")
    write_space(directory / "space.txt")
    return directory


def one_sentence(done: Outcome, code: int, message: str) -> None:
    """A line for people that says what is wrong, with no traceback and no protected word."""
    assert done.code == code, done.err
    assert re.fullmatch(r"discreet: [^\n]+\n", done.err), done.err
    assert message in done.err
    assert "Traceback" not in done.err
    assert MARKER not in done.err.lower()
    assert done.out == b""


def files(directory: Path) -> dict[str, bytes]:
    """Everything in a directory, hidden files as well."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else b""
        for path in sorted(directory.rglob("*"))
    }


@dataclass(frozen=True)
class Row:
    """A mistake; IN and OUT in the arguments stand for the files of the row."""

    message: str
    arguments: list[str] = field(default_factory=lambda: ["IN", "-o", "OUT"])
    """Without --epsilon and --space; these are added unless they are there."""
    data: bytes | None = GOOD
    name: str = "in.txt"
    before: Callable[[Path], object] = Path.exists
    stdin: bytes = b""


def table(texts: list[str | None]) -> Callable[[Path], None]:
    return lambda directory: pq.write_table(pa.table({"text": texts}), directory / "in.parquet")


def with_options(*options: str) -> list[str]:
    return ["IN", "-o", "OUT", *options]


def content(message: str, data: bytes, name: str = "in.txt") -> Row:
    return Row(message, data=data, name=name)


def option(message: str, *options: str, **more: object) -> Row:
    return Row(message, with_options(*options), **more)


def plus(message: str, *options: str, **more: object) -> Row:
    return option(message, "-m", "santext-plus", *options, **more)


ROWS = {
    # -- the input
    "missing file": Row("does not exist", data=None),
    "a directory, and an output that is none": Row(
        "has the name of a file", data=None, before=lambda d: (d / "in.txt").mkdir()
    ),
    "an empty directory": Row(
        "names no files", data=None, name="in", before=lambda d: (d / "in").mkdir()
    ),
    "a device that fails": Row(
        "cannot be read", ["/proc/self/mem", "-o", "OUT", "--format", "txt"], data=None
    ),
    "no suffix": Row("no suffix that says its format", name="in"),
    "no folder": Row("there is no file or folder", name="in", data=None),
    "unknown format": Row("must be one of txt", with_options("--format", "doc")),
    "unknown column": Row(
        "has no column review; it has 2 columns, not named here",
        with_options("--text-field", "review"),
        data=CSV,
        name="in.csv",
    ),
    "a csv without a header": Row(
        "not named here because a name may be text",
        data=f"1,{MARKER} babax\n".encode(),
        name="in.csv",
    ),
    "a csv without a header, of single words": content(
        "it has 2 columns", f"{MARKER},babax\nkokox,babax\n".encode(), "in.csv"
    ),
    "a column in other capitals": content(
        "column 1 of its 2 differs only in capitals", f"TEXT,{MARKER}\na,b\n".encode(), "in.csv"
    ),
    "two columns of one name": Row("have the same name", data=b"text,text\na,b\n", name="in.csv"),
    "a row too short": content("the row at line 3", CSV + f"{MARKER}\n".encode(), "in.csv"),
    "an open quote": content("is malformed", CSV + f'2,"{MARKER}\n'.encode(), "in.csv"),
    "empty file": Row("holds no documents", data=b""),
    "only a header": content("holds no documents", b"id,text\n", "in.csv"),
    "nothing piped in": Row("standard input holds no documents", ["-", "-o", "OUT"], stdin=b""),
    "a field of lines that are piped in": Row(
        "plain text, which has no fields: say what it is (--format csv",
        ["-", "-o", "OUT", "--text-field", "text"],
        stdin=CSV,
    ),
    "a field of a text file": option("plain text, which has no fields", "--text-field", "text"),
    "a field of what is called plain": option(
        "plain text, which has no fields",
        "--text-field",
        "text",
        "--format",
        "txt.gz",
        name="a.csv",
    ),
    "invalid UTF-8": Row("line 2 of", data=f"babax\n{MARKER} caf".encode() + b"\xe9\n"),
    "UTF-16": content("save the file as UTF-8", GOOD.decode().encode("utf-16")),
    "NUL bytes": content("holds a NUL byte", f"{MARKER}\0babax\n".encode()),
    "a line of 10 MB": Row(
        "line 2 of", data=b"babax\n" + MARKER.encode() * (10 * 2**20 // len(MARKER)) + b"\n"
    ),
    "not a JSON object": content("line 2", b'{"text":"babax"}\n["zanzibar"]\n', "in.jsonl"),
    "broken JSON": content("line 1", f'{{"text": "{MARKER}'.encode(), "in.jsonl"),
    "a text that is null": Row(
        "is not a string", data=f'{{"text": null, "x": "{MARKER}"}}\n'.encode(), name="in.jsonl"
    ),
    "a null in Parquet": Row(
        "row 2 of", data=None, name="in.parquet", before=table([MARKER, None])
    ),
    "not Parquet": Row("not an intact Parquet file", name="in.parquet"),
    "not gzip": content("is not intact gzip", GOOD, "in.txt.gz"),
    "too large for a limit": Row(
        "longer than 10 bytes", with_options("--max-document-mb", "0.00001")
    ),
    "a limit that is no number": Row(
        "--max-document-mb must be", with_options("--max-document-mb", "nan")
    ),
    # -- epsilon
    "epsilon 0": option("--epsilon must be a finite number above 0", "-e", "0"),
    "epsilon below 0": option("got -1", "-e", "-1"),
    "epsilon nan": option("got nan", "-e", "nan"),
    "epsilon inf": option("got inf", "-e", "inf"),
    "epsilon in words": Row("--epsilon", with_options("-e", "strong")),
    "no epsilon": Row("santext needs --epsilon", with_options("-e", "")),
    # -- mechanism, space, options
    "unknown mechanism": Row("must be one of", with_options("-m", "rot13")),
    "a helper for a mechanism": option("must be one of", "-m", "_words"),
    "--p of santext": option("--p is not an option of santext", "--p", "0.3"),
    "a list for santext": option("not an option of santext", "--sensitive-share", "0.5"),
    "p of 0": plus("--p must be", "--p", "0"),
    "a share of 0": plus("--sensitive-share must be", "--sensitive-share", "0"),
    "both lists": plus("not both", "--sensitive-share", "0.5", "--sensitive-file", "DIR/list.txt"),
    "a list without known words": plus(
        "none of its 2 lines is a word of space",
        *("--sensitive-file", "DIR/list.txt"),
        before=lambda d: (d / "list.txt").write_text(f"{MARKER}\nzanzibari\n"),
    ),
    "no such list": plus("does not exist", "--sensitive-file", "DIR/list.txt"),
    "unknown space": Row("no space of that name", with_options("-s", "DIR/nowhere.txt")),
    "broken vectors": option(
        "bad.txt",
        *("-s", "DIR/bad.txt"),
        before=lambda d: (d / "bad.txt").write_text("babax 1 2\nkokox 1 x\n"),
    ),
    "too few words": option("at least 2", "--max-words", "1"),
    "unknown layout": option("--layout must be one of", "--layout", "fancy"),
    "unknown calibration": option("must be one of", "--calibration", "mine"),
    "a seed below 0": option("--seed", "--seed", "-1"),
    "no such option": Row("no such option", with_options("--nosuch")),
    "no output": Row("missing option", ["IN"]),
    "no input": Row("missing argument", ["-o", "OUT"]),
    "two inputs": option("unexpected extra argument", "other"),
    # -- the output
    "output exists": Row(
        "exists already; choose another name, or use --force",
        before=lambda d: (d / "out.txt").write_text("precious"),
    ),
    "receipt exists": Row(
        "out.txt.privacy.json exists already",
        before=lambda d: (d / "out.txt.privacy.json").write_text("precious"),
    ),
    "output is the input": Row("is the input itself", ["IN", "-o", "IN", "--force"]),
    "output links to the input": Row(
        "is the input itself",
        with_options("--force"),
        before=lambda d: (d / "out.txt").symlink_to(d / "in.txt"),
    ),
    "no such directory": Row("in a directory that does not exist", ["IN", "-o", "DIR/no/out.txt"]),
    "output is a directory": Row("is a directory", ["IN", "-o", "DIR"]),
    "output is a device": Row("is not an ordinary file", ["IN", "-o", "/dev/full"]),
    "another format": Row("would be csv but the input is txt", ["IN", "-o", "DIR/out.csv"]),
    "a line break in txt": Row(
        "document 1 holds a line break",
        with_options("--layout", "public"),
        data=b'text\n"babax\nkokox"\n',
        name="in.csv",
    ),
}
# Of each kind one: a path, a device, a pipe, content, usage, a value, the output.
INSTALLED = {
    "missing file",
    "a device that fails",
    "nothing piped in",
    "not Parquet",
    "epsilon in words",
    "no such option",
    "output exists",
}


@pytest.mark.parametrize("name", ROWS)
def test_a_mistake_is_one_sentence_and_writes_nothing(place, tmp_path, name):
    row = ROWS[name]
    if row.data is not None:
        (tmp_path / row.name).write_bytes(row.data)
    row.before(tmp_path)
    names = {"IN": str(tmp_path / row.name), "OUT": str(tmp_path / "out.txt")}
    if row.name != "in.txt" and "--layout" not in row.arguments:
        names["OUT"] = str(tmp_path / f"out{Path(row.name).suffix}")
    arguments = [names.get(a, a).replace("DIR", str(tmp_path)) for a in row.arguments]
    if "-s" not in arguments:
        arguments += ["-s", str(place / "space.txt")]
    if "-m" not in arguments and "--mechanism" not in arguments:
        arguments += ["-m", "santext"]
    if "-e" not in arguments:
        arguments += ["-e", "2"]
    elif "" in arguments:
        del arguments[arguments.index("-e") : arguments.index("") + 1]
    if row.name.endswith(("csv", "jsonl")):
        arguments.append("--keep-others")
    before = files(tmp_path)
    if name in INSTALLED:
        done = discreet("sanitize", *arguments, cache=place / "cache", stdin=row.stdin)
    else:
        done = called("sanitize", *arguments, cache=place / "cache", stdin=row.stdin)
    one_sentence(done, 2, row.message)
    assert files(tmp_path) == before


def run(place: Path, *arguments: object, **options: object) -> Outcome:
    start = ("sanitize", "-m", "santext", "-e", 2, "-s", place / "space.txt")
    return discreet(*start, *arguments, cache=place / "cache", **options)


# -- when the machine refuses ---------------------------------------------------------------------


def test_a_full_disk_leaves_nothing(place, tmp_path):
    run(place, "-", "-o", "-", stdin=b"babax\n")  # the space is in the cache from here on
    (tmp_path / "in.txt").write_bytes(GOOD * 2000)
    before = files(tmp_path)

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    done = run(place, tmp_path / "in.txt", "-o", tmp_path / "out.txt", before=little_room)
    one_sentence(done, 2, "cannot be written (File too large)")
    assert files(tmp_path) == before


def test_a_full_standard_output(place):
    with open("/dev/full", "wb") as full:
        done = run(place, "-", "-o", "-", stdin=GOOD, stdout=full.fileno())
    one_sentence(done, 2, "standard output cannot be written (No space left on device)")


def test_a_reader_that_left(place):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run(place, "-", "-o", "-", stdin=GOOD, stdout=writing)
    finally:
        os.close(writing)
    one_sentence(done, 2, "standard output cannot be written (Broken pipe)")


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    save_space(random_space(), tmp_path / "s.safetensors")
    done = discreet("spaces", "build", tmp_path / "s.safetensors", cache=tmp_path / "file" / "in")
    one_sentence(done, 2, "Not a directory")


def test_standard_error_may_be_closed(place):
    command = f"exec {COMMAND} sanitize - -o - -e 2 -s {place / 'space.txt'} 2>&-"
    done = subprocess.run(
        ["sh", "-c", command],
        input=b"babax kokox\n",
        stdout=subprocess.PIPE,
        env=environment(place / "cache"),
        check=True,
    )
    assert len(done.stdout.split()) == 2  # the words for people did not come here instead


@pytest.mark.parametrize(
    ("number", "in_the_middle"),
    [(signal.SIGTERM, True), (signal.SIGINT, True), (signal.SIGHUP, False)],
    ids=["term", "interrupt", "hang up"],
)
def test_a_stop_leaves_nothing(place, tmp_path, number, in_the_middle):
    target, cache = tmp_path / "out.txt", tmp_path / "cache"
    process = subprocess.Popen(
        [COMMAND, "sanitize", "-", "-o", target, "-e", "2", "-s", place / "space.txt"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(cache),
    )
    process.stdin.write(GOOD * 100_000)  # more than a read takes at once, and no end in sight
    process.stdin.flush()
    wait_for(lambda: list(tmp_path.glob(".out.txt.*.partial")))
    if in_the_middle:
        wait_for(lambda: list(cache.glob("spaces/*.words")))
        time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    done = Outcome(process.returncode, out, err.decode())
    one_sentence(done, 130, "stopped; nothing was written")
    assert [path.name for path in tmp_path.iterdir()] == ([cache.name] if cache.exists() else [])


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


# -- help ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ([], "sanitize"),
        (["sanitize"], "Say of every other column (a label, a name, a date) what becomes of it"),
        (["explain"], "Reads no protected text"),
        (["spaces"], "certify"),
        (["spaces", "list"], "at hand"),
        (["spaces", "inspect"], "typical distances"),
        (["spaces", "build"], "not on any text"),
        (["spaces", "certify"], "every pair"),
    ],
    ids=lambda value: " ".join(value) or "discreet" if isinstance(value, list) else "",
)
def test_help_says_what_matters(tmp_path, command, says):
    done = called(*command, "--help", cache=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert says in " ".join(done.out.decode().split())


@pytest.mark.parametrize("command", [[], ["sanitize"]], ids=["discreet", "sanitize"])
def test_help_is_quick(tmp_path, command):
    # Processor time, not the clock: a busy machine is no failure.
    start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = discreet(*command, "--help", cache=tmp_path)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start < 3
    assert (done.code, done.err) == (0, "")


def test_without_a_command_the_help_is_shown(tmp_path):
    done = discreet(cache=tmp_path)
    assert (done.code, done.out) == (2, b"")
    assert "sanitize" in done.err
    assert discreet("--version", cache=tmp_path).lines == ["0.1.0"]
    module = [sys.executable, "-m", "discreet", "--version"]
    assert subprocess.run(module, capture_output=True, text=True, check=True).stdout == "0.1.0\n"
    one_sentence(called("nosuch", cache=tmp_path), 2, "no such command 'nosuch'")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["sanitise", "in.txt"], "no such command 'sanitise' (did you mean sanitize"),
        (["sanitize", "in.txt", "--epsilonn", "8"], " (did you mean --epsilon?); see 'discreet s"),
        (["sanitize", "in.txt", "--redable"], " (did you mean --readable?); see "),
    ],
)
def test_a_slip_of_the_pen_is_guessed_at_once(tmp_path, command, says):
    done = called(*command, cache=tmp_path)
    one_sentence(done, 2, says)
    assert done.err.lower().count("did you mean") == 1


def test_an_argument_that_is_typed_like_an_option_is_explained(tmp_path):
    done = called("ledger", "show", "--ledger", "l.db", cache=tmp_path)
    one_sentence(done, 2, "(LEDGER is given without a name: discreet ledger show LEDGER)")
    assert "did you mean" not in done.err


# The recipes are a distribution of their own, which the base install does without.
GROUPS = ["account", "attack", "train", *(["reproduce"] if find_spec("discreet_recipes") else [])]


def test_no_line_of_a_list_of_commands_is_cut_short(tmp_path):
    for group in ([], ["spaces"], *([each] for each in GROUPS)):
        assert (
            "..." not in called(*group, "--help", cache=tmp_path).out.decode().split("Commands:")[1]
        )


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_a_command_shows_its_help(tmp_path, group):
    done = called(group, cache=tmp_path)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("Usage: ")
    assert f"discreet {group} " in done.err
    one_sentence(called(group, "nosuch", cache=tmp_path), 2, "no such command 'nosuch'")


def test_help_has_no_marks_for_a_library_of_colours(tmp_path):
    for command in (["sanitize"], ["train", "map"], ["audit", "training"]):
        told = called(*command, "--help", cache=tmp_path).out.decode()
        assert "[default: " in told
        assert "\\[" not in told


def test_help_has_long_lists_of_options_in_sections(tmp_path):
    told = called("sanitize", "--help", cache=tmp_path).out.decode()
    headings = re.findall(r"^([A-Z][a-z ]+):$", told, re.MULTILINE)
    assert headings[:4] == ["Arguments", "Options", "Mechanism", "Columns"]
    assert {"Text", "Identifiers", "Ledger", "Folders and clusters"} < set(headings)
    sections = dict(
        zip(headings, re.split(r"^[A-Z][a-z ]+:$", told, flags=re.MULTILINE)[1:], strict=True)
    )
    for heading, option in [
        ("Options", "--output"),
        ("Mechanism", "--epsilon"),
        ("Columns", "--keep"),
    ]:
        assert f" {option} " in sections[heading]
        # What follows is TEXT or <str>, as the version of typer has it.
        assert len(re.findall(rf"^ .*{option} (?:TEXT|FLOAT|<)", told, re.MULTILINE)) == 1


def test_an_error_that_nobody_foresaw_is_told_by_its_kind(place, tmp_path, monkeypatch):
    """The words of a library may be those of the text."""
    (tmp_path / "in.txt").write_bytes(GOOD)

    def quotes(_self: object, texts: list[str]) -> None:
        raise KeyError(texts[0])

    monkeypatch.setattr("discreet.text.layout.TokensLayout.divided", quotes)
    given = ["sanitize", tmp_path / "in.txt", "-o", tmp_path / "out.txt", "-m", "santext"]
    given += ["--space", place / "space.txt", "--epsilon", "1"]
    done = called(*given, cache=tmp_path / "cache")
    one_sentence(done, 1, "(KeyError in test_bad_input.py:")
    assert not (tmp_path / "out.txt").exists()
    monkeypatch.setenv("DISCREET_TRACEBACK", "1")
    with pytest.raises(KeyError, match=MARKER):
        called(*given, cache=tmp_path / "cache")
