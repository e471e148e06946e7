"""Budget that is set aside for a release, until it is committed or given back."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.ledger.entries import COMMITTED, REFUNDED

if TYPE_CHECKING:
    from discreet.ledger.book import Ledger


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
    state: str
    repeated: bool
    _ledger: "Ledger" = field(repr=False, compare=False)

    def commit(self, receipt_digest: str | None = None) -> None:
        """Say that the release is whole; before its output takes its place.

        Args:
            receipt_digest: SHA-256 of the receipt that will lie beside the output, in hexadecimal.
        """
        self._ledger.close_all([(self, COMMITTED, receipt_digest)])

    def refund(self) -> None:
        """Give the budget back. Only if nothing that was drawn has left the process."""
        self._ledger.close_all([(self, REFUNDED, None)])
