"""Where a ledger is kept: a file (SQLite), or a PostgreSQL server.

One connection for each ledger object, one transaction at a time: whoever comes second waits. A
transaction that fails leaves nothing behind.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from discreet.errors import DiscreetError, InvalidValue, LedgerUnavailable
from discreet.ledger.keys import LedgerKey, ledger_key
from discreet.ledger.line import NoLine, line_at
from discreet.ledger.schema import Connection, Rows, Unlocking
from discreet.staging import PRIVATE

WAIT_SECONDS = 30.0
"""How long a process waits for another one, or for a server that does not answer."""
_AHEAD_PAGES = 4000
"""How long the write-ahead file becomes, 16 MB: what changes often is then moved less often."""
_to_disk = getattr(os, "fdatasync", os.fsync)  # where there is none, the other does more


class Store:
    """A database with transactions that exclude each other where they must.

    One connection, one user at a time, none over a fork.
    """

    for_update = ""
    """What follows a SELECT of rows that the transaction is going to change."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._made: Any = None
        self._process = os.getpid()
        self.line = NoLine()
        """Where those wait who write."""

    def transaction(self, *, write: bool = True) -> contextlib.AbstractContextManager[Connection]:
        """Commit what the block did, for good, or nothing of it."""
        raise NotImplementedError

    def _connection(self) -> Any:
        if self._process != os.getpid():
            # A child must not speak on its parent's connection, nor close it.
            self._made, self._process, self._lock = None, os.getpid(), threading.RLock()
        if self._made is None:
            self._made = self._connect()
        return self._made

    def _connect(self) -> Any:
        raise NotImplementedError

    def turn(
        self,
        request: bytes | None = None,  # noqa: ARG002
        mark: bytes = b"",  # noqa: ARG002
    ) -> contextlib.AbstractContextManager[bool]:
        """Wait until others who write have gone; False if one of them has done the request.

        What was written, by whomever, has reached the disk when the block has ended. Where the
        database makes others wait, there is no line.
        """
        return contextlib.nullcontext(True)

    def unlocked(self) -> contextlib.AbstractContextManager[Unlocking] | None:
        """A connection on which every statement is a transaction; None where that gains nothing.

        Who writes to a file is alone anyway.
        """
        return None

    def exclude_others(self, connection: Connection) -> None:
        """Let nobody else change tables before this transaction ends."""

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            made, self._made = self._made, None
            if made is not None and self._process == os.getpid():
                with contextlib.suppress(Exception):
                    made.close()


