"""Whether a ledger is as it was written, and says what the receipts say."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.files import file_sha256
from discreet.ledger import chain
from discreet.ledger.amount import Amount
from discreet.ledger.entries import COMMITTED, EVERYBODY, REFUNDED
from discreet.ledger.keys import LedgerKey
from discreet.ledger.schema import Connection
from discreet.ledger.totals import amount_of
from discreet.receipt import Receipt, is_receipt, receipt_path


def problems(connection: Connection, key: LedgerKey, receipts: Sequence[Path]) -> list[str]:
    """What is wrong, a sentence each; nothing of it repeats a name."""
    return [
        *_chains(connection, key),
        *_totals(connection),
        *_standing(connection),
        *_receipts(connection, receipts),
    ]


def _standing(connection: Connection) -> Iterator[str]:
    """What stands now, limits and open reservations, against the events that say so."""
    limits: dict[tuple[str, str, int], tuple[int, int, str]] = {}
    waiting: dict[str, tuple[str, int]] = {}
    for name, number, kind, entry, body in connection.rows(
        "SELECT dataset, number, kind, entry, body FROM discreet_event ORDER BY dataset, number"
    ):
        if kind == "limit":
            said = json.loads(str(body))
            limits.pop(place := (str(name), said["person"], said["span"]), None)
            if said["nano"] is not None:
                limits[place] = (said["nano"], said["atto"], said["unit"])
        elif kind == "reserve":
            waiting[str(entry)] = (str(name), int(str(number)))
        else:
            waiting.pop(str(entry), None)
    standing_limits: dict[Any, Any] = {}
    for name, said in connection.rows("SELECT dataset, limits FROM discreet_dataset"):
        for each in json.loads(str(said)):
            place = (str(name), EVERYBODY, each["span"])
            standing_limits[place] = (each["nano"], each["atto"], each["unit"])
    for name, person, span, *rest in connection.rows(
        "SELECT dataset, person, span, nano, atto, unit FROM discreet_limit"
    ):
        standing_limits[name, person, span] = tuple(rest)
    for place in limits.keys() | standing_limits.keys():
        if limits.get(place) != standing_limits.get(place):
            yield f"data set {place[0]}: a limit is not the one that was set"
    still = {
        str(entry): (str(name), int(str(number)))
        for entry, name, number in connection.rows(
            "SELECT entry, dataset, number FROM discreet_open"
        )
    }
    for name, _ in {*waiting.items()} ^ {*still.items()}:
        yield f"entry {name} is open by the events or by the list of open ones, and not by both"


def _receipts(connection: Connection, paths: Sequence[Path]) -> Iterator[str]:
    """Receipts against their entries: that these are there, and say the same."""
    known = {entry.id: entry for entry in chain.entries(connection, None, EVERYBODY)}
    for path in paths:
        place = path if is_receipt(path) else receipt_path(path)
        if not place.is_file():
            yield f"{path} has no receipt"
            continue
        said = Receipt.read(place).about.get("ledger")
        if not isinstance(said, Mapping):
            yield f"{place} is not of a release that was booked"
            continue
        entry = known.get(str(said.get("entry")))
        if entry is None:
            yield f"{place} is booked nowhere in this ledger: its entry is missing"
        elif entry.receipt != file_sha256(place):
            state = "another receipt" if entry.state == COMMITTED else f"it as {entry.state}"
            yield f"{place} is not what was booked: the ledger has {state}"
        elif said.get("charged") != entry.statement.to_dict():
            yield f"{place} states another guarantee than the ledger was charged for"


def _chains(connection: Connection, key: LedgerKey) -> Iterator[str]:
    heads = {
        str(name): (events, head)
        for name, events, head in connection.rows(
            "SELECT dataset, events, head FROM discreet_dataset"
        )
    }
    before: dict[str, tuple[int, str]] = dict.fromkeys(heads, (0, ""))
    broken = set[str]()
    for row in connection.rows(
        "SELECT dataset, number, kind, at, entry, body, digest FROM discreet_event "
        "ORDER BY dataset, number"
    ):
        *event, digest = row
        name, number = str(row[0]), int(str(row[1]))
        last, head = before.get(name, (0, ""))
        if name in broken:
            continue
        if number != last + 1:
            yield f"data set {name}: event {last + 1:,} is missing"
            broken.add(name)
        elif chain.sealed(key, event, head) != digest:
            yield f"data set {name}: event {number:,} is not as it was written"
            broken.add(name)
        before[name] = (number, str(digest))
    for name, (number, digest) in before.items():
        if name not in broken and heads.get(name) != (number, digest):
            yield f"data set {name}: events after {number:,} are missing"


def _totals(connection: Connection) -> Iterator[str]:
    """Postings against the digests in the chain, and accounts against the postings."""
    posted: dict[tuple[str, int], dict[str, Amount]] = defaultdict(dict)
    sums: dict[tuple[str, str], Amount] = defaultdict(Amount)
    for name, number, person, nano, atto, unbounded in connection.rows(
        "SELECT dataset, number, person, nano, atto, unbounded FROM discreet_posting"
    ):
        amount = amount_of(nano, atto, unbounded)
        posted[str(name), int(str(number))][str(person)] = amount
        sums[str(name), str(person)] += amount
    reserved: dict[str, dict[str, Amount]] = {}
    for name, number, kind, entry, body in connection.rows(
        "SELECT dataset, number, kind, entry, body FROM discreet_event ORDER BY dataset, number"
    ):
        amounts = posted.pop((str(name), int(str(number))), {})
        if kind == "reserve":
            reserved[str(entry)] = amounts
            if chain.of_postings(amounts) != json.loads(str(body)).get("postings"):
                yield f"data set {name}: the amounts of event {number:,} are not as written"
        elif kind == REFUNDED:
            back = {person: Amount() - amount for person, amount in amounts.items()}
            if back != reserved.get(str(entry)):
                yield f"data set {name}: event {number:,} gives back what was not taken"
        elif amounts:
            yield f"data set {name}: event {number:,} has amounts and should have none"
    for name, number in posted:
        yield f"data set {name}: there are amounts without their event {number:,}"
    kept = {
        (str(name), EVERYBODY): amount_of(*rest)
        for name, *rest in connection.rows(
            "SELECT dataset, nano, atto, unbounded FROM discreet_dataset"
        )
    }
    kept |= {
        (str(name), str(person)): amount_of(*rest)
        for name, person, *rest in connection.rows(
            "SELECT dataset, person, nano, atto, unbounded FROM discreet_account"
        )
    }
    for account in kept.keys() | sums.keys():
        if kept.get(account, Amount()) != sums.get(account, Amount()):
            whose = "of a person" if account[1] else "of everybody"
            yield f"data set {account[0]}: the total {whose} is not the sum of its amounts"
