"""``make test-elsewhere`` tries every value of every factor, and its table says what failed."""

import importlib.util
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "scripts" / "test_elsewhere.py"
VALUES = {
    "OPENBLAS_CORETYPE": {"Haswell", "SkylakeX", "Prescott"},
    "ATEN_CPU_CAPABILITY": {"default", "avx2"},
}


def script():
    specification = importlib.util.spec_from_file_location("elsewhere", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    sys.modules["elsewhere"] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


def test_the_rows_cover_every_value():
    rows = script().ROWS
    for factor, values in VALUES.items():
        assert {row.settings[factor] for row in rows if factor in row.settings} == values
    assert any("NPY_DISABLE_CPU_FEATURES" in row.settings for row in rows)
    assert {row.threads for row in rows} == {1, 2, 4}
    given = [argument for row in rows for argument in row.arguments]
    assert len({each for each in given if each.startswith("--hypothesis-seed=")}) == 10
    assert sum(each.startswith("--random-order-seed=") for each in given) >= 3


def test_the_table_says_what_failed_and_what_could_not_be_tried():
    elsewhere = script()
    row = next(row for row in elsewhere.ROWS if row.settings.get("OPENBLAS_CORETYPE") == "SkylakeX")
    left_out = {"OPENBLAS_CORETYPE": "SkylakeX"}
    counts = {"passed": 2, "failed": 1}
    text = elsewhere.table([elsewhere.Outcome(row, left_out, counts, ["tests.x::test_y"], 1.0)])
    assert "(OPENBLAS_CORETYPE=SkylakeX: not on this processor)" in text
    assert "| 2 | 1 | 0 | 1.0 |" in text
    assert f"- {row.name}: `tests.x::test_y`" in text


def test_what_this_processor_cannot_run_is_seen():
    elsewhere = script()
    assert elsewhere.runs({"OPENBLAS_CORETYPE": "Prescott"})
    assert not elsewhere.runs({"PYTHONHOME": "/nowhere"})
