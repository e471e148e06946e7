"""Checks of parameters, each returning the value it accepted.

One template for every message: ``epsilon of SanText must be a finite number above 0; got -1``.
"""

import math
from collections.abc import Sequence
from numbers import Integral, Real

from discreet.errors import InvalidValue


def fail(name: str, rule: str, value: object) -> InvalidValue:
    """The error for a value that breaks a rule; ``value`` must be a parameter, never text."""
    return InvalidValue(f"{name} must be {rule}; got {value!r}")


def _real(value: object, name: str, rule: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise fail(name, rule, value)
    number = float(value)
    if not math.isfinite(number):
        raise fail(name, rule, value)
    return number


def positive(value: object, name: str) -> float:
    """A finite number above 0.

    >>> positive(2, "epsilon of SanText")
    2.0
    >>> positive(-1, "epsilon of SanText")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: epsilon of SanText must be a finite number above 0; got -1
    """
    rule = "a finite number above 0"
    number = _real(value, name, rule)
    if number <= 0:
        raise fail(name, rule, value)
    return number


def non_negative(value: object, name: str) -> float:
    """A finite number of at least 0."""
    rule = "a finite number of at least 0"
    number = _real(value, name, rule)
    if number < 0:
        raise fail(name, rule, value)
    return number


def probability(value: object, name: str) -> float:
    """A number strictly between 0 and 1."""
    rule = "a number between 0 and 1, both excluded"
    number = _real(value, name, rule)
    if not 0 < number < 1:
        raise fail(name, rule, value)
    return number


def share(value: object, name: str) -> float:
    """A number above 0 and at most 1."""
    rule = "a number above 0 and at most 1"
    number = _real(value, name, rule)
    if not 0 < number <= 1:
        raise fail(name, rule, value)
    return number


def whole(value: object, name: str, *, at_least: int = 0) -> int:
    """A whole number of at least ``at_least``."""
    rule = f"a whole number of at least {at_least}"
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < at_least:
        raise fail(name, rule, value)
    return int(value)


def in_range(
    value: object,
    name: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> float:
    """A finite number within the bounds that are given, of the kind it came in.

    >>> in_range(0.5, "share", above=0, at_most=1)
    0.5
    >>> in_range(0.0, "share", above=0, at_most=1)
    Traceback (most recent call last):
    discreet.errors.InvalidValue: share must be a finite number above 0 and at most 1; got 0.0
    """
    bounds = {"above": above, "of at least": at_least, "at most": at_most, "below": below}
    said = [f"{words} {bound:g}" for words, bound in bounds.items() if bound is not None]
    rule = " ".join(["a finite number", " and ".join(said)]).strip()
    number = _real(value, name, rule)
    if (
        (above is not None and number <= above)
        or (at_least is not None and number < at_least)
        or (at_most is not None and number > at_most)
        or (below is not None and number >= below)
    ):
        raise fail(name, rule, value)
    return value if isinstance(value, int) else number


def one_of(value: object, options: Sequence[str], name: str) -> str:
    """One of a few words."""
    if value not in options:
        raise fail(name, "one of " + ", ".join(options), value)
    return str(value)
