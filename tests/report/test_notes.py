"""Notes beside points: they cover neither each other nor points, and stay inside."""

from itertools import combinations

import pytest

from discreet.report.notes import Note, write_notes

# Three points close together, one in each corner: a note to the lower right of each would not do.
POINTS = [(0.5, 0.5), (0.52, 0.5), (0.5, 0.47), (0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]


def test_notes_stand_where_there_is_room():
    figure = pytest.importorskip("matplotlib.figure").Figure(
        figsize=(4.0, 3.0), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.plot(*zip(*POINTS, strict=True), marker="o", linestyle="")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    write_notes(axes, [Note(x, y, "12", "black") for x, y in POINTS])
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert [text.get_text() for text in axes.texts] == ["12"] * len(POINTS)
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    frame = axes.get_window_extent()
    for box in boxes:
        assert min(box.x0 - frame.x0, frame.x1 - box.x1) >= 0
        assert min(box.y0 - frame.y0, frame.y1 - box.y1) >= 0
        assert not any(box.contains(*axes.transData.transform(point)) for point in POINTS)
