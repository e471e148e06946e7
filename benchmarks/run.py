"""Every speed and memory comparison in one go: one table, one JSON file, and the scaling curves.

    python benchmarks/run.py                        # or make bench
    python benchmarks/run.py --text SST-2.jsonl.gz  # or make bench TEXT=SST-2.jsonl.gz
    python benchmarks/run.py --quick                # a smoke test: its figures mean nothing
    python benchmarks/run.py --page docs/background/speed.md  # the last run's table; nothing is run

Each row compares with a named baseline measured in the same run; the files bench_*.py say what that
is. They are pytest's, and pytest-benchmark keeps the time; what it measured is beside the table, in
a file for each. Nothing else should be running. Each file has a process of its own. One that fails
does not stop the others: its row says so, and the exit code is 1.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from cpuinfo import get_cpu_info  # which pytest-benchmark brings
from figures import Measured, Row, markdown, measured, plots_of, row_from, rows_of, table

from discreet import __version__
from discreet.report.plots import draw

HERE = Path(__file__).parent
BENCHMARKS = ("santext", "purkayastha", "deep_candidate", "noisy_nearest", "user_entity")
RESULT = "benchmarks.json"
BEGIN, END = "<!-- begin: benchmarks/run.py --page -->", "<!-- end: benchmarks/run.py --page -->"


def run_one(name: str, options: argparse.Namespace) -> list[Measured] | int:
    """Run one file in a process of its own: what it timed, or the status with which it failed."""
    print(f"--- {name}", flush=True)
    result = options.output / f"{name}.json"
    result.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", str(HERE / f"bench_{name}.py"), "-v", "--no-header"]
    # Of pytest's plugins only the one that is needed: others take memory.
    command += ["-p", "pytest_benchmark.plugin", "--benchmark-quiet", f"--benchmark-json={result}"]
    command += [f"--benchmark-storage=file://{options.output}"]  # else an empty folder is made
    command += [f"--peer-environment={options.output / 'peer'}"]
    command += [f"--text={options.text}"] if options.text else []
    command += ["--quick"] if options.quick else []
    command += ["--no-peer"] if options.no_peer else []
    # Of a pytest that started this one nothing is passed on: it may have turned benchmarks off.
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment = kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, check=False, env=environment)
    return done.returncode or measured(result)


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "processor": get_cpu_info().get("brand_raw", platform.machine()),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load_before": os.getloadavg()[0],
    }


def run_all(options: argparse.Namespace) -> int:
    """Run, print, write; the number of benchmarks that failed."""
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / RESULT).unlink(missing_ok=True)
    about, start = machine(), time.perf_counter()
    found = {name: run_one(name, options) for name in options.only}
    seconds = time.perf_counter() - start
    rows, plots = [], []
    for name, calls in found.items():
        if isinstance(calls, int):
            note = f"benchmarks/bench_{name}.py ended with status {calls}"
            rows.append(Row(name, "", "", note=note))
        else:
            rows += rows_of(calls)
            plots += plots_of(calls)
    for plot in plots:
        draw(plot, options.output / f"{plot.name}.png")
    values = {
        "discreet": __version__,
        "machine": about,
        "quick": options.quick,
        "text": "made up" if options.text is None else options.text.name,
        "seconds": seconds,
        "rows": [row.to_dict() for row in rows],
        "plots": [asdict(plot) for plot in plots],
    }
    (options.output / RESULT).write_text(json.dumps(values, indent=1) + "\n")
    print()
    if options.quick:
        print("A smoke test: these figures mean nothing.")
    print("\n".join(table(rows)))
    print(f"\n{seconds / 60:.1f} minutes. Written: {options.output / RESULT} and, beside it,")
    print(", ".join(f"{plot.name}.png" for plot in plots))
    return sum(isinstance(calls, int) for calls in found.values())


def write_page(page: Path, result: Path) -> None:
    """Put the table of the last run between the two marks of a page."""
    values = json.loads(result.read_text())
    about, rows = values["machine"], [row_from(each) for each in values["rows"]]
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"{page} needs one line {BEGIN} and one line {END}")
    heading = (
        f"Measured in one run of {values['seconds'] / 60:.0f} minutes on {about['cores']} cores "
        f"({about['processor']}), Python {about['python']}, NumPy {about['numpy']}; the text of "
        f"SanText is {values['text']}."
    )
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    lines = [BEGIN, "", heading, "", *markdown(rows), "", END]
    page.write_text(before + "\n".join(lines) + after)


def main() -> None:
    """Run the benchmarks, or write the last run's table into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, help="jsonl with a field text; else one is made up")
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=BENCHMARKS)
    parser.add_argument("--no-peer", action="store_true", help="do not install or run the peer")
    parser.add_argument("--quick", action="store_true", help="a smoke test of half a minute")
    parser.add_argument("--page", type=Path, help="write the last run's table into this page")
    options = parser.parse_args()
    if options.page:
        write_page(options.page, options.output / RESULT)
        return
    sys.exit(1 if run_all(options) else 0)


if __name__ == "__main__":
    main()
