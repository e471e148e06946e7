"""``discreet train rewriter`` and ``discreet rewrite`` as a person runs them."""

import json

import pytest

from command import MARKER, WORDS, called, sanitised, write_space
from discreet.ledger import Ledger

PUBLIC = "\n".join(f"{a} {b} {a}" for a, b in zip(WORDS[:20] * 10, WORDS[1:21] * 10, strict=True))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rewrite")
    write_space(folder / "space.txt")
    write_space(folder / "other.txt", seed=1)
    (folder / "public.txt").write_text(PUBLIC)
    (folder / "in.csv").write_text(
        f"label,text\n1,{WORDS[0]} {MARKER} {WORDS[1]}\n0,{WORDS[2]}\n1,\n"
    )
    outcome = called(
        *("train", "rewriter", folder / "public.txt", "-o", folder / "r.safetensors"),
        *(
            "-m",
            "santext",
            "--space",
            folder / "space.txt",
            "--epsilon",
            4,
            "--epochs",
            1,
            "--json",
        ),
        cache=folder / "cache",
    )
    assert outcome.code == 0, outcome.err
    assert "are right after rewriting" in outcome.err
    assert json.loads(outcome.out)["mechanism"]["parameters"]["epsilon"] == 4.0
    return folder


def test_the_mechanism_comes_from_the_file_and_its_statement_is_unchanged(home):
    out, plain = home / "out.csv", home / "plain.csv"
    first = called(
        *("rewrite", home / "in.csv", "-o", out, "-r", home / "r.safetensors"),
        *("--keep", "label", "--yes-weak"),
        cache=home / "cache",
    )
    assert first.code == 0, first.err
    second = called(
        *(
            "sanitize",
            home / "in.csv",
            "-o",
            plain,
            "-m",
            "santext",
            "--space",
            home / "space.txt",
            "-e",
            4,
        ),
        *("--keep", "label", "--yes-weak"),
        cache=home / "cache",
    )
    assert second.code == 0, second.err
    receipt, other = (
        json.loads((home / f"{p.name}.privacy.json").read_text()) for p in (out, plain)
    )
    assert receipt["statement"] == other["statement"]
    assert receipt["mechanism"] == other["mechanism"]
    assert receipt["space"]["fingerprint"] == other["space"]["fingerprint"]
    assert receipt["counts"] == {"documents": 3, "words": 4}
    assert receipt["rewriter"]["training"]["body"] == "bilstm"
    rows = [line.split(",") for line in out.read_text().splitlines()]
    assert [row[0] for row in rows] == ["label", "1", "0", "1"]
    assert [len(row[1].split()) for row in rows[1:]] == [3, 1, 0]
    assert {word for row in rows[1:] for word in row[1].split()} <= set(WORDS)
    assert MARKER not in out.read_text() + first.err + json.dumps(receipt)


def test_a_rewriting_is_booked_and_refused_without_budget(home, tmp_path):
    book = tmp_path / "l.db"

    def rewrite(name, *more):
        return called(
            *("rewrite", home / "in.csv", "-o", tmp_path / name, "-r", home / "r.safetensors"),
            *("--keep", "label", "--yes-weak", "--ledger", book, "--dataset", "notes", *more),
            cache=home / "cache",
        )

    first = rewrite("a.csv")
    assert first.code == 0, first.err
    again = rewrite("b.csv")
    assert (again.code, "released before" in again.err) == (3, True)
    with Ledger.open(book) as ledger:
        (entry,) = ledger.entries()
        assert (entry.command, entry.state, entry.units) == ("rewrite", "committed", 4)
        receipt = json.loads((tmp_path / "a.csv.privacy.json").read_text())
        assert entry.statement.to_dict() == receipt["ledger"]["charged"]
        assert entry.statement.epsilon == receipt["whole"]["document"]["statement"]["epsilon"]
        ledger.limit(dataset="notes", epsilon=1.5 * entry.amount.epsilon, delta=0.1)
    refused = rewrite("b.csv", "--again", "charge")
    assert (refused.code, "budget" in refused.err) == (3, True)
    assert not (tmp_path / "b.csv").exists()
    assert called("ledger", "verify", book, tmp_path / "a.csv", cache=home / "cache").code == 0


def test_text_that_is_released_already_is_refused(home, tmp_path):
    """A rewriter is trained for words that were drawn once."""
    source = sanitised(write_space(tmp_path / "in.txt"), None)
    done = called(
        *("rewrite", source, "-o", tmp_path / "out.txt", "-r", home / "r.safetensors"),
        cache=home / "cache",
    )
    assert done.code == 2
    assert "is released already" in done.err
    assert not (tmp_path / "out.txt").exists()


def test_a_seeded_run_repeats_and_says_so(home):
    runs = [
        called(
            *("rewrite", home / "in.csv", "-o", "-", "-r", home / "r.safetensors", "--seed", 1),
            *("--keep-others", "--yes-weak"),
            cache=home / "cache",
        )
        for _ in range(2)
    ]
    assert runs[0].out == runs[1].out != b""
    assert "seeded: not for release" in runs[0].err


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("missing.csv", [], "does not exist"),
        ("in.csv", ["-r", "missing.safetensors"], "there is no file"),
        ("in.csv", ["-r", "space.txt"], "is not a file that discreet wrote"),
        ("in.csv", ["--space", "other.txt"], "another space"),
        ("in.csv", ["-m", "santext", "--space", "space.txt", "-e", "5"], "epsilon 4.0"),
        ("in.csv", ["--space", "space.txt", "-e", "4", "-m", "cmp"], "not for cmp"),
        ("in.csv", ["--text-field", "body"], "body"),
    ],
)
def test_bad_input_writes_nothing(home, source, options, message):
    paths = [home / o if "." in o else o for o in options]
    rewriter = [] if "-r" in options else ["-r", home / "r.safetensors"]
    out = home / "never.csv"
    named = ("rewrite", home / source, "-o", out, "--keep-others")
    outcome = called(*named, *rewriter, *paths, cache=home / "cache")
    assert outcome.code == 2
    assert message in outcome.err
    assert MARKER not in outcome.err
    assert not list(home.glob("never*"))
    assert not list(home.glob(".*partial"))


def test_a_rewriter_is_not_replaced_and_needs_words(home):
    (home / "empty.txt").write_text("\n \n")
    arguments = ("-m", "santext", "--space", home / "space.txt", "-e", 4)
    outcome = called(
        *("train", "rewriter", home / "public.txt", "-o", home / "r.safetensors", *arguments),
        cache=home / "cache",
    )
    assert outcome.code == 2
    assert "exists already" in outcome.err
    outcome = called(
        *("train", "rewriter", home / "empty.txt", "-o", home / "new", *arguments),
        cache=home / "cache",
    )
    assert outcome.code == 2
    assert "occur twice" in outcome.err
    assert not (home / "new").exists()
