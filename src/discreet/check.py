"""Checks of parameters, each returning the value it accepted.

One template for every message: ``epsilon of SanText must be a finite number above 0; got -1``.
"""

import csv
import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real

from discreet.errors import InvalidValue


def fail(name: str, rule: str, value: object) -> InvalidValue:
    """The error for a value that breaks a rule; ``value`` must be a parameter, never text."""
    return InvalidValue(f"{name} must be {rule}; got {value!r}")


def _real(value: object, name: str, rule: str, keeps: Callable[[float], bool]) -> float:
    """A finite number that keeps the rule."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise fail(name, rule, value)
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        number = math.inf
    if not math.isfinite(number) or not keeps(number):
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
    return _real(value, name, "a finite number above 0", lambda number: number > 0)


def non_negative(value: object, name: str) -> float:
    """A finite number of at least 0."""
    return _real(value, name, "a finite number of at least 0", lambda number: number >= 0)


def probability(value: object, name: str) -> float:
    """A number strictly between 0 and 1."""
    rule = "a number between 0 and 1, both excluded"
    return _real(value, name, rule, lambda number: 0 < number < 1)


def share(value: object, name: str) -> float:
    """A number above 0 and at most 1."""
    return _real(value, name, "a number above 0 and at most 1", lambda number: 0 < number <= 1)


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

    def keeps(number: float) -> bool:
        return (
            (above is None or number > above)
            and (at_least is None or number >= at_least)
            and (at_most is None or number <= at_most)
            and (below is None or number < below)
        )

    number = _real(value, name, rule, keeps)
    return value if isinstance(value, int) else number


def one_of(value: object, options: Sequence[str], name: str) -> str:
    """One of a few words."""
    if value not in options:
        raise fail(name, "one of " + ", ".join(options), value)
    return str(value)


def numbers(text: str, name: str) -> tuple[float, ...]:
    """Numbers that are written with commas between them.

    >>> numbers("0.5,0.25,0.25", "shares")
    (0.5, 0.25, 0.25)
    """
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise InvalidValue(f"{name} must be numbers with commas between them") from error


def labels(text: str) -> tuple[str, ...]:
    """Labels with commas between them, as in a line of csv: one with a comma is in double quotes.

    >>> labels('"red, or so", green,3" long')
    ('red, or so', 'green', '3" long')
    """
    try:
        ((first, *more),) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise InvalidValue(
            "the labels must have commas between them, and one that holds a comma double quotes "
            "around it"
        ) from error
    return tuple(label.strip() for label in (first, *more))
