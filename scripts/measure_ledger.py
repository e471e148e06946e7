"""Measure the ledger under load: exactness with kill -9, and reservations per second.

    python scripts/measure_ledger.py [--processes 8] [--folder /somewhere]

Runs on SQLite and, where initdb is found, on a PostgreSQL server of its own (a unix socket, gone
afterwards). Prints the time of one fsync beside the figures: every transaction waits for one before
it is acknowledged, so 8 processes that reserve one by one make at most 8 in that time. In a folder
in memory (--folder /dev/shm) nothing waits for a disk: that shows what the code itself takes, and
is no way to keep a ledger.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import ledger_load  # noqa: E402
import postgres_server  # noqa: E402
from discreet.ledger import Ledger  # noqa: E402
from ledger_charges import KEY  # noqa: E402

ALL, ALLOWED, ACCOUNTS = 10_000, 5_000, 1_000


def main() -> None:
    """Run both on each database."""
    sys.stdout.reconfigure(line_buffering=True)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--folder", type=Path, default=None, help="Where the databases go.")
    parser.add_argument("--together", type=int, default=64, help="Reservations of one call.")
    parser.add_argument("--only", choices=("sqlite", "postgres"), help="One of the databases.")
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = f"{ROOT / 'tests'}:{os.environ.get('PYTHONPATH', '')}"
    tempfile.tempdir = None if given.folder is None else str(given.folder)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.folder)))
        print(
            f"in {folder.parent}: load of the machine {os.getloadavg()[0]:.1f}; "
            f"one fsync {_fsync(folder):.2f} ms"
        )
        numbers = iter(range(100))
        if given.only != "postgres":
            measure("SQLite", lambda: f"sqlite:///{folder}/{next(numbers)}.db", folder, given)
        if given.only == "sqlite":
            return
        if postgres_server.binaries() is None:
            print(postgres_server.NOT_FOUND)
            return
        server = stack.enter_context(postgres_server.running())
        measure("PostgreSQL", lambda: emptied(server.url), folder, given)


def measure(name: str, fresh: Callable[[], str], folder: Path, given: argparse.Namespace) -> None:
    """Exactness, then speed."""
    processes, each = given.processes, ALL // given.processes
    url = fresh()
    with Ledger.open(url, key=KEY) as ledger:
        ledger.limit(dataset="set 0", epsilon=ALLOWED)
        load = ledger_load.run(url, folder, processes=processes, each=each, kill=(1, 2))
        booked = {entry.id for entry in ledger.entries()}
        print(
            f"{name}: {processes} processes, {ALL:,} reservations, {ALLOWED:,} allowed, two killed "
            f"in the middle: {len(booked):,} passed, {len(load.granted):,} acknowledged, "
            f"{len(set(load.granted) - booked)} of these lost, "
            f"{len(booked - set(load.granted))} passed unheard, {load.refused:,} refused; "
            f"{ledger.verify() or 'verified'}; {load.seconds:.1f} s"
        )
    for together in (1, given.together):
        url = fresh()
        with Ledger.open(url, key=KEY) as ledger:
            for number in range(0, ACCOUNTS, 20):
                ledger.limit(dataset=f"set {number}", epsilon=1000.0)
            load = ledger_load.run(
                url, folder, processes=processes, each=each, datasets=ACCOUNTS, together=together
            )
        rate = len(load.granted) / load.seconds
        print(f"{name}: {ACCOUNTS:,} accounts, {together} a transaction: {rate:,.0f} a second")


def emptied(url: str) -> str:
    """The same database without its tables."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return url


def _fsync(folder: Path, times: int = 100) -> float:
    path = folder / "fsync"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    begin = time.perf_counter()
    for _ in range(times):
        os.pwrite(descriptor, bytes(4096), 0)
        os.fsync(descriptor)
    os.close(descriptor)
    return (time.perf_counter() - begin) / times * 1000


if __name__ == "__main__":
    main()
