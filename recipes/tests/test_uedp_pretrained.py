"""The UeDP recipe with pretrained models in the place of GPT-2 and BERT."""

from dataclasses import replace
from pathlib import Path

import pytest

from discreet import devices
from discreet.errors import InvalidValue, NotFound
from discreet.report.claims import VERDICTS
from discreet_recipes.uedp import data as corpora
from discreet_recipes.uedp import pretrained, pretrained_pages
from discreet_recipes.uedp import run as uedp
from discreet_recipes.uedp.sizes import PAPER
from second_device import second_device
from small_data import is_kept
from small_news import SIZE, in_bonn, silent, write_news
from tiny_bert import MARKS, write_bert
from tiny_causal import llama, save_model


@pytest.fixture
def data(tmp_path):
    return write_news(tmp_path / "data")


@pytest.fixture
def small_models(tmp_path):
    """A language model and an encoder that know the words of the texts above."""
    words = ["We", "like", "the", "tea", "of", "Ada", ".", "It", "is", "in", "Bonn", "Acme", "new"]
    language = save_model(tmp_path / "language", words, llama(len(words) + 2, blocks=2))
    pieces = [*MARKS, *dict.fromkeys(word.lower() for word in words)]
    return language, write_bert(tmp_path / "encoder", head=False, pieces=pieces, dropout=0.0)


@pytest.mark.usefixtures("undrawn", "honest")
def test_pretrained_models_alone(data, small_models, tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "found_entities", in_bonn)
    monkeypatch.setattr(pretrained, "PRIVATE", replace(pretrained.PRIVATE, holders=1))
    language, encoder = map(str, small_models)
    size = replace(
        SIZE,
        model="none",
        language_model=language,
        topic_model=encoder,
        last_blocks=(1, 0),
        pretrained_steps=(1, 1),
        next_words=(10, 2, 1),
        pretrained_topics=(30, 6, 8),
        epsilons=(2.0, 1.0),
    )
    record = uedp.run(data, tmp_path / "out", size, silent)
    assert [table.name for table in record.tables] == ["next-words", "pretrained-topics"]
    words, topics = record.tables
    usual = [
        "public start",
        "noiseless",
        "de-identified",
        "certified",
        "certified",
        "user-level",
        "published-optimized",
    ]
    for table in (words, topics):
        place = table.columns.index("algorithm")
        assert [row[place] for row in table.rows] == [*usual, "certified, q_s = 0", *usual]
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        few, many = {row["numbers"] for row in rows}
        assert {few, many} == {rows[0]["numbers"], rows[-1]["numbers"]}
        assert rows[0]["numbers"] < rows[-1]["numbers"]
        certified = [row for row in rows if row["algorithm"] == "certified"]
        for row, epsilon in zip(certified, (2.0, 1.0, 2.0, 1.0), strict=True):
            assert 0.95 * epsilon < row["holds: user and entity"] <= epsilon
        published = [row for row in rows if row["algorithm"] == "published-optimized"]
        for row in published:
            assert row["claimed epsilon"] < float(row["holds: user and entity"].split()[-1])
        # Both kinds of training begin at one model.
        starts = [row["error rate"] for row in rows if row["algorithm"] == "public start"]
        assert starts[0] == starts[1]
    assert len(record.claims) == 6
    assert all(claim.verdict in VERDICTS for claim in record.claims)
    monkeypatch.setattr(pretrained.Task, "load", lambda *_: pytest.fail("loaded again"))
    assert uedp.run(data, tmp_path / "out", size, silent).tables == record.tables


def test_pretrained_models_are_on_the_device_that_was_given(data, small_models, monkeypatch):
    size = replace(SIZE, language_model=str(small_models[0]), last_blocks=(1, 0))
    monkeypatch.delenv(devices.VARIABLE, raising=False)
    monkeypatch.setattr(devices, "_may_have_one", lambda: True)
    monkeypatch.setattr(devices, "_present", lambda: ("meta",))
    with second_device():
        model = pretrained.next_words(data, size).load("core")
        assert {value.device.type for value in model.weights().values()} == {"meta"}


def test_pretrained_models_may_have_the_papers_rate(data, small_models):
    size = replace(SIZE, language_model=str(small_models[0]))
    usual, given = (
        pretrained.next_words(data, replace(size, pretrained_rate=rate)).rules("core")
        for rate in (0.0, 1e-5)
    )
    assert {rules.learning_rate for rules in given} == {1e-5}
    assert {rules.learning_rate for rules in usual} == {0.03}
    assert {rules.optimizer for rules in given} == {"adam"}
    said = pretrained.differences(replace(size, pretrained_rate=1e-5))[-1]
    assert "the rate 1e-05 in all of them" in said
    assert "Adam at 1e-5" in pretrained.differences(size)[-1]


def test_figures_that_are_near_settle_nothing():
    def better(*pairs):
        kinds = {str(i): {"a": one, "b": other} for i, (one, other) in enumerate(pairs)}
        return pretrained_pages._better(kinds, "a", "b")

    assert better((90.0, 100.0)) == better((90.0, 100.0), (50.0, 60.0)) == "holds"
    assert better((100.0, 90.0)) == better((100.0, 90.0), (99.0, 100.0)) == "does not hold"
    assert better((99.0, 100.0)) == better((100.0, 99.0)) == "not settled"
    assert better((90.0, 100.0), (100.0, 99.0)) == "holds in part"


def test_the_papers_models_must_be_named():
    with pytest.raises(InvalidValue, match="--language-model and --topic-model must be given"):
        uedp.RECIPE.require(Path(), PAPER)


@pytest.mark.parametrize("option", ["language_model", "topic_model"])
def test_a_pretrained_model_that_is_not_there_is_named_before_any_work(data, tmp_path, option):
    size = replace(SIZE, pretrained_topics=(30, 6, 8), **{option: "/none/such"})
    with pytest.raises(NotFound, match="/none/such"):
        uedp.RECIPE.run(data, tmp_path / "out", size, silent)
    assert not (tmp_path / "out").exists()


def test_some_sentences_are_the_same_of_masked_text(data):
    words = corpora.public_words("starter", 60).vocabulary
    plain, masked = (
        pretrained.some_sentences(corpora.conll(data, "train", words, ("person",), masked=how), 2)
        for how in (False, True)
    )
    assert [len(user) for user in plain] == [2] * 12
    for one, other in zip(plain, masked, strict=True):
        assert one.lengths.tolist() == other.lengths.tolist()
        assert one.cells == other.cells


def test_parts_that_are_kept_are_known_though_options_came_later(data, small_models):
    kept = uedp.RECIPE, "uedp.500-steps", "conll2003-3002-noiseless-all-plain-s1-seed1"
    uses = (*uedp._START, *uedp._BUDGET, "plain", "published")
    assert is_kept(*kept, uses)
    for option, other in (("embedding", 100), ("dropouts", (0.1, 0.3, 0.5))):
        assert not is_kept(*kept, uses, **{option: other})
    task = pretrained.next_words(data, replace(SIZE, language_model=str(small_models[0])))
    uses = (*task.uses, pretrained._RULES, pretrained._rates_of(task.name, "core"))
    kept = uedp.RECIPE, "uedp.transformers", "next-words-core-start"
    assert is_kept(*kept, uses)
    assert not is_kept(*kept, uses, pretrained_rate=1e-5)
