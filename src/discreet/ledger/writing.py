"""A transaction that writes: rows are gathered and written together, each data set once.

Whatever is asked of the database is asked after what was gathered has been written, so a query sees
all that was done before it.
"""

from collections.abc import Iterable, Set

from discreet.ledger.account import Account, account_named, locked, written_back
from discreet.ledger.schema import Connection, Rows, Unlocking
from discreet.statement import Adjacency


class Writing(Connection):
    """What a transaction has changed so far; also a connection.

    Args:
        connection: of the transaction.
        for_update: what the database wants after a query for rows that will be changed.
        known: data sets that are certainly there.
    """

    def __init__(self, connection: Connection, for_update: str, known: Set[str]) -> None:
        self._connection, self._for_update, self._known = connection, for_update, known
        self._accounts: dict[str, Account] = {}
        self._events: dict[str, int] = {}
        self._gathered: dict[tuple[str, tuple[str, ...], str], list[tuple[object, ...]]] = {}

    def account(self, name: str) -> Account:
        """A data set, which nobody else changes before the transaction ends."""
        if name not in self._accounts:
            self.lock([name])
        return self._accounts[name]

    def lock(self, names: Iterable[str]) -> None:
        """Keep others from data sets, all at once; what comes later is locked later."""
        wanted = sorted({*names} - {*self._accounts})
        for account in locked(self._connection, self._for_update, wanted, self._known):
            self._accounts[account.name] = account
            self._events[account.name] = account.events

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Run a query."""
        self._write()
        return self._connection.rows(sql, *values)

    def run(self, sql: str, *values: object) -> None:
        """Run a statement that gives no rows."""
        self._write()
        self._connection.run(sql, *values)

    def write(self, *parts: Rows) -> None:
        """Add rows to several tables, at the latest when the transaction ends."""
        for part in parts:
            if part.otherwise:  # a row that comes twice must find itself
                self._write()
                self._connection.write(part)
            else:
                self._gather(part)

    def _gather(self, part: Rows) -> None:
        key = part.table, tuple(part.columns), part.otherwise
        self._gathered.setdefault(key, []).extend(part.rows)

    @property
    def counted(self) -> dict[str, Adjacency]:
        """What the data sets count that the transaction has locked."""
        return {name: account.adjacency for name, account in self._accounts.items()}

    def finish(self) -> None:
        """Write what is left, and the data sets that changed: each change is an event."""
        changed = [a for a in self._accounts.values() if a.events != self._events[a.name]]
        if changed:
            self._write(written_back(changed))
        else:
            self._write()

    def _write(self, *more: Rows) -> None:
        parts = self._taken()
        if parts or more:
            self._connection.write(*parts, *more)

    def _taken(self) -> list[Rows]:
        gathered, self._gathered = self._gathered, {}
        return [
            Rows(table, names, rows, otherwise)
            for (table, names, otherwise), rows in gathered.items()
        ]


class Missing(Exception):
    """There is no such data set yet."""


class Unlocked(Writing):
    """One charge, looked at without a lock and written in one statement.

    The statement changes nothing if the data set is not as it was. Every change of a data set is an
    event and moves its head: if the head is the same, so is all that was asked after it.
    """

    def __init__(self, connection: Unlocking) -> None:
        super().__init__(connection, "", frozenset())
        self._changing = connection

    def account(self, name: str) -> Account:
        """A data set as it is now."""
        account = self._accounts.get(name) or account_named(self._connection, name)
        if account is None:
            raise Missing
        if name not in self._accounts:
            self._accounts[name] = account
            self._was = {"dataset": name, "events": account.events, "head": account.head}
        return account

    def write(self, *parts: Rows) -> None:
        """Add rows at the end."""
        for part in parts:
            self._gather(part)

    def finish_unless_changed(self) -> bool:
        """Write everything, if nobody was faster."""
        row = written_back(self._accounts.values())
        return self._changing.change(row, self._was, self._taken())
