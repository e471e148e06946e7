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


def one_of(value: object, options: Sequence[str], name: str) -> str:
    """One of a few words."""
    if value not in options:
        raise fail(name, "one of " + ", ".join(options), value)
    return str(value)
