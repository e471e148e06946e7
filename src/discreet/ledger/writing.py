"""A transaction that writes: rows are gathered and written together, each data set once.

Whatever is asked of the database is asked after what was gathered has been written, so a query sees
all that was done before it.
"""

from collections.abc import Iterable, Sequence, Set

from discreet.ledger.account import Account, locked, written_back
from discreet.ledger.schema import Connection, Rows
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
        self._gathered: dict[tuple[str, tuple[str, ...]], list[tuple[object, ...]]] = {}

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

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Run a query."""
        self._write()
        return self._connection.rows(sql, *values)

    def run(self, sql: str, *values: object) -> None:
        """Run a statement that gives no rows."""
        self._write()
        self._connection.run(sql, *values)

    def write(self, parts: Sequence[Rows]) -> None:
        """Add rows to several tables, at the latest when the transaction ends."""
        for part in parts:
            if part.otherwise:  # a row that comes twice must find itself
                self._write()
                self._connection.write([part])
            else:
                key = part.table, tuple(part.columns)
                self._gathered.setdefault(key, []).extend(part.rows)

    @property
    def counted(self) -> dict[str, Adjacency]:
        """What the data sets count that the transaction has locked."""
        return {name: account.adjacency for name, account in self._accounts.items()}

    def finish(self) -> None:
        """Write what is left, and the data sets."""
        self._write(written_back(self._accounts.values()))

    def _write(self, *more: Rows) -> None:
        gathered, self._gathered = self._gathered, {}
        parts = [Rows(table, columns, rows) for (table, columns), rows in gathered.items()]
        if parts or more:
            self._connection.write([*parts, *more])
