"""Where a property ends: bisection between a value that has it and one that does not."""

import math
from collections.abc import Callable


def last_that_holds(
    holds: Callable[[float], bool],
    yes: float,
    no: float,
    *,
    relative: float = 2.0**-52,
    absolute: float = 0.0,
    geometric: bool = False,
) -> float:
    """The value nearest to ``no`` that was found to hold; it may lie above or below ``yes``.

    What comes back is ``yes`` or was tried itself, so that it holds even if the property should
    not change exactly once between the two.

    Args:
        holds: the property.
        yes: a value that is known to have it.
        no: a value that does not, or the end of the range.
        relative: stop when the two are this share of the larger one apart,
        absolute: and this much more.
        geometric: halve their ratio rather than their difference; both above 0.

    >>> round(last_that_holds(lambda x: x * x <= 2, 0.0, 5.0), 9)
    1.414213562
    >>> last_that_holds(lambda x: x >= 2, 64.0, 1.0, relative=0.5, geometric=True)
    2.8284271247461903
    """
    while abs(no - yes) > relative * max(abs(no), abs(yes)) + absolute:
        middle = math.sqrt(yes * no) if geometric else (yes + no) / 2
        if middle in (yes, no):
            break
        yes, no = (middle, no) if holds(middle) else (yes, middle)
    return yes


def smallest_that_holds(
    holds: Callable[[float], bool], *, least: float, most: float, precision: float
) -> float | None:
    """The smallest value at which something holds, looked for from 1 outwards.

    Args:
        holds: the property; from some value on it holds.
        least: below this nothing is tried that is not close to it.
        most: nothing above it is tried; None comes back if even this is too small.
        precision: how close to come, as a share.

    >>> 2 <= smallest_that_holds(lambda x: x >= 2, least=1e-6, most=1e9, precision=1e-3) < 2.01
    True
    """
    good = 1.0
    while not holds(good):
        good *= 2
        if good > most:
            return None
    bad = good / 2
    while least < bad < 1 and holds(bad):
        good, bad = bad, bad / 2
    return last_that_holds(holds, good, bad, relative=precision, geometric=True)


def smallest_within(
    value: Callable[[float], float], limit: float, *, least: float, most: float, precision: float
) -> float | None:
    """The smallest place at which a falling quantity is at most ``limit``.

    As :func:`smallest_that_holds`, for quantities that take long to compute and fall about as a
    power of the place: half as many are looked at. What comes back was looked at itself.

    Args:
        value: the quantity, at least 0; it may be infinite.
        limit: what it must not exceed, above 0.
        least: a place that is no larger is taken where it is reached.
        most: nothing above it is tried; None comes back if even this is too small.
        precision: how close to come, as a share.

    >>> 3 <= smallest_within(lambda x: 9 / x**2, 1, least=0.1, most=99, precision=1e-3) < 3.01
    True
    """

    def above(place: float) -> float:
        ratio = value(math.exp(place)) / limit
        return math.log(ratio) if ratio > 0 else -math.inf

    good, low = 0.0, above(0.0)
    bad, high = good, low
    while low > 0:
        bad, high, good = good, low, good + math.log(2)
        if good > math.log(most):
            return None
        low = above(good)
    while high <= 0:
        if bad <= math.log(least):
            return math.exp(bad)
        good, low, bad = bad, high, bad - math.log(2)
        high = above(bad)
    tried = 0
    while good - bad > precision:
        tried += 1
        place = (good + bad) / 2
        if (
            math.isfinite(high - low) and tried % 3
        ):  # every third time the middle, whatever it looks like
            place = bad + (good - bad) * high / (high - low)
            # A little beyond where it seems to be, so that what is left is on one side of it.
            place += math.copysign(0.4 * precision, good + bad - 2 * place)
            place = min(max(place, bad + 0.1 * precision), good - 0.1 * precision)
            # On a grid, so that what the last digits of a quantity are does not matter.
            place = round(place / precision * 16) * precision / 16
        excess = above(place)
        if excess > 0:
            bad, high = place, excess
        else:
            good, low = place, excess
    return math.exp(good)


def last_whole_that_holds(holds: Callable[[int], bool], yes: int, no: int) -> int:
    """The same among whole numbers: the one that holds beside one that does not.

    >>> last_whole_that_holds(lambda n: n * n <= 50, 0, 100)
    7
    """
    while abs(no - yes) > 1:
        middle = (yes + no) // 2
        yes, no = (middle, no) if holds(middle) else (yes, middle)
    return yes
