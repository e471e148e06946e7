"""Two processes cannot overspend, also if one is killed."""

import os

import pytest

import ledger_load
from discreet.ledger import Ledger
from ledger_charges import KEY


@pytest.fixture
def beside(monkeypatch):
    """Processes that are started find the modules of these tests."""
    folder = os.path.dirname(ledger_load.__file__)
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


@pytest.mark.usefixtures("beside")
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
@pytest.mark.parametrize("kill", [(), (1,)], ids=["all live", "one is killed"])
def test_exactly_what_is_allowed_passes(url, tmp_path, kill):
    with Ledger.open(url, key=KEY) as ledger:
        ledger.limit(dataset="set 0", epsilon=60.0)
        load = ledger_load.run(url, tmp_path, processes=2, each=70, kill=kill)
        booked = {entry.id for entry in ledger.entries()}
        assert len(booked) == 60 or (kill and len(booked) < 60 and load.refused == 0)
        assert ledger.budget("set 0").held.epsilon == len(booked)
        # All that was acknowledged is there; what a killed process was not told of may be.
        assert len(load.granted) == len(set(load.granted))
        assert set(load.granted) <= booked
        assert len(booked - set(load.granted)) <= len(kill)
        assert ledger.verify() == []


@pytest.mark.usefixtures("beside")
def test_groups_over_the_same_new_data_sets_wait_and_never_for_each_other(url, tmp_path):
    """Each process makes and locks the data sets of the others, in orders of its own."""
    with Ledger.open(url, key=KEY) as ledger:
        load = ledger_load.run(url, tmp_path, processes=3, each=120, datasets=30, together=24)
        assert (len(set(load.granted)), load.refused) == (360, 0)
        assert len(ledger.datasets()) == 30
        assert ledger.verify() == []
