"""The advice: its tree, its trials on public text, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from command import WORDS, called, write_space
from discreet.errors import InvalidValue
from discreet.evaluation import advice
from discreet.evaluation.advice import WAYS, advise
from discreet.evaluation.bag_of_words import accuracy_of_words
from discreet.evaluation.question import PURPOSES, RECIPIENTS, Question
from discreet.spaces import EmbeddingSpace, load_space
from small_spaces import random_space

RNG = np.random.default_rng(0)
LABELS = ["first", "second"] * 30
# Two kinds of texts, told apart by their words.
TEXTS = [
    " ".join(RNG.choice(WORDS[:20] if label == "first" else WORDS[20:40], 12)) for label in LABELS
]


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    return load_space(str(write_space(tmp_path_factory.mktemp("advice") / "space.txt")))


def test_the_tree_on_the_page_leads_to_every_way_once():
    page = (Path(__file__).parents[2] / "docs" / "guides" / "which-one.md").read_text()
    names = {"nothing": "Do not release"}
    rows = [line for line in page.splitlines() if line.startswith("| ") and "**" in line]
    ways = sorted(f"**{names.get(way, way.capitalize())}**" for way in WAYS)
    assert sorted(row.split("|")[3].strip() for row in rows) == ways


@pytest.mark.parametrize("recipient", RECIPIENTS)
def test_a_model_of_ones_own_needs_no_release(space, recipient):
    found = advise(Question("model", recipient, []), space)
    assert found.way == "train"
    assert not found.trials


def test_recipients_who_are_bound_get_the_words(space):
    found = advise(Question("read", "colleagues", ["unheardof words"]), space)
    assert found.way == "redact"
    assert "-m santext" in found.command  # near words would not leave the words
    assert "not differential privacy" in found.lines()[0]
    assert "100 of 100 words would become that token" in found.why[-1]
    assert "others become the unknown token" in found.why[1]


def test_words_in_pieces_stay():
    pieces = EmbeddingSpace.from_arrays(["[UNK]", "tea", "##s"], np.eye(3), subwords=True)
    found = advise(Question("read", "colleagues"), pieces)
    assert "pieces of words stay" in found.why[1]
    assert "unknown token" not in " ".join(found.lines())


@pytest.mark.parametrize("purpose", ["read", "classify"])
def test_what_is_recommended_fulfils_both_wishes(space, purpose, monkeypatch):
    monkeypatch.setattr(
        advice, "_WORD_SETTINGS", (("santext", 0.5), ("santext", 2.5), ("santext", 60.0))
    )
    wishes = {limit: advise(Question(purpose, "vendor", TEXTS, LABELS, limit), space)
              for limit in (0.99, 0.15)}  # fmt: skip
    hidden, _, open_ = wishes[0.99].trials
    assert hidden.use < 0.3
    assert open_.use > 0.9
    assert hidden.named < 0.3
    assert open_.named > 0.95
    loose = wishes[0.99]
    assert loose.way == "sanitise"
    assert loose.chosen.named <= 0.99
    assert loose.chosen.use >= advice.LEAST_USE
    assert f"--epsilon {loose.chosen.epsilon:g}" in loose.command
    strict = wishes[0.15]
    assert (strict.way, strict.chosen, strict.command) == ("nothing", None, "")
    assert "Do not release" in strict.lines()[0]
    assert "15 are allowed" in " ".join(strict.why)


def test_search_is_measured_by_neighbours_and_by_who_is_recognised(space):
    rows = np.random.default_rng(1).standard_normal((60, 8))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    question = Question("search", "vendor", [f"text {i}" for i in range(60)])
    found = advise(question, space, embedded=lambda texts: rows[: len(texts)])
    first, *_, last = found.trials
    assert first.use < last.use
    assert last.use > 0.5
    assert first.named < last.named == 1.0
    assert last.dimension == 8  # of the encoder, which has no more
    # Vectors that find their neighbours are recognised themselves: an honest no.
    assert found.way == "nothing"
    assert "texts out of a list that he has" in found.trials[0].line()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("write", "vendor", TEXTS), "purpose of Question must be one of read"),
        (("read", "aunt", TEXTS), "recipient of Question must be one of colleagues"),
        (("classify", "vendor", TEXTS), "must have labels"),
        (("read", "vendor", TEXTS, None, 1.5), "above 0 and below 1"),
    ],
)
def test_questions_that_make_no_sense(given, says):
    with pytest.raises(InvalidValue, match=says):
        Question(*given)


def test_a_sample_that_says_nothing_is_refused(space):
    with pytest.raises(InvalidValue, match="at least 40 texts and 200 known words"):
        advise(Question("read", "vendor", TEXTS[:5]), space)
    with pytest.raises(InvalidValue, match="2 different labels"):
        advise(Question("classify", "vendor", TEXTS, ["one"] * 60), space)


def test_the_classifier_learns_what_there_is_and_nothing_else():
    rng = np.random.default_rng(2)
    offsets = np.arange(0, 4001, 10)
    labels = [str(label) for label in rng.integers(0, 2, 400)]
    nothing = accuracy_of_words(rng.integers(0, 30, 4000), offsets, labels, 30)
    assert abs(nothing.accuracy - 0.5) < 0.15  # 200 fair coins: four standard errors
    told = np.repeat([int(label) for label in labels], 10) * 15 + rng.integers(0, 15, 4000)
    assert accuracy_of_words(told, offsets, labels, 30).accuracy == 1.0


def test_the_command_recommends_a_command(tmp_path):
    space = write_space(tmp_path / "space.txt")
    public = tmp_path / "public.jsonl"
    rows = [{"body": t, "the topic": y} for t, y in zip(TEXTS, LABELS, strict=True)]
    public.write_text("".join(json.dumps(row) + "\n" for row in rows))
    common = ("advise", public, "--purpose", "classify", "--most-named", "0.99")
    fields = ("--text-field", "body", "--label-field", "the topic")
    done = called(*common, *fields, "--space", space, "--json", cache=tmp_path)
    assert done.code == 0, done.err
    values = json.loads(done.out)
    # With the labels, or nothing could be trained on what comes out.
    assert values["command"].endswith(" --text-field body --keep 'the topic' --drop-others")
    assert values["way"] in WAYS
    assert len(values["trials"]) == 6
    done = called("advise", "--purpose", "read", cache=tmp_path)
    assert (done.code, done.out) == (2, b"")
    assert "PUBLIC text of the same kind" in done.err
    done = called("advise", "--purpose", "model", cache=tmp_path)
    assert "discreet train user-entity" in done.out.decode()
    assert set(PURPOSES) == {"read", "classify", "search", "model"}


@pytest.mark.parametrize(("recipient", "name"), [("colleagues", "starter"), ("vendor", "english")])
def test_the_space_is_the_one_that_the_command_would_take(tmp_path, monkeypatch, recipient, name):
    def load(asked: str) -> EmbeddingSpace:
        assert asked == name
        return random_space(40)

    monkeypatch.setattr("discreet.cli.advise.load_space", load)
    done = called("advise", "--purpose", "model", "--recipient", recipient, cache=tmp_path)
    assert done.code == 0, done.err
