"""The ledger: who released what about whom, and how much is left."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from discreet import check
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    IncompatibleStatements,
    InvalidValue,
    LedgerUnavailable,
    NotFound,
)
from discreet.ledger import chain, rows, stores, totals
from discreet.ledger.amount import Amount
from discreet.ledger.asked import Asked, asked, packed, unpacked
from discreet.ledger.charge import Charge
from discreet.ledger.entries import COMMITTED, REFUNDED, RESERVED, time_span
from discreet.ledger.keys import LedgerKey
from discreet.ledger.looking import Looking
from discreet.ledger.reservation import Reservation as Reservation
from discreet.ledger.schema import is_current, migrate
from discreet.ledger.writing import Missing, Unlocked, Writing
from discreet.statement import Adjacency, Unit

_CROWDED = 20  # charges that are locked for, after somebody else was faster
_MOST_SECONDS = 3_000_000_000  # a window of a hundred years


class Ledger(Looking):
    """Books releases against limits; two processes can never overspend one together.

    A release *reserves* before it draws and *commits* when its output is whole. A reservation
    counts as spent from the start: a process that dies in between leaves it spent, and visible.

    Every method is one transaction and may be called from any thread; calls wait for each other.
    They wait for the disk, too: in asyncio call them with ``asyncio.to_thread``. Open a ledger of
    its own in each process (a forked child gets a new connection by itself).

    Privacy: data sets, persons, requests and rows are stored as keyed hashes (HMAC-SHA-256); texts
    never. Who has the database without the key sees times, commands, mechanisms, statements and
    amounts, how many words, persons and rows there are, which entries are of the same data set,
    person or row, digests of receipts, and the releases that are kept to be handed out again.

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
        super().__init__(store, key)
        self._known: dict[str, Adjacency] = {}
        self._with_rows: set[str] = set()  # reservations whose rows are remembered
        self._crowded = 0

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
        ledger_key = key if isinstance(key, LedgerKey) else stores.key_of(store, key)
        try:
            # Looking first: whoever may only read can open a ledger that is as it should be.
            with contextlib.suppress(LedgerUnavailable), store.transaction(write=False) as c:
                if is_current(c, ledger_key.check):
                    return cls(store, ledger_key)
            with store.transaction() as connection:
                store.exclude_others(connection)
                migrate(connection, ledger_key.check)
        except BaseException:
            store.close()
            raise
        return cls(store, ledger_key)

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- limits --------------------------------------------------------------------------------

    def limit(
        self,
        *,
        dataset: str,
        epsilon: float | None,
        delta: float = 0.0,
        person: str | None = None,
        window: timedelta | float | str | None = None,
        unit: Unit | str | None = None,
        adjacency: Adjacency | str = Adjacency.REPLACE,
    ) -> None:
        """Set how much may be spent; every limit that concerns a charge must allow it.

        Args:
            dataset: Of whose texts.
            epsilon: At most this for each person (or each document, where persons are not known),
                rounded down to 1e-9. None takes the limit away.
            delta: And at most this; 0 allows releases without a delta only.
            person: For this person alone, beside the limit for everybody.
            window: A time, such as ``"30d"``, or seconds, that the limit looks back; all time
                unless given. It limits how fast a person's loss grows, not how large it becomes.
            unit: Charges must hold for this much: ``"document"`` or ``"user"``; by default a
                document, and a user where adding or removing one is counted.
            adjacency: What is counted: replacing a unit, or adding or removing one. It is the same
                for all limits of a data set.
        """
        adjacency = Adjacency(adjacency)
        usual = Unit.DOCUMENT if adjacency is Adjacency.REPLACE else Unit.USER
        unit = usual if unit is None else Unit(unit)
        window = time_span(window) if isinstance(window, str) else window
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
            totals.set_limit(writing, account, whom, span, allowed, unit, adjacency)
            said = {
                "person": whom,
                "span": span,
                "nano": allowed and allowed.nano,
                "atto": allowed and allowed.atto,
                "unit": str(unit),
                "adjacency": str(adjacency),
            }
            chain.append(writing, self._key, account, "limit", "", json.dumps(said))

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
        (booked,) = self.reserve_all([(charge, request)])
        if isinstance(booked, BudgetExceeded):
            raise booked
        return booked

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
        ready = []
        for charge, named, receipt in charges:
            name = self._key.dataset(charge.dataset)
            request = None if named is None else self._key.request(charge.dataset, named)
            counted = self._known.get(name, Adjacency.REPLACE)
            ready.append(asked(self._key, charge, name, request, receipt, counted))
        only = ready[0] if len(ready) == 1 else None
        told = None if only is None else packed(self._key, only)
        mark = b"" if only is None else bytes.fromhex(only.entry)
        store = self._store
        with store.turn(told, mark) as at_head:
            if only is not None and (not at_head or (store.line.said and self._is_there(only))):
                return [self._made(only)]
            if only is not None and only.request is None and (made := self._at_once(only)):
                return [made]
            behind = list(unpacked(self._key, store.line.requests()))
            booked, done = self._write(ready, [each for each in behind if each.entry != mark.hex()])
            if done:
                store.line.answer(done)
        return booked

    def _at_once(self, ready: Asked) -> Reservation | None:
        """Book one charge without a lock, if nobody else books for its data set right now."""
        if self._crowded:
            self._crowded -= 1
            return None
        unlocked = self._store.unlocked()
        if unlocked is None:
            return None
        try:
            with unlocked as connection:
                writing = Unlocked(connection)
                made = self._reserve(writing, ready)
                if writing.finish_unless_changed():
                    return made
        except (BudgetExceeded, Missing):  # as it seems; with a lock it is certain
            return None
        self._crowded = _CROWDED
        return None

    def _is_there(self, ready: Asked) -> bool:
        """Whether somebody ahead booked this, who was killed before that was said."""
        with self._store.transaction(write=False) as connection:
            return chain.state_of(connection, ready.entry) is not None

    def _write(
        self, ready: Sequence[Asked], behind: Sequence[Asked]
    ) -> tuple[list[Reservation | BudgetExceeded], list[bytes]]:
        """Book what is asked, and what those behind ask who can be served as they wish."""
        booked: list[Reservation | BudgetExceeded] = []
        done = []
        with self._writing() as writing:
            writing.lock(each.dataset for each in (*ready, *behind))
            for each in ready:
                try:
                    booked.append(self._reserve(writing, each))
                except BudgetExceeded as error:
                    booked.append(error)
            for each in behind:
                with contextlib.suppress(DiscreetError):  # which they will find out themselves
                    self._reserve(writing, each)
                    done.append(bytes.fromhex(each.entry))
        return booked, done

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Writing]:
        with self._store.transaction() as connection:
            writing = Writing(connection, self._store.for_update, self._known.keys())
            yield writing
            writing.finish()
        self._known |= writing.counted

    def _reserve(self, writing: Writing, ready: Asked) -> Reservation:
        name, account = ready.dataset, writing.account(ready.dataset)
        if account.adjacency is not ready.adjacency:
            if ready.charge is None:
                raise IncompatibleStatements("the data set counts changes of another kind")
            given = ready.charge, name, ready.request, ready.receipt
            ready = asked(self._key, *given, account.adjacency)
        if ready.request is not None:
            before = chain.by_request(writing, name, ready.request, ready.said)
            if before is not None:
                return Reservation(before[0], name, before[1], True, self)
        for limit in totals.concerned(writing, account, ready.amounts):
            totals.require_unit(account, limit, ready.unit)
            totals.require(writing, account, limit, ready.amounts)
        totals.countable(account, ready.amounts)
        number, entry = account.events + 1, ready.entry
        at = chain.append(writing, self._key, account, "reserve", entry, ready.body)
        totals.post(writing, account, number, at, ready.amounts)
        if ready.receipt is not None:
            told = json.dumps({"receipt": ready.receipt})
            chain.append(writing, self._key, account, COMMITTED, entry, told)
        else:
            chain.open_entry(writing, entry, name, number, ready.request)
        return self._made(ready)

    def _made(self, ready: Asked) -> Reservation:
        state = RESERVED if ready.receipt is None else COMMITTED
        return Reservation(ready.entry, ready.dataset, state, False, self)

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
                if state == COMMITTED and reservation.id in self._with_rows:
                    said["rows"] = rows.told_of(writing, reservation.id)
                own = account.events + 1
                chain.append(writing, self._key, account, state, reservation.id, json.dumps(said))
                if state == REFUNDED:
                    totals.give_back(writing, account, number, own)

    def reservation(self, id: str) -> Reservation:
        """A reservation by its id: to refund what a process left that died before it drew."""
        with self._store.transaction(write=False) as connection:
            known = chain.state_of(connection, id)
        if known is None:
            raise NotFound("there is no such entry in this ledger; check its id")
        dataset, state = known
        return Reservation(id, dataset, state, True, self)

    # -- the same row again --------------------------------------------------------------------

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
        prints = [self._key.row(dataset, text) for text in texts]
        self.remember_prints(reservation, dataset, prints, releases)

    def remember_prints(
        self,
        reservation: Reservation,
        dataset: str,
        prints: Sequence[str],
        releases: Sequence[str] | None = None,
    ) -> None:
        """The same for rows that were printed elsewhere, with :attr:`row_key`."""
        name = self._key.dataset(dataset)
        if name != reservation.dataset:
            raise InvalidValue("the rows must be of the data set that the reservation is for")
        with self._store.transaction() as connection:
            rows.remember(connection, name, prints, reservation.id, releases)
        self._with_rows.add(reservation.id)
