"""Plots of a comparison: use against what attackers get, a curve for each mechanism."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from discreet.attacks.outcome import Estimate
from discreet.evaluation.comparison.run import Comparison, ComparisonRow
from discreet.report.plots import Bar, Bars, Curve, Plot


def frontier_plot(comparison: Comparison, measure: str | None = None) -> Plot:
    """Use against what the best attacker on words names: a curve for each mechanism.

    Args:
        comparison: What was measured.
        measure: The figure of use; that which decides unless given.
    """
    shown = comparison if measure is None else replace(comparison, measure=measure)
    return against(
        shown,
        "frontier" if measure is None else f"frontier-{measure}",
        f"What is left of the use, against what is given away ({shown.measure})",
        "share of words that the best attacker names",
        lambda row: None if row.best_attacker is None else row.best_attacker[1],
    )


def against(
    comparison: Comparison,
    name: str,
    title: str,
    axis: str,
    attack: Callable[[ComparisonRow], Estimate | None],
) -> Plot:
    """Use against the success of an attack.

    Args:
        comparison: What was measured.
        name: Of the plot.
        title: Above it.
        axis: What the attack gets, in words.
        attack: Its success on a row, if it was tried.
    """
    curves, words = [], []
    points_of_all: list[tuple[float, float]] = []
    for label in dict.fromkeys(row.label for row in comparison.rows):
        points = [
            (success.value, use.value, row)
            for row in comparison.rows
            if row.label == label
            if (success := attack(row)) is not None
            if (use := row.worth(comparison.measure)) is not None
        ]
        if not points:
            continue
        points.sort(key=lambda point: point[0])
        points_of_all += [(x, y) for x, y, row in points if not row.peer]
        x, y, rows = zip(*points, strict=True)
        notes = tuple("" if row.epsilon is None else f"{row.epsilon:.3g}" for row in rows)
        bounded = " (or further right)" if rows[0].peer else ""
        curves.append(Curve(label + bounded, tuple(x), tuple(y), notes=notes))
        ends = f"{y[0]:.2f} at {x[0]:.2f}"
        words.append(f"{label}: {ends}" + (f", {y[-1]:.2f} at {x[-1]:.2f}" if x[1:] else ""))
    raw, success = comparison.raw.worth(comparison.measure), attack(comparison.raw)
    if raw is not None and success is not None:
        curves.append(Curve("no protection", (success.value,), (raw.value,)))
    level = ("the commonest label", comparison.guessing) if comparison.guessing else None
    said = (
        f"{comparison.measure.capitalize()} against {axis}; numbers beside points are epsilons, "
        "which cannot be compared between mechanisms. Up and to the left is better. "
        + "; ".join(words)
        + "."
    )
    edge = _edge(points_of_all)
    return Plot(name, title, axis, comparison.measure, tuple(curves), said, level=level, edge=edge)


def _edge(points: Sequence[tuple[float, float]]) -> Curve | None:
    """Stairs through the settings that no other beats in both."""
    best: list[tuple[float, float]] = []
    for x, y in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or y > best[-1][1]:
            best.append((x, y))
    if len(best) < 2:
        return None
    return Curve.through("the frontier", best)


def equal_bars(comparison: Comparison) -> Bars:
    """Use at the same success of attackers."""
    bars = tuple(
        Bar(row.setting, use.value, use.low, use.high)
        for row in comparison.rows
        if (use := row.worth(comparison.measure)) is not None
    )
    told = comparison.measure
    listed = "; ".join(f"{bar.label}: {bar.value:.2f}" for bar in bars)
    level = ("the commonest label", comparison.guessing) if comparison.guessing else None
    return Bars(
        "equal",
        f"{told.capitalize()} where the best attacker names about {100 * (comparison.at or 0):.0f} "
        "of 100 words",
        told,
        bars,
        f"{told.capitalize()} of each mechanism at the setting at which attackers who know its law "
        f"are right equally often. {listed}.",
        level,
    )
