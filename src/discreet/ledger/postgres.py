"""A ledger on a PostgreSQL server, by way of psycopg 3.

What a transaction does takes few calls, each of which is a round trip: it begins, locks its data
sets, writes everything in one statement, and commits. The server writes to the disk for all who
commit at the same time at once.
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
                made.execute(_BEGIN if write else "BEGIN")
                try:
                    yield _Connection(made)
                    made.execute("COMMIT")
                except BaseException:
                    with contextlib.suppress(Exception):
                        made.execute("ROLLBACK")
                    raise

    def exclude_others(self, connection: Connection) -> None:
        """Let nobody else change tables before this transaction ends."""
        connection.rows("SELECT 1 FROM pg_advisory_xact_lock(?)", _LOCK)


class _Connection(Connection):
    def __init__(self, made: Any) -> None:
        self._made = made

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = self._made.execute(_marked(sql), values).fetchall()
        return found

    def run(self, sql: str, *values: object) -> None:
        self._made.execute(_marked(sql), values)

    def write(self, parts: Sequence[Rows]) -> None:
        # One statement for any number of rows of all tables; many rows a column at a time.
        done, values = list[str](), list[object]()
        for part in filter(lambda part: part.rows, parts):
            if len(part.rows) == 1:
                rows = f"VALUES ({', '.join(['%s'] * len(part.columns))})"
                values += part.rows[0]
            else:
                kinds = ["bigint" if isinstance(value, int) else "text" for value in part.rows[0]]
                rows = f"SELECT * FROM unnest({', '.join(f'%b::{kind}[]' for kind in kinds)})"
                values += [list(column) for column in zip(*part.rows, strict=True)]
            names = ", ".join(part.columns)
            done.append(f"INSERT INTO {part.table} ({names}) {rows} {part.otherwise}")
        if done:
            *before, last = done
            named = ", ".join(f"w{number} AS ({each})" for number, each in enumerate(before))
            self._made.execute(f"WITH {named} {last}" if named else last, values)


def _marked(sql: str) -> str:
    return sql.replace("?", "%s")


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
