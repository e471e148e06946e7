"""What the tests of recipes share."""

import pytest

from discreet_recipes import record
from discreet_recipes.options import Options


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


@pytest.fixture
def honest(monkeypatch):
    """A part that reads an option must have said that it uses it, or be computed anew for any."""
    reading: list[set[str]] = []
    part = record.Record.part

    def read(options, name):
        if reading and name in type(options).__dataclass_fields__:
            reading[-1].add(name)
        return object.__getattribute__(options, name)

    def watched(self, key, compute, uses=None):
        def computed():
            reading.append(set())
            result, found = compute(), reading.pop()
            assert uses is None or found <= {*uses, *self.lists}, (key, found - set(uses))
            return result

        return part(self, key, computed, uses)

    monkeypatch.setattr(Options, "__getattribute__", read)
    monkeypatch.setattr(record.Record, "part", watched)
