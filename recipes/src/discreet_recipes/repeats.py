"""A figure measured several times: its mean, and how far the trials are apart."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from discreet.report.plots import Curve


def spread(values: Sequence[float]) -> float:
    """Standard deviation over trials; 0 of a single one.

    >>> spread([0.5]), spread([1.0, 2.0, 3.0])
    (0.0, 1.0)
    """
    return stdev(values) if len(values) > 1 else 0.0


def plus_minus(values: Sequence[float], digits: int = 3) -> str | None:
    """Mean and standard deviation in words; nothing where nothing was measured.

    >>> plus_minus([0.5, 0.7]), plus_minus([1234.5], 1), plus_minus([])
    ('0.600 ± 0.141', '1,234.5', None)
    """
    if not values:
        return None
    middle = f"{fmean(values):,.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ± {stdev(values):,.{digits}f}"


def curve(label: str, points: Mapping[float, Sequence[float]]) -> Curve:
    """The means over an axis, with their spread; places where nothing was measured are left out."""
    known = {x: values for x, values in points.items() if values}
    return Curve(
        label,
        tuple(known),
        tuple(map(fmean, known.values())),
        tuple(map(spread, known.values())),
    )
