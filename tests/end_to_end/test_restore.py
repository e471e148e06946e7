"""``discreet sanitize --identifiers`` and ``discreet restore`` as a person would run them."""

import json
import os
import stat
from pathlib import Path

import pytest

from command import MARKER, called, write_space

TEXTS = [
    f"babax Mary Smith, mail {MARKER}@kokox.example or call 415-355-2671",
    "babax Mary Smith paid $5 on 3 May 2020",
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_space(Path("space.txt"))
    Path("in.txt").write_text("\n".join(TEXTS) + "\n")
    Path("key").write_bytes(bytes(range(40)))
    Path("key").chmod(0o600)
    return tmp_path


def sanitize(place, *options, output="out.txt", run=called):
    fixed = ["-m", "santext", "--space", "space.txt", "--epsilon", "1", "--layout", "public"]
    return run("sanitize", "in.txt", "-o", output, *fixed, *options, cache=place / "cache")


def test_from_a_release_to_a_restored_answer(place):
    done = sanitize(
        place, "--identifiers", "rules", "--consistent", "document", "--keep-mapping", "map"
    )
    assert done.code == 0, done.err
    assert "Replaced 6 identifiers: 1 amount, 1 date, 1 email, 2 person, 1 phone." in done.err
    assert MARKER not in done.err
    receipt = Path("out.txt.privacy.json").read_text()
    released = Path("out.txt").read_text()
    for secret in (MARKER, "Mary Smith", "2671", "May 2020"):
        assert secret not in receipt + released
    assert json.loads(receipt)["identifiers"]["consistent"] == "document"
    assert stat.S_IMODE(os.stat("map").st_mode) == 0o600
    done = called("restore", "out.txt", "--mapping", "map", "-o", "back.txt", cache=place)
    assert done.code == 0, done.err
    assert "Put back 6 values in 2 documents." in done.err
    assert stat.S_IMODE(os.stat("back.txt").st_mode) == 0o600, "it holds what the mapping holds"
    back = Path("back.txt").read_text()
    assert " Mary Smith, " in back
    assert f"{MARKER}@kokox.example" in back
    assert "3 May 2020" in back
    done = called("restore", "out.txt", "--mapping", "map", "-o", "-", "--by-row", cache=place)
    assert done.out.decode() == back


def test_under_a_key_two_files_are_alike_and_the_key_is_nowhere(place):
    both = []
    for output in ("a.txt", "b.txt"):
        done = sanitize(place, "--identifiers", "rules", "--consistent", "key:key", output=output)
        assert done.code == 0, done.err
        both.append(Path(output).read_text().split(",")[0].split(" ", 1)[1])
        written = Path(f"{output}.privacy.json").read_bytes() + done.err.encode()
        assert bytes(range(40)) not in written
        assert b"HMAC-SHA256" in written
    assert both[0] == both[1]


BAD = {
    "key-others": (["--identifiers", "rules", "--consistent", "key:open"], "others than its owner"),
    "key-short": (["--identifiers", "rules", "--consistent", "key:short"], "needs at least 32"),
    "key-missing": (
        ["--identifiers", "rules", "--consistent", "key:no"],
        "there is no key file no",
    ),
    "consistent": (["--identifiers", "rules", "--consistent", "often"], "consistent must be none"),
    "finder": (["--identifiers", "magic"], "must be one of rules, spacy, presidio"),
    "pipeline": (["--identifiers", "spacy:no_such"], "no installed spaCy pipeline no_such"),
    "one-entry": (
        ["--identifiers", "rules", "--surrogates", "one"],
        "at least 2 different entries",
    ),
    "mapping-there": (
        ["--identifiers", "rules", "--keep-mapping", "key"],
        "exists already, and is not replaced",
    ),
    "mapping-there-force": (
        ["--identifiers", "rules", "--keep-mapping", "key", "--force"],
        "key exists already",
    ),
    "mapping-is-output": (
        ["--identifiers", "rules", "--keep-mapping", "out.txt"],
        "another file of this release",
    ),
    "mapping-nowhere": (
        ["--identifiers", "rules", "--keep-mapping", "no/map"],
        "in a directory that does not exist",
    ),
    "mapping-alone": (["--keep-mapping", "map"], "--keep-mapping belongs to --identifiers"),
    "consistent-alone": (["--consistent", "document"], "--consistent belongs to --identifiers"),
    "surrogates-alone": (["--surrogates", "one"], "--surrogates belongs to --identifiers"),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes_are_one_sentence_and_nothing_is_written(place, name):
    if name == "pipeline":
        pytest.importorskip("spacy", reason="says what is wrong about a pipeline")
    options, message = BAD[name]
    Path("open").write_bytes(bytes(40))
    Path("open").chmod(0o644)
    Path("short").write_bytes(b"x")
    Path("short").chmod(0o600)
    Path("one").write_text("Ann Lee\tperson\n")
    before = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    done = sanitize(place, *options)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert MARKER not in done.err
    assert {p.name: p.read_bytes() for p in place.iterdir() if p.is_file()} == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mapping", "no"], "there is no mapping no"),
        (["--mapping", "in.txt"], "others than its owner"),
        (["--mapping", "key"], "is not a mapping"),
    ],
)
def test_restoring_with_what_is_no_mapping(place, options, message):
    Path("in.txt").chmod(0o644)
    done = called("restore", "in.txt", "-o", "back.txt", *options, cache=place)
    assert done.code == 2
    assert message in done.err
    assert MARKER not in done.err
    assert not Path("back.txt").exists()
