"""Say where the time of the tests went: by folder, and the slowest of them.

    make test && python scripts/slowest_tests.py [--count 20] [out/tests.xml]

Reads the record that `make test` leaves in out/tests.xml and writes two tables in Markdown. Times
are those of the clock, so they depend on what else the machine had to do; several workers run at
the same time, so they add up to more than the run took.
"""

import argparse
import sys
import xml.etree.ElementTree as xml
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

RECORD = Path(__file__).parent.parent / "out" / "tests.xml"


def tests(record: Path) -> list[tuple[str, str, float]]:
    """Of each test the module in dots, the name, and the seconds of set-up, call and clean-up."""
    return [
        (case.get("classname", ""), case.get("name", ""), float(case.get("time", 0)))
        for case in xml.parse(record).iter("testcase")
    ]


def folders(found: Iterable[tuple[str, str, float]]) -> list[tuple[str, int, float]]:
    """The folder of two levels, its tests and their seconds, longest first."""
    counts: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = defaultdict(float)
    for module, _, time in found:
        folder = "/".join(module.split(".")[:2])
        counts[folder] += 1
        seconds[folder] += time
    return sorted(((name, counts[name], seconds[name]) for name in counts), key=lambda row: -row[2])


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Rows in Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *(list(map(str, row)) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("record", nargs="?", type=Path, default=RECORD)
    parser.add_argument("--count", type=int, default=20, help="how many of the slowest")
    chosen = parser.parse_args()
    if not chosen.record.exists():
        print(f"There is no {chosen.record}; `make test` writes it.", file=sys.stderr)
        return 2
    found = tests(chosen.record)
    by_folder = folders(found)
    total = ("together", len(found), sum(seconds for _, _, seconds in by_folder))
    print(
        table(
            ["folder", "tests", "seconds"],
            ((name, count, f"{seconds:.1f}") for name, count, seconds in [*by_folder, total]),
        )
    )
    slowest = sorted(found, key=lambda row: -row[2])[: chosen.count]
    print(
        table(
            ["seconds", "test"],
            ((f"{seconds:.1f}", f"`{module}::{name}`") for module, name, seconds in slowest),
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
