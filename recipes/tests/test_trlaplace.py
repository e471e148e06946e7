"""The recipe of truncated Laplace noise: from data to pages, on a small data set."""

from functools import partial

import numpy as np
import pytest

from discreet.errors import NotFound
from discreet.report.claims import VERDICTS
from discreet_recipes.similarity import bert_score
from discreet_recipes.trlaplace import SpaceOptions
from discreet_recipes.trlaplace import run as trlaplace
from discreet_recipes.trlaplace.data import PRIVACY, Setting, Size, read_tasks
from small_data import write_labelled
from tiny_bert import WORDS, write_bert

SMALL = Size(public=40, train=60, test=40, epochs=1, compared=10, words=12, runs=10, seeds=2)
FILES = ("sst2-train", "sst2-dev", "sst2-test", "agnews-dev", "agnews-test")


@pytest.fixture
def data(tmp_path):
    return write_labelled(tmp_path, dict.fromkeys(FILES, 80))


@pytest.fixture
def space(tmp_path):
    """Words in 40 dimensions; most of them never occur."""
    words = ["<unk>", *WORDS, *(f"word{i}" for i in range(150))]
    vectors = np.random.default_rng(0).standard_normal((len(words), 40))
    path = tmp_path / "vectors.txt"
    rows = (f"{w} {' '.join(map(str, v))}\n" for w, v in zip(words, vectors, strict=True))
    path.write_text("".join(rows))
    return str(path)


@pytest.mark.usefixtures("undrawn")
def test_the_recipe_runs_from_data_to_pages(data, space, tmp_path, monkeypatch):
    monkeypatch.setattr(trlaplace, "QUICK", SMALL)
    chosen = (Setting("truncated-laplace", 1.0, "published"), Setting("santext", 14.0))
    monkeypatch.setattr(trlaplace, "QUICK_UTILITY", chosen)
    monkeypatch.setattr(trlaplace, "QUICK_NEWS", chosen[:1])
    fewer = [s for s in PRIVACY if s.calibration == "published" or s.epsilon == 100]
    monkeypatch.setattr(trlaplace, "PRIVACY", tuple(fewer))
    model = write_bert(tmp_path / "model", head=False)
    (model / "tokenizer_config.json").write_text('{"model_max_length": 24}')
    monkeypatch.setattr(trlaplace, "bert_score", partial(bert_score, model=model))
    said = []
    options = SpaceOptions(quick=True, space=space)
    record = trlaplace.run(data, tmp_path / "out", options, said.append)
    tables = {table.name: table for table in record.tables}
    # Released and rewritten text of each setting, and the original.
    assert len(tables["utility-sst2"].rows) == 5
    assert len(tables["utility-agnews"].rows) == 3
    by = {(row[0], row[4]): row for row in tables["utility-sst2"].rows}
    columns = tables["utility-sst2"].columns
    kept = columns.index("N_w")
    assert by["santext", "released"][kept] > 0.9
    assert by["truncated-laplace", "released"][kept] < 0.2
    delta = columns.index("delta that holds")
    assert float(by["truncated-laplace", "released"][delta]) > 0.5
    assert {claim.verdict for claim in record.claims} <= set(VERDICTS[:3])
    assert record.claims[0].verdict == "does not hold"
    assert [figure.subject for figure in record.key_figures] == ["utility"]
    assert "163 words, 40 dimensions" in record.introduction[2]
    # A second run has nothing left to compute.
    said.clear()
    trlaplace.run(data, tmp_path / "out", options, said.append)
    assert said == []


def test_missing_files_are_named(data):
    (data / "agnews-dev.jsonl.gz").unlink()
    with pytest.raises(NotFound, match="agnews-dev"):
        read_tasks(data, SMALL)
