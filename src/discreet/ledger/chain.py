"""Events, each sealed with the one before it, and the entries that they tell of."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from discreet.errors import InvalidValue, NotFound
from discreet.ledger.account import Account
from discreet.ledger.amount import Amount
from discreet.ledger.entries import COMMITTED, EVERYBODY, REFUNDED, RESERVED, Entry, moment
from discreet.ledger.keys import LedgerKey
from discreet.ledger.schema import Connection, Rows
from discreet.ledger.stores import now
from discreet.statement import PrivacyStatement

_EVENT = ("dataset", "number", "kind", "at", "entry", "body", "digest")


def append(
    connection: Connection,
    key: LedgerKey,
    account: Account,
    kind: str,
    entry: str,
    body: str,
) -> int:
    """Add an event, whose body is JSON, to the chain of a data set; gives its time.

    Time never runs backwards in a chain: a clock that was put back does not bring a window's
    budget back.
    """
    account.events += 1
    account.at = max(now(), account.at)
    event = (account.name, account.events, kind, account.at, entry, body)
    account.head = sealed(key, event, account.head)
    connection.write(Rows("discreet_event", _EVENT, [(*event, account.head)]))
    return account.at


def sealed(key: LedgerKey, event: Iterable[object], before: str) -> str:
    """The digest of an event, as its row says it, and of all before it."""
    return key.seal(*map(str, event), before)


def of_postings(amounts: Mapping[str, Amount]) -> str:
    """A digest of what is posted to whom, so that the chain covers it."""
    lines = sorted(f"{p} {a.nano} {a.atto} {a.unbounded}" for p, a in amounts.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def open_entry(
    connection: Connection, entry: str, name: str, number: int, request: str | None
) -> None:
    """Say that a reservation waits for its outcome."""
    connection.write(Rows("discreet_open", ("entry", "dataset", "number"), [(entry, name, number)]))
    if request is not None:
        connection.write(
            Rows("discreet_request", ("dataset", "request", "entry"), [(name, request, entry)])
        )


def by_request(
    connection: Connection, name: str, request: str, said: Mapping[str, Any]
) -> tuple[str, str] | None:
    """The entry of a request that came before, and its state."""
    rows = connection.rows(
        "SELECT e.entry, e.body FROM discreet_request AS r JOIN discreet_event AS e "
        "ON e.entry = r.entry AND e.kind = 'reserve' WHERE r.dataset = ? AND r.request = ?",
        *(name, request),
    )
    if not rows:
        return None
    entry, body = str(rows[0][0]), json.loads(str(rows[0][1]))
    if any(body.get(what) != said[what] for what in ("command", "postings", "amount")):
        raise InvalidValue(
            "this request id was used for another charge; give every request an id of its own"
        )
    state = state_of(connection, entry)
    return entry, RESERVED if state is None else state[1]


def state_of(connection: Connection, entry: str) -> tuple[str, str] | None:
    """The data set and the state of an entry."""
    rows = connection.rows(
        "SELECT dataset, kind FROM discreet_event WHERE entry = ? ORDER BY number DESC LIMIT 1",
        entry,
    )
    if not rows or not entry:
        return None
    name, kind = str(rows[0][0]), str(rows[0][1])
    return name, RESERVED if kind == "reserve" else kind


def close_entry(connection: Connection, entry: str, state: str, receipt: str | None) -> int | None:
    """Take an entry off the open ones; gives the number of its event, None if that was said."""
    rows = connection.rows("SELECT number FROM discreet_open WHERE entry = ?", entry)
    if not rows:
        before = connection.rows(
            "SELECT kind, body FROM discreet_event WHERE entry = ? AND kind <> 'reserve'", entry
        )
        if not before:
            raise NotFound("there is no such reservation in this ledger")
        kind, body = str(before[0][0]), json.loads(str(before[0][1]))
        if kind != state or body.get("receipt") != receipt:
            raise InvalidValue(f"this reservation is {kind} already, and stays so")
        return None
    connection.run("DELETE FROM discreet_open WHERE entry = ?", entry)
    if state == REFUNDED:
        # The same request may come again, and is charged then; nothing was released of its rows.
        connection.run("DELETE FROM discreet_row WHERE entry = ?", entry)
        connection.run("DELETE FROM discreet_request WHERE entry = ?", entry)
    return int(str(rows[0][0]))


_ENTRIES = (
    "SELECT e.entry, e.dataset, e.at, e.body, e.digest, c.kind, c.body FROM discreet_event AS e "
    "LEFT JOIN discreet_event AS c ON c.entry = e.entry AND c.kind <> 'reserve' "
    "WHERE e.kind = 'reserve'"
)


def entries(connection: Connection, name: str | None, person: str) -> Iterator[Entry]:
    """Entries in the order of their chains."""
    sql, values = _ENTRIES, list[object]()
    if name is not None:
        sql += " AND e.dataset = ?"
        values.append(name)
    if person != EVERYBODY:
        sql += (
            " AND EXISTS (SELECT 1 FROM discreet_posting AS p WHERE p.dataset = e.dataset AND "
            "p.number = e.number AND p.person IN ('', ?))"
        )
        values.append(person)
    for row in connection.rows(f"{sql} ORDER BY e.dataset, e.number", *values):
        yield _entry(row)


def _entry(row: tuple[Any, ...]) -> Entry:
    entry, dataset, at, body, digest, kind, closing = row
    said = json.loads(body)
    receipt = json.loads(closing).get("receipt") if kind == COMMITTED else None
    return Entry(
        id=entry,
        dataset=dataset,
        at=moment(at),
        state=kind or RESERVED,
        command=said["command"],
        version=said["version"],
        mechanism=said["mechanism"],
        units=said["units"],
        persons=said["persons"],
        amount=Amount(*said["amount"]),
        statement=PrivacyStatement.from_dict(said["statement"]),
        receipt=receipt,
        digest=digest,
    )
