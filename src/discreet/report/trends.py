"""The figures of several runs side by side: a line for every mechanism, or a bar for every run.

Two epsilons can be compared only if they bound the same thing. A plot therefore has one axis of
epsilon (one unit, notion and metric), and the runs of another one have a plot of their own. A line
joins runs that differ in nothing but epsilon, and settings that were chosen along with it; those
are named with their range.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

from discreet.report.attacked import attacks_in
from discreet.report.plots import Bar, Bars, Curve, Plot
from discreet.report.tables import shown
from discreet.statement import Notion, PrivacyStatement

_FEWEST = 3  # points that are worth a plot over epsilon
_KEEP = "chance that a word stays, on average"
_GUESS = "chance that the best guess at a word is right"
_UNNAMED = "mechanism not named"
# What also has to be alike for two runs to be points of one line.
_MADE_WITH = ("space", "encoder", "map", "dimension", "model", "label", "layout")


@dataclass(frozen=True)
class _Point:
    """A figure of one run."""

    run: str
    axis: str
    mechanism: str
    settings: Mapping[str, Any]
    epsilon: float
    value: float
    chance: float | None = None


def trends(
    runs: Sequence[tuple[str, Mapping[str, Any], PrivacyStatement | None]],
) -> Iterator[Plot | Bars]:
    """Plots of every figure that runs have in common."""
    figures: dict[str, list[_Point]] = {}
    for name, values, statement in runs:
        if statement is None or statement.notion is Notion.NONE:
            continue
        mechanism, settings = _made_by(values)
        for figure, value, chance in _figures_of(values):
            at = (name, _axis(statement), mechanism, settings, statement.epsilon, value, chance)
            figures.setdefault(figure, []).append(_Point(*at))
    for figure, points in figures.items():
        left = []
        for axis in dict.fromkeys(point.axis for point in points):
            held = [point for point in points if point.axis == axis]
            lines = _lines(held)
            several = any(len({point.epsilon for point in line}) > 1 for line in lines.values())
            if several and len({(p.epsilon, p.mechanism) for p in held}) >= _FEWEST:
                yield _plot(figure, axis, lines)
            else:
                left += held
        if len({(point.mechanism, point.epsilon) for point in left}) > 1 and len(points) >= _FEWEST:
            yield _bars(figure, left)


def _figures_of(values: Mapping[str, Any]) -> Iterator[tuple[str, float, float | None]]:
    """Name, value, and what guessing gives if that is known."""
    metrics = values.get("metrics")
    for name, value in metrics.items() if isinstance(metrics, Mapping) else ():
        if isinstance(value, float):
            yield str(name).replace("_", " "), value, None
    if isinstance(guess := values.get("best_guess"), float):  # a word need not stay to be known
        yield _GUESS, guess, None
    elif isinstance(keep := values.get("keep"), float):
        yield _KEEP, keep, None
    for attack in attacks_in(values):
        yield attack.figure, attack.best[1].value, attack.chance


def _made_by(values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The mechanism's name, and every setting but epsilon."""
    said = values.get("mechanism")
    told = dict(said) if isinstance(said, Mapping) else {"name": said}
    name = str(told.pop("name", None) or _UNNAMED)
    told.pop("epsilon", None)
    for part in _MADE_WITH:
        value = values.get(part)
        if isinstance(value, Mapping):
            value = value.get("name") or value.get("fingerprint")
        if value is not None:
            told[part] = value
    plain = (str, int, float)
    return name, {key: value for key, value in told.items() if isinstance(value, plain)}


def _axis(statement: PrivacyStatement) -> str:
    """What an epsilon is of: the same words only for what can be compared."""
    unit = statement.unit.replace("+", " and ")
    if statement.metric is not None:
        kind = "" if statement.notion is Notion.METRIC else f", {statement.notion}"
        return f"epsilon per unit of the {statement.metric.name}, each {unit}{kind}"
    chance = f", delta {statement.delta:.3g}" if statement.delta else ""
    return f"epsilon, each {unit}{chance}"


