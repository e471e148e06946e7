"""One bisection for everything that is searched: what comes back was always tried."""

import math
from collections.abc import Callable


def nearest_that_holds(
    holds: Callable[[float], bool],
    *,
    good: float,
    bad: float,
    precision: float,
    by_ratio: bool = False,
) -> float:
    """The value nearest to ``bad`` at which something holds; never one at which it does not.

    Args:
        holds: Whether it does, at a value.
        good: Where it holds.
        bad: Where it does not; above or below.
        precision: How close to come, as a share of the larger of the two.
        by_ratio: Halve the ratio instead of the difference.

    >>> 1.41 < nearest_that_holds(lambda x: x * x <= 2, good=1.0, bad=2.0, precision=1e-3) < 1.4143
    True
    """
    while abs(bad - good) > precision * max(good, bad):
        middle = math.sqrt(good * bad) if by_ratio else (good + bad) / 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def smallest_that_holds(
    holds: Callable[[float], bool], *, least: float, most: float, precision: float
) -> float | None:
    """The smallest value at which something holds, looked for from 1 outwards.

    Args:
        holds: Whether it does, at a value; from some value on.
        least: Below this nothing is tried that is not close to it.
        most: Nothing above it is tried; None comes back if even this is too small.
        precision: How close to come.
    """
    good = 1.0
    while not holds(good):
        good *= 2
        if good > most:
            return None
    bad = good / 2
    while least < bad < 1 and holds(bad):
        good, bad = bad, bad / 2
    return nearest_that_holds(holds, good=good, bad=bad, precision=precision, by_ratio=True)
