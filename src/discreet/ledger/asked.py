"""A charge made ready to be booked: whatever can be done before others are kept from writing."""

import hmac
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

from discreet.ledger import chain
from discreet.ledger.amount import Amount
from discreet.ledger.charge import Charge, cost
from discreet.ledger.entries import EVERYBODY
from discreet.ledger.keys import LedgerKey
from discreet.statement import Adjacency, PrivacyStatement, Unit

_SEAL = 64  # hexadecimal digits


@dataclass(frozen=True)
class Asked:
    """What a ledger is asked to book."""

    charge: Charge | None
    """None if another process asks: it can only be booked as it is."""
    dataset: str
    request: str | None
    receipt: str | None
    adjacency: Adjacency
    unit: Unit
    """For how much of the text it holds."""
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
    if charge.made_with:
        said["made_with"] = charge.made_with
    if request is not None:
        said["request"] = request
    body = f'{json.dumps(said)[:-1]}, "statement": {statement}}}'
    entry = secrets.token_hex(16)
    unit = charge.statement.unit
    return Asked(charge, dataset, request, receipt, adjacency, unit, entry, amounts, said, body)


def packed(key: LedgerKey, ready: Asked) -> bytes | None:
    """A plain charge as a line of text, sealed, that another process can book; None for others."""
    if ready.request is not None or EVERYBODY not in ready.amounts:
        return None
    own = ready.amounts[EVERYBODY]
    told = json.dumps(
        [ready.dataset, ready.entry, ready.adjacency, ready.unit, own.nano, own.atto, own.unbounded,
         ready.receipt, ready.body]
    )  # fmt: skip
    return f"{key.seal(told)}{told}\n".encode()


def unpacked(key: LedgerKey, lines: bytes) -> Iterator[Asked]:
    """What other processes packed; what was not packed with this key is left out."""
    for line in lines.decode("ascii", "replace").splitlines():
        seal, told = line[:_SEAL], line[_SEAL:]
        if hmac.compare_digest(seal.encode(), key.seal(told).encode()):
            dataset, entry, adjacency, unit, nano, atto, unbounded, receipt, body = json.loads(told)
            amounts = {EVERYBODY: Amount(nano, atto, unbounded)}
            kinds = Adjacency(adjacency), Unit(unit)
            yield Asked(None, dataset, None, receipt, *kinds, entry, amounts, {}, body)


@lru_cache(4096)
def _priced(statement: PrivacyStatement, adjacency: Adjacency) -> tuple[Amount, str]:
    """What a statement costs, and its JSON: the same one is charged again and again."""
    return cost(statement, adjacency), json.dumps(statement.to_dict(), ensure_ascii=False)
