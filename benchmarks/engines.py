"""Rows per second of a folder on each engine, against the one-process command, in one run.

Documents are made up from public words, by Zipf's law, 8 to 24 words each. Every way is a command
of its own, as a person would run it, and is run twice more on 2,000 rows: the difference to the
shorter of these is the time without start-up. Processor time is stated beside the clock, because it
says the same on a machine that has other work, and how many cores others took meanwhile. Memory is
the most that any one process ever held.

    python benchmarks/engines.py --rows 2000000 --curve 100000 20000000 --work /tmp/rows

With `--work` the documents are kept and used again, and what stands in the output already is not
measured again, so that a long run can be made in pieces (`--only`). `--page` measures nothing: it
puts the tables of the output into docs/background/speed.md, and draws the cost of a row.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet import Sanitizer, mechanism
from discreet.engines import EngineSettings, release_folder
from discreet.engines.plan import Part, planned
from discreet.engines.tasks import PartOutcome, run_task
from discreet.engines.work import SanitizeWork
from discreet.randomness import secure_generator
from discreet.spaces import load_space
from discreet.spaces.index import build_index, cached_index, store_index
from discreet.text.fates import Fates

GROUP, MOST = 100_000, 2_000_000
TICKS = os.sysconf("SC_CLK_TCK")
COMMAND_ALONE = "command"
FEW = GROUP * 2 // 100
TARGETS = {"local": 1.5, "ray": 1.3, "spark": 1.1}
COMMAND = [sys.executable, "-m", "discreet", "sanitize"]
PAGE = Path(__file__).parent.parent / "docs" / "background" / "speed.md"
BEGIN = "<!-- begin: benchmarks/engines.py --page -->"
END = "<!-- end: benchmarks/engines.py --page -->"
KEPT = Path(__file__).with_name("engines.json")
BESIDE = {"textcoords": "offset points", "fontsize": 9}
Found = dict[str, dict[str, float]]
OPTIONS = ["-e", "8", "--text-field", "body", "--keep", "id"]


def write_documents(folder: Path, rows: int) -> None:
    """One file of rows, in groups; a folder with it is what engines read, the file the command."""
    path = folder / "rows.parquet"
    if path.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    if rows > MOST:  # the same documents again and again, which are drawn anew each time
        write_documents(folder.with_name(str(MOST)), MOST)
        for copy in range(rows // MOST):
            source = folder.with_name(str(MOST)) / "rows.parquet"
            os.link(source, path if copy == 0 else folder / f"rows-{copy}.parquet")
        return
    words = np.array([w for w in load_space("starter").words if w.isalpha()][:8000], dtype=object)
    chances = 1 / np.arange(1, len(words) + 1)
    steps = np.cumsum(chances / chances.sum())
    rng = np.random.default_rng(1)
    schema = pa.schema({"id": pa.int64(), "body": pa.string()})
    unfinished = path.with_suffix(".partial")
    with pq.ParquetWriter(unfinished, schema) as writer:
        for first in range(0, rows, GROUP):
            count = min(GROUP, rows - first)
            lengths = rng.integers(8, 25, count)
            drawn = words[np.minimum(np.searchsorted(steps, rng.random(lengths.sum())), 7999)]
            ends = np.cumsum(lengths)
            texts = [
                " ".join(drawn[a:b])
                for a, b in zip((ends - lengths).tolist(), ends.tolist(), strict=True)
            ]
            ids = np.arange(first, first + count)
            writer.write_table(pa.table({"id": ids, "body": texts}, schema=schema))
    unfinished.rename(path)


class Watch(threading.Thread):
    """Memory and processor time of the processes below this one, by the kernel's own account."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._most, self._over = 0, threading.Event()
        self._used: dict[tuple[int, str], float] = {}
        """By process and when it was started: as long as one is seen, its time only grows."""
        self._busy = _busy()

    def run(self) -> None:
        while not self._over.wait(0.2):
            self._look()

    def _look(self) -> None:
        for process in _below(os.getpid()):
            place = Path(f"/proc/{process}")
            try:
                times = place.joinpath("stat").read_text().rpartition(")")[2].split()
                lines = place.joinpath("status").read_text().splitlines()
                command = place.joinpath("cmdline").read_text()[:200]
            except OSError:
                continue
            self._used[process, times[19]] = (int(times[11]) + int(times[12])) / TICKS
            held = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
            if "java" not in command:  # Spark's own process releases nothing
                self._most = max([self._most, *held])

    def stop(self) -> dict[str, float]:
        """The most memory of a process, the time of all, and that of everybody else meanwhile."""
        self._over.set()
        self.join()
        used = sum(self._used.values())
        others = max(0.0, _busy() - self._busy - used)
        return {"memory_gb": self._most * 1024 / 1e9, "processor": used, "others": others}


