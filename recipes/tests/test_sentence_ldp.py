"""The sentence-ldp recipe as a whole, on sentences of our own and a tiny encoder."""

import gzip
from dataclasses import replace

import pytest

from discreet.attacks import attributes
from discreet.encoders.encoder import load_encoder
from discreet.errors import InputError, NotFound
from discreet.report.claims import VERDICTS
from discreet.training.vectors import _bottleneck
from discreet_recipes.sentence_ldp import run as sentence_ldp
from discreet_recipes.sentence_ldp.data import load_part
from discreet_recipes.sentence_ldp.sizes import QUICK
from small_data import shorter, write_labelled, write_rows
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
    monkeypatch.setattr(sentence_ldp, "load_encoder", lambda _model: encoder)
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
