"""A few letters beside each point of a plot, where they cover as little as possible."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.arrays import Floats

SIZE = 7.0
"""Of the letters, in points."""
_WIDTH = 0.62 * SIZE  # of a digit
_MARK = 4.0
_STEPS = 24
# Where a note may stand, the best place first: to the right or left of its point, below or above.
_PLACES = [(dx, dy) for dy in (-1, 1, 0) for dx in (1, -1)] + [(0, -1), (0, 1)]


@dataclass(frozen=True)
class Note:
    """What stands beside a point, in the colour of its curve."""

    x: float
    y: float
    words: str
    colour: str


def write_notes(axes: Any, notes: Sequence[Note]) -> None:
    """Write each where no mark, line or other note is, as far as there is such a place.

    Args:
        axes: Of matplotlib, with all its lines.
        notes: In the order in which they choose.
    """
    if not notes:
        return
    axes.figure.draw_without_rendering()  # where things are is known only then
    scale = 72 / axes.figure.dpi
    marks, lines = _drawn(axes, scale)
    frame = np.array(axes.get_window_extent()) * scale
    taken: list[Floats] = []
    for note in notes:
        here = axes.transData.transform((note.x, note.y)) * scale
        half = np.array([len(note.words) * _WIDTH, SIZE]) / 2
        shifts = [np.array([dx, dy]) * (half + _MARK) for dx, dy in _PLACES]
        costs = []
        for shift in shifts:
            box = np.array([here + shift - half, here + shift + half])
            cost = 20 * sum(bool((box[0] < b[1]).all() and (b[0] < box[1]).all()) for b in taken)
            cost += 5 * _within(marks, box, _MARK / 2) + _within(lines, box, 0.0)
            cost += 50 * bool((box[0] < frame[0]).any() or (box[1] > frame[1]).any())
            costs.append(cost)
        best = shifts[int(np.argmin(costs))]
        taken.append(np.array([here + best - half, here + best + half]))
        axes.annotate(
            note.words,
            (note.x, note.y),
            xytext=tuple(best),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=SIZE,
            color=note.colour,
        ).set_parse_math(False)


def _drawn(axes: Any, scale: float) -> tuple[Floats, Floats]:
    """All points, and points along the lines between them."""
    marks, lines = [np.empty((0, 2))], [np.empty((0, 2))]
    steps = np.linspace(0, 1, _STEPS)[:, None]
    for line in axes.get_lines():
        places = axes.transData.transform(np.column_stack(line.get_data()).astype(float)) * scale
        if line.get_marker() not in ("", "None", None):
            marks.append(places)
            lines += [a + steps * (b - a) for a, b in pairwise(places)]
    return np.concatenate(marks), np.concatenate(lines)


def _within(points: Floats, box: Floats, margin: float) -> int:
    inside = (points > box[0] - margin) & (points < box[1] + margin)
    return int(inside.all(axis=1).sum())
