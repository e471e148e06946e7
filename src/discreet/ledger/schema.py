"""The tables of a ledger, and how an older ledger becomes a newer one.

Every change is an event. Events are only ever added; those of one data set form a chain, each with
the digest of the one before. Accounts hold the totals of what the events say, so that a limit is
checked by looking at one row, and ``verify`` adds the events up again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from discreet.errors import InputError

_MOST_VALUES = 500


class Rows(NamedTuple):
    """Rows for a table; ``otherwise`` says what to do about those that are there."""

    table: str
    columns: Sequence[str]
    rows: Sequence[tuple[object, ...]]
    otherwise: str = ""


class Connection(Protocol):
    """What a database offers inside a transaction; the SQL is what both databases understand."""

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Run a query, ``?`` for each value, and give its rows."""
        ...

    def run(self, sql: str, *values: object) -> None:
        """Run a statement that gives no rows, at the latest when the transaction ends."""
        ...

    def write(self, *parts: Rows) -> None:
        """Add rows to several tables, of which none comes twice."""
        ...


def in_parts(names: Sequence[str]) -> Iterator[tuple[Sequence[str], str]]:
    """Names a part at a time, each with as many marks: a query takes only so many values."""
    for first in range(0, len(names), _MOST_VALUES):
        part = names[first : first + _MOST_VALUES]
        yield part, ", ".join("?" * len(part))


class Unlocking(Connection, Protocol):
    """What a database offers outside of transactions: every statement is one."""

    def change(self, row: Rows, was: Mapping[str, object], parts: Sequence[Rows]) -> bool:
        """Change one row and add others, all at once.

        Returns:
            whether the row was as ``was`` says; otherwise nothing is done.
        """
        ...


# What both databases understand; numbers are 64-bit in both.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE discreet_dataset (
            dataset TEXT PRIMARY KEY,
            events BIGINT NOT NULL,
            head TEXT NOT NULL,
            at BIGINT NOT NULL,
            adjacency TEXT NOT NULL,
            nano BIGINT NOT NULL CHECK (nano >= 0 AND nano < 4611686018427387904),
            atto BIGINT NOT NULL CHECK (atto >= 0 AND atto < 4611686018427387904),
            unbounded BIGINT NOT NULL CHECK (unbounded >= 0),
            persons BIGINT NOT NULL,
            limits TEXT NOT NULL,
            limited BIGINT NOT NULL)""",
        """CREATE TABLE discreet_event (
            dataset TEXT NOT NULL,
            number BIGINT NOT NULL,
            kind TEXT NOT NULL,
            at BIGINT NOT NULL,
            entry TEXT NOT NULL,
            body TEXT NOT NULL,
            digest TEXT NOT NULL,
            PRIMARY KEY (dataset, number))""",
        "CREATE INDEX discreet_event_entry ON discreet_event (entry)",
        """CREATE TABLE discreet_posting (
            dataset TEXT NOT NULL,
            number BIGINT NOT NULL,
            person TEXT NOT NULL,
            at BIGINT NOT NULL,
            nano BIGINT NOT NULL,
            atto BIGINT NOT NULL,
            unbounded BIGINT NOT NULL,
            PRIMARY KEY (dataset, number, person))""",
        "CREATE INDEX discreet_posting_person ON discreet_posting (dataset, person, at)",
        """CREATE TABLE discreet_account (
            dataset TEXT NOT NULL,
            person TEXT NOT NULL,
            nano BIGINT NOT NULL CHECK (nano >= 0 AND nano < 4611686018427387904),
            atto BIGINT NOT NULL CHECK (atto >= 0 AND atto < 4611686018427387904),
            unbounded BIGINT NOT NULL CHECK (unbounded >= 0),
            PRIMARY KEY (dataset, person))""",
        """CREATE TABLE discreet_open (
            entry TEXT PRIMARY KEY,
            dataset TEXT NOT NULL,
            number BIGINT NOT NULL)""",
        "CREATE INDEX discreet_open_dataset ON discreet_open (dataset)",
        """CREATE TABLE discreet_request (
            dataset TEXT NOT NULL,
            request TEXT NOT NULL,
            entry TEXT NOT NULL,
            PRIMARY KEY (dataset, request))""",
        """CREATE TABLE discreet_limit (
            dataset TEXT NOT NULL,
            person TEXT NOT NULL,
            span BIGINT NOT NULL,
            nano BIGINT NOT NULL,
            atto BIGINT NOT NULL,
            unit TEXT NOT NULL,
            PRIMARY KEY (dataset, person, span))""",
        """CREATE TABLE discreet_row (
            dataset TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            entry TEXT NOT NULL,
            kept TEXT,
            PRIMARY KEY (dataset, fingerprint))""",
    ),
    ("CREATE INDEX discreet_row_entry ON discreet_row (entry)",),
)
VERSION = len(MIGRATIONS)

_META = (
    "CREATE TABLE IF NOT EXISTS discreet_ledger (version BIGINT NOT NULL, checked TEXT NOT NULL)"
)


def migrate(connection: Connection, check: str) -> None:
    """Bring the tables to this version, and refuse a ledger of another key or a later version."""
    connection.run(_META)
    rows = connection.rows("SELECT version, checked FROM discreet_ledger")
    if not rows:
        connection.run("INSERT INTO discreet_ledger (version, checked) VALUES (?, ?)", 0, check)
        rows = [(0, check)]
    version, checked = int(str(rows[0][0])), str(rows[0][1])
    if checked != check:
        raise InputError("this key is not the key of this ledger; name the right one")
    if version > VERSION:
        raise InputError(
            f"this ledger is of version {version}, and this discreet knows versions up to "
            f"{VERSION}; install a later discreet"
        )
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.run(statement)
    if version < VERSION:
        connection.run("UPDATE discreet_ledger SET version = ?", VERSION)


def is_current(connection: Connection, check: str) -> bool:
    """Whether there is nothing to migrate; whoever may only read can still look."""
    rows = connection.rows("SELECT version, checked FROM discreet_ledger")
    return bool(rows) and rows[0][0] == VERSION and rows[0][1] == check
