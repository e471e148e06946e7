"""Run the tests as other machines would, and say where they fail: ``make test-elsewhere``.

Libraries choose code by processor and by the number of threads, and other code rounds otherwise. A
row of the table below chooses for all of them at once: the matrix products of NumPy and SciPy
(OpenBLAS), those of torch (ATen, MKL, oneDNN), NumPy's loops, the functions of the C library, the
threads, and the order of the tests. So every value of every factor is tried in as few runs as there
are rows. What Hypothesis tests, and only that, is run once more with each of ten seeds.

``python scripts/test_elsewhere.py [--only ROW] [--processes 2] [--output FILE.md] [-- PYTEST...]``
writes the table to the terminal and to a file, and ends with 1 if a test failed. A full row takes
as long as ``make test``. What this processor cannot run (AVX-512 code, say) is left out and said.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# The code that NumPy would choose here beyond what it takes for granted.
NUMPYS = " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
PROBE = (
    "import numpy, scipy.linalg; a = numpy.ones((99, 99)); scipy.linalg.inv(a @ a + 9 * a * 0 + "
)
PROBE += "numpy.eye(99)); numpy.exp(a.astype('f4') @ a.astype('f4') / 99)"
SEEDS = range(1, 11)


@dataclass(frozen=True)
class Row:
    """One run: its name, what libraries are told, the threads of each, what else pytest gets."""

    name: str
    settings: dict[str, str]
    threads: int
    arguments: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Which tests, unless others are asked for; none: all."""

    @property
    def told(self) -> str:
        """In words for the table."""
        settings = [f"{name}={value}" for name, value in self.settings.items()]
        return ", ".join([*settings, f"{self.threads} thread{'s'[: self.threads > 1]}"])


def shuffled(seed: int) -> tuple[str, ...]:
    """Tests in another order: of files, of tests in them and of the parameters of a test."""
    return ("--random-order", f"--random-order-seed={seed}")


def drawn() -> tuple[str, ...]:
    """The files of tests whose examples Hypothesis draws: no other need be read for a seed."""
    found = (
        path for folder in ("tests", "recipes/tests") for path in (ROOT / folder).rglob("*.py")
    )
    return tuple(str(path) for path in sorted(found) if "@given" in path.read_text())


ROWS = (
    Row(
        "no vectors",
        {
            "OPENBLAS_CORETYPE": "Prescott",
            "ATEN_CPU_CAPABILITY": "default",
            "NPY_DISABLE_CPU_FEATURES": NUMPYS,
            "MKL_CBWR": "COMPATIBLE",
            "ONEDNN_MAX_CPU_ISA": "SSE41",
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX",
        },
        1,
        shuffled(1),
    ),
    Row(
        "AVX2",
        {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2"},
        2,
        shuffled(2),
    ),
    Row("AVX-512", {"OPENBLAS_CORETYPE": "SkylakeX", "ONEDNN_MAX_CPU_ISA": "AVX"}, 4, shuffled(3)),
    *(
        Row(f"seed {seed}", {}, 1, ("-m", "hypothesis", f"--hypothesis-seed={seed}"), drawn())
        for seed in SEEDS
    ),
)


@dataclass
class Outcome:
    """What a row gave."""

    row: Row
    left_out: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    minutes: float = 0.0

    @property
    def cells(self) -> list[str]:
        """The outcome as a row of the table."""
        told = self.row.told
        for name, value in self.left_out.items():
            told = told.replace(f"{name}={value}", f"({name}={value}: not on this processor)")
        numbers = [str(self.counts.get(kind, 0)) for kind in ("passed", "failed", "skipped")]
        return [self.row.name, told, *numbers, f"{self.minutes:.1f}"]


def runs(settings: dict[str, str]) -> bool:
    """Whether this processor can do a few products with these settings."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env=os.environ | settings, capture_output=True, check=False
    )
    return done.returncode == 0


def tried(row: Row, processes: int, further: Sequence[str]) -> Outcome:
    """The tests under the settings of a row that this processor knows."""
    left_out = {name: v for name, v in row.settings.items() if not runs({name: v})}
    known = {name: value for name, value in row.settings.items() if name not in left_out}
    known |= dict.fromkeys(THREADS, str(row.threads))
    outcome, began = Outcome(row, left_out), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "tests.xml"
        command = [sys.executable, "-m", "pytest", "-n", str(processes), "--dist", "loadfile"]
        command += [f"--junitxml={record}", *row.arguments, *(further or row.files)]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | known, check=False)
        cases = list(xml.parse(record).iter("testcase")) if record.exists() else []
    outcome.minutes = (time.monotonic() - began) / 60
    kinds = {"failure": "failed", "error": "failed", "skipped": "skipped"}
    for case in cases:
        kind = next((kinds[part.tag] for part in case if part.tag in kinds), "passed")
        outcome.counts[kind] = outcome.counts.get(kind, 0) + 1
        if kind == "failed":
            outcome.failures.append(f"{case.get('classname')}::{case.get('name')}")
    if done.returncode and not outcome.failures:
        outcome.counts["failed"] = outcome.counts.get("failed", 0) + 1
        outcome.failures.append(f"pytest ended with {done.returncode}")
    return outcome


def table(outcomes: Sequence[Outcome]) -> str:
    """In Markdown, with the failures of each row below."""
    head = ["row", "told", "passed", "failed", "skipped", "minutes"]
    lines = [head, ["---"] * len(head), *(outcome.cells for outcome in outcomes)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
    for outcome in outcomes:
        for failure in outcome.failures:
            text += f"\n- {outcome.row.name}: `{failure}`"
    return text.rstrip("\n") + "\n"


def main() -> int:
    """Run the rows one after the other; the file is up to date after each."""
    parser = argparse.ArgumentParser(description="Run the tests as other machines would.")
    names = [row.name for row in ROWS]
    parser.add_argument("--only", action="append", choices=names, help="this row; repeat for more")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=ROOT / "out" / "elsewhere.md")
    parser.add_argument("pytest", nargs="*", help="further arguments for pytest, behind --")
    chosen = parser.parse_args()
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    for row in ROWS:
        if not chosen.only or row.name in chosen.only:
            print(f"--- {row.name}: {row.told}", flush=True)
            outcomes.append(tried(row, chosen.processes, chosen.pytest))
            chosen.output.write_text(table(outcomes))
    print(table(outcomes))
    print(f"Written: {chosen.output}")
    return int(any(outcome.failures for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
