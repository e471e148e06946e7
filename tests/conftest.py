"""For all tests: an example that Hypothesis finds slow on a busy machine is no failure."""

import gc

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# These take longest, or wait for other processes. Begun first, they leave no worker alone at the
# end, and what is checked beside the tests fills the time they wait.
FIRST = (
    "end_to_end/test_flower.py",
    "docs/test_tutorials.py",
    "end_to_end/",
    "training/",
    "audit/",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Long files first, unless the order shall be random; otherwise it stays as it is."""

    def place(item):
        return next(
            (n for n, part in enumerate(FIRST) if f"tests/{part}" in item.nodeid), len(FIRST)
        )

    items.sort(key=place)


def pytest_collection_finish():
    """What is imported stays: it is neither searched for garbage nor copied into forks by that."""
    gc.collect()
    gc.freeze()
