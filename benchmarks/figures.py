"""What a benchmark measured: rows that each name their baseline, and one table of all of them."""

import json
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from discreet.evaluation.exhibits import Plot, shown

COLUMNS = (
    "subject",
    "baseline",
    "ours",
    "baseline figure",
    "ratio",
    "target",
    "met?",
    "memory",
    "floor ratio",
)


@dataclass(frozen=True)
class Row:
    """One comparison; both figures are rates in the same unit, measured in the same run.

    Attributes:
        subject: What was run, and on how much.
        baseline: What it is compared with.
        unit: What the figures count, such as tokens/s.
        ours: Our rate.
        theirs: The baseline's rate; None if it could not be measured, and the note says why.
        target: The ratio to reach, if there is one.
        gigabytes: The most memory that the process which ran ours ever held.
        floor: The rate of the physical floor.
        floor_is: What that floor is.
        note: What a reader must know besides.
    """

    subject: str
    baseline: str
    unit: str
    ours: float | None
    theirs: float | None
    target: float | None = None
    gigabytes: float | None = None
    floor: float | None = None
    floor_is: str = ""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the baseline's rate ours is."""
        return None if self.ours is None or self.theirs is None else self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None if there is none or nothing was measured."""
        return None if self.target is None or self.ratio is None else self.ratio >= self.target

    @property
    def floor_ratio(self) -> float | None:
        """How many times faster the floor is than ours."""
        return None if self.ours is None or self.floor is None else self.floor / self.ours

    def to_dict(self) -> dict[str, Any]:
        """Everything, what follows from the figures included."""
        derived = {"ratio": self.ratio, "met": self.met, "floor_ratio": self.floor_ratio}
        return asdict(self) | derived

    def cells(self) -> tuple[str, ...]:
        """For people, in the order of COLUMNS."""
        met = {True: "yes", False: "no", None: ""}[self.met]
        return (
            self.subject,
            self.baseline,
            _rate(self.ours, self.unit),
            _rate(self.theirs, self.unit),
            "" if self.ratio is None else f"{shown(self.ratio)}x",
            "" if self.target is None else f"{self.target:g}x",
            met if self.target is None or self.ratio is not None else "not measured",
            "" if self.gigabytes is None else f"{self.gigabytes:.2f} GB",
            shown(self.floor_ratio),
        )


@dataclass
class Figures:
    """What one benchmark leaves: rows, plots, and details that a reader may want to check."""

    rows: list[Row] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """As JSON."""
        values = {
            "rows": [row.to_dict() for row in self.rows],
            "plots": [asdict(plot) for plot in self.plots],
            "details": self.details,
        }
        path.write_text(json.dumps(values, indent=1) + "\n")


def row_from(values: dict[str, Any]) -> Row:
    """The row that :meth:`Row.to_dict` wrote; what follows from the figures is computed again."""
    own = Row.__dataclass_fields__
    return Row(**{name: value for name, value in values.items() if name in own})


def table(rows: Iterable[Row]) -> list[str]:
    """Lines of aligned columns for a terminal, notes below them."""
    rows = list(rows)
    cells = [COLUMNS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS))]
    out = []
    for line in cells:
        padded = [
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        out.append("  ".join(padded).rstrip())
    out.insert(1, "-" * max(map(len, out)))
    return [*out, *_notes(rows)]


def markdown(rows: Sequence[Row]) -> list[str]:
    """The same for a page."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    notes = [f"- {note}." for note in _notes(rows)]
    floors = sorted({(row.subject.split(",")[0], row.floor_is) for row in rows if row.floor_is})
    notes += [f"- Floor of {subject}: {what}." for subject, what in floors]
    return [*lines, "", *notes] if notes else lines


def _notes(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(f"{row.subject}: {row.note}" for row in rows if row.note))


def best_of(times: int, call: Callable[[], object]) -> float:
    """The least seconds that a call took: what the machine does besides only ever adds."""
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def peak_gigabytes() -> float:
    """The most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _rate(value: float | None, unit: str) -> str:
    return "" if value is None else f"{shown(float(value))} {unit}"
