"""A ledger on a PostgreSQL server, by way of psycopg 3.

Every call is a round trip, so there are few. One charge takes two: its data set is looked at, and
everything is written in one statement, if nobody else was faster. Otherwise, and for many charges,
a transaction begins, locks its data sets, writes everything in one statement, and commits. The
server writes to the disk for all who commit at the same time at once.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.errors import LedgerUnavailable, needs_extra
from discreet.ledger.schema import Connection, Rows, Unlocking
from discreet.ledger.stores import WAIT_SECONDS, Store

_LOCK = 0x64697363726565  # "discree": of no meaning to anybody else
# Durable whatever the server's default is; said in each transaction, because a pool of connections
# may give every transaction another one.
# Who waited for a lock must then see what was written meanwhile, whatever the server's default is.
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on"
# Who only looks sees one moment, in however many queries: events and the sums that they make.
_LOOK = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_DURABLE = "set_config('synchronous_commit', 'on', true)"


class PostgresStore(Store):
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
            from psycopg.types.numeric import Int8BinaryDumper
        with _told():
            made = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=10,
                application_name="discreet",
                client_encoding="utf8",  # a database in SQL_ASCII would give bytes for text
                tcp_user_timeout=1000 * int(WAIT_SECONDS),  # a server that fell silent is gone
            )
        # By default small numbers are of another type than large ones, and every mixture of types
        # is a statement of its own to the server.
        made.adapters.register_dumper(int, Int8BinaryDumper)
        return made

    @contextlib.contextmanager
    def unlocked(self) -> Iterator[Unlocking]:
        """A connection on which every statement is a transaction."""
        with self._lock:
            made = self._connection()
            if made.closed or made.broken:
                self.close()
                made = self._connection()
            with _told():
                yield _Connection(made)

    @contextlib.contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Connection]:
        """Commit what the block did, or nothing of it."""
        with self.unlocked() as connection:
            connection.run(_BEGIN if write else _LOOK)
            try:
                yield connection
                connection.run("COMMIT")
            except BaseException:
                with contextlib.suppress(Exception):
                    connection.run("ROLLBACK")
                raise

    def exclude_others(self, connection: Connection) -> None:
        """Let nobody else change tables before this transaction ends."""
        connection.rows("SELECT 1 FROM pg_advisory_xact_lock(?)", _LOCK)


class _Connection(Unlocking):
    def __init__(self, made: Any) -> None:
        self._made = made

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        fetched: list[tuple[object, ...]] = self._made.execute(_marked(sql), values).fetchall()
        return fetched

    def run(self, sql: str, *values: object) -> None:
        self._made.execute(_marked(sql), values or None)

    def write(self, *parts: Rows) -> None:
        # One statement for any number of rows of all tables.
        done, values = list[str](), list[object]()
        for part in filter(lambda part: part.rows, parts):
            done.append(_inserted(part, values))
        if done:
            *before, last = done
            named = ", ".join(f"w{number} AS ({each})" for number, each in enumerate(before))
            self._made.execute(f"WITH {named} {last}" if named else last, values)

    def change(self, row: Rows, was: Mapping[str, object], parts: Sequence[Rows]) -> bool:
        import psycopg

        values = [*row.rows[0], *was.values()]
        sets = ", ".join(f"{column} = %s" for column in row.columns)
        same = " AND ".join(f"{column} = %s" for column in was)
        changed = f"UPDATE {row.table} SET {sets} WHERE {same} RETURNING {_DURABLE}"
        added = [_inserted(part, values, ", changed") for part in parts]
        named = "".join(f", w{number} AS ({each})" for number, each in enumerate(added))
        sql = f"WITH changed AS ({changed}){named} SELECT 1 FROM changed"
        try:
            return bool(self._made.execute(sql, values).fetchall())
        except psycopg.errors.SerializationFailure:  # a stricter server's way to say so
            return False


def _inserted(part: Rows, values: list[object], beside: str = "") -> str:
    """A statement that adds rows, many of them a column at a time; its values join the others."""
    kinds = ["bigint" if isinstance(value, int) else "text" for value in part.rows[0]]
    if len(part.rows) == 1:
        rows = f"(SELECT {', '.join(f'%s::{kind}' for kind in kinds)})"
        values += part.rows[0]
    else:
        rows = f"unnest({', '.join(f'%b::{kind}[]' for kind in kinds)})"
        values += [list(column) for column in zip(*part.rows, strict=True)]
    names = ", ".join(part.columns)
    chosen = f"SELECT added.* FROM {rows} AS added{beside}"
    return f"INSERT INTO {part.table} ({names}) {chosen} {part.otherwise}"


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
