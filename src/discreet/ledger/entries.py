"""What a ledger hands out: entries, limits, budgets."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from discreet.errors import InvalidValue
from discreet.ledger.amount import Amount
from discreet.statement import Adjacency, PrivacyStatement, Unit

RESERVED, COMMITTED, REFUNDED = "reserved", "committed", "refunded"
EVERYBODY = ""
"""The person that limits and postings name which count for everybody in a data set."""


@dataclass(frozen=True)
class Limit:
    """How much may be spent of a data set, by anybody or by one person, ever or in a window."""

    allowed: Amount
    window: timedelta | None = None
    """None for all time; otherwise whatever was charged longer ago is forgotten."""
    person: str = EVERYBODY
    """Keyed; empty where it is for everybody."""
    unit: Unit = Unit.DOCUMENT
    """Charges must hold for this much at least: of one word, say, too little is known."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            **self.allowed.to_dict(),
            "window_seconds": None if self.window is None else self.window.total_seconds(),
            "person": self.person or None,
            "unit": str(self.unit),
        }


@dataclass(frozen=True)
class Budget:
    """What a limit allows, what is gone, what is held, and what is left.

    Of a data set it is the budget of the person who has spent most of it.
    """

    limit: Limit | None
    spent: Amount
    """By releases that are complete."""
    held: Amount
    """Reserved, by releases under way or by processes that died: gone until it is refunded."""
    adjacency: Adjacency = Adjacency.REPLACE
    persons: bool = False
    """Whether persons of the data set have been charged by name."""

    @property
    def left(self) -> Amount | None:
        """What may still be charged; None where there is no limit."""
        if self.limit is None:
            return None
        gone = self.spent + self.held
        if gone.unbounded:
            return Amount()
        rest = self.limit.allowed - gone
        return Amount(max(0, rest.nano), max(0, rest.atto))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        left = self.left
        return {
            "limit": None if self.limit is None else self.limit.to_dict(),
            "spent": self.spent.to_dict(),
            "held": self.held.to_dict(),
            "left": None if left is None else left.to_dict(),
            "adjacency": str(self.adjacency),
        }


@dataclass(frozen=True)
class Entry:
    """One release, as it was booked."""

    id: str
    dataset: str
    """Keyed."""
    at: datetime
    state: str
    """``reserved``, ``committed`` or ``refunded``."""
    command: str
    version: str
    mechanism: str
    units: int
    persons: int
    """For how many persons it counts; 0 if for everybody."""
    amount: Amount
    """What it costs everybody, or the person whom it costs most."""
    statement: PrivacyStatement
    receipt: str | None
    """SHA-256 of the receipt, once it is committed."""
    digest: str
    """Of this entry and all of its data set before it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "id": self.id,
            "dataset": self.dataset,
            "at": self.at.isoformat(),
            "state": self.state,
            "command": self.command,
            "version": self.version,
            "mechanism": self.mechanism,
            "units": self.units,
            "persons": self.persons,
            **self.amount.to_dict(),
            "statement": self.statement.to_dict(),
            "receipt": self.receipt,
            "digest": self.digest,
        }


def moment(microseconds: int) -> datetime:
    """A time as people read it."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC)


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def time_span(text: str) -> timedelta:
    """A time as people write it.

    >>> time_span("90m") == timedelta(hours=1.5)
    True
    """
    match = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if match is None:
        raise InvalidValue("--window must be a whole number and s, m, h, d or w, such as 30d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
