"""What a report shows: tables, plots and findings, with what they mean in words."""

import io
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import MissingExtra
from discreet.files import written_whole

Cell = str | float | int | None
VERDICTS = ("holds", "holds in part", "does not hold", "not settled")


@dataclass(frozen=True)
class Table:
    """Rows of figures with what they mean."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Curve:
    """One line of a plot: points, and a standard deviation around them where there is one."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Plot:
    """Curves over one axis, with words that say what there is to see."""

    name: str
    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    alternative: str
    """What the picture shows, for those who do not see it."""
    log_x: bool = False
    level: tuple[str, float] | None = None
    """A named horizontal line, such as chance or the unprotected figure."""
    log_y: bool = False


@dataclass(frozen=True)
class Finding:
    """One claim of the paper beside what we measured."""

    claim: str
    published: str
    measured: str
    verdict: str
    """One of VERDICTS."""
    why: str = ""
    main: bool = False
    """Whether it is among the few that the summary of all recipes shows."""


@dataclass(frozen=True)
class Headline:
    """One figure for the summary of a report."""

    subject: str
    """One of: utility, attack, speed."""
    what: str
    figure: str


def draw(plot: Plot, path: Path) -> None:
    """Draw a plot into a PNG file, whole or not at all."""
    with written_whole(path) as temporary:
        temporary.write_bytes(picture(plot))


def picture(plot: Plot) -> bytes:
    """A plot as PNG: marks and dashes as well as colours tell the curves apart."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("a plot", "report") from error
    figure = Figure(figsize=(6.4, 4.2 + 0.1 * len(plot.curves)), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    marks, dashes = "os^Dv*xP+<", ("-", "--", "-.", ":")
    for number, curve in enumerate(plot.curves):
        line = axes.plot(
            curve.x,
            curve.y,
            marker=marks[number % len(marks)],
            linestyle=dashes[number % len(dashes)],
            label=curve.label,
        )[0]
        if curve.spread is not None:
            low = [y - s for y, s in zip(curve.y, curve.spread, strict=True)]
            high = [y + s for y, s in zip(curve.y, curve.spread, strict=True)]
            axes.fill_between(curve.x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    if plot.level is not None:
        name, height = plot.level
        axes.axhline(height, color="0.3", linewidth=1, linestyle=(0, (1, 2)), label=name)
    if plot.log_x:
        axes.set_xscale("log", base=2)
    if plot.log_y:
        axes.set_yscale("log")
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y)
    axes.set_title(plot.title, fontsize=11)
    axes.grid(alpha=0.25)
    # Beneath the axes, where it covers no curve however many there are.
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def shown(value: Cell) -> str:
    """A cell for people: a few digits are enough.

    >>> shown(0.123456), shown(12345.6), shown(20000), shown(None), shown("a")
    ('0.123', '12,346', '20,000', '', 'a')
    """
    if value is None:
        return ""
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, float) and abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}"
