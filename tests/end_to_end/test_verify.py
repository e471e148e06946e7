"""``discreet verify``, and what a file that does not match its receipt means to others."""

import json

import pytest

from command import MARKER, called, discreet, write_space

CAVEAT = "Caveat: the noise was seeded."


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verify")
    (folder / "in.txt").write_text(f"babax {MARKER}\n")
    (folder / "in.txt").chmod(0o600)
    space = write_space(folder / "space.txt")
    run = [
        "sanitize",
        folder / "in.txt",
        "-s",
        space,
        "-m",
        "santext",
        "-e",
        8,
        "-o",
        folder / "out.txt",
        "--yes-weak",
    ]
    done = called(*run, cache=folder / "cache")
    assert done.code == 0, done.err
    return folder


def test_a_release_matches_and_says_what_holds(released):
    for name in ("out.txt", "out.txt.privacy.json"):
        done = called("verify", released / name, cache=released / "cache")
        assert done.code == 0, done.err
        assert "is what its receipt was written for" in done.lines[0]
        assert "Protects each word" in done.lines[1]
    done = discreet("verify", released / "out.txt", "--json", cache=released / "cache")
    values = json.loads(done.out)
    assert values["matches"] is True
    assert values["output"]["bytes"] == (released / "out.txt").stat().st_size


def test_a_receipt_says_by_whom_and_for_whom_if_asked(released, tmp_path):
    run = ["sanitize", released / "in.txt", "-s", released / "space.txt", "-e", 8, "--yes-weak"]
    parties = ["--operator", "Ann Roe, data office", "--recipient", "Vendor Ltd"]
    done = called(*run, "-o", tmp_path / "out.txt", *parties, cache=released / "cache")
    assert done.code == 0, done.err
    said = json.loads((tmp_path / "out.txt.privacy.json").read_text())["parties"]
    assert said == {"operator": "Ann Roe, data office", "recipient": "Vendor Ltd"}
    told = called("verify", tmp_path / "out.txt", cache=released / "cache")
    assert told.lines[1] == "Released by Ann Roe, data office for Vendor Ltd."
    assert "parties" not in json.loads((released / "out.txt.privacy.json").read_text())
    for bad in ("", "two\nlines", "x" * 201):
        done = called(*run, "-o", tmp_path / "no.txt", "--recipient", bad, cache=released / "cache")
        assert done.code == 2
        assert "the recipient must be a name on one line" in done.err
    assert not list(tmp_path.glob("no.txt*"))


@pytest.mark.parametrize(("command", "run"), [("verify", discreet), ("report", called)])
def test_a_file_that_was_changed_is_refused(released, tmp_path, command, run):
    for name in ("out.txt", "out.txt.privacy.json"):
        (tmp_path / name).write_bytes((released / name).read_bytes())
    with (tmp_path / "out.txt").open("a") as file:
        file.write("one more line\n")
    more = ["-o", tmp_path / "page.html"] if command == "report" else []
    done = run(command, tmp_path / "out.txt", *more, cache=released / "cache")
    assert (done.code, done.err.count("\n")) == (4, 1)
    assert "is not what its receipt was written for" in done.err
    assert not (tmp_path / "page.html").exists()


def _edited(raw):
    """A receipt changed by hand, in ways that leave the digest of the file as it was."""
    values = json.loads(raw)
    statement = values["statement"]
    epsilon = f'"epsilon": {statement["epsilon"]}'
    assert epsilon in raw

    def with_statement(**changes):
        return json.dumps(values | {"statement": statement | changes})

    return {
        "smaller": (4, with_statement(epsilon=0.08)),
        "larger": (4, with_statement(epsilon=80.0)),
        "one caveat more": (4, with_statement(caveats=[*statement["caveats"], "none"])),
        "without a caveat": (4, json.dumps(values | {"in_words": [*values["in_words"], CAVEAT]})),
        "nothing but words": (4, with_statement(notion="none", epsilon=None, metric=None)),
        "twice": (2, raw.replace(epsilon, f'"epsilon": 0.1, {epsilon}', 1)),
        "no number": (2, raw.replace(epsilon, '"epsilon": NaN', 1)),
        "beyond all": (2, raw.replace(epsilon, '"epsilon": Infinity', 1)),
        "below zero": (2, raw.replace(epsilon, '"epsilon": -8.0', 1)),
        "other digits": (2, raw.replace(epsilon, '"epsilon": \u0663', 1)),
        "as it was": (0, raw),
    }


def test_a_receipt_that_was_edited_here_and_there_is_refused(released, tmp_path):
    raw = (released / "out.txt.privacy.json").read_text()
    (tmp_path / "out.txt").write_bytes((released / "out.txt").read_bytes())
    for name, (code, text) in _edited(raw).items():
        (tmp_path / "out.txt.privacy.json").write_text(text)
        done = called("verify", tmp_path / "out.txt", cache=released / "cache")
        assert (name, done.code) == (name, code)


def test_no_receipt_is_another_matter(released):
    done = called("verify", released / "in.txt", cache=released / "cache")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "has no receipt" in done.err


def test_rows_with_entities_are_for_the_user_alone(released):
    (released / "list.txt").write_text("babax\n")
    out = released / "with.jsonl"
    done = called(
        "entities", released / "in.txt", "-o", out, "--gazetteer", released / "list.txt",
        cache=released / "cache",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert out.stat().st_mode & 0o777 == 0o600
