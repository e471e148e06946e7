"""What a mechanism does to words, as histograms side by side. Needs matplotlib (``report``)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.evaluation.privacy_report import PrivacyReport, Summary
from discreet.report.plots import figure_class, write_figure

_BARS = 24
_INK = "0.15"
_FILL = "0.72"
# Above the highest possible bar there is room for the label of the median.
_TOP = 112


@dataclass(frozen=True)
class Histogram:
    """One panel: how often which values occur."""

    title: str
    axis: str
    """What the horizontal axis shows, with its unit."""
    values: NDArray[Any]
    weights: NDArray[Any]
    counts: bool = False
    """True for whole numbers from 1 on a logarithmic axis, False for probabilities."""
    most: int = 1
    """The largest count that is possible, where the axis ends."""


def plot_privacy(report: PrivacyReport, path: Path, title: str) -> None:
    """Histograms of N_x, S_x and S*_y in a PNG, SVG or PDF file."""
    panels = [
        Histogram(
            "$N_x$: is the word kept?",
            "probability that a word stays as it is",
            report.words.keep,
            report.sample.weights,
        ),
        Histogram(
            "$S_x$: what may it become?",
            f"number of outputs that cover {report.share}",
            report.words.options,
            report.sample.weights,
            counts=True,
            most=report.space_words,
        ),
        Histogram(
            "$S^*_y$: what may it have been?",
            f"number of inputs that cover {report.share}",
            report.outputs.inputs,
            report.seen,
            counts=True,
            most=report.space_words,
        ),
    ]
    plot_histograms(path, title, panels)


def plot_histograms(path: Path, heading: str, panels: Sequence[Histogram]) -> None:
    """Draw panels side by side into a PNG, SVG or PDF file, whole or not at all.

    Black and grey only, so that a print or a colour-blind reader loses nothing; the median is a
    dashed line with its value beside it.

    Args:
        path: where to; its ending says the format.
        heading: one line above all panels.
        panels: at least one; their bars count words.
    """
    figure = figure_class()(figsize=(3.6 * len(panels) + 0.6, 3.6), layout="constrained")
    figure.suptitle(heading, fontsize=11).set_parse_math(False)  # it may hold a space's name
    places = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    places[0].set_ylabel("share of words (%)")
    for axes, panel in zip(places, panels, strict=True):
        _draw(axes, panel)
    write_figure(path, figure)


def _draw(axes: Any, panel: Histogram) -> None:
    values = np.asarray(panel.values, dtype=np.float64)
    edges = np.linspace(0.0, 1.0, _BARS + 1)
    if panel.counts:  # of about equal width on a logarithmic axis, each between two whole numbers
        edges = np.unique(np.geomspace(1, max(panel.most, 2) + 1, _BARS + 1).round()) - 0.5
    shares = 100 * panel.weights / panel.weights.sum()
    axes.hist(values, bins=edges, weights=shares, color=_FILL, edgecolor=_INK, linewidth=0.7)
    if panel.counts:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _place: f"{value:,.0f}")
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, _TOP), yticks=range(0, 101, 20))
    median = Summary.of(values, panel.weights).median
    axes.axvline(median, color=_INK, linestyle="--", linewidth=1.2)
    # On the side where there is room, or the label would leave the panel.
    left = axes.transAxes.inverted().transform(axes.transData.transform((median, 0)))[0] < 0.5
    axes.annotate(
        f"median {median:,.0f}" if panel.counts else f"median {median:.3g}",
        (median, _TOP),
        xytext=(5 if left else -5, -1),
        textcoords="offset points",
        ha="left" if left else "right",
        va="top",
        fontsize=9,
    )
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.axis, fontsize=9)
    axes.tick_params(labelsize=9)
    axes.grid(axis="y", color="0.88", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
