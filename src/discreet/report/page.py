"""One self-contained HTML page: no script, no network, readable on paper and without colour."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import needs_extra, read_as
from discreet.files import written_whole
from discreet.report.claims import Claim
from discreet.report.plots import Bars, Curve, Plot, picture
from discreet.report.tables import Cell, Table, shown
from discreet.staging import ANYONE

_TEMPLATE = Path(__file__).with_name("page.html")


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading of its own."""

    title: str
    paragraphs: tuple[str, ...] = ()
    guarantee: tuple[str, ...] = ()
    """A privacy statement in plain words, a line per fact."""
    claims: tuple[Claim, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot | Bars, ...] = ()
    tables_first: bool = False
    """Whether the tables stand before the plots."""


def write_page(
    path: Path,
    title: str,
    introduction: Sequence[str],
    sections: Sequence[Section],
    *,
    mode: int = ANYONE,
) -> None:
    """Write the page, whole or not at all.

    Every picture carries a description and, folded away beneath it, the figures it was drawn from.

    Args:
        path: Where to.
        title: Its heading.
        introduction: Paragraphs before the first section.
        sections: The rest.
        mode: Who may read it, within what the user's mask allows.
    """
    text = _template().render(
        title=title,
        introduction=list(introduction),
        sections=[
            {"number": number, "it": section, "pictures": [_pictured(p) for p in section.plots]}
            for number, section in enumerate(sections, 1)
        ],
        version=__version__,
    )
    with written_whole(path, mode=mode) as temporary:
        temporary.write_text(text, "utf-8")


@cache
def _template() -> Any:
    with needs_extra("a report", "report"):
        from jinja2 import Environment, StrictUndefined
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["shown"] = shown
    return environment.from_string(_TEMPLATE.read_text("utf-8"))


def _pictured(plot: Plot | Bars) -> dict[str, Any]:
    with read_as("a plot of a record cannot be drawn from its figures; run the recipe again"):
        encoded = base64.b64encode(picture(plot)).decode()
    source = f"data:image/png;base64,{encoded}"
    return {"plot": plot, "source": source, "figures": figures_of(plot)}


def figures_of(plot: Plot | Bars) -> Table:
    """The points of all curves, a row for each place on the axis; or the bars."""
    if isinstance(plot, Bars):
        bars = tuple((bar.label, bar.value, bar.low, bar.high) for bar in plot.bars)
        return Table(plot.name, plot.title, ("what", plot.axis, "at least", "at most"), bars)
    places = sorted({x for curve in plot.curves for x in curve.x})
    curves = [dict(zip(curve.x, _cells(curve), strict=True)) for curve in plot.curves]
    rows = tuple((place, *(cells.get(place) for cells in curves)) for place in places)
    columns = (plot.x, *(curve.label for curve in plot.curves))
    return Table(plot.name, plot.title, columns, rows)


def _cells(curve: Curve) -> list[Cell]:
    if curve.spread is None:
        return list(curve.y)
    return [f"{y:.3g} ± {s:.2g}" for y, s in zip(curve.y, curve.spread, strict=True)]
