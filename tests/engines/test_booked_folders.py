"""Folders in a ledger: charged as one file would be, once, wherever a run is killed."""

import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crash_points import crashes
from discreet import Receipt
from discreet.engines import EngineSettings, release_folder
from discreet.engines.row_prints import RowKey, RowPrints
from discreet.engines.tasks import target_of
from discreet.errors import BudgetExceeded
from discreet.ledger import Ledger
from discreet.ledger.dataset import DatasetLedger
from part_folders import InThisProcess, embedding, write

KEY = bytes(range(32))
WHOLE = ["_SUCCESS", "_privacy.json", "part-000000.parquet"]


class WithThis(InThisProcess):
    """Does the work it is given, made of objects without names."""

    def __init__(self, work):
        self._work = work

    def run(self, parts, _, folder):
        for part in parts:
            prints = RowPrints(RowKey.read(Path(folder)))
            self._work.release(part, target_of(folder, part), prints=prints)
            yield {"number": part.number, "error": None}


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and locks of files")
def test_wherever_it_is_killed_it_is_drawn_and_charged_once(tmp_path, monkeypatch):
    work = embedding(keep=("id",))
    monkeypatch.setattr(EngineSettings, "start", lambda _: WithThis(work))
    folder = tmp_path / "run"
    write(folder / "in", "csv", files=1, rows=3)
    with Ledger.open(folder / "l.db", key=KEY) as ledger:
        ledger.limit(dataset="notes", epsilon=0.0)

    def run(place: Path) -> Receipt:
        with Ledger.open(place / "l.db", key=KEY) as ledger:
            booked = DatasetLedger(ledger, "notes", "test", "refuse")
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
