"""Many processes that reserve from one ledger at once; some of them are killed.

Each writes a line for every reservation that it was granted, so that it is known afterwards what
was acknowledged, whatever became of the process.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import BudgetExceeded
from discreet.ledger import Ledger
from ledger_charges import KEY, charge


@dataclass(frozen=True)
class Load:
    """What came of it."""

    granted: list[str]
    """Ids that were acknowledged."""
    refused: int
    seconds: float


def run(
    url: str,
    folder: Path,
    *,
    processes: int,
    each: int,
    kill: Sequence[int] = (),
    datasets: int = 1,
    together: int = 1,
) -> Load:
    """Let processes reserve epsilon 1, ``each`` times; those in ``kill`` die in the middle."""
    started = []
    for number in range(processes):
        options = (url, folder / f"{number}.log", each, datasets, number, together)
        command = [sys.executable, __file__, *map(str, options)]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    for process in started:
        process.stdout.readline()  # it is ready
    begin = time.perf_counter()
    for process in started:
        process.stdin.write(b"\n")
        process.stdin.flush()
    for number in kill:
        log = folder / f"{number}.log"
        while started[number].poll() is None and log.stat().st_size < 33 * each // 4:
            time.sleep(0.001)
        started[number].kill()  # which says nothing if it has ended by itself
    refused = 0
    for number, process in enumerate(started):
        said = process.stdout.read()
        process.wait()
        for stream in (process.stdin, process.stdout):
            stream.close()
        if number not in kill:
            assert process.returncode == 0
            refused += int(said)
    seconds = time.perf_counter() - begin
    granted = []
    for number in range(processes):
        lines = (folder / f"{number}.log").read_text().splitlines()
        granted += [line for line in lines if len(line) == 32]
    return Load(granted, refused, seconds)


def work(url: str, log: str, each: str, datasets: str, number: str, together: str) -> None:
    """One process."""
    refused = 0
    with Ledger.open(url, key=KEY) as ledger, open(log, "w", buffering=1) as out:
        charges = [charge(1.0, dataset=f"set {i}") for i in range(int(datasets))]
        print("ready", flush=True)
        sys.stdin.readline()
        done = 0
        while done < int(each):
            size = min(int(together), int(each) - done)
            some = [charges[(done + i + 131 * int(number)) % len(charges)] for i in range(size)]
            for found in ledger.reserve_all([(one, None) for one in some]):
                if isinstance(found, BudgetExceeded):
                    refused += 1
                else:
                    out.write(found.id + "\n")
            done += size
    print(refused, flush=True)


if __name__ == "__main__":
    work(*sys.argv[1:])
