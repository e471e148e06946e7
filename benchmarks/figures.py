"""From timed calls to rows that each name their baseline, one table of all of them, and plots."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from discreet.report.plots import Curve, Plot
from discreet.report.tables import shown

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
    ours: float | None = None
    theirs: float | None = None
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


@dataclass(frozen=True)
class Call:
    """What a timed call is for; pytest-benchmark keeps it as ``extra_info`` beside the time.

    A call counts for every comparison whose group begins with its own: what is measured in
    "SanText" counts for "SanText, text, warm" too.

    Attributes:
        group: The comparison.
        role: "ours", "baseline", "floor", or "drawn" for a floor that is in no row.
        name: What tables and plots call it.
        does: How much of the job one call does, in what the unit counts; 0 for what has to come
            first, once, however large the job is.
        rows: Of ours, a row for each baseline, still without figures.
        plot: Of ours, the plot in which this comparison is a point, still without curves.
        x: Where in that plot.
        gigabytes: The most memory that the process had held by then.
    """

    group: str
    role: str
    name: str
    does: float
    rows: tuple[Row, ...] = ()
    plot: Plot | None = None
    x: float = 0.0
    gigabytes: float | None = None


# The fixture: what a call is for, how many rounds, the function, its arguments.
Timed = Callable[..., Any]
# A call and the least that a round of it took: what the machine does besides only ever adds.
Measured = tuple[Call, float]


def measured(path: Path) -> list[Measured]:
    """What pytest-benchmark measured, in the order in which it did."""
    out = []
    for each in json.loads(path.read_text())["benchmarks"]:
        info = each["extra_info"]
        rows = tuple(map(row_from, info["rows"]))
        plot = Plot(**info["plot"] | {"curves": ()}) if info["plot"] else None
        out.append((Call(**info | {"rows": rows, "plot": plot}), each["stats"]["min"]))
    return out


def rows_of(calls: Sequence[Measured]) -> list[Row]:
    """The rows, with the figures that were measured."""
    out = []
    for ours, least in calls:
        seconds = _seconds(ours, calls) if ours.rows else {}
        floor = sum(taken for (role, _), taken in seconds.items() if role == "floor")
        for row in ours.rows:
            theirs, note = seconds.get(("baseline", row.baseline)), row.note
            if theirs and row.target and theirs / floor < row.target:
                note = (
                    f"the floor is {theirs / floor:.0f} times as fast as {row.baseline}, "
                    "and nothing that does the whole job is faster than that"
                )
            rates = [each and ours.does / each for each in (least, theirs, floor)]
            filled = replace(row, ours=rates[0], theirs=rates[1], floor=rates[2], note=note)
            out.append(replace(filled, gigabytes=ours.gigabytes))
    return out


def plots_of(calls: Sequence[Measured]) -> list[Plot]:
    """The plots, with a point of each curve for every comparison that is in them."""
    points: dict[Plot, dict[str, dict[float, float]]] = {}
    for ours, _ in calls:
        if ours.plot is not None:
            curves = points.setdefault(ours.plot, {})
            for (_, name), taken in _seconds(ours, calls).items():
                y = taken if ours.plot.y == "seconds" else ours.does / taken
                curves.setdefault(name, {})[ours.x] = y
    return [
        replace(
            plot,
            curves=tuple(
                Curve(name, *zip(*sorted(curves[name].items()), strict=True))
                for name in sorted(curves, key=lambda name: (name.startswith("floor"), name))
            ),
            log_x=True,
            log_y=True,
        )
        for plot, curves in points.items()
    ]


def _seconds(ours: Call, calls: Sequence[Measured]) -> dict[tuple[str, str], float]:
    """By role and name, how long the calls that count would take for what ours does."""
    out: dict[tuple[str, str], float] = {}
    for call, least in calls:
        if f"{ours.group}, ".startswith(f"{call.group}, "):
            times = ours.does / call.does if call.does else 1.0
            out[call.role, call.name] = out.get((call.role, call.name), 0.0) + times * least
    return out


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


def _rate(value: float | None, unit: str) -> str:
    return "" if value is None else f"{shown(float(value))} {unit}"
