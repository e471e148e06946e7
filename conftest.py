"""For all tests: of the packages only modules with examples are imported to look for them.

Each process that runs tests would load what the others import, and be larger to fork. The examples
of the integrations, each of which loads a library of its own, are run in ``tests/integrations``.
"""

from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

ROOT = Path(__file__).parent
PACKAGES = {ROOT / "src", ROOT / "recipes" / "src"}
INTEGRATIONS = ROOT / "src" / "discreet" / "integrations"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what is certain to hold no example."""
    if collection_path == INTEGRATIONS:
        return True
    if PACKAGES.isdisjoint(collection_path.parents):
        return None
    return None if has_examples(collection_path) else True


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector]]:
    """Look for examples where there are some: the search would load what libraries load lazily."""
    collectors = yield
    if has_examples(file_path):
        return collectors
    return [one for one in collectors if not isinstance(one, DoctestModule)]


def has_examples(path: Path) -> bool:
    """Whether there may be one; a folder may hold what has one."""
    return path.suffix != ".py" or ">>>" in path.read_text("utf-8")
