"""What the tests of recipes share."""

import pytest

from discreet_recipes import record


@pytest.fixture
def undrawn(monkeypatch):
    """Plots are checked and their files written, but nothing is drawn: that takes a second each."""

    def draw(plot, path):
        assert plot.curves
        for curve in plot.curves:
            assert len(curve.x) == len(curve.y) == len(curve.spread or curve.x)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    monkeypatch.setattr(record, "draw", draw)
