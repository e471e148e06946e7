"""A ledger on a PostgreSQL server, by way of psycopg 3.

A transaction takes two round trips: it begins and locks its data sets, then it writes and commits.
Whatever gives no rows waits for the next query and is sent with it; an error in between leaves
nothing behind. The server writes to the disk for all who commit at the same time at once.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.errors import LedgerUnavailable, needs_extra
from discreet.ledger.schema import Connection, Rows
from discreet.ledger.stores import WAIT_SECONDS, OneConnection

_LOCK = 0x64697363726565  # "discree": of no meaning to anybody else
# Durable whatever the server's default is; said in each transaction, because a pool of connections
# may give every transaction another one.
_BEGIN = "BEGIN; SET LOCAL synchronous_commit = on"


class PostgresStore(OneConnection):
    """A PostgreSQL server.

    Args:
        url: As libpq takes it: ``postgresql://user@host:5432/name?sslmode=require``. A password
            comes from the URL, ``PGPASSWORD`` or a password file.
    """

    for_update = " FOR UPDATE"

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def _connect(self) -> Any:
        with needs_extra("a ledger on PostgreSQL", "postgres"):
            import psycopg
        with _told():
            return psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=10,
                application_name="discreet",
                cursor_factory=psycopg.ClientCursor,  # several statements can be sent at once
                tcp_user_timeout=1000 * int(WAIT_SECONDS),  # a server that fell silent is gone
            )

    @contextlib.contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Connection]:
        """Commit what the block did, or nothing of it."""
        with self._lock:
            made = self._connection()
            if made.closed or made.broken:
                self.close()
                made = self._connection()
            with _told():
                try:
                    connection = _Connection(made, _BEGIN if write else "BEGIN")
                    yield connection
                    connection.send("COMMIT")
                except BaseException:
                    with contextlib.suppress(Exception):
                        made.execute("ROLLBACK")
                    raise

    def exclude_others(self, connection: Connection) -> None:
        """Let nobody else change tables before this transaction ends."""
        connection.rows("SELECT 1 FROM pg_advisory_xact_lock(?)", _LOCK)


class _Connection(Connection):
    def __init__(self, made: Any, begin: str) -> None:
        self._cursor, self._waiting = made.cursor(), [begin]

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        self.send(self._filled(sql, values))
        while self._cursor.nextset():
            pass
        found: list[tuple[object, ...]] = self._cursor.fetchall()
        return found

    def run(self, sql: str, *values: object) -> None:
        self._waiting.append(self._filled(sql, values))

    def write(self, parts: Sequence[Rows]) -> None:
        for part in filter(lambda part: part.rows, parts):
            marks = f"({', '.join('?' * len(part.columns))})"
            if len(part.rows) == 1:
                rows, values = f"VALUES {marks}", part.rows[0]
            else:  # a column at a time
                kinds = ["bigint" if isinstance(value, int) else "text" for value in part.rows[0]]
                rows = f"SELECT * FROM unnest({', '.join(f'?::{kind}[]' for kind in kinds)})"
                values = tuple(list(column) for column in zip(*part.rows, strict=True))
            names = ", ".join(part.columns)
            self.run(f"INSERT INTO {part.table} ({names}) {rows} {part.otherwise}", *values)

    def send(self, last: str) -> None:
        """Send what waits, and a statement after it."""
        waiting, self._waiting = self._waiting, []
        self._cursor.execute("; ".join([*waiting, last]))

    def _filled(self, sql: str, values: Sequence[object]) -> str:
        filled: str = self._cursor.mogrify(sql.replace("?", "%s"), values)
        return filled


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Errors of the server in our words: its own repeat values, and the URL with its password."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        state = f" {error.sqlstate}" if error.sqlstate else ""
        raise LedgerUnavailable(
            "the ledger's database cannot be reached or written; nothing was released; check its "
            f"address, and that the server runs ({type(error).__name__}{state})"
        ) from None