def _busy() -> float:
    """Seconds that the processors of this machine were busy since it was started."""
    times = [int(each) for each in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return (sum(times) - times[3] - times[4]) / TICKS


def _below(parent: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            above = int(path.joinpath("stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(above, []).append(int(path.name))
    found, waiting = [], [parent]
    while waiting:
        found += (more := children.get(waiting.pop(), []))
        waiting += more
    return found


def timed(source: Path, output: Path, *more: str) -> dict[str, float]:
    """Seconds by the clock and by the processor, and memory, of one command."""
    for path in (output, Path(f"{output}.privacy.json"), Path(f"{output}.unfinished")):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    watch = Watch()
    watch.start()
    begun = time.perf_counter()
    command = [*COMMAND, str(source), "-o", str(output), *OPTIONS, *more]
    subprocess.run(command, check=True, capture_output=True)
    return {"seconds": time.perf_counter() - begun} | watch.stop()


def measured(work: Path, rows: int, way: str) -> dict[str, float]:
    """One way of releasing so many rows, with what it takes without them."""
    single = way == COMMAND_ALONE
    more = [] if single else ["--engine", way, "--workers", "2", "--part-rows", str(GROUP)]

    def once(count: int) -> dict[str, float]:
        folder = work / str(count)
        source = folder / "rows.parquet" if single else folder
        return timed(source, work / ("out.parquet" if single else "out"), *more)

    # Before and after, and the shorter counts: the first start of an engine reads it from the disk.
    before, full, after = once(FEW), once(rows), once(FEW)
    start = {key: min(before[key], after[key]) for key in before}
    seconds, processor = (full[key] - start[key] for key in ("seconds", "processor"))
    return {
        "rows": rows,
        "start_up_s": start["seconds"],
        "total_s": full["seconds"],
        "rows_per_s": (rows - FEW) / seconds,
        "processor_us_per_row": 1e6 * processor / (rows - FEW),
        "memory_gb": full["memory_gb"],
        "others_cores": full["others"] / full["seconds"],
    }


def floor(rows: int, path: Path) -> dict[str, float]:
    """What nobody can avoid: a random number for each word, and the bytes read and written."""
    rng, begun = secure_generator(), time.process_time()
    rng.random(16 * rows)
    numbers = time.process_time() - begun
    begun = time.process_time()
    table = pq.read_table(path)
    pq.write_table(table, path.with_suffix(".copy"))
    copied = time.process_time() - begun
    path.with_suffix(".copy").unlink()
    return {
        "random_us_per_row": 1e6 * numbers / rows,
        "bytes_us_per_row": 1e6 * copied / len(table),
    }


class _Timed:
    """An engine of this process, that says how long its tasks took."""

    name, workers, seconds = "local", 1, 0.0

    def run(self, parts: Sequence[Part], work: str, folder: str) -> Iterator[PartOutcome]:
        begun = time.perf_counter()
        for part in parts:
            yield run_task(part, work, folder)
        self.seconds = time.perf_counter() - begun

    def close(self) -> None:
        pass


def driver(work: Path, parts: int = 500) -> dict[str, float]:
    """What one process does for all: for each file and its part, and for the bytes written."""
    source, output = work / "small", work / "driver"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for number in range(parts):
        table = pa.table({"id": [number], "body": ["the doctor"]})
        pq.write_table(table, source / f"{number:06d}.parquet")
    sanitizer = Sanitizer(mechanism("santext", space=load_space("starter"), epsilon=8.0))
    does = SanitizeWork(sanitizer=sanitizer, fates=Fates(("body",), keep=("id",)))
    begun = time.perf_counter()
    planned(str(source), does.schema_of)
    planning = time.perf_counter() - begun
    engine = _Timed()
    begun = time.perf_counter()
    with mock.patch.object(EngineSettings, "start", return_value=engine):
        release_folder(source, output, does)
    around = time.perf_counter() - begun - engine.seconds
    block = os.urandom(2**26)
    begun = time.perf_counter()
    hashlib.sha256(block).digest()
    hashing = len(block) / 1e9 / (time.perf_counter() - begun)
    for path in (source, output):
        shutil.rmtree(path)
    return {
        "parts": parts,
        "planning_ms_per_file": 1e3 * planning / parts,
        "around_ms_per_part": 1e3 * around / parts,
        "hashing_gb_per_s": hashing,
    }


def curve_of(found: Found) -> list[dict[str, float]]:
    """The runs of local workers, by their number of rows."""
    return sorted(
        (each for name, each in found.items() if name.startswith("local")),
        key=lambda each: each["rows"],
    )


def draw_curve(found: Found, path: Path) -> None:
    """What a row costs, over how many there are, with the floor under it."""
    from matplotlib.figure import Figure

    curve, under = curve_of(found), found["floor"]
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.add_subplot()
    rows = [each["rows"] for each in curve]
    top = 1.3 * max(each["processor_us_per_row"] for each in curve)
    axes.plot(rows, [each["processor_us_per_row"] for each in curve], "o-", color="0.1")
    axes.annotate("local, two workers", (rows[0], 0.9 * top), (0, 0), **BESIDE)
    for what, line, key in (
        ("floor: its bytes read and written as Parquet", "--", "bytes_us_per_row"),
        ("floor: a random number for each word", ":", "random_us_per_row"),
    ):
        axes.axhline(under[key], linestyle=line, color="0.4")
        side = rows[0] if line == "--" else rows[-1]
        where = {"ha": "left" if line == "--" else "right"}
        axes.annotate(what, (side, under[key]), (0, 3), **BESIDE | where)
    axes.set(xscale="log", xlabel="rows", ylabel="processor time for each row, µs", ylim=(0, top))
    figure.savefig(path, dpi=120)


def tables(found: Found) -> str:
    """For the page."""
    lines = [
        "| way, two workers | rows/s without start-up | ratio | target | start-up | processor time "
        "for each row | most memory of a process | cores that others took |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in (COMMAND_ALONE, *TARGETS):
        each = found[name]
        ratio = f"{each['ratio']:.2f}x | {each['target']}x" if "ratio" in each else "1 | "
        lines.append(
            f"| {'the command, one file' if name == COMMAND_ALONE else f'`{name}`'} | "
            f"{each['rows_per_s']:,.0f} | {ratio} | {each['start_up_s']:.1f} s | "
            f"{each['processor_us_per_row']:.1f} µs | {each['memory_gb']:.2f} GB"
            f"{', without Java' if name == 'spark' else ''} | {each['others_cores']:.1f} |"
        )
    lines += ["", "| rows, `local` | processor time for each | most memory of a worker |"]
    lines.append("|---|---|---|")
    for each in curve_of(found):
        cost, memory = each["processor_us_per_row"], each["memory_gb"]
        lines.append(f"| {each['rows']:,.0f} | {cost:.1f} µs | {memory:.2f} GB |")
    under = found["floor"]
    lines.append(
        f"| floor: a random number for each word | {under['random_us_per_row']:.2f} µs | |"
    )
    moved = under["bytes_us_per_row"]
    lines.append(f"| floor: the bytes read and written as Parquet | {moved:.2f} µs | |")
    return "\n".join(lines)


def put_on_page(found: Found, page: Path) -> None:
    """Replace what stands between the marks."""
    before, rest = page.read_text().split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n\n{tables(found)}\n\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--curve", type=int, nargs="*", default=[100_000, 500_000])
    parser.add_argument("--only", nargs="*", help="these ways only, by their names in the output")
    parser.add_argument("--work", type=Path, help="where documents are kept for another run")
    parser.add_argument("--page", action="store_true", help="write tables and figure, and stop")
    parser.add_argument("-o", "--output", type=Path, default=KEPT)
    given = parser.parse_args()
    output: Path = given.output
    found = json.loads(output.read_text()) if given.work and output.exists() else {}
    if given.page:
        found = json.loads(output.read_text())
        put_on_page(found, PAGE)
        draw_curve(found, PAGE.parent.parent / "images" / "engines.png")
        return
    space = load_space("starter")
    if cached_index(space) is None:
        store_index(space, build_index(space))
    output.parent.mkdir(parents=True, exist_ok=True)
    ways = {"floor": (given.rows, ""), "driver": (FEW, "")}
    ways |= {way: (given.rows, way) for way in (COMMAND_ALONE, *TARGETS)}
    ways |= {f"local, {count} rows": (count, "local") for count in given.curve}
    with tempfile.TemporaryDirectory() as place:
        work: Path = given.work or Path(place)
        for name, (rows, way) in ways.items():
            if name in found or name not in (given.only or ways):
                continue
            for count in (FEW, rows):
                write_documents(work / str(count), count)
            if name == "driver":
                figures = driver(work)
            elif not way:
                figures = floor(rows, work / str(rows) / "rows.parquet")
            else:
                figures = measured(work, rows, way)
            if name in TARGETS and COMMAND_ALONE in found:
                figures["ratio"] = figures["rows_per_s"] / found[COMMAND_ALONE]["rows_per_s"]
                figures["target"] = TARGETS[name]
            found[name] = {key: round(value, 3) for key, value in figures.items()}
            print(name, json.dumps(found[name]), flush=True)
            output.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
