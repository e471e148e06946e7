"""The benchmarks run; figures are those that were timed, a ratio is that of the two beside it."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_benchmark.cli import main as compare

from discreet.report.plots import Plot

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
# Of some rows, what has to be timed for ours, for the baseline and for the floor.
TIMED = {
    "SanText, cold, 20,000 tokens": (
        "santext",
        ["test_ours[text-cold]"],
        ["test_precomputation", "test_choices"],
        ["test_product[text]", "test_numbers[text]", "test_bytes[text]"],
    ),
    "SanText, warm, 20,000 tokens": (
        "santext",
        ["test_ours[text-warm]"],
        ["test_precomputation", "test_choices"],
        ["test_numbers[text]", "test_bytes[text]"],
    ),
    "Purkayastha, d = 768, 200 vectors": (
        "purkayastha",
        ["test_ours[768]"],
        ["test_published[768]"],
        ["test_numbers[768]"],
    ),
    "DeepCandidate, most deep, 64 documents": (
        "deep_candidate",
        ["test_ours[most deep, 64]"],
        ["test_plain[most deep, 64]"],
        ["test_product[most deep, 64]"],
    ),
    "Mahalanobis, 2,000 words x 300": (
        "noisy_nearest",
        ["test_ours[Mahalanobis, 2000]"],
        [],
        ["test_product[Mahalanobis, 2000]"],
    ),
    "User-entity step, 1.0 M parameters": (
        "user_entity",
        ["test_ours"],
        ["test_plain"],
        ["test_product"],
    ),
}


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


def test_ratios_are_those_of_the_figures(quick):
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


@pytest.mark.parametrize("subject", TIMED)
def test_figures_are_those_that_pytest_benchmark_recorded(quick, subject):
    folder, _ = quick
    rows = json.loads((folder / "benchmarks.json").read_text())["rows"]
    name, *parts = TIMED[subject]
    timed = json.loads((folder / f"{name}.json").read_text())["benchmarks"]
    by_test = {each["name"]: each for each in timed}
    job = by_test[parts[0][0]]["extra_info"]["does"]

    def rate(tests):
        seconds = 0.0
        for test in tests:
            does = by_test[test]["extra_info"]["does"]
            times = 1 if test == "test_precomputation" else job / does
            seconds += times * min(by_test[test]["stats"]["data"])
        return job / seconds if tests else None

    for row in (row for row in rows if row["subject"] == subject):
        figures = (row["ours"], row["theirs"], row["floor"])
        assert figures == tuple(pytest.approx(rate(tests)) for tests in parts)


def test_two_runs_can_be_compared(quick, tmp_path, monkeypatch, capfd):
    folder, _ = quick
    before, after = folder / "purkayastha.json", tmp_path / "purkayastha.json"
    after.write_bytes(before.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pytest-benchmark", "compare", str(before), str(after)])
    compare()
    assert capfd.readouterr().out.count("test_published[768]") == 2


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
            assert curve["x"] == sorted(curve["x"])
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


def test_a_call_counts_for_the_comparisons_that_begin_with_its_group():
    figures = figures_module()
    over_size = Plot("plot", "title", x="size", y="seconds", curves=(), alternative="")
    rows = tuple(figures.Row("s", name, "tokens/s", target=50.0) for name in ("slow", "absent"))
    calls = [
        (figures.Call("A", "baseline", "slow", 0), 5.0),  # once
        (figures.Call("A", "baseline", "slow", 10), 1.0),
        (figures.Call("A, big", "floor", "floor: a", 50), 0.1),
        (figures.Call("A, big", "floor", "floor: b", 100), 0.3),
        (figures.Call("A, big", "drawn", "floor: c", 100), 0.7),
        (figures.Call("A, big", "ours", "discreet", 100, rows, over_size, 3.0), 1.0),
        (figures.Call("A, bigger", "floor", "floor: a", 1), 9.0),  # another comparison
        (figures.Call("A, big, too", "floor", "floor: a", 1), 9.0),  # only a part of this one
    ]
    slow, absent = figures.rows_of(calls)
    assert (slow.ours, slow.theirs) == (100.0, pytest.approx(100 / 15))
    assert slow.floor == pytest.approx(100 / 0.5)
    assert (absent.ours, absent.theirs, absent.floor) == (slow.ours, None, slow.floor)
    assert slow.note.startswith("the floor is 30 times as fast as slow")  # less than the target
    assert absent.note == ""
    (drawn,) = figures.plots_of(calls)
    points = {curve.label: (curve.x, curve.y) for curve in drawn.curves}
    assert list(points) == ["discreet", "slow", "floor: a", "floor: b", "floor: c"]
    assert points["slow"] == ((3.0,), (15.0,))
    assert points["floor: a"] == ((3.0,), (pytest.approx(0.2),))
    # In a plot of rates the same points are rates.
    ours, least = calls[5]
    calls[5] = (replace(ours, plot=replace(over_size, y="tokens per second")), least)
    (drawn,) = figures.plots_of(calls)
    assert drawn.curves[1].y == (pytest.approx(100 / 15),)


def test_a_row_is_met_only_if_its_own_ratio_reaches_its_target():
    figures = figures_module()
    row = figures.Row("a", "b", "tokens/s", ours=100.0, theirs=2.0, target=50.0, floor=300.0)
    assert (row.ratio, row.met, row.floor_ratio) == (50.0, True, 3.0)
    assert figures.Row("a", "b", "x", 100.0, 2.01, target=50.0).met is False
    assert figures.Row("a", "b", "x", 100.0, None, target=50.0).cells()[6] == "not measured"
    # What a file claims to follow from its figures is computed again.
    assert figures.row_from(row.to_dict() | {"ratio": 999.0, "met": False}) == row
