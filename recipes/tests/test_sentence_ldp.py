"""The sentence-ldp recipe as a whole, on sentences of our own and a tiny encoder."""

import gzip
import json

import pytest

from discreet.encoders.encoder import load_encoder
from discreet.errors import InputError, NotFound
from discreet.training.vectors import _bottleneck
from discreet_recipes.sentence_ldp import data as runs
from discreet_recipes.sentence_ldp import run as sentence_ldp
from tiny_bert import bert_space, sentences, write_bert

SIZE = runs.Size((60, 120, 40), (60, 100, 40), (2, 4), 1, 1, 2, 30)


def _write(path, count: int, seed: int) -> None:
    texts, labels = sentences(count, seed)
    with gzip.open(path, "wt") as file:
        for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
            longer = text + " very" * (row % 3)
            file.write(json.dumps({"text": longer, "label": int(label)}) + "\n")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipe")
    for seed, name in enumerate(("sst2-train", "sst2-dev", "sst2-test")):
        _write(folder / f"{name}.jsonl.gz", 130, seed)
    for seed, name in enumerate(("imdb-train", "imdb-val", "imdb-test")):
        _write(folder / f"{name}.jsonl.gz", 130, 10 + seed)
    write_bert(folder / "model", head=False)
    return folder


def test_the_whole_recipe(place, tmp_path, monkeypatch):
    encoder = load_encoder(str(place / "model"))
    monkeypatch.setattr(sentence_ldp, "load_encoder", lambda: encoder)
    monkeypatch.setattr(runs, "encoder_space", lambda: bert_space(place / "model"))
    monkeypatch.setattr(sentence_ldp, "EPSILONS", (2.0, 4.0, 8.0, 10.0))
    monkeypatch.setattr(_bottleneck, "_FEWEST_STEPS", 2)  # figures do not matter here
    said = []
    record = sentence_ldp.run(place, tmp_path, size=SIZE, say=said.append)
    page = (tmp_path / "README.md").read_text()
    assert {path.stem for path in (tmp_path / "tables").iterdir()} == {
        f"{name}-{kind}"
        for name in ("sst2", "imdb")
        for kind in ("epsilon", "dimension", "labels", "attacks")
    } | {"claims"}
    assert {path.stem for path in (tmp_path / "plots").iterdir()} == {
        f"{name}-{kind}" for name in ("sst2", "imdb") for kind in ("epsilon", "dimension")
    }
    assert len(record.findings) == 9
    assert {finding.verdict for finding in record.findings} <= {
        *("holds", "holds in part", "does not hold"),
    }
    for attack in ("membership by confidence", "words, F1", "attribute: length"):
        assert f"| {attack} | 2 | 8 |" in page, attack
    assert not any(word in page for word in ("the tea", "a cup"))
    # A second run takes everything over, without the encoder or the data.
    said.clear()
    sentence_ldp.run(place / "nowhere", tmp_path, size=SIZE, say=said.append)
    assert said == []
    assert (tmp_path / "README.md").read_text() == page


def test_data_that_is_missing_or_broken_is_one_sentence(place, tmp_path):
    encoder = load_encoder(str(place / "model"))
    with pytest.raises(NotFound, match=r"there is no sst2-dev\.jsonl\.gz in .*; --data must name"):
        runs.load_part(tmp_path, "sst2-dev", 5, encoder, tmp_path)
    (tmp_path / "bytes.jsonl.gz").write_bytes(b"not gzip")
    with gzip.open(tmp_path / "fields.jsonl.gz", "wt") as file:
        file.write('{"text": "tea"}\n')
    for name, words in (("bytes", "is not intact gzip data"), ("fields", "has no field label")):
        with pytest.raises(InputError, match=words):
            runs.load_part(tmp_path, name, 5, encoder, tmp_path)
