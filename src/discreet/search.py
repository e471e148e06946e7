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


def last_whole_that_holds(holds: Callable[[int], bool], yes: int, no: int) -> int:
    """The same among whole numbers: the one that holds beside one that does not.

    >>> last_whole_that_holds(lambda n: n * n <= 50, 0, 100)
    7
    """
    while abs(no - yes) > 1:
        middle = (yes + no) // 2
        yes, no = (middle, no) if holds(middle) else (yes, middle)
    return yes
