"""Near words as a person would use them: sanitize, explain, audit, and what is refused."""

import json
from pathlib import Path

import pytest

from command import UNKNOWN, WORDS, called, write_space

VOCABULARY = {UNKNOWN, *WORDS}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("near-words")
    write_space(directory / "space.txt")
    (directory / "in.txt").write_text("\n".join(" ".join(WORDS[i : i + 5]) for i in range(30)))
    return directory


def run(place: Path, command: str, *arguments: object):
    given = ("-m", "near-words", "--space", place / "space.txt", *arguments)
    return called(command, *given, cache=place / "cache")


def test_text_in_text_out_with_a_receipt_that_names_the_settings(place):
    output = place / "out.txt"
    done = run(place, "sanitize", place / "in.txt", "-o", output, "-e", 3, "--outputs", 20)
    assert done.code == 0, done.err
    lines = output.read_text().splitlines()
    assert [len(line.split()) for line in lines] == [5] * 30
    assert {word for line in lines for word in line.split()} <= VOCABULARY - {UNKNOWN}
    receipt = json.loads(Path(f"{output}.privacy.json").read_text())
    assert receipt["statement"]["notion"] == "pure"
    told = receipt["mechanism"]
    assert (told["name"], told["epsilon"], told["outputs"]) == ("near-words", 3.0, 20)
    assert told["near"] >= 1


def test_explain_says_what_is_near_and_how_often_a_guess_is_right(place):
    done = run(place, "explain", "-e", 3, "--near", 3, "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert all(len(replacements) == 3 for replacements in said["examples"].values())
    assert 0 < said["guess"] < 1
    assert [step["epsilon"] for step in said["steps"]] == [6, 8, 10, 12]
    guesses = [step["guess"] for step in said["steps"]]
    assert guesses == sorted(guesses)
    shown = run(place, "explain", "-e", 8, "--near", 2).out.decode()
    assert "best guess" in shown
    assert "epsilon 8:" not in shown
    assert "epsilon 12:" in shown


def test_the_audit_passes(place):
    done = run(place, "audit", "-e", 2, "--seed", 1, "--samples", 1000)
    assert done.code == 0, done.out.decode() + done.err
    assert b"law.inequality" in done.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--near", 0), "near of NearWords must be a whole number of at least 1"),
        (("--near", 9, "--outputs", 8), "near of NearWords must be at most the number of outputs"),
        (("--outputs", 1), "outputs of NearWords must be a whole number of at least 2"),
        (("--outputs", 10**6), "outputs of NearWords must be at most"),
        (("--pool", 5), "pool of NearWords is for a guide"),
        (("--guide", "nobody"), "guide"),
        (("-e", 0), "epsilon of NearWords must be a finite number above 0"),
        (("-e", "nan"), "epsilon must be a finite number"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(place, options, told):
    output = place / "refused.txt"
    given = options if "-e" in options else ("-e", 3, *options)
    done = run(place, "sanitize", place / "in.txt", "-o", output, *given)
    assert done.code == 2
    assert told in done.err
    assert not list(place.glob("refused*"))
