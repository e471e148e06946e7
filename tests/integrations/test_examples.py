"""The examples in the adapters' docstrings."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "src" / "discreet" / "integrations"
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if ">>>" in path.read_text())


@pytest.mark.parametrize("name", MODULES)
def test_an_example_prints_what_it_shows(name):
    failed, tried = doctest.testmod(import_module(f"discreet.integrations.{name}"))
    assert tried
    assert not failed


def test_there_are_examples():
    assert {"datasets", "langchain", "pandas", "polars", "sklearn"} <= {*MODULES}
