"""What a ledger is asked: limits, budgets, entries, and rows that were released before."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from discreet.accounting.receipts import Together, add_statements
from discreet.errors import InvalidValue
from discreet.ledger import chain, rows, stores, totals
from discreet.ledger.amount import Amount
from discreet.ledger.entries import EVERYBODY, REFUNDED, Budget, Entry, Limit
from discreet.ledger.keys import LedgerKey
from discreet.ledger.rows import Seen


class Looking:
    """A ledger that is only looked at."""

    def __init__(self, store: stores.Store, key: LedgerKey) -> None:
        self._store, self._key = store, key

    def limits(self, dataset: str) -> list[Limit]:
        """All limits of a data set."""
        with self._store.transaction(write=False) as connection:
            return totals.limits(connection, self._key.dataset(dataset))

    def budget(self, dataset: str, person: str | None = None) -> Budget:
        """What is left of a data set, or of a person's part in it: by the tightest limit."""
        budgets = self.budgets(dataset, person)
        limited = [each for each in budgets if each.left is not None]
        return min(limited, key=lambda b: (b.left or Amount()).nano) if limited else budgets[0]

    def budgets(self, dataset: str, person: str | None = None) -> list[Budget]:
        """The same by each limit; without any, what was spent in all."""
        name, whom = self._names(dataset, person)
        with self._store.transaction(write=False) as connection:
            return totals.budgets(connection, name, whom)

    def datasets(self) -> list[str]:
        """The keyed names of all data sets; :meth:`named` gives that of a name."""
        with self._store.transaction(write=False) as connection:
            return totals.datasets(connection)

    def overview(self) -> dict[str, list[Budget]]:
        """The budgets of all data sets, by their keyed names."""
        with self._store.transaction(write=False) as connection:
            names = totals.datasets(connection)
            return {name: totals.budgets(connection, name, EVERYBODY) for name in names}

    def together(
        self, dataset: str, *, person: str | None = None, delta: float = 0.0
    ) -> list[Together]:
        """What all releases that count for anybody, or for a person, guarantee together.

        By the project's algebra, with what cannot be added side by side; beside the budget, whose
        plain sums are what limits are checked against. What was refunded is left out, what is
        reserved is not.

        Args:
            dataset: Which.
            person: Or only what counts for this person.
            delta: A chance that may be given away for a smaller epsilon by optimal composition.
        """
        entries = self.entries(dataset, person=person)
        each = {e.id: e.statement.of_dataset(e.dataset) for e in entries if e.state != REFUNDED}
        return add_statements(each, delta=delta)

    def entries(self, dataset: str | None = None, *, person: str | None = None) -> Iterator[Entry]:
        """All entries, the oldest of each data set first; of a person, those that count for it."""
        if person is not None and dataset is None:
            raise InvalidValue("a person is known within a data set; name that too")
        name, whom = (None, EVERYBODY) if dataset is None else self._names(dataset, person)
        with self._store.transaction(write=False) as connection:
            return iter(list(chain.entries(connection, name, whom)))

    def verify(self, receipts: Sequence[str | Path] = ()) -> "list[str]":
        """What is wrong: with the chains, the totals, or these receipts. Empty if nothing is.

        Args:
            receipts: Of outputs whose entries must be there, and say the same.
        """
        from discreet.ledger.verify import problems

        with self._store.transaction(write=False) as connection:
            return problems(connection, self._key, [Path(path) for path in receipts])

    def unchecked_rows(self) -> int:
        """Of how many releases :meth:`verify` cannot check the rows that texts are known by."""
        from discreet.ledger.verify import unchecked_rows

        with self._store.transaction(write=False) as connection:
            return unchecked_rows(connection)

    def named(self, dataset: str, person: str | None = None) -> str:
        """The keyed name under which a data set, or a person of it, is in this ledger."""
        name, whom = self._names(dataset, person)
        return whom or name

    def seen(self, dataset: str, texts: Sequence[str | bytes]) -> list[Seen | None]:
        """For each input row, which release it was in first, and that release where it was kept."""
        return self.seen_prints(dataset, [self._key.row(dataset, text) for text in texts])

    def seen_prints(self, dataset: str, prints: Sequence[str]) -> list[Seen | None]:
        """The same for rows that were printed elsewhere, with :attr:`row_key`."""
        with self._store.transaction(write=False) as connection:
            return rows.seen(connection, self._key.dataset(dataset), prints)

    @property
    def row_key(self) -> bytes:
        """What rows are printed with: for processes that read rows and have no ledger."""
        return self._key.row_key

    def _names(self, dataset: str, person: str | None) -> tuple[str, str]:
        if not isinstance(dataset, str) or not dataset:
            raise InvalidValue("a data set must have a name")
        if person is None:
            return self._key.dataset(dataset), EVERYBODY
        if not person:
            raise InvalidValue("a person must have a name that is not empty")
        return self._key.dataset(dataset), self._key.person(dataset, person)
