"""Run the conformance suite on the examples of every mechanism's own test module."""

import importlib.util
from pathlib import Path

import pytest

from conformance import check_finite
from noisy_conformance import check_noisy

HERE = Path(__file__).parent


def _examples():
    for path in sorted((HERE / "mechanisms").rglob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"examples_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, make in getattr(module, "EXAMPLES", {}).items():
            yield pytest.param(make, id=f"{path.stem[5:]}-{name}")


@pytest.mark.parametrize("make", list(_examples()))
def test_mechanism_keeps_its_promises(make):
    mechanism = make()
    check = check_noisy if hasattr(mechanism, "noise") else check_finite
    check(mechanism, seed=20260101)
