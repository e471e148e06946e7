"""The recipe of truncated Laplace noise: from data to pages, on a small data set."""

import gzip
import json

import pytest

from discreet.errors import NotFound
from discreet_recipes.trlaplace import run as trlaplace
from discreet_recipes.trlaplace.pages import Setting
from tiny_bert import sentences

SMALL = trlaplace.Size(
    public=40, train=60, test=40, epochs=1, compared=10, words=12, runs=10, seeds=2
)


@pytest.fixture
def data(tmp_path):
    names = ("sst2-train", "sst2-dev", "sst2-test", "agnews-dev", "agnews-test")
    for seed, name in enumerate(names):
        texts, labels = sentences(80, seed)
        rows = (json.dumps({"text": t, "label": y}) for t, y in zip(texts, labels, strict=True))
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.write("\n".join(rows) + "\n")
    return tmp_path


@pytest.mark.encoder
def test_the_recipe_runs_from_data_to_pages(data, tmp_path, monkeypatch):
    monkeypatch.setattr(trlaplace, "QUICK", SMALL)
    chosen = (Setting("truncated-laplace", 1.0, "published"), Setting("santext", 14.0))
    monkeypatch.setattr(trlaplace, "QUICK_UTILITY", chosen)
    monkeypatch.setattr(trlaplace, "QUICK_NEWS", chosen[:1])
    fewer = [s for s in trlaplace.PRIVACY if s.calibration == "published" or s.epsilon == 100]
    monkeypatch.setattr(trlaplace, "PRIVACY", tuple(fewer))
    said = []
    record = trlaplace.run(data, tmp_path / "out", quick=True, say=said.append)
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
    assert {finding.verdict for finding in record.findings} <= {
        "holds",
        "holds in part",
        "does not hold",
    }
    assert record.findings[0].verdict == "does not hold"
    assert [line.subject for line in record.headlines] == ["utility"]
    # A second run has nothing left to compute.
    said.clear()
    trlaplace.run(data, tmp_path / "out", quick=True, say=said.append)
    assert said == []


def test_missing_files_are_named(data):
    (data / "agnews-dev.jsonl.gz").unlink()
    with pytest.raises(NotFound, match="agnews-dev"):
        trlaplace.read_tasks(data, SMALL)
