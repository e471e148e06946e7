"""Budget that was set aside for one release."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from discreet.errors import InvalidValue
from discreet.ledger.entries import COMMITTED, REFUNDED, RESERVED


class Closing(Protocol):
    """The ledger that a reservation is in."""

    def close_all(self, closing: Sequence[tuple["Reservation", str, str | None]]) -> None:
        """Say what became of reservations: each with its state, and its receipt's digest."""
        ...


@dataclass(frozen=True)
class Reservation:
    """Budget that is set aside for one release, and gone unless it is refunded.

    Attributes:
        id: Of the entry.
        dataset: Keyed.
        state: ``reserved``, or what became of it where a request came again.
        repeated: The request id was there already. Do not draw again under this reservation: what
            was drawn the first time may have left the process. Hand out what was kept, or refuse.
    """

    id: str
    dataset: str
    state: str = RESERVED
    repeated: bool = False
    _ledger: "Closing | None" = field(default=None, repr=False, compare=False)

    def commit(self, receipt_digest: str | None = None) -> None:
        """Say that the release is whole; before its output takes its place.

        Args:
            receipt_digest: SHA-256 of the receipt that will lie beside the output, in hexadecimal.
        """
        self._own.close_all([(self, COMMITTED, receipt_digest)])

    def refund(self) -> None:
        """Give the budget back. Only if nothing that was drawn has left the process."""
        self._own.close_all([(self, REFUNDED, None)])

    @property
    def _own(self) -> "Closing":
        if self._ledger is None:
            raise InvalidValue("this reservation belongs to no open ledger")
        return self._ledger
