"""A ledger and the data set whose releases are booked in it: what a release is handed."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from discreet import check
from discreet.arrays import Generator
from discreet.errors import DiscreetError, InvalidValue
from discreet.ledger.book import Ledger, Reservation
from discreet.ledger.charge import Charge
from discreet.ledger.rows import POLICIES, STORED
from discreet.randomness import is_secure


@dataclass(frozen=True)
class DatasetLedger:
    """Where releases of one data set are booked.

    Args:
        ledger: Open as long as releases are made.
        dataset: Whose texts these are.
        command: What an entry says released them.
        again: What becomes of a text that was released before: ``stored-first-release`` hands out
            what was kept of that release and refuses what was not, ``refuse``, ``charge``.
        keep: Keep what is released in the ledger, to be handed out if the same text comes again.
    """

    ledger: Ledger
    dataset: str
    command: str = "python"
    again: str = STORED
    keep: bool = False

    def __post_init__(self) -> None:
        check.one_of(self.again, POLICIES, "again of DatasetLedger")

    @contextmanager
    def reserved(
        self, charge: Charge, *, rng: Generator | None = None, request: str | None = None
    ) -> Iterator[Reservation]:
        """Budget for what the block releases, given back if the block fails before it commits.

        Nothing that the block draws may leave the process before ``commit``: outputs wait beside
        their places until then.

        Args:
            charge: What it costs.
            rng: Where the noise comes from; a seeded one is refused.
            request: A name under which the same release may come again, and is charged once.
        """
        if rng is not None and not is_secure(rng):
            raise InvalidValue(
                "a seeded release is not booked, because anyone who has the seed can remove the "
                "noise; leave out the seed, or the ledger"
            )
        reservation = self.ledger.reserve(charge, request=request)
        try:
            yield reservation
        except BaseException:
            # What was committed stays so; what cannot be reached stays spent.
            with suppress(DiscreetError):
                reservation.refund()
            raise
