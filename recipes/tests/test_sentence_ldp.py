"""The sentence-ldp recipe as a whole, on sentences of our own and a tiny encoder."""

import gzip
from dataclasses import replace
from functools import partial

import pytest

from discreet.attacks import attributes
from discreet.encoders.encoder import load_encoder
from discreet.errors import InputError, NotFound
from discreet.report.claims import VERDICTS
from discreet.training.vectors import _bottleneck
from discreet_recipes.record import Record
from discreet_recipes.sentence_ldp import run as sentence_ldp
from discreet_recipes.sentence_ldp import sizes, tuned
from discreet_recipes.sentence_ldp.attributes import Attributed
from discreet_recipes.sentence_ldp.data import load_part
from discreet_recipes.sentence_ldp.sizes import PAPER, QUICK, STANDARD
from discreet_recipes.sentence_ldp.tuned_pages import PAPER as TABLE_2
from discreet_recipes.sentence_ldp.tuned_pages import add_tuned
from small_data import is_kept, shorter, write_labelled, write_rows
from tiny_bert import bert_space, sentences, write_bert

SIZE = replace(
    QUICK,
    sst2=(60, 120, 40),
    imdb=(60, 100, 40),
    dimensions=(2, 4),
    epsilons=(2.0, 4.0, 8.0, 10.0),
    label_epsilons=(0.5, 3.0),
    attacked_epsilons=(8.0,),
    map_epochs=1,
    model_epochs=1,
    trials=2,
    attacked=30,
    tuned=(60, 40),
    tuned_public=(40, 20),
    least_words=2,
    frozen_layers=1,
    tuned_dimensions=(2, 4),
    other_dimensions=(2,),
    once_dimensions=(2,),
    tuned_seeds=(0,),
    tuned_epochs=2,
    qnli=45,
    news=110,
    authors=2,
    searched=4,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipe")
    parts = ("sst2-train", "sst2-dev", "sst2-test", "imdb-train", "imdb-val", "imdb-test")
    write_labelled(folder, dict.fromkeys((*parts, "yelp-dev"), 130))
    for half, seed in (("train", 50), ("test", 60)):
        texts, labels = sentences(120, seed)
        rows = list(zip(texts, labels, strict=True))
        groups = ({"text": t, "label": f"group {label}"} for t, label in rows)
        write_rows(folder / f"20news-{half}.jsonl.gz", groups)
        authors = ({"text": t, "author": f"author {label}"} for t, label in rows)
        write_rows(folder / f"reuters50-{half}.jsonl.gz", authors)
    pairs = ({"question": t, "sentence": t, "label": f"l{label}"} for t, label in rows)
    write_rows(folder / "qnli-dev.jsonl.gz", pairs)
    write_bert(folder / "model", head=False)
    return folder


@pytest.mark.usefixtures("undrawn", "honest")
def test_the_whole_recipe(place, tmp_path, monkeypatch):
    encoder = load_encoder(str(place / "model"))
    monkeypatch.setattr(sentence_ldp, "load_encoder", lambda _model, **_: encoder)
    monkeypatch.setattr(sentence_ldp, "encoder_space", lambda: bert_space(place / "model"))
    # Figures do not matter here.
    monkeypatch.setattr(_bottleneck, "_FEWEST_STEPS", 2)
    monkeypatch.setattr(attributes, "_EPOCHS", 2)
    said = []
    size = replace(SIZE, model=str(place / "model"), encoder=str(place / "model"))
    record = sentence_ldp.run(place, tmp_path, size, said.append)
    page = (tmp_path / "README.md").read_text()
    assert {path.stem for path in (tmp_path / "tables").iterdir()} == {
        f"{name}-{kind}"
        for name in ("sst2", "imdb")
        for kind in ("epsilon", "dimension", "labels", "attacks")
    } | {"claims", "sst2-tuned", "qnli-tuned", "attributes", "label-stages"}
    assert {path.stem for path in (tmp_path / "plots").iterdir()} == {
        f"{name}-{kind}" for name in ("sst2", "imdb") for kind in ("epsilon", "dimension")
    }
    assert len(record.claims) == 12
    assert {claim.verdict for claim in record.claims} <= set(VERDICTS[:3])
    for attack in ("membership by confidence", "words, F1"):
        assert f"| {attack} | 2 | 8 |" in page, attack
    assert "| white-box words, F1 | 16 | 8 |" in page
    # Epsilon of every epoch end to end, which is a claim, and once where released once.
    for row in (
        "| 2 | none | without noise |  |",
        "| 2 | purkayastha | end to end, as published | 20 |",
        "| 2 | planar-laplace | released once, encoder and M1 from public text | 10 |",
    ):
        assert row in page, row
    assert not list((tmp_path / "tuned").rglob("*.resume"))
    assert not any(word in page for word in ("the tea", "a cup"))
    # A second run takes everything over, without the encoder or the data.
    said.clear()
    sentence_ldp.run(place / "nowhere", tmp_path, size, said.append)
    assert said == []
    assert (tmp_path / "README.md").read_text() == page
    # Any list may be shorter, or none: what was finished is shown, and nothing claimed of the rest.
    for one in shorter(size):
        sentence_ldp.run(place / "nowhere", tmp_path, one, said.append)
    assert said == []


def test_rows_and_files_are_those_of_what_is_run():
    asked = {(each.files[0], each.option): each.most for each in sizes.rows(PAPER)}
    assert asked["sst2-train", "sst2"] == asked["sst2-train", "tuned"] == 67_349
    assert asked["imdb-train", "imdb"] == asked["imdb-test", "tuned_imdb"] == 25_000
    assert asked["qnli-train", "qnli"] == 104_743
    assert {"qnli-dev", "qnli-train"} <= {*sizes.files(PAPER)}
    assert PAPER.pairs == (104_743, 5463)
    assert "qnli-train" not in sizes.files(STANDARD)
    assert STANDARD.pairs == (3000, 1500)
    few = replace(STANDARD, data_sets=(), tuned_public=(0, 0), qnli=0, news=0, authors=0)
    assert sizes.files(few) == ["sst2-train", "sst2-dev", "sst2-test"]
    assert [(each.files[0], each.most) for each in sizes.rows(few)] == [
        ("sst2-train", 60_614),
        ("sst2-test", 872),
    ]
    assert ("imdb-val", "imdb-train") in sizes.apart(PAPER)
    assert sizes.apart(few) == [("sst2-dev", "sst2-train")]


def test_qnli_is_trained_on_its_training_part_where_more_is_asked_for(tmp_path, monkeypatch):
    pair = {"question": "is tea good", "sentence": "tea is good", "label": "entailment"}
    write_rows(tmp_path / "qnli-train.jsonl.gz", [pair] * 9)
    write_rows(tmp_path / "qnli-dev.jsonl.gz", [pair] * 4)
    for module in (sizes, tuned):
        monkeypatch.setattr(module, "PAIRS_OF_QNLI_DEV", 4)
    for asked, rows in ((3, (2, 1)), (8, (8, 4))):
        task = tuned.questions(tmp_path, replace(SIZE, qnli=asked), tmp_path)
        assert (len(task.private), len(task.test)) == rows
        assert task.max_tokens == 128


def test_imdb_is_trained_end_to_end_where_it_is_asked_for(place, tmp_path):
    size = replace(
        SIZE,
        model=str(place / "model"),
        encoder=str(place / "model"),
        tuned_imdb=(40, 20),
        tuned_tokens=(8, 12),
        tuned_epsilon=6.0,
        tuned_epochs=1,
        tuned_mechanisms=("purkayastha",),
        tuned_dimensions=(),
        once_dimensions=(),
        other_dimensions=(4, 2),
        qnli=0,
    )
    seen = []

    def part(key, compute, uses):
        seen.append((key, uses))
        return compute()

    runs = tuned.tuned_parts(part, place, size, tmp_path, lambda _line: None)
    assert [key for key, _ in seen] == [
        f"tuned-imdb-end_to_end-{mechanism}-{dimension}-0"
        for mechanism in ("unprotected", "purkayastha")
        for dimension in (4, 2)
    ]
    assert all({"tuned_imdb", "tuned_tokens", "tuned_epsilon"} <= {*uses} for _, uses in seen)
    assert [runs[key][0]["epsilon"] for key in runs] == [None, None, 6.0, 6.0]
    record = Record(tmp_path, "sentence-ldp", {})
    add_tuned(record, runs, size)
    (table,) = record.tables
    assert "40 reviews, the first 12 tokens" in table.note
    assert "over the 20 test rows" in table.note
    assert [row[0] for row in table.rows] == [4, 4, 2, 2]


def test_the_papers_figures_stand_beside_those_at_its_epsilon_alone(tmp_path):
    runs = {
        f"imdb-end_to_end-unprotected-{m}": [{"accuracy": [0.8], "epsilon": None}] for m in (16, 20)
    }
    for epsilon, published in ((10.0, TABLE_2["imdb", 16][0]), (6.0, None)):
        record = Record(tmp_path, "sentence-ldp", {})
        size = replace(SIZE, other_dimensions=(16, 20), tuned_imdb=(9, 9), tuned_epsilon=epsilon)
        add_tuned(record, runs, size)
        (table,) = record.tables
        assert [row[-1] for row in table.rows] == [None, published]


def test_texts_are_read_as_far_as_options_say(place, tmp_path, monkeypatch):
    cut = []
    own = load_encoder(str(place / "model"))

    def load(_model, max_tokens=None):
        cut.append(max_tokens)
        return own

    monkeypatch.setattr("discreet_recipes.sentence_ldp.attributes.load_encoder", load)
    monkeypatch.setattr(sentence_ldp, "load_encoder", load)
    monkeypatch.setattr(sentence_ldp, "tuned_parts", lambda *_: {})
    for size in (SIZE, replace(SIZE, tokens=9, attribute_tokens=7)):
        Attributed(place, "reuters50", "author", size, tmp_path)
        bare = replace(size, data_sets=(), news=0, authors=0)
        sentence_ldp.run(place, tmp_path, bare, lambda _line: None)
    assert cut == [64, None, 7, 9]


def test_parts_that_are_kept_are_known_though_options_came_later():
    kept = sentence_ldp.RECIPE, "sentence-ldp.dimensions"
    kept = partial(is_kept, *kept, "tuned-sst2-end_to_end-purkayastha-16-0")
    uses = tuned._uses("sst2", "end_to_end")
    assert kept(uses)
    for option, other in (("tuned_epsilon", 8.0), ("tuned_tokens", (9, 9))):
        assert not kept(uses, **{option: other})


def test_data_that_is_missing_or_broken_is_one_sentence(place, tmp_path):
    encoder = load_encoder(str(place / "model"))
    with pytest.raises(NotFound, match=r"there is no sst2-dev\.jsonl\.gz in .*; --data must name"):
        load_part(tmp_path, "sst2-dev", 5, encoder, tmp_path)
    (tmp_path / "bytes.jsonl.gz").write_bytes(b"not gzip")
    with gzip.open(tmp_path / "fields.jsonl.gz", "wt") as file:
        file.write('{"text": "tea"}\n')
    for name, words in (("bytes", "is not intact gzip data"), ("fields", "has no field label")):
        with pytest.raises(InputError, match=words):
            load_part(tmp_path, name, 5, encoder, tmp_path)
