"""A charge made ready to be booked: whatever can be done before others are kept from writing."""

import json
import secrets
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

from discreet.ledger import chain
from discreet.ledger.amount import Amount
from discreet.ledger.charge import Charge, cost
from discreet.ledger.entries import EVERYBODY
from discreet.ledger.keys import LedgerKey
from discreet.statement import Adjacency, PrivacyStatement


@dataclass(frozen=True)
class Asked:
    """What a ledger is asked to book."""

    charge: Charge
    dataset: str
    request: str | None
    receipt: str | None
    adjacency: Adjacency
    entry: str
    """A new id."""
    amounts: dict[str, Amount]
    said: dict[str, Any]
    body: str
    """What the event says, as JSON."""


def asked(
    key: LedgerKey,
    charge: Charge,
    dataset: str,
    request: str | None,
    receipt: str | None,
    adjacency: Adjacency,
) -> Asked:
    """Price a charge, and write down what the ledger will say of it.

    Args:
        key: of the ledger.
        charge: what is to be booked.
        dataset: its keyed name.
        request: its client's name for it, keyed.
        receipt: the digest of a release that is whole already.
        adjacency: what the data set is taken to count.
    """
    own, statement = _priced(charge.statement, adjacency)
    amounts = {EVERYBODY: own}
    if charge.persons:
        # Many persons share a statement, and to hash one takes long.
        each = {id(s): s for s in charge.persons.values()}
        costs = {number: cost(s, adjacency) for number, s in each.items()}
        whom = key.persons(charge.dataset, charge.persons)
        owing = (costs[id(statement)] for statement in charge.persons.values())
        # In one order everywhere, so that no two transactions wait for each other.
        amounts = dict(sorted(zip(whom, owing, strict=True), key=itemgetter(0)))
    said: dict[str, Any] = {
        "command": charge.command,
        "version": charge.version,
        "mechanism": charge.mechanism,
        "units": charge.units,
        "persons": len(charge.persons),
        "amount": [own.nano, own.atto, own.unbounded],
        "postings": chain.of_postings(amounts),
    }
    if request is not None:
        said["request"] = request
    body = f'{json.dumps(said)[:-1]}, "statement": {statement}}}'
    entry = secrets.token_hex(16)
    return Asked(charge, dataset, request, receipt, adjacency, entry, amounts, said, body)


@lru_cache(4096)
def _priced(statement: PrivacyStatement, adjacency: Adjacency) -> tuple[Amount, str]:
    """What a statement costs, and its JSON: the same one is charged again and again."""
    return cost(statement, adjacency), json.dumps(statement.to_dict(), ensure_ascii=False)
