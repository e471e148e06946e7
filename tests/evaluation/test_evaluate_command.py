"""``discreet evaluate --privacy`` as a person would run it, on a small file of vectors."""

import json
import sys
from importlib import import_module

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from discreet.cli import _choice
from discreet.cli._settings import takes_settings
from discreet.errors import DiscreetError, InputError, InvalidValue, MissingExtra, OutputError
from discreet.evaluation.privacy import output_privacy, word_privacy
from discreet.mechanisms.word import NearWords, SanText
from discreet.release.strength import best_guess
from discreet.report.histograms import Histogram, plot_histograms
from discreet.spaces import load_space

# By its name: in the package the function of that name stands before the module.
command = import_module("discreet.cli.evaluate")

WORDS = ["tea", "cup", "sea", "ship", "the", "of", "doctor", "nurse", "monday", "friday"]
FIGURES = {"keep", "options", "inputs", "guess", "published_options", "published_inputs"}
SPREAD = ["mean", "lowest", "lower_quarter", "median", "upper_quarter", "highest"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def vectors(tmp_path):
    """A space of ten words and, added when it is read, one for unknown words."""
    rows = np.random.default_rng(3).standard_normal((len(WORDS), 3))
    path = tmp_path / "tiny.txt"
    with path.open("w") as file:
        for word, row in zip(WORDS, rows, strict=True):
            print(word, *(f"{x:.5f}" for x in row), file=file)
    return path


@pytest.fixture
def run(vectors):
    app = typer.Typer()
    app.command()(takes_settings(command.evaluate))

    def invoke(*arguments, space=vectors):
        given = [*map(str, arguments)]
        named = [] if {"-m", "--mechanism"} & set(given) else ["-m", "santext"]
        return CliRunner().invoke(app, ["--space", str(space), *named, *given])

    return invoke


def figures(result) -> dict:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_json_holds_what_a_program_needs(run, vectors):
    values = figures(run("--privacy", "--epsilon", 2, "--calibration", "published", "--json"))
    assert set(values) == {"discreet", "mechanism", "space", "statement", "privacy"}
    assert values["mechanism"] == {
        "name": "santext",
        "epsilon": 2.0,
        "calibration": "published",
        "kappa": 1.0,
    }
    assert values["space"]["words"] == 11
    assert values["space"]["fingerprint"] == load_space(vectors).fingerprint
    assert values["statement"]["epsilon"] == 2.0
    found = values["privacy"]
    assert set(found) == FIGURES | {
        "mass",
        "sample",
        "prior",
        "informed_guess",
        "exact",
        "runs",
    }
    assert found["informed_guess"] is None  # SanText knows none
    assert found["mass"] == 0.95
    assert found["prior"] == "uniform"
    assert found["exact"] == {"words": True, "outputs": True}
    assert found["runs"] == {"words": 1000, "outputs": 1000}
    assert found["sample"] == {
        "source": "vocabulary",
        "words": 11,
        "occurrences": 11,
        "unknown": 0,
        "outputs": 1000,
    }
    for name in FIGURES:
        assert list(found[name]) == SPREAD
        ordered = [found[name][key] for key in SPREAD[1:]]
        assert ordered == sorted(ordered)
        assert ordered[0] <= found[name]["mean"] <= ordered[-1]


def test_figures_are_those_of_the_mechanism(run, vectors):
    found = figures(
        run("--privacy", "-e", 3, "--calibration", "published", "--mass", 0.8, "--json")
    )["privacy"]
    mechanism = SanText(load_space(vectors), 3.0, calibration="published")
    words = word_privacy(mechanism, np.arange(11), mass=0.8)
    assert found["keep"]["mean"] == pytest.approx(words.keep.mean())
    assert found["options"]["mean"] == pytest.approx(words.options.mean())
    assert found["options"]["highest"] == words.options.max()
    assert found["published_options"]["lowest"] == pytest.approx(words.distinct.min())
    outputs = output_privacy(mechanism, np.arange(11), mass=0.8)
    assert found["inputs"]["lowest"] >= outputs.inputs.min()
    assert found["guess"]["highest"] in [pytest.approx(guess) for guess in outputs.guess]


def test_words_of_a_text_count_as_often_as_they_occur(run, vectors, tmp_path):
    text = tmp_path / "public.txt"
    text.write_text("Tea tea tea\ncup, zebra\n")
    arguments = (
        "--privacy",
        "-e",
        3,
        "--calibration",
        "published",
        "--public-sample",
        text,
        "--json",
    )
    values = figures(run(*arguments))["privacy"]
    space = load_space(vectors)
    keep = word_privacy(SanText(space, 3.0, calibration="published"), np.arange(11)).keep
    tea, cup, unknown = keep[space.id_of("tea")], keep[space.id_of("cup")], keep[space.unknown]
    # "," and "zebra" are not in the space.
    assert values["keep"]["mean"] == pytest.approx((3 * tea + cup + 2 * unknown) / 6)
    assert values["sample"] == {
        "source": "text",
        "words": 3,
        "occurrences": 6,
        "unknown": 2,
        "outputs": 1000,
    }
    assert values["inputs"]["highest"] > 3
    known = figures(run(*arguments, "--prior", "sample"))["privacy"]
    assert known["prior"] == "sample"
    assert known["inputs"]["highest"] <= 3, "only three words are possible"
    some = figures(run(*arguments, "--words", 4))["privacy"]
    assert some["sample"]["occurrences"] == 4


def test_text_may_be_a_column(run, tmp_path):
    table = tmp_path / "public.csv"
    table.write_text("id,review\n1,tea cup\n2,the sea\n")
    values = figures(
        run("--privacy", "-e", 3, "--public-sample", table, "--text-field", "review", "--json")
    )["privacy"]
    assert values["sample"]["words"] == 4


def test_table_for_people(run):
    result = run("--privacy", "--epsilon", 2, "--calibration", "published", "--mass", 0.9)
    assert result.exit_code == 0
    for part in (
        "santext (epsilon 2, published, kappa 1) in the space tiny (11 words)",
        "Measured on 11 words drawn from the vocabulary.",
        "median",
        "N_x   probability that x stays x",
        "S_x   outputs that cover 90 % of x",
        "S*_y  inputs that cover 90 % of y",
        "exact, from the law",
        "What is guaranteed for all:",
        "by a factor of at most exp(2 * d)",
    ):
        assert part in result.stdout
    assert not any(word in result.stdout.split() for word in ("tea", "doctor"))


def test_the_guess_by_public_frequencies_stands_beside_that_of_a_uniform_prior(run):
    given = ("-m", "near-words", "--epsilon", 8, "--words", 20, "--runs", 10)
    found = figures(run(*given, "--json", space="english"))["privacy"]
    told = run(*given, space="english").stdout
    assert found["informed_guess"] == best_guess(NearWords(load_space("english"), 8.0))
    assert found["informed_guess"] > 2 * found["guess"]["mean"]
    assert (
        f"in public, the best guess is right with probability {found['informed_guess']:.2g}."
        in (told)
    )


def test_words_draws_so_many_of_the_vocabulary_and_the_seed_chooses_them(run):
    arguments = ("--privacy", "-e", 2, "--words", 3, "--json")
    first = figures(run(*arguments, "--seed", 1))
    assert first["privacy"]["sample"]["words"] == 3
    assert figures(run(*arguments, "--seed", 1)) == first
    others = [figures(run(*arguments, "--seed", seed)) for seed in range(2, 7)]
    assert any(other["privacy"]["keep"] != first["privacy"]["keep"] for other in others)


def test_a_mechanism_without_a_formula_is_simulated_and_says_so(run, monkeypatch):
    class Hidden:
        name = "hidden"

        def __init__(self, mechanism):
            self.space, self.statement = mechanism.space, mechanism.statement
            self.release = mechanism.release

    build = _choice.WordChoice.build
    arguments = ("--privacy", "-e", 3, "--calibration", "published", "--runs", 400)
    exact = figures(run(*arguments, "--json"))["privacy"]
    monkeypatch.setattr(_choice.WordChoice, "build", lambda *a: Hidden(build(*a)))
    found = figures(run(*arguments, "--json"))["privacy"]
    assert found["exact"] == {"words": False, "outputs": False}
    assert found["runs"] == {"words": 400, "outputs": 400}
    # The mean of 11 frequencies of 400 draws: off by 0.05 less than once in 10^9 (Hoeffding).
    assert found["keep"]["mean"] == pytest.approx(exact["keep"]["mean"], abs=0.05)
    shown = run(*arguments).stdout
    assert "estimated from 400 draws of each word; S_x is a lower estimate" in shown
    assert "exact, from the law" not in shown


def image(path) -> np.ndarray:
    from matplotlib.image import imread

    return imread(path)[..., :3]


def test_plot_is_a_picture_without_need_of_colour(run, tmp_path):
    target = tmp_path / "figures.png"
    result = run("--privacy", "-e", 2, "--plot", target, "--json")
    figures(result)
    assert "Written:" in result.stderr
    assert target.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    picture = image(target)
    height, width, _ = picture.shape
    assert width > 1000
    assert height > 400
    assert (picture.max(axis=2) - picture.min(axis=2)).max() < 0.01, "grey only"
    for third in np.array_split(picture[..., 0], 3, axis=1):
        assert ((third > 0.70) & (third < 0.74)).mean() > 0.005, "each panel has bars"
        assert (third < 0.3).mean() > 0.005, "each panel has axes and labels"
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_bars_are_as_high_as_the_shares_they_stand_for(tmp_path):
    def filled(weights) -> float:
        path = tmp_path / "one.png"
        panel = Histogram("t", "a", np.array([0.1, 0.6]), np.array(weights))
        plot_histograms(path, "heading", [panel])
        columns = image(path)[..., 0]
        left = columns[:, : columns.shape[1] // 2]
        return float(((left > 0.70) & (left < 0.74)).sum())

    # The line of the median is on the right in both.
    assert filled([3, 7]) == pytest.approx(3 * filled([1, 9]), rel=0.05)


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_other_formats_of_a_plot_repeat_to_the_byte(run, tmp_path, ending, start):
    targets = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for target in targets:
        figures(run("--privacy", "-e", 2, "--plot", target, "--json"))
    assert targets[0].read_bytes().startswith(start)
    assert targets[0].read_bytes() == targets[1].read_bytes()


def test_a_plot_is_replaced_only_by_force(run, tmp_path):
    target = tmp_path / "figures.png"
    target.write_text("mine")
    refused = run("--privacy", "-e", 2, "--plot", target)
    assert isinstance(refused.exception, OutputError)
    assert target.read_text() == "mine"
    figures(run("--privacy", "-e", 2, "--plot", target, "--force", "--json"))
    assert target.read_bytes().startswith(b"\x89PNG")


def test_what_is_hidden_is_measured_whether_that_is_said_or_not(run):
    said, unsaid = (figures(run(*more, "-e", 2, "--json")) for more in (["--privacy"], []))
    assert unsaid["privacy"].keys() == said["privacy"].keys()


def test_without_matplotlib_a_plot_names_the_extra_before_anything_is_computed(
    run, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("--privacy", "-e", 2, "--plot", tmp_path / "figures.png", space="not there")
    assert isinstance(result.exception, MissingExtra)
    assert 'pip install "discreet[report]"' in str(result.exception)
    assert result.stdout == ""
    figures(run("--privacy", "-e", 2, "--json"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["--privacy"], InvalidValue, "santext needs --epsilon"),
        (
            ["--privacy", "-e", 0],
            InvalidValue,
            "--epsilon must be a finite number above 0",
        ),
        (
            ["--privacy", "-e", 2, "--mass", 0],
            InvalidValue,
            "--mass must be a finite number above 0 and",
        ),
        (["--privacy", "-e", 2, "--mass", 1], InvalidValue, "below 1; got 1.0"),
        (["--privacy", "-e", 2, "--mass", 95], InvalidValue, "below 1; got 95.0"),
        (["--privacy", "-e", 2, "--runs", 0], InvalidValue, "--runs must be a whole number of at"),
        (
            ["--privacy", "-e", 2, "--words", 0],
            InvalidValue,
            "--words must be a whole number of at",
        ),
        (["--privacy", "-e", 2, "--prior", "mine"], InvalidValue, "--prior must be one of uniform"),
        (["--privacy", "-e", 2, "--prior", "sample"], InvalidValue, "--prior sample needs"),
        (
            ["--privacy", "-e", 2, "--delta", 0.1],
            InvalidValue,
            "--delta is not an option of santext",
        ),
        (
            ["--privacy", "-e", 2, "--mechanism", "rot13"],
            InvalidValue,
            "--mechanism must be one of",
        ),
        (["--privacy", "-e", 2, "--public-sample", "gone.txt"], InputError, "gone.txt"),
        (
            ["--privacy", "-e", 2, "--public-sample", "EMPTY.txt"],
            DiscreetError,
            "no words|no documents|empty",
        ),
        (["--privacy", "-e", 2, "--plot", "out.gif"], InvalidValue, "one of png, svg, pdf"),
        (["--privacy", "-e", 2, "--plot", "NOWHERE/a/b.png"], OutputError, "cannot be written"),
    ],
)
def test_bad_input_is_an_error_and_nothing_is_written(
    run, tmp_path, monkeypatch, arguments, error, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "EMPTY.txt").write_text("\n")
    (tmp_path / "NOWHERE").write_text("a file, not a folder")
    result = run(*arguments)
    assert result.exit_code != 0
    with pytest.raises(error, match=message):
        raise result.exception
    assert result.stdout == ""
    kept = {"EMPTY.txt", "NOWHERE", "tiny.txt", "cache"}
    assert {path.name for path in tmp_path.iterdir()} <= kept