def _lines(points: Sequence[_Point]) -> dict[str, list[_Point]]:
    """Points that differ in nothing but epsilon and what went along with it, under one label."""
    lines: dict[str, list[_Point]] = {}
    for mechanism in dict.fromkeys(point.mechanism for point in points):
        held = [point for point in points if point.mechanism == mechanism]
        names = dict.fromkeys(key for point in held for key in point.settings)
        told = [name for name in names if _tells_apart(name, held)]
        groups: dict[tuple[Any, ...], list[_Point]] = {}
        for point in held:
            groups.setdefault(tuple(point.settings.get(n) for n in told), []).append(point)
        for key, group in groups.items():
            fixed = [f"{n} {_said(v)}" for n, v in zip(told, key, strict=True) if v is not None]
            ranges = [_range(n, group) for n in names if n not in told]
            inside = ", ".join([*fixed, *filter(None, ranges)])
            lines[f"{mechanism} ({inside})" if inside else mechanism] = group
    return lines


def _tells_apart(name: str, points: Sequence[_Point]) -> bool:
    """Whether a setting makes two lines: a word that differs, or a number at the same epsilon."""
    values = [point.settings.get(name) for point in points]
    if len(set(values)) < 2:
        return False
    if any(value is None or isinstance(value, str) for value in values):
        return True
    return any(
        one.epsilon == other.epsilon and one.settings[name] != other.settings[name]
        for one, other in combinations(points, 2)
    )


def _range(name: str, points: Sequence[_Point]) -> str:
    values = {point.settings[name] for point in points if name in point.settings}
    if len(values) < 2:
        return ""
    return f"{name} {_said(min(values))} to {_said(max(values))}"


def _said(value: Any) -> str:
    text = shown(value)
    return text if len(text) <= 24 else f"{text[:12]}..."


def _plot(figure: str, axis: str, lines: Mapping[str, Sequence[_Point]]) -> Plot:
    curves, words = [], []
    for label, points in lines.items():
        at = sorted({point.epsilon for point in points})
        values = [[p.value for p in points if p.epsilon == epsilon] for epsilon in at]
        means = tuple(map(fmean, values))
        # Runs that are alike in all that is known: their mean, and how far they scatter.
        scatter = tuple(stdev(each) if len(each) > 1 else 0.0 for each in values)
        curves.append(Curve(label, tuple(at), means, scatter if any(scatter) else None))
        ends = f"{means[0]:.3g} at epsilon {at[0]:g}"
        words.append(f"{label}: {ends}, {means[-1]:.3g} at {at[-1]:g}" if at[1:] else ends)
    chances = [point.chance for line in lines.values() for point in line]
    known = [chance for chance in chances if chance is not None]
    said = f"{figure[:1].upper()}{figure[1:]} against {axis}. {'; '.join(words)}."
    level = ("guessing, on average", fmean(known)) if known else None
    name = "trend-" + "".join(c if c.isalnum() else "-" for c in figure)
    share = all(0 <= value <= 1 for curve in curves for value in curve.y)
    return Plot(name, figure, axis, figure, tuple(curves), said, level=level, share=share)


def _bars(figure: str, points: Sequence[_Point]) -> Bars:
    """Runs whose epsilons are no points of one line: each is a bar that says what it is."""
    bars = tuple(Bar(f"{p.run}: {p.mechanism}, epsilon {p.epsilon:g}", p.value) for p in points)
    known = [point.chance for point in points if point.chance is not None]
    axes = len({point.axis for point in points})
    apart = " Their epsilons bound different things and are not comparable." if axes > 1 else ""
    listed = "; ".join(f"{bar.label}: {bar.value:.3g}" for bar in bars)
    return Bars(
        name="runs-" + "".join(c if c.isalnum() else "-" for c in figure),
        title=figure,
        axis=figure,
        bars=bars,
        alternative=f"{figure[:1].upper()}{figure[1:]} of each run. {listed}.{apart}",
        level=("guessing, on average", fmean(known)) if known else None,
    )
