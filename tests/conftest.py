"""For all tests: an example that Hypothesis finds slow on a busy machine is no failure.

Examples are few here; ``make test-elsewhere`` looks at ten times as many.
"""

import gc
import os
import shutil

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None, max_examples=50)
settings.load_profile("patient")
# There are no translations, and for each message of a command gettext would look for one on disk.
os.environ["LANGUAGE"] = "C"
# Ray's workers would begin at a low priority and wait for everybody else's tests, minutes long.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray spells it so

# These take longest, or wait for other processes. Begun first, they leave no worker alone at the
# end, and what is checked beside the tests fills the time they wait. Audits fork, which takes
# longer the more memory a process has: they come before whatever loads models.
FIRST = (
    "audit/",
    "end_to_end/test_flower.py",
    "docs/test_tutorials.py",
    "end_to_end/",
    "training/",
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


@pytest.fixture(scope="module")
def browser():
    """A real browser for the tests of a file; where there is none, they are skipped and say so."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium here: no browser looks at the page")
    from playwright.sync_api import sync_playwright

    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=quiet)
        yield browser
        browser.close()
