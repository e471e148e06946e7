"""Plots: curves over one axis, and pictures as files. Needs matplotlib (extra ``report``)."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

from discreet import check
from discreet.errors import InvalidValue, OutputError, needs_extra
from discreet.files import refuse_existing, written_whole
from discreet.report.notes import Note, write_notes

PLOT_FORMATS = ("png", "svg", "pdf")
_DOTS_PER_INCH = 150


@dataclass(frozen=True)
class Curve:
    """One line of a plot: points, and a standard deviation around them where there is one."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] | None = None
    notes: tuple[str, ...] | None = None
    """A few letters beside each point, where the axes do not say it all."""

    @classmethod
    def through(cls, label: str, points: Sequence[tuple[float, float]]) -> "Curve":
        """A line through points."""
        return cls(label, tuple(x for x, _ in points), tuple(y for _, y in points))

    def __post_init__(self) -> None:
        if not len(self.x) == len(self.y) == len(self.x if self.spread is None else self.spread):
            raise InvalidValue("a curve needs as many values, and spreads, as it has places")
        if self.notes is not None and len(self.notes) != len(self.x):
            raise InvalidValue("a curve needs a note for each of its places, or none")


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
    share: bool = False
    """Whether the figures are shares, to be seen on the whole way from 0 to 1."""
    edge: Curve | None = None
    """What nothing lies above: drawn as stairs behind the curves."""


@dataclass(frozen=True)
class Bar:
    """One row of a bar chart, with an interval around its end where there is one."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Bars:
    """Figures that share no axis of their own: a bar for each, under its name."""

    name: str
    title: str
    axis: str
    bars: tuple[Bar, ...]
    alternative: str
    level: tuple[str, float] | None = None


def draw(plot: Plot, path: Path) -> None:
    """Draw a plot into a PNG, SVG or PDF file, whole or not at all."""
    write_figure(path, _figure(plot))


def picture(plot: Plot | Bars) -> bytes:
    """A plot as PNG."""
    file = io.BytesIO()
    figure = _figure(plot) if isinstance(plot, Plot) else _bar_chart(plot)
    figure.savefig(file, format="png", dpi=_DOTS_PER_INCH)
    return file.getvalue()


def _figure(plot: Plot) -> Any:
    """Marks and dashes as well as colours tell the curves apart."""
    figure = figure_class()(figsize=(6.4, 4.2 + 0.1 * len(plot.curves)), layout="constrained")
    axes = figure.add_subplot()
    marks, dashes = "os^Dv*xP+<>hX", ("-", "--", "-.", ":")  # not as many as there are colours
    notes: list[Note] = []
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
        colour = line.get_color()
        places = zip(curve.x, curve.y, curve.notes or (), strict=False)
        notes += [Note(x, y, words, colour) for x, y, words in places if words]
    if plot.edge is not None:
        stairs = {"where": "post", "color": "0.85", "linewidth": 6, "zorder": 0}
        axes.step(plot.edge.x, plot.edge.y, label=plot.edge.label, **stairs)
    if plot.level is not None:
        name, height = plot.level
        axes.axhline(height, color="0.3", linewidth=1, linestyle=(0, (1, 2)), label=name)
    if plot.log_x:
        axes.set_xscale("log", base=2)
    if plot.log_y:
        axes.set_yscale("log")
    if plot.share:
        axes.set_ylim(-0.02, 1.02)
    axes.set(xlabel=fill(plot.x, 64), ylabel=fill(plot.y, 40))
    axes.set_title(fill(plot.title, 64), fontsize=11)
    axes.grid(alpha=0.25)
    # Beneath the axes, where it covers no curve however many there are.
    legend = figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    # Words are shown as they are: a dollar sign in a name begins no formula.
    for text in (axes.title, axes.xaxis.label, axes.yaxis.label, *legend.get_texts()):
        text.set_parse_math(False)
    write_notes(axes, notes)
    return figure


def _bar_chart(plot: Bars) -> Any:
    """Names stand above their bars, where long ones have room."""
    figure = figure_class()(figsize=(6.4, 1.3 + 0.62 * len(plot.bars)), layout="constrained")
    axes = figure.add_subplot()
    words = [axes.title, axes.xaxis.label]
    for place, bar in enumerate(plot.bars):
        axes.barh(place + 0.22, bar.value, height=0.4, color="0.72", edgecolor="0.15")
        if bar.low is not None and bar.high is not None:
            axes.plot((bar.low, bar.high), (place + 0.22,) * 2, color="0.15", marker="|")
        name, beside = f"{bar.label}: {bar.value:.3g}", {"textcoords": "offset points"}
        label = axes.annotate(name, (0, place - 0.08), (3, 0), fontsize=9, **beside)
        label.set_bbox({"facecolor": "white", "linewidth": 0, "pad": 1})  # no line crosses it
        words.append(label)
    if plot.level is not None:
        name, height = plot.level
        axes.axvline(height, color="0.15", linestyle="--", label=f"{name}: {height:.3g}")
        words += figure.legend(loc="outside lower center", fontsize=8).get_texts()
    least = min([0.0, *(bar.value for bar in plot.bars)])
    most = max([1e-9, *(bar.high or bar.value for bar in plot.bars)])
    axes.set(xlabel=fill(plot.axis, 64), yticks=[], ylim=(len(plot.bars) - 0.4, -0.45))
    axes.set_xlim(least * 1.05, 1.0 if 0.5 < most <= 1 else most * 1.05)
    axes.set_title(fill(plot.title, 64), fontsize=11)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    for text in words:
        text.set_parse_math(False)
    return figure


def check_plot(path: Path, *, force: bool = False) -> None:
    """Refuse what this room could not write, before anything long is computed."""
    figure_class()
    _format_of(path)
    refuse_existing(path, force=force)


def write_figure(path: Path, figure: Any) -> None:
    """Write a figure of matplotlib; the ending of the name says the format."""
    kind = _format_of(path)
    # Neither a date nor random names inside: the same figures give the same bytes.
    metadata = {"png": None, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    from matplotlib import rc_context

    try:
        with written_whole(path) as temporary, rc_context({"svg.hashsalt": "discreet"}):
            figure.savefig(temporary, format=kind, dpi=_DOTS_PER_INCH, metadata=metadata)
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror or error}; check its directory"
        ) from error


def _format_of(path: Path) -> str:
    return check.one_of(
        path.suffix.lstrip(".").lower(), PLOT_FORMATS, "the ending of a plot's name"
    )


def figure_class() -> Any:
    """The class of figures that have no window and share no state with the caller's plots."""
    with needs_extra("a plot", "report"):
        from matplotlib.figure import Figure
    return Figure
