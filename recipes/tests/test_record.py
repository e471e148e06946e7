"""The record of a recipe: parts are computed once, everything reaches the disk."""

import csv
import json
import signal
import subprocess
import sys

import pytest

from discreet.errors import InputError
from discreet.report.plots import Curve
from discreet.report.runs import runs_in, section_of
from discreet_recipes.record import Record


def _record(folder, **settings):
    return Record(folder, "small", {"seed": 1, **settings})


def test_a_part_is_computed_once_and_read_afterwards(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"accuracy": (0.5, 1.0)}

    first = _record(tmp_path).part("a", compute)
    again = _record(tmp_path).part("a", compute)
    assert first == again == {"accuracy": [0.5, 1.0]}
    assert len(calls) == 1


def test_other_settings_or_another_part_compute_anew(tmp_path):
    assert _record(tmp_path).part("a", lambda: 1) == 1
    assert _record(tmp_path, quick=True).part("a", lambda: 2) == 2
    assert _record(tmp_path).part("b", lambda: 3) == 3


def test_a_longer_list_computes_only_what_is_new(tmp_path):
    def parts(*epsilons, seed=1):
        record = Record(tmp_path, "small", {"seed": seed, "e": epsilons}, lists=frozenset({"e"}))
        done = []
        for epsilon in epsilons:
            record.part(f"a-{epsilon}", lambda epsilon=epsilon: done.append(epsilon))
        return done

    assert parts(1, 2) == [1, 2]
    assert parts(2, 3, 1) == [3]
    assert parts(2, seed=7) == [2]


def test_a_part_that_names_what_it_uses_outlives_other_settings(tmp_path):
    def part(uses, **settings):
        done = []
        Record(tmp_path, "small", settings).part("a", lambda: done.append(1), uses)
        return len(done)

    assert part(("rows",), rows=1, epochs=1) == 1
    assert part(("rows",), rows=1, epochs=2) == 0
    assert part(("rows",), rows=2, epochs=1) == 1
    assert part(None, rows=1, epochs=1) == 1
    with pytest.raises(KeyError):
        part(("columns",), rows=1)


def test_a_run_that_is_killed_goes_on_behind_its_last_part(tmp_path):
    """Killed in the middle of the third part, as by a power cut: the first two are not redone."""
    script = (
        "import os, pathlib, sys\n"
        "from discreet_recipes.record import Record\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "def compute(number):\n"
        "    with (folder / 'log').open('a') as log: log.write(str(number))\n"
        "    if (folder / 'log').read_text() == '123': os.kill(os.getpid(), 9)\n"
        "    return number\n"
        "record = Record(folder, 'small', {})\n"
        "print(sum(record.part(str(n), lambda n=n: compute(n)) for n in (1, 2, 3, 4)))\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False
        )
        for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [-signal.SIGKILL, 0], runs[1].stderr
    assert runs[1].stdout == "10\n"
    assert (tmp_path / "log").read_text() == "12334"


def test_a_part_that_fails_leaves_nothing(tmp_path):
    record = _record(tmp_path)

    def fail():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        record.part("a", fail)
    assert record.part("a", lambda: 7) == 7


def test_a_damaged_part_is_an_error_that_names_the_file(tmp_path):
    record = _record(tmp_path)
    record.part("a", lambda: 1)
    next((tmp_path / "parts").iterdir()).write_text("{")
    with pytest.raises(InputError, match="damaged; delete it"):
        record.part("a", lambda: 1)


def test_tables_plots_and_claims_are_files(tmp_path):
    record = _record(tmp_path)
    record.title = "A small recipe"
    record.introduction.append("What was run.")
    record.add_claim("it works", "yes", "no", "does not hold", "a | in a cell")
    rows = [{"epsilon": 1, "value": 0.123456}, {"epsilon": 2}]
    record.add_table("accuracy", "Accuracy", rows)
    record.add_plot(
        "curve",
        "A curve",
        ("epsilon", "value"),
        [Curve("ours", (1.0, 2.0), (0.1, 0.4), (0.01, 0.02))],
        "It rises.",
        level=("chance", 0.2),
    )
    page = record.finish().page
    with (tmp_path / "tables" / "accuracy.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["epsilon", "value"], ["1", "0.123456"], ["2", ""]]
    assert (tmp_path / "plots" / "curve.png").read_bytes().startswith(b"\x89PNG")
    values = json.loads((tmp_path / "record.json").read_text())
    assert values["settings"] == {"seed": 1}
    assert values["tables"][0]["rows"] == [[1, 0.123456], [2, None]]
    text = page.read_text()
    assert "# A small recipe" in text
    assert "| 1 | 0.123 |" in text
    assert "a \\| in a cell" in text
    assert "![It rises.](plots/curve.png)" in text


def test_a_report_shows_a_record_as_it_was(tmp_path):
    record = Record(tmp_path, "small", {}, title="Small", introduction=["What was run."])
    record.add_claim("a", "b", "c", "holds", main=True)
    curve = Curve("c", (1.0,), (2.0,), (0.1,))
    record.add_plot("p", "P", ("x", "y"), [curve], "A dot.", log_x=True, level=("l", 3.0))
    record.add_table("t", "T", [{"a": 1.5}], "note")
    record.finish()
    (run,) = runs_in([tmp_path])
    assert section_of(*run) == record.section
