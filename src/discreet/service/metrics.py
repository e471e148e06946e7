"""Counts and times for Prometheus, in its text format; labels are routes and statuses."""

from bisect import bisect_left
from collections import defaultdict

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_HELP = {
    "discreet_requests_total": ("counter", "Requests, by route and status."),
    "discreet_request_seconds": ("histogram", "Time until a request was answered."),
    "discreet_batch_requests": ("histogram", "Requests that were released in one call."),
    "discreet_documents_total": ("counter", "Documents released, by route."),
    "discreet_words_total": ("counter", "Words released, by route."),
    "discreet_remembered_total": ("counter", "Messages that had been released before."),
    "discreet_waiting": ("gauge", "Requests that wait."),
}
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What is counted. It is used from the event loop alone.

    >>> metrics = Metrics()
    >>> metrics.count("discreet_documents_total", 2, route="/v1/sanitize")
    >>> [line for line in metrics.text().splitlines() if not line.startswith("#")]
    ['discreet_documents_total{route="/v1/sanitize"} 2']
    """

    def __init__(self) -> None:
        self._values: dict[str, dict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        self._observed: dict[str, dict[Labels, list[float]]] = defaultdict(dict)

    def count(self, name: str, by: float = 1, **labels: str) -> None:
        """Add to a counter."""
        self._values[name][tuple(labels.items())] += by

    def set(self, name: str, value: float) -> None:
        """Set a gauge."""
        self._values[name][()] = value

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Add a value to a histogram."""
        bounds = _SECONDS if name.endswith("_seconds") else _SIZES
        held = self._observed[name].setdefault(tuple(labels.items()), [0.0] * (len(bounds) + 2))
        held[bisect_left(bounds, value)] += 1
        held[-1] += value

    def text(self) -> str:
        """The text format of Prometheus."""
        lines = []
        for name, (kind, about) in _HELP.items():
            if name not in self._values and name not in self._observed:
                continue
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            for labels, value in self._values.get(name, {}).items():
                lines.append(f"{name}{_labelled(labels)} {value:.12g}")
            for labels, held in self._observed.get(name, {}).items():
                lines += _histogram(name, labels, held)
        return "\n".join(lines) + "\n"


def _histogram(name: str, labels: Labels, held: list[float]) -> list[str]:
    bounds = _SECONDS if name.endswith("_seconds") else _SIZES
    lines, below = [], 0.0
    for bound, number in zip((*map(str, bounds), "+Inf"), held, strict=False):
        below += number
        lines.append(f"{name}_bucket{_labelled((*labels, ('le', bound)))} {below:.12g}")
    lines.append(f"{name}_sum{_labelled(labels)} {held[-1]:.12g}")
    lines.append(f"{name}_count{_labelled(labels)} {below:.12g}")
    return lines


def _labelled(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""
