"""``discreet explain``: its numbers are those of the law, and --find leads to them."""

import json
from pathlib import Path

import numpy as np
import pytest

from command import MARKER, UNKNOWN, WORDS, Outcome, called, discreet, law, write_space
from discreet.statement import PrivacyStatement

VOCABULARY = [UNKNOWN, *WORDS]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("explain")
    write_space(directory / "space.txt")
    return directory


def explain(place: Path, *arguments: object) -> Outcome:
    space = place / "space.txt"
    named = () if "-m" in arguments or "--mechanism" in arguments else ("-m", "santext")
    return called("explain", "--space", space, *named, *arguments, cache=place / "cache")


def values(place: Path, *arguments: object) -> dict:
    done = explain(place, *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def options_of(probabilities: np.ndarray) -> np.ndarray:
    """How many words make up 95 % of each row, the likeliest first."""
    sums = np.cumsum(-np.sort(-probabilities, axis=1), axis=1)
    return (sums < 0.95 - 1e-12).sum(axis=1) + 1


@pytest.mark.parametrize("calibration", ["certified", "published"])
def test_the_numbers_are_those_of_the_law(place, calibration):
    said = values(place, "-e", 2, "--calibration", calibration)
    kappa = said["kappa"]
    assert kappa == 1.0 if calibration == "published" else 1.0 < kappa <= 2.0
    table = law(kappa)
    keep = np.diag(table)
    assert said["keep"] == pytest.approx(keep.mean(), rel=1e-5)
    assert said["keep_quartiles"] == pytest.approx(np.quantile(keep, [0.25, 0.75]), rel=1e-5)
    assert said["options"] == np.median(options_of(table))
    assert said["exact"] is True
    assert said["rate"] <= said["epsilon"] == 2
    assert PrivacyStatement.from_dict(said["statement"]).lines() == said["in_words"]
    for word, replacements in said["examples"].items():
        row = table[VOCABULARY.index(word)]
        likeliest = np.argsort(-row)[:5]
        assert [other for other, _ in replacements] == [VOCABULARY[i] for i in likeliest]
        assert [chance for _, chance in replacements] == pytest.approx(row[likeliest], rel=1e-5)


def test_find_keep_gives_the_smallest_epsilon_that_keeps_so_often(place):
    found = values(place, "--find", "keep=0.5")
    assert found["keep"] >= 0.5
    again = values(place, "-e", found["epsilon"])
    assert again["keep"] == found["keep"]
    # A little less is not enough: by more than the precision of the search and a step of the table.
    assert values(place, "-e", found["epsilon"] / 1.002)["keep"] < 0.5


def test_find_options_gives_the_smallest_epsilon_with_so_few(place):
    found = values(place, "--find", "options=3", "--calibration", "published")
    assert found["options"] <= 3
    assert np.median(options_of(law(found["kappa"]))) <= 3
    less = values(place, "-e", found["epsilon"] / 1.002, "--calibration", "published")
    assert less["options"] > 3


@pytest.mark.parametrize(
    ("wish", "part"),
    [
        ("keep", "--find must be keep=P"),
        ("keep=", "--find must be keep=P"),
        ("keep=often", "--find must be keep=P"),
        ("keep=0", "--find must be keep=P"),
        ("keep=nan", "--find must be keep=P"),
        ("keep=-1", "--find must be keep=P"),
        ("stay=0.5", "--find must be keep=P"),
        ("", "--find must be keep=P"),
        ("keep=1", "keep must be between 0 and 1"),
        ("keep=1.5", "keep must be between 0 and 1"),
        ("options=0.5", "options at least 1"),
        ("options=inf", "--find must be keep=P"),
    ],
)
def test_a_wish_that_cannot_be_read(place, wish, part):
    done = explain(place, "--find", wish)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("discreet: ")
    assert done.err.count("\n") == 1
    assert part in done.err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["-e", 2, "--find", "keep=0.5"], "not both"),
        ([], "santext needs --epsilon"),
        (["-e", 0], "must be a finite number above 0"),
        (["-e", 2, "--word", "typed"], "'typed' is not among"),
        (["-e", 2, "--word", WORDS[0].upper()], f"in small letters: '{WORDS[0]}'"),
        (["-m", "gaussian"], "gaussian needs --epsilon, --delta and --clip; --delta 1e-6 and"),
        (["-m", "gaussian"], "explain -m gaussian --delta 1e-6 --clip 1 --find keep=0.5'"),
        (["-m", "laplace", "-e", 2], "laplace needs --clip; --clip 1 will do"),
        (["-e", 2, "--public-sample", "nosuch.txt"], "does not exist"),
        (["-e", 2, "--p", 0.5], "--p is not an option of santext"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_other_mistakes(place, arguments, part):
    done = explain(place, *arguments)
    assert (done.code, done.out) == (2, b"")
    assert part in done.err
    assert MARKER not in done.err


def test_words_for_people_come_from_the_installed_command(place):
    done = discreet(
        *(
            "explain",
            "-m",
            "santext",
            "-s",
            place / "space.txt",
            "-e",
            2,
            "--word",
            "babax",
            "--word",
            "kokox",
        ),
        cache=place / "cache",
    )
    assert (done.code, done.err) == (0, "")
    said = values(place, "-e", 2, "--word", "babax", "--word", "kokox")
    assert list(said["examples"]) == ["babax", "kokox"]
    text = done.out.decode()
    for line in said["in_words"]:
        assert line in done.lines
    assert "santext in the space space (60 words) at epsilon = 2" in text
    assert f"probability {said['keep']:.3g} on average" in text
    assert f"Typically {said['options']:.0f} words share 95 %" in text
    assert f"kappa = {said['kappa']:.6g}" in text
    (line,) = (line for line in done.lines if line.startswith("  babax -> "))
    assert line.count("%") == 5


def test_a_public_sample_is_measured_instead_of_the_vocabulary(place, tmp_path):
    (tmp_path / "public.txt").write_text(f"babax babax babax kokox\n\nbabax {MARKER}\n")
    said = values(place, "-e", 2, "--public-sample", tmp_path / "public.txt")
    keep = np.diag(law(said["kappa"]))
    words = ["babax"] * 4 + ["kokox", UNKNOWN]
    expected = np.mean([keep[VOCABULARY.index(word)] for word in words])
    assert said["keep"] == pytest.approx(expected, rel=1e-5)
    assert said["keep"] != pytest.approx(keep.mean(), rel=1e-3)
    assert MARKER not in json.dumps(said)


def test_santext_plus_shows_what_it_discloses(place):
    said = values(place, "-e", 2, "-m", "santext-plus", "--sensitive-share", 0.5, "--p", 0.25)
    assert said["statement"]["notion"] == "utility-optimised metric"
    # The frequent half stays with probability 3/4, besides what the law gives the rare half.
    assert said["keep_quartiles"][1] == pytest.approx(0.75)
    assert "disclosed" in said["statement"]["scope"]


def test_the_public_sample_may_be_any_format(place, tmp_path):
    (tmp_path / "public.csv").write_text("id,review\n1,babax\n2,kokox\n")
    said = values(
        place, "-e", 2, "--public-sample", tmp_path / "public.csv", "--text-field", "review"
    )
    keep = np.diag(law(said["kappa"]))
    expected = (keep[VOCABULARY.index("babax")] + keep[VOCABULARY.index("kokox")]) / 2
    assert said["keep"] == pytest.approx(expected, rel=1e-5)


def test_find_by_simulation_says_so_and_proves_what_it_says(place):
    done = explain(place, "-m", "cmp", "--find", "keep=0.6")
    assert done.code == 0, done.err
    text = done.out.decode()
    assert "Found by simulation" in text
    assert "confidence of 99.9 %" in text
    said = values(place, "-m", "cmp", "--find", "keep=0.6")
    assert said["found"]["exact"] is False
    assert said["draws"] == 200
    # 60 words of 200 draws have a standard error below 0.005, and the proof leaves a margin.
    assert said["keep"] > 0.58
    exact = values(place, "--find", "keep=0.6")
    assert exact["found"]["exact"] is True
    assert "Found by simulation" not in explain(place, "--find", "keep=0.6").out.decode()


@pytest.mark.parametrize(
    "chosen",
    [
        ("-m", "santext", "-e", 2, "--readable"),
        ("-m", "near-words", "-e", 2, "--outputs", 8, "--public", "function-words"),
    ],
)
def test_it_states_what_a_release_with_the_same_options_states(place, tmp_path, chosen):
    (tmp_path / "notes.txt").write_text("babax the kokox\n")
    said = values(place, *chosen)["statement"]
    space, out = place / "space.txt", tmp_path / "out.txt"
    done = called(
        "sanitize", tmp_path / "notes.txt", "-o", out, "-s", space, *chosen, cache=place / "cache"
    )
    assert done.code == 0, done.err
    stated = json.loads(Path(f"{out}.privacy.json").read_text())["statement"]
    assert said == stated
    assert any("pass unchanged" in each for each in said["public"])
