"""Two processes cannot overspend, also if one is killed."""

import os

import pytest

import ledger_load
from discreet.ledger import Ledger
from ledger_charges import KEY


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
@pytest.mark.parametrize("kill", [(), (1,)], ids=["all live", "one is killed"])
def test_exactly_what_is_allowed_passes(url, tmp_path, kill, monkeypatch):
    folder = os.pathsep.join(os.path.dirname(m.__file__) for m in (ledger_load,))
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
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
