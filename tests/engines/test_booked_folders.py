"""Folders in a ledger: charged as one file would be, once, wherever a run is killed."""

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from crash_points import crashes
from discreet import Receipt
from discreet.encoders.encoder import Encoder
from discreet.encoders.maps import PublicMap
from discreet.engines import EngineSettings, release_folder
from discreet.engines.embed_work import EmbedWork
from discreet.engines.tasks import target_of
from discreet.errors import BudgetExceeded
from discreet.ledger import Ledger
from discreet.ledger.dataset import DatasetLedger
from discreet.mechanisms.sentence import Purkayastha
from discreet.release.sentences import SentenceEmbedder
from part_folders import write

KEY = bytes(range(32))
WHOLE = ["_SUCCESS", "_privacy.json", "part-000000.parquet"]


class Letters:
    """A made-up encoder: how often four letters occur, and 1."""

    def encode(self, texts):
        return np.array([[t.count(c) for c in "aeio"] + [1.0] for t in texts], dtype=np.float32)


def embedding():
    encoder = Encoder("letters", "ab" * 32, 5, "a test", Letters())
    made = SentenceEmbedder(encoder, PublicMap.random(5, 3), Purkayastha(3, epsilon=4.0))
    return EmbedWork(mechanism="purkayastha", text_field="body", keep=("id",), made_by=lambda: made)


class WithThis:
    """An engine of this process that does the work it is given, made of objects without names."""

    name, workers = "local", 1

    def __init__(self, work):
        self._work = work

    def run(self, parts, _, folder):
        for part in parts:
            self._work.release(part, target_of(folder, part))
            yield {"number": part.number, "error": None}

    def close(self):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and locks of files")
def test_wherever_it_is_killed_it_is_drawn_and_charged_once(tmp_path, monkeypatch):
    work = embedding()
    monkeypatch.setattr(EngineSettings, "start", lambda _: WithThis(work))
    folder = tmp_path / "run"
    write(folder / "in", "csv", files=1, rows=3)
    with Ledger.open(folder / "l.db", key=KEY) as ledger:
        ledger.limit(dataset="notes", epsilon=0.0)

    def run(place: Path) -> Receipt:
        with Ledger.open(place / "l.db", key=KEY) as ledger:
            booked = DatasetLedger(ledger, "notes", "test", "charge")
            return release_folder(place / "in", place / "out", work, ledger=booked)

    with pytest.raises(BudgetExceeded, match="nothing is left"):
        run(folder)
    with Ledger.open(folder / "l.db", key=KEY) as ledger:
        # Enough for one release, and not for two: whoever books twice is refused.
        ledger.limit(dataset="notes", epsilon=1e-9)
    with pytest.raises(BudgetExceeded) as refused:
        run(folder)
    assert sorted(path.name for path in folder.glob("out*")) == []
    with Ledger.open(folder / "l.db", key=KEY) as ledger:
        ledger.limit(dataset="notes", epsilon=1.5 * refused.value.requested.epsilon)
    booked_before_it_was_seen = 0
    for _, place in crashes(folder, run):
        out = place / "out"
        with Ledger.open(place / "l.db", key=KEY) as ledger:
            entries = list(ledger.entries())
        if out.exists():
            assert [entry.state for entry in entries] == ["committed"]
        booked_before_it_was_seen += bool(entries) and not out.exists()
        drawn = {path.name: path.read_bytes() for path in place.glob("out.unfinished/whole/part*")}
        if not out.exists() or place.joinpath("out.unfinished").exists():
            run(place)
        with Ledger.open(place / "l.db", key=KEY) as ledger:
            (entry,) = ledger.entries()
            assert entry.state == "committed"
            assert ledger.verify([out]) == []
        assert Receipt.beside(out).about["ledger"]["entry"] == entry.id
        assert {name: (out / name).read_bytes() for name in drawn} == drawn
        assert sorted(path.name for path in out.iterdir()) == WHOLE
        assert sorted(map(int, pq.read_table(out).column("id").to_pylist())) == [0, 1, 2]
    assert booked_before_it_was_seen > 2
