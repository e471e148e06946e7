"""The ledger: who released what about whom, and how much is left."""

import contextlib
import json
import secrets
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from discreet import check
from discreet.accounting.lifting import within
from discreet.accounting.receipts import Together, add_statements
from discreet.errors import (
    BudgetExceeded,
    IncompatibleStatements,
    InvalidValue,
    LedgerUnavailable,
    NotFound,
)
from discreet.ledger import chain, rows, stores, totals
from discreet.ledger.amount import Amount
from discreet.ledger.charge import Charge, cost
from discreet.ledger.entries import (
    COMMITTED,
    EVERYBODY,
    REFUNDED,
    RESERVED,
    Budget,
    Entry,
    Limit,
)
from discreet.ledger.keys import LedgerKey
from discreet.ledger.reservation import Reservation as Reservation
from discreet.ledger.rows import Seen
from discreet.ledger.schema import is_current, migrate
from discreet.ledger.writing import Writing
from discreet.statement import Adjacency, PrivacyStatement, Unit

_MOST_SECONDS = 3_000_000_000  # a window of a hundred years


class Ledger:
    """Books releases against limits; two processes can never overspend one together.

    A release *reserves* before it draws and *commits* when its output is whole. A reservation
    counts as spent from the start: a process that dies in between leaves it spent, and visible.

    Every method is one transaction and may be called from any thread; calls wait for each other.
    They wait for the disk, too: in asyncio call them with ``asyncio.to_thread``. Open a ledger of
    its own in each process (a forked child gets a new connection by itself).

    Privacy: data sets, persons, requests and rows are stored as keyed hashes (HMAC-SHA-256); texts
    never. Who has the database without the key sees times, amounts and how many persons there are.

    >>> import tempfile
    >>> from discreet.statement import PrivacyStatement
    >>> whole = PrivacyStatement(notion="pure", epsilon=4.0, unit="document")
    >>> charge = Charge(dataset="tickets", command="sanitize", statement=whole)
    >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(f"{folder}/l.db") as ledger:
    ...     ledger.limit(dataset="tickets", epsilon=10.0)
    ...     ledger.reserve(charge).commit()
    ...     ledger.reserve(charge).commit()
    ...     try:
    ...         ledger.reserve(charge)
    ...     except BudgetExceeded as error:
    ...         print(error.remaining, "|", error.requested)
    epsilon 2 | epsilon 4
    """

    def __init__(self, store: stores.Store, key: LedgerKey) -> None:
        self._store, self._key = store, key
        self._known: set[str] = set()

    @classmethod
    def open(
        cls,
        url: str | Path,
        *,
        key: LedgerKey | bytes | str | Path | None = None,
        new: bool = True,
    ) -> Self:
        """Open a ledger; a new one is made where there is none.

        Args:
            url: ``sqlite:///path`` or a plain path for a file, ``postgresql://...`` for a server.
                ``sqlite:///path?mode=ro`` only looks.
            key: The secret that names are hashed with: a file that only its owner can read, or the
                bytes. A file's ledger keeps its key beside it (``PATH.key``) unless told.
            new: Make a file that is not there; otherwise that is an error.
        """
        store = stores.store_of(url)
        if not new and isinstance(store, stores.SqliteStore) and not store.path.exists():
            raise NotFound(f"there is no ledger {store.path}; check the path")
        found = key if isinstance(key, LedgerKey) else stores.key_of(store, key)
        try:
            # Looking first: whoever may only read can open a ledger that is as it should be.
            with contextlib.suppress(LedgerUnavailable), store.transaction(write=False) as c:
                if is_current(c, found.check):
                    return cls(store, found)
            with store.transaction() as connection:
                store.exclude_others(connection)
                migrate(connection, found.check)
        except BaseException:
            store.close()
            raise
        return cls(store, found)

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- limits --------------------------------------------------------------------------------

    def limit(
        self,
        *,
        dataset: str,
        epsilon: float | None,
        delta: float = 0.0,
        person: str | None = None,
        window: timedelta | float | None = None,
        unit: Unit | str = Unit.DOCUMENT,
        adjacency: Adjacency | str = Adjacency.REPLACE,
    ) -> None:
        """Set how much may be spent; every limit that concerns a charge must allow it.

        Args:
            dataset: Of whose texts.
            epsilon: At most this for each person (or each document, where persons are not known),
                rounded down to 1e-9. None takes the limit away.
            delta: And at most this; 0 allows releases without a delta only.
            person: For this person alone, beside the limit for everybody.
            window: A time, or seconds, that the limit looks back; all time unless given. A window
                limits how fast a person's loss grows, not how large it becomes.
            unit: Charges must hold for this much: a document, or ``"user"``.
            adjacency: What is counted: replacing a unit, or adding or removing one. It is the same
                for all limits of a data set.
        """
        seconds = window.total_seconds() if isinstance(window, timedelta) else window
        span = 0
        if seconds is not None:
            span = round(
                check.in_range(seconds, "window of a limit", above=0, at_most=_MOST_SECONDS) * 1e6
            )
        allowed = None if epsilon is None else Amount.allowed(epsilon, delta)
        name, whom = self._names(dataset, person)
        with self._writing() as writing:
            account = writing.account(name)
            totals.set_limit(
                writing, account, whom, span, allowed, Unit(unit), Adjacency(adjacency)
            )
            said = {
                "person": whom,
                "span": span,
                "nano": allowed and allowed.nano,
                "atto": allowed and allowed.atto,
                "unit": str(Unit(unit)),
                "adjacency": str(Adjacency(adjacency)),
            }
            chain.append(writing, self._key, account, "limit", "", json.dumps(said))

    def limits(self, dataset: str) -> list[Limit]:
        """All limits of a data set."""
        with self._store.transaction(write=False) as connection:
            return totals.limits(connection, self._key.dataset(dataset))

    # -- charges -------------------------------------------------------------------------------

    def reserve(self, charge: Charge, *, request: str | None = None) -> Reservation:
        """Set budget aside for a release, before anything is drawn.

        Args:
            charge: What it costs, and whom.
            request: A name that a client gives its request, so that the same request is not
                charged twice; see :attr:`Reservation.repeated`.

        Raises:
            BudgetExceeded: A limit does not allow it; nothing is charged.
        """
        (found,) = self.reserve_all([(charge, request)])
        if isinstance(found, BudgetExceeded):
            raise found
        return found

    def reserve_all(
        self, charges: Sequence[tuple[Charge, str | None]]
    ) -> list[Reservation | BudgetExceeded]:
        """Reserve for many releases in one transaction; each is allowed or refused by itself.

        Returns:
            for each charge and request id, in their order, a reservation or why there is none.
        """
        return self._book([(charge, request, None) for charge, request in charges])

    def book_all(self, charges: Sequence[tuple[Charge, str]]) -> list[Reservation | BudgetExceeded]:
        """Reserve and commit many releases in one transaction, each allowed or refused by itself.

        For what was drawn already and waits in memory: nothing of it may have left the process, and
        whatever is refused must be thrown away.

        Args:
            charges: each with the SHA-256 of its receipt.
        """
        return self._book([(charge, None, receipt) for charge, receipt in charges])

    def _book(
        self, charges: Sequence[tuple[Charge, str | None, str | None]]
    ) -> list[Reservation | BudgetExceeded]:
        names = [self._key.dataset(charge.dataset) for charge, _, _ in charges]
        found: dict[int, Reservation | BudgetExceeded] = {}
        with self._writing() as writing:
            writing.lock(names)
            for place in range(len(names)):
                charge, request, receipt = charges[place]
                try:
                    made = self._reserve(writing, names[place], charge, request, receipt)
                    found[place] = made
                except BudgetExceeded as error:
                    found[place] = error
        return [found[place] for place in range(len(names))]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Writing]:
        with self._store.transaction() as connection:
            writing = Writing(connection, self._store.for_update, self._known)
            yield writing
            writing.finish()
        self._known |= writing.datasets

    def _reserve(
        self,
        writing: Writing,
        name: str,
        charge: Charge,
        request: str | None,
        receipt: str | None,
    ) -> Reservation:
        account = writing.account(name)
        own, statement = _priced(charge.statement, account.adjacency)
        amounts = {EVERYBODY: own}
        if charge.persons:
            # Many persons share a statement, and to hash one takes long.
            each = {id(s): s for s in charge.persons.values()}
            costs = {number: cost(s, account.adjacency) for number, s in each.items()}
            whom = self._key.persons(charge.dataset, charge.persons)
            owing = (costs[id(statement)] for statement in charge.persons.values())
            # In one order everywhere, so that no two transactions wait for each other.
            amounts = dict(sorted(zip(whom, owing, strict=True), key=itemgetter(0)))
        said = {
            "command": charge.command,
            "version": charge.version,
            "mechanism": charge.mechanism,
            "units": charge.units,
            "persons": len(charge.persons),
            "amount": list(_fields(own)),
            "postings": chain.of_postings(amounts),
        }
        if request is not None:
            request = self._key.request(charge.dataset, request)
            said["request"] = request
            if (before := chain.by_request(writing, name, request, said)) is not None:
                return Reservation(before[0], name, before[1], True, self)
        for limit in totals.concerned(writing, account, amounts):
            if not within(limit.unit, charge.statement.unit):
                raise IncompatibleStatements(
                    f"the limit of this data set is for a whole {limit.unit}, and the charge is "
                    f"for a {charge.statement.unit}; lift it first (Charge.of_draws)"
                )
            totals.require(writing, account, limit, amounts)
        entry = secrets.token_hex(16)
        number = account.events + 1
        body = f'{json.dumps(said)[:-1]}, "statement": {statement}}}'
        at = chain.append(writing, self._key, account, "reserve", entry, body)
        totals.post(writing, account, number, at, amounts)
        if receipt is not None:
            told = json.dumps({"receipt": receipt})
            chain.append(writing, self._key, account, COMMITTED, entry, told)
            return Reservation(entry, name, COMMITTED, False, self)
        chain.open_entry(writing, entry, name, number, request)
        return Reservation(entry, name, RESERVED, False, self)

    def commit_all(self, done: Sequence[tuple[Reservation, str | None]]) -> None:
        """Commit many reservations in one transaction, each with its receipt's digest."""
        self.close_all([(reservation, COMMITTED, digest) for reservation, digest in done])

    def close_all(self, closing: Sequence[tuple[Reservation, str, str | None]]) -> None:
        """Commit or refund many reservations in one transaction.

        Args:
            closing: each with its new state and, if it is committed, its receipt's digest.
        """
        with self._writing() as writing:
            writing.lock(reservation.dataset for reservation, _, _ in closing)
            for reservation, state, receipt in closing:
                account = writing.account(reservation.dataset)
                number = chain.close_entry(writing, reservation.id, state, receipt)
                if number is None:
                    continue  # said already, in the same words
                said: dict[str, Any] = {"receipt": receipt} if state == COMMITTED else {}
                own = account.events + 1
                chain.append(writing, self._key, account, state, reservation.id, json.dumps(said))
                if state == REFUNDED:
                    totals.give_back(writing, account, number, own)

    def reservation(self, id: str) -> Reservation:
        """A reservation by its id: to refund what a process left that died before it drew."""
        with self._store.transaction(write=False) as connection:
            found = chain.state_of(connection, id)
        if found is None:
            raise NotFound("there is no such entry in this ledger; check its id")
        return Reservation(id, found[0], found[1], True, self)

    # -- looking -------------------------------------------------------------------------------

    def budget(self, dataset: str, person: str | None = None) -> Budget:
        """What is left of a data set, or of a person's part in it: by the tightest limit."""
        found = self.budgets(dataset, person)
        limited = [each for each in found if each.left is not None]
        return min(limited, key=lambda b: (b.left or Amount()).nano) if limited else found[0]

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
        found = self.entries(dataset, person=person)
        each = {e.id: e.statement.of_dataset(e.dataset) for e in found if e.state != REFUNDED}
        return add_statements(each, delta=delta)

    def entries(self, dataset: str | None = None, *, person: str | None = None) -> Iterator[Entry]:
        """All entries, the oldest of each data set first; of a person, those that count for it."""
        if person is not None and dataset is None:
            raise InvalidValue("a person is known within a data set; name that too")
        name, whom = (None, EVERYBODY) if dataset is None else self._names(dataset, person)
        with self._store.transaction(write=False) as connection:
            found = list(chain.entries(connection, name, whom))
        return iter(found)

    def verify(self, receipts: Sequence[str | Path] = ()) -> "list[str]":
        """What is wrong: with the chains, the totals, or these receipts. Empty if nothing is.

        Args:
            receipts: Of outputs whose entries must be there, and say the same.
        """
        from discreet.ledger.verify import problems

        with self._store.transaction(write=False) as connection:
            return problems(connection, self._key, [Path(path) for path in receipts])

    def named(self, dataset: str, person: str | None = None) -> str:
        """The keyed name under which a data set, or a person of it, is in this ledger."""
        name, whom = self._names(dataset, person)
        return whom or name

    # -- the same row again --------------------------------------------------------------------

    def seen(self, dataset: str, texts: Sequence[str | bytes]) -> list[Seen | None]:
        """For each input row, which release it was in first, and that release where it was kept."""
        prints = [self._key.row(dataset, text) for text in texts]
        with self._store.transaction(write=False) as connection:
            return rows.seen(connection, self._key.dataset(dataset), prints)

    def remember(
        self,
        reservation: Reservation,
        dataset: str,
        texts: Sequence[str | bytes],
        releases: Sequence[str] | None = None,
    ) -> None:
        """Keep the fingerprints of input rows with the release that they are in.

        Args:
            reservation: Of the release.
            dataset: Of the rows; the reservation's.
            texts: The rows as they came in. Only their keyed hashes are kept.
            releases: What was released for each, to be handed out if the row comes again.
        """
        name = self._key.dataset(dataset)
        if name != reservation.dataset:
            raise InvalidValue("the rows must be of the data set that the reservation is for")
        prints = [self._key.row(dataset, text) for text in texts]
        with self._store.transaction() as connection:
            rows.remember(connection, name, prints, reservation.id, releases)

    def _names(self, dataset: str, person: str | None) -> tuple[str, str]:
        if not isinstance(dataset, str) or not dataset:
            raise InvalidValue("a data set must have a name")
        if person is None:
            return self._key.dataset(dataset), EVERYBODY
        if not person:
            raise InvalidValue("a person must have a name that is not empty")
        return self._key.dataset(dataset), self._key.person(dataset, person)


@lru_cache(4096)
def _priced(statement: PrivacyStatement, adjacency: Adjacency) -> tuple[Amount, str]:
    """What a statement costs, and its JSON: the same one is charged again and again."""
    return cost(statement, adjacency), json.dumps(statement.to_dict(), ensure_ascii=False)


def _fields(amount: Amount) -> tuple[int, int, int]:
    return amount.nano, amount.atto, amount.unbounded
