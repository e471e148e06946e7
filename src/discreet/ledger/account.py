"""Data sets as rows of the ledger: found, locked, and written back."""

import json
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from discreet.errors import LedgerUnavailable
from discreet.ledger.amount import Amount
from discreet.ledger.schema import Connection, Rows, in_parts
from discreet.statement import Adjacency

_DATASET = (
    "dataset", "events", "head", "at", "adjacency", "nano", "atto", "unbounded", "persons",
    "limits", "limited",
)  # fmt: skip
_ACCOUNTS = f"SELECT {', '.join(_DATASET)} FROM discreet_dataset WHERE dataset"
_ANEW = "ON CONFLICT (dataset) DO UPDATE SET " + ", ".join(
    f"{column} = excluded.{column}" for column in _DATASET[1:]
)


@dataclass
class Account:
    """A data set as it is within this transaction."""

    name: str
    events: int
    head: str
    at: int
    adjacency: Adjacency
    common: Amount
    """What everybody in it has lost."""
    persons: int
    limits: list[dict[str, Any]]
    """Those for everybody."""
    limited: int
    """How many persons have a limit of their own."""


def locked(
    connection: Connection, for_update: str, names: Sequence[str], known: Set[str]
) -> list[Account]:
    """Data sets, which nobody else changes before this transaction ends; new ones are made.

    Where rows are locked, those that may not be there are made first, and then all are locked, both
    in the order of their names: so no two transactions wait for each other, whichever data sets
    they have in common.

    Args:
        connection: of the transaction.
        for_update: what the database wants after a query for rows that will be changed; nothing
            where only one transaction writes at a time.
        names: in their order.
        known: names that are certainly there.
    """
    accounts = []
    new = [name for name in names if for_update and name not in known]
    if new:
        made = written_back(map(_new, new))
        connection.write(made._replace(otherwise="ON CONFLICT (dataset) DO NOTHING"))
    for chunk, marks in in_parts(names):
        sql = f"{_ACCOUNTS} IN ({marks}) ORDER BY dataset{for_update}"
        accounts += [_account(*row) for row in connection.rows(sql, *chunk)]
    if not for_update:  # nobody else writes: what is new is written at the end
        there = {account.name for account in accounts}
        return [*accounts, *(_new(name) for name in names if name not in there)]
    if len(accounts) < len(names):
        raise LedgerUnavailable("data sets of this ledger have gone; nothing was released")
    return accounts


def account_named(connection: Connection, name: str) -> Account | None:
    """A data set, only to look at it; None if there is none of this name."""
    rows = connection.rows(f"{_ACCOUNTS} = ?", name)
    return _account(*rows[0]) if rows else None


def _new(name: str) -> Account:
    return Account(name, 0, "", 0, Adjacency.REPLACE, Amount(), 0, [], 0)


def _account(name: Any, events: Any, head: Any, at: Any, adjacency: Any, *rest: Any) -> Account:
    nano, atto, unbounded, persons, limits, limited = rest
    spent = Amount(nano, atto, unbounded)
    told = [] if limits == "[]" else json.loads(limits)
    return Account(name, events, head, at, Adjacency(adjacency), spent, persons, told, limited)


def written_back(accounts: Iterable[Account]) -> Rows:
    """What changed of data sets."""
    rows = [
        (a.name, a.events, a.head, a.at, str(a.adjacency), a.common.nano, a.common.atto,
         a.common.unbounded, a.persons, json.dumps(a.limits) if a.limits else "[]", a.limited)
        for a in accounts
    ]  # fmt: skip
    return Rows("discreet_dataset", _DATASET, rows, _ANEW)