class SqliteStore(Store):
    """A file, in write-ahead mode; every commit has reached the disk when it returns.

    SQLite itself would wait for the disk while it keeps all others from writing. Here it writes
    (``synchronous = NORMAL``), for others who wait in line as well (:class:`Line`), lets the next
    one write, and then everybody brings the write-ahead file to the disk before they say a word:
    those who wait at the same time wait together. What others read before it has reached the disk
    was told to nobody, and their own wait covers it: the file is written in one order, and read
    after a failure of the power as far as it is whole.

    Args:
        path: The file; a new one is readable by its owner only.
        read_only: Only look.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        super().__init__()
        self.path, self._read_only = path, read_only
        self._ahead: int | None = None
        self._has_ahead = False
        self._whose: int | None = None  # the thread whose turn it is

    def _connect(self) -> sqlite3.Connection:
        with _told(self.path):
            self._let_go()  # of what a parent process has
            if not self._read_only:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                # Only what is not there is opened here: to close a file takes away the locks that
                # SQLite has on it through another connection of this process.
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))
            mode = "ro" if self._read_only else "rw"
            made = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                timeout=WAIT_SECONDS,
                cached_statements=256,
            )
            try:
                if not self._read_only:
                    ((mode,),) = made.execute("PRAGMA journal_mode = WAL")
                    self._has_ahead = mode == "wal"  # a network's file system may have none
                made.execute(f"PRAGMA synchronous = {'NORMAL' if self._has_ahead else 'FULL'}")
                made.execute(f"PRAGMA wal_autocheckpoint = {_AHEAD_PAGES}")
            except BaseException:
                made.close()
                raise
            if self._has_ahead:
                self.line = line_at(Path(f"{self.path}-line"))
            return made

    @contextlib.contextmanager
    def turn(self, request: bytes | None = None, mark: bytes = b"") -> Iterator[bool]:
        """Wait in line (see :class:`Line`) and, after the block, for the disk."""
        if self._whose == threading.get_ident():
            yield True  # within a turn
            return
        with _told(self.path):
            with self._lock:
                self._connection()
                at_head = self.line.reach_head(request, mark, WAIT_SECONDS)
                self._whose = threading.get_ident()
                try:
                    yield at_head
                finally:
                    self._whose = None
                    if at_head:
                        self.line.leave()
                ahead = self._write_ahead() if self._has_ahead else None
            if ahead is not None:
                try:
                    _to_disk(ahead)
                finally:
                    os.close(ahead)

    @contextlib.contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Connection]:
        """Commit what the block did, or nothing of it."""
        with _told(self.path), self.turn() if write else self._lock:
            made = self._connection()
            made.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield _SqliteConnection(made)
                made.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    made.execute("ROLLBACK")
                raise

    def _write_ahead(self) -> int:
        """The write-ahead file, which stays the same as long as anybody is connected."""
        if self._ahead is None:
            self._ahead = os.open(f"{self.path}-wal", os.O_RDWR)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)  # a new file is there only if its folder says so
            finally:
                os.close(folder)
        return os.dup(self._ahead)  # for whoever closes the store while another one waits

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._let_go()
        super().close()

    def _let_go(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            os.close(ahead)
        self.line.close()


class _SqliteConnection(Connection):
    def __init__(self, made: sqlite3.Connection) -> None:
        self._made = made

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        return self._made.execute(sql, values).fetchall()

    def run(self, sql: str, *values: object) -> None:
        self._made.execute(sql, values)

    def write(self, *parts: Rows) -> None:
        for part in parts:
            marks = ", ".join("?" * len(part.columns))
            names = ", ".join(part.columns)
            sql = f"INSERT INTO {part.table} ({names}) VALUES ({marks}) {part.otherwise}"
            self._made.executemany(sql, part.rows)


@contextlib.contextmanager
def _told(where: object) -> Iterator[None]:
    """Errors of SQLite in our words, which repeat no value."""
    try:
        yield
    except DiscreetError:
        raise
    except sqlite3.OperationalError as error:
        why = str(error)
        if "readonly" in why:
            problem = "is read-only, and a release must be written down before it is made"
        elif "locked" in why or "busy" in why:
            problem = f"was held by another process for more than {WAIT_SECONDS:.0f} seconds"
        elif "no such table" in why:
            problem = "is not a ledger"
        else:
            problem = "cannot be opened or written"
        raise LedgerUnavailable(
            f"the ledger {where} {problem}; nothing was released ({type(error).__name__})"
        ) from None
    except sqlite3.DatabaseError as error:
        raise LedgerUnavailable(
            f"the ledger {where} is damaged, or not a ledger; nothing was released "
            f"({type(error).__name__})"
        ) from None
    except TimeoutError:
        raise LedgerUnavailable(
            f"the ledger {where} was held by another process for more than {WAIT_SECONDS:.0f} "
            "seconds; nothing was released"
        ) from None
    except OSError as error:
        raise LedgerUnavailable(
            f"the ledger {where} cannot be reached ({error.strerror}); nothing was released"
        ) from None


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def store_of(url: str | Path) -> Store:
    """A store by its URL: ``sqlite:///path``, a plain path, or ``postgresql://...``."""
    text = str(url)
    if text.startswith(("postgresql://", "postgres://")):
        from discreet.ledger.postgres import PostgresStore

        return PostgresStore(text)
    path, readable = sqlite_path(text)
    return SqliteStore(path, read_only=readable)


def sqlite_path(url: str) -> tuple[Path, bool]:
    """The file that a URL names, and whether it is only to be looked at (``?mode=ro``)."""
    if "://" not in url:
        if not url:
            raise InvalidValue("the ledger needs a path or a URL")
        return Path(url), False
    parts = urlsplit(url)
    if parts.scheme != "sqlite" or parts.netloc or not parts.path.strip("/"):
        raise InvalidValue(
            "a ledger is at sqlite:///PATH, at a plain path, or at postgresql://USER@HOST/NAME"
        )
    # As elsewhere: three slashes for a relative path, four for an absolute one.
    path = unquote(parts.path)[1:]
    return Path(path), parse_qs(parts.query).get("mode") == ["ro"]


def key_of(store: Store, key: bytes | str | Path | None) -> LedgerKey:
    """The key that names are hashed with: the given one, or that beside a file."""
    if isinstance(key, bytes):
        return LedgerKey(key)
    if isinstance(store, SqliteStore):
        path = Path(f"{store.path}.key") if key is None else Path(key)
        # A key that is named must be there; the one beside a new file is made with it.
        return ledger_key(path, new=key is None and not store.path.exists())
    if key is None:
        raise InvalidValue(
            "a ledger on a server needs a key file (--ledger-key): make one with: "
            "(umask 077; head -c 32 /dev/urandom > KEY)"
        )
    return ledger_key(Path(key), new=False)
