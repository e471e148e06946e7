"""The storm of ``benchmarks/service_storm.py``, short, and that it would see what goes wrong."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from command import write_space

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture(scope="module")
def storm():
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("storm", FOLDER / "service_storm.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(FOLDER))


def test_a_short_storm_passes(storm, tmp_path, capsys):
    space = write_space(tmp_path / "words.txt")
    arguments = ["--space", space, "--requests", 420, "--clients", 16, "--seconds", 600]
    assert storm.main([str(each) for each in arguments]) == 0, capsys.readouterr().out
    said = capsys.readouterr().out
    # 21 broken requests, three of each kind; who sends too much may be cut off before its answer.
    for kind in ("'400': 6", "'422': 6", "request': 3", "middle': 3"):
        assert kind in said, said
    assert "releases, as many entries" in said


class Book:
    """A ledger that says what it is told."""

    def __init__(self, *receipts, state="committed", wrong=()):
        self._entries = [SimpleNamespace(receipt=each, state=state) for each in receipts]
        self._wrong = list(wrong)

    def entries(self):
        return iter(self._entries)

    def verify(self):
        return self._wrong


@pytest.mark.parametrize(
    ("book", "released", "fine"),
    [
        (Book("a", "a", "b"), 3, True),
        (Book("a", "a", "b", "left"), 4, True),
        (Book("a", "b"), 2, False),  # lost
        (Book("a", "a", "b", "b", "b"), 5, False),  # doubled
        (Book("a", "a", "b"), 4, False),  # released and not booked
        (Book("a", "a", "b", state="reserved"), 3, False),
        (Book("a", "a", "b", wrong=["a gap"]), 3, False),
    ],
)
def test_what_is_lost_doubled_or_open_is_seen(storm, book, released, fine):
    seen = Counter({"left after the whole request": 1})
    made = SimpleNamespace(receipts=Counter({"a": 2, "b": 1}), seen=seen)
    assert (not storm.problems_of_ledger(book, made, released)) is fine


def test_what_a_log_must_not_say_is_seen(storm):
    fine = ['{"route": "/v1/sanitize", "status": 200}', '{"status": 503}', '{"status": 413}']
    assert not storm.problems_of_log(fine)
    for line in ('{"status": 500}', '{"status": 504}', f"body {storm.MARKER}", '{"event": "error"'):
        bad = line + ("}" if line.endswith('"error"') else "")
        assert storm.problems_of_log([bad]), bad


def test_memory_that_grows_is_seen(storm):
    flat = [(sent, 140.0 + (sent > 20)) for sent in range(100)]
    assert not storm.grows(flat)
    assert storm.grows([(sent, 140.0 + sent / 2) for sent in range(100)])
