"""The errors that discreet raises on purpose.

Every one is a :class:`DiscreetError` and also the built-in kind a caller would expect. Messages
name parameters, files and positions; they never contain a word of the text being protected.
"""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

TRACEBACK = "DISCREET_TRACEBACK"
"""An environment variable: if it is set, the command shows errors of others as Python does."""


class DiscreetError(Exception):
    """Anything discreet refuses to do, with a sentence that says what to change."""

    exit_code = 2


class InvalidValue(DiscreetError, ValueError):
    """A parameter or an array that cannot be used as given."""


class InputError(DiscreetError, ValueError):
    """A file that cannot be read as what it is said to be."""


class OutputError(DiscreetError, OSError):
    """An output that cannot be written, or that exists already."""


class NotFound(DiscreetError, LookupError):
    """A space, model or mechanism that is not where it was looked for."""


class MissingExtra(DiscreetError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f'{feature} needs an optional part; install it with: pip install "discreet[{extra}]", '
            f'or in a clone of the project: pip install -e ".[{extra}]"'
        )
        self.extra = extra


@contextmanager
def needs_extra(feature: str, extra: str) -> Iterator[None]:
    """Around imports: one that fails is an error that says what to install for this feature."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(feature, extra) from error


@contextmanager
def read_as(kind: str) -> Iterator[None]:
    """Around reading a file that anybody may have written: whatever goes wrong is an InputError.

    Args:
        kind: what the file was to be, and a remedy: "models/a is not a model; train it again".
    """
    try:
        yield
    except DiscreetError:
        raise
    except Exception as error:
        # Not in the error's own words: these may repeat what stands in the file.
        raise InputError(f"{kind} ({type(error).__name__})") from error


def kind_and_place(error: BaseException) -> str:
    """What is told of an error that is not ours: not its own words, which may repeat a text."""
    places = traceback.extract_tb(error.__traceback__)
    where = f" in {os.path.basename(places[-1].filename)}:{places[-1].lineno}" if places else ""
    return type(error).__name__ + where


def unforeseen(error: Exception) -> str:
    """A sentence on an error that nobody foresaw."""
    if os.environ.get(TRACEBACK):
        raise error
    return (
        f"something went wrong that should not have ({kind_and_place(error)}). Its own words are "
        f"not shown, as they may repeat a text; where they may be seen, set {TRACEBACK}=1"
    )


class IncompatibleStatements(DiscreetError, TypeError):
    """Two privacy statements that cannot be added or compared as asked."""


class BudgetExceeded(DiscreetError, RuntimeError):
    """More privacy budget was asked for than is left.

    Args:
        message: A sentence for people.
        remaining: What is left, where a ledger knows it.
        requested: What was asked for.
    """

    exit_code = 3

    def __init__(self, message: str, *, remaining: object = None, requested: object = None) -> None:
        super().__init__(message)
        self.remaining, self.requested = remaining, requested


class LedgerUnavailable(DiscreetError, OSError):
    """A ledger that cannot be reached, read or written: nothing may be released without it."""


class VerificationFailed(DiscreetError, AssertionError):
    """A claimed guarantee does not hold."""

    exit_code = 4
