"""The benchmarks run, and every ratio is that of the two figures beside it."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"
SUBJECTS = {
    "SanText": {40.0, 100.0},
    "Purkayastha": {50.0},
    "DeepCandidate": {50.0},
    "CMP": {50.0},
    "Mahalanobis": {500.0},
    "User-entity step": {5.0},
}
PLOTS = {"tokens", "vocabulary", "documents", "dimensions"}


def run(*arguments):
    command = [sys.executable, str(FOLDER / "run.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def figures_module():
    specification = importlib.util.spec_from_file_location("figures", FOLDER / "figures.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["figures"] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    done = run("--quick", "--output", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


def test_every_comparison_is_in_one_table_and_one_file(quick):
    folder, printed = quick
    values = json.loads((folder / "benchmarks.json").read_text())
    found = {}
    for row in values["rows"]:
        found.setdefault(row["subject"].split(",")[0], set()).add(row["target"])
        assert row["subject"] in printed
        assert row["baseline"]
        assert row["ours"] > 0
        assert row["gigabytes"] > 0
        assert row["floor"] > 0
        assert row["floor_is"]
    assert {name: found[name] - {None} for name in found} == SUBJECTS
    assert {"processor", "cores", "numpy"} <= set(values["machine"])
    last = printed[printed.index("A smoke test") :]
    assert [word for word in ("subject", "met?", "floor ratio") if word not in last] == []


def test_ratios_are_those_of_the_figures_and_baselines_those_measured(quick):
    folder, _ = quick
    rows = json.loads((folder / "benchmarks.json").read_text())["rows"]
    measured = 0
    for row in rows:
        assert row["floor_ratio"] == pytest.approx(row["floor"] / row["ours"])
        if row["theirs"] is None:
            assert row["ratio"] is None
            assert row["met"] is None
            assert row["note"], "a row without a baseline says why"
            continue
        measured += 1
        assert row["ratio"] == pytest.approx(row["ours"] / row["theirs"])
        assert row["met"] == (None if row["target"] is None else row["ratio"] >= row["target"])
    assert measured == len(rows) - 4, "only the peer is left out of a smoke test"

    own = json.loads((folder / "santext.json").read_text())
    slow = own["details"]["baseline"]
    for row, ran in zip(own["rows"], own["details"]["runs"], strict=True):
        seconds = slow["precomputation"] + ran["tokens"] * slow["per_token"]
        assert row["theirs"] == pytest.approx(ran["tokens"] / seconds)
        assert row["ours"] == pytest.approx(ran["tokens"] / min(ran["seconds"]))
    own = json.loads((folder / "purkayastha.json").read_text())
    for row, ran in zip(own["rows"], own["details"]["runs"], strict=False):
        assert (row["ours"], row["theirs"]) == (ran["ours"], ran["published"])


def test_curves_are_drawn_with_their_floors(quick):
    folder, _ = quick
    plots = json.loads((folder / "benchmarks.json").read_text())["plots"]
    assert {plot["name"] for plot in plots} == PLOTS
    for plot in plots:
        labels = [curve["label"] for curve in plot["curves"]]
        assert any(label.startswith("floor: ") for label in labels)
        assert any(label.startswith("discreet") for label in labels)
        for curve in plot["curves"]:
            assert len(curve["x"]) == len(curve["y"]) > 1
            assert min(curve["y"]) > 0
        assert (folder / f"{plot['name']}.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_goes_between_the_marks_of_a_page(quick, tmp_path):
    folder, _ = quick
    page = tmp_path / "page.md"
    mark = "benchmarks/run.py --page -->"
    page.write_text(f"before\n<!-- begin: {mark}\nstale\n<!-- end: {mark}\nafter\n")
    for _ in range(2):  # again and again
        assert run("--page", page, "--output", folder).returncode == 0
    text = page.read_text()
    assert "stale" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert text.count("| subject |") == 1
    page.write_text("no marks")
    assert run("--page", page, "--output", folder).returncode == 1
    assert page.read_text() == "no marks"


def test_a_benchmark_that_fails_is_a_row_and_an_exit_code(tmp_path):
    missing = tmp_path / "missing.jsonl"
    done = run("--quick", "--only", "santext", "--text", missing, "--output", tmp_path)
    assert done.returncode == 1
    (row,) = json.loads((tmp_path / "benchmarks.json").read_text())["rows"]
    assert (row["subject"], row["ratio"], row["met"]) == ("santext", None, None)
    assert "status 1" in row["note"]


def test_a_row_is_met_only_if_its_own_ratio_reaches_its_target():
    figures = figures_module()
    row = figures.Row("a", "b", "tokens/s", ours=100.0, theirs=2.0, target=50.0, floor=300.0)
    assert (row.ratio, row.met, row.floor_ratio) == (50.0, True, 3.0)
    assert figures.Row("a", "b", "x", 100.0, 2.01, target=50.0).met is False
    assert figures.Row("a", "b", "x", 100.0, None, target=50.0).cells()[6] == "not measured"
    # What a file claims to follow from its figures is computed again.
    assert figures.row_from(row.to_dict() | {"ratio": 999.0, "met": False}) == row
