"""Processes that write to one file wait in line; the head writes for those behind it."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from discreet.errors import BudgetExceeded, LedgerUnavailable
from discreet.ledger import Ledger, stores
from discreet.ledger.asked import asked, packed, unpacked
from discreet.ledger.keys import LedgerKey
from discreet.ledger.line import LONGEST, Line, NoLine
from discreet.statement import Adjacency
from ledger_charges import KEY, charge

fcntl = pytest.importorskip("fcntl")
pytestmark = pytest.mark.skipif(not hasattr(__import__("select"), "epoll"), reason="no line here")


@pytest.fixture
def path(tmp_path):
    with Ledger.open(tmp_path / "ledger.db", key=KEY) as ledger:
        ledger.reserve(charge(1.0, dataset="before"))
    return tmp_path / "ledger.db"


@pytest.fixture
def disk(monkeypatch):
    """How often somebody waited for the disk."""
    waited = []

    def to_disk(descriptor):
        waited.append(descriptor)
        os.fsync(descriptor)

    monkeypatch.setattr(stores, "_to_disk", to_disk)
    return waited


@contextmanager
def head_of(path):
    """Stand at the head of the line."""
    line = Line(path.with_name(f"{path.name}-line"))
    assert line.reach_head(None, b"", 5.0)
    try:
        yield line
    finally:
        line.leave()
        line.close()


class Behind:
    """Somebody who reserves in a thread, with a ledger of their own."""

    def __init__(self, path, dataset="tickets"):
        self.ledger = Ledger.open(path, key=KEY)
        self.made = self.error = None
        self._thread = threading.Thread(target=self._reserve, args=[dataset])
        self._thread.start()
        while not self.ledger._store.line.said and self._thread.is_alive():
            time.sleep(0.001)

    def _reserve(self, dataset):
        try:
            self.made = self.ledger.reserve(charge(1.0, dataset=dataset))
        except BudgetExceeded as error:
            self.error = error

    def done(self):
        self._thread.join()
        self.ledger.close()
        return self.made


def entries(path):
    with Ledger.open(path, key=KEY) as ledger:
        assert ledger.verify() == []
        return [entry.id for entry in ledger.entries("tickets")]


def test_the_head_writes_for_all_and_everybody_waits_for_the_disk(path, disk, monkeypatch):
    written, write = [], Ledger._write

    def writing(self, ready, behind):
        written.append(len(ready) + len(behind))
        return write(self, ready, behind)

    monkeypatch.setattr(Ledger, "_write", writing)
    with head_of(path):
        behind = [Behind(path) for _ in range(5)]
    ids = [each.done().id for each in behind]
    assert len(set(ids)) == 5
    assert set(entries(path)) == set(ids)
    assert written == [5]
    assert len(disk) == 5


def test_exactly_what_is_allowed_passes_among_those_who_wait(path):
    with Ledger.open(path, key=KEY) as ledger:
        ledger.limit(dataset="tickets", epsilon=3.0)
    with head_of(path):
        behind = [Behind(path) for _ in range(5)]
    made = [each.done() for each in behind]
    assert [each.error is None for each in behind].count(True) == 3
    assert set(entries(path)) == {each.id for each in made if each is not None}


def test_what_a_head_took_with_it_when_it_died_is_booked_by_whose_it_is(path, disk):
    with head_of(path) as line:
        behind = Behind(path)
        assert line.requests()  # and nothing is done about it
    made = behind.done()
    assert entries(path) == [made.id]
    assert len(disk) == 1


def test_what_a_head_booked_and_died_before_it_said_so_is_found_and_brought_to_the_disk(path, disk):
    with head_of(path) as line:
        behind = Behind(path)
        taken = list(unpacked(LedgerKey(KEY), line.requests()))
        with Ledger.open(path, key=KEY) as ledger:
            ledger._store._connection()
            ledger._store.line = NoLine()  # at the head already
            ledger._write([], taken)
        disk.clear()
    made = behind.done()
    assert entries(path) == [made.id]
    assert len(disk) == 1


def test_what_a_dead_process_had_asked_for_counts_as_spent(path):
    key = LedgerKey(KEY)
    name = key.dataset("tickets")
    ready = asked(key, charge(1.0), name, None, None, Adjacency.REPLACE)
    with head_of(path) as line:
        assert line._say(packed(key, ready))
        behind = Behind(path)
    made = behind.done()
    assert sorted(entries(path)) == sorted([ready.entry, made.id])


@pytest.mark.parametrize(
    "told", [b"\xff\0 nonsense", b"\n" * 100, b"0" * 64 + b'["x"]\n', b"0" * LONGEST]
)
def test_what_nobody_with_the_key_has_said_is_passed_over(path, told):
    with head_of(path) as line:
        assert line._say(told)
        behind = Behind(path)
    made = behind.done()
    assert entries(path) == [made.id]


def test_who_has_another_key_is_not_heard():
    key, other = LedgerKey(KEY), LedgerKey(bytes(32))
    ready = asked(other, charge(1.0), "x", None, None, Adjacency.REPLACE)
    assert list(unpacked(key, packed(other, ready))) == []
    (same,) = unpacked(other, packed(other, ready))
    assert (same.entry, same.body, same.amounts) == (ready.entry, ready.body, ready.amounts)
    assert packed(other, asked(other, charge(1.0), "x", "r", None, Adjacency.REPLACE)) is None
    of_ann = charge(persons={"ann": (1.0, 0.0)})
    assert packed(other, asked(other, of_ann, "x", None, None, Adjacency.REPLACE)) is None


def test_a_line_that_is_full_or_a_request_that_is_long_is_waited_for_as_well(path):
    with head_of(path) as line:
        assert not line._say(bytes(LONGEST + 1))
        while line._say(bytes(LONGEST)):
            pass
        ledger = Ledger.open(path, key=KEY)
        thread = threading.Thread(target=ledger.reserve, args=[charge(1.0)])
        thread.start()
        thread.join(0.1)
        assert thread.is_alive()
    thread.join()
    ledger.close()
    assert len(entries(path)) == 1


def test_who_leaves_last_tidies_up_and_a_child_leaves_it_to_its_parent(path):
    folder = path.with_name("ledger.db-line")
    with Ledger.open(path, key=KEY) as ledger:
        ledger.reserve(charge(1.0))
        with Ledger.open(path, key=KEY) as other:
            other.reserve(charge(1.0))
        assert folder.is_dir()
        child = os.fork()
        if child == 0:
            try:
                ledger.reserve(charge(1.0))
                ledger.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert sorted(p.name for p in folder.iterdir()) == ["asked", "bell", "head"]
        ledger.reserve(charge(1.0))
    assert not folder.exists()
    assert len(entries(path)) == 4


def test_where_there_can_be_no_line_the_ledger_works_without(tmp_path):
    path = tmp_path / "ledger.db"
    path.with_name("ledger.db-line").write_text("in the way")
    with Ledger.open(path, key=KEY) as ledger:
        ledger.reserve(charge(1.0))
    assert len(entries(path)) == 1


HOLDER = """
import os, signal, sys
from discreet.ledger.stores import SqliteStore
from pathlib import Path

with SqliteStore(Path(sys.argv[1])).transaction() as connection:
    print("at the head", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_who_waits_behind_a_stopped_process_is_told_and_a_killed_one_holds_nobody(
    path, monkeypatch
):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE)
    with holder:
        holder.stdout.readline()
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
        with Ledger.open(path, key=KEY) as ledger:
            assert ledger.budget("tickets").held.epsilon == 0.0  # who only looks does not wait
            monkeypatch.setattr(stores, "WAIT_SECONDS", 0.1)
            with pytest.raises(LedgerUnavailable, match="another process"):
                ledger.reserve(charge(1.0), request="with a name, which only its own process books")
            monkeypatch.undo()
            holder.send_signal(signal.SIGKILL)
            ledger.reserve(charge(1.0))
            assert ledger.budget("tickets").held.epsilon == 1.0
