"""Whether a ledger is as it was written, and says what the receipts say."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.files import file_sha256
from discreet.ledger import chain, rows
from discreet.ledger.amount import Amount
from discreet.ledger.entries import COMMITTED, EVERYBODY, REFUNDED
from discreet.ledger.keys import LedgerKey
from discreet.ledger.schema import Connection
from discreet.ledger.totals import amount_of
from discreet.receipt import Receipt, is_receipt, receipt_path
from discreet.statement import Adjacency


def problems(connection: Connection, key: LedgerKey, receipts: Sequence[Path]) -> list[str]:
    """What is wrong, a sentence each; nothing of it repeats a name."""
    return [
        *_chains(connection, key),
        *_totals(connection),
        *_standing(connection),
        *_rows(connection),
        *_receipts(connection, receipts),
    ]


def unchecked_rows(connection: Connection) -> int:
    """How many releases have rows of which the chain says nothing.

    They are not finished, or were booked by a version that did not put rows into the chain.
    """
    told, _ = _told_rows(connection)
    entries = connection.rows("SELECT DISTINCT entry FROM discreet_row")
    return sum(str(entry) not in told for (entry,) in entries)


def _told_rows(connection: Connection) -> tuple[dict[str, Any], dict[str, str]]:
    """What the chain says of the rows of releases, and what became of each of these."""
    told, states = {}, {}
    for entry, kind, body in connection.rows(
        "SELECT entry, kind, body FROM discreet_event WHERE entry <> '' ORDER BY dataset, number"
    ):
        states[str(entry)] = str(kind)
        if kind == COMMITTED and (said := json.loads(str(body)).get("rows")) is not None:
            told[str(entry)] = said
    return told, states


def _rows(connection: Connection) -> Iterator[str]:
    """The rows by which a text is known again, against the events that committed them."""
    told, states = _told_rows(connection)
    found: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for entry, fingerprint, kept in connection.rows(
        "SELECT entry, fingerprint, kept FROM discreet_row"
    ):
        found[str(entry)].append((str(fingerprint), None if kept is None else str(kept)))
    for entry, said in told.items():
        own = found.get(entry, [])
        if {"count": len(own), "digest": rows.digest_of(own)} != said:
            yield (
                f"entry {entry}: the {said['count']:,} rows by which its texts are known again are "
                "not as written"
            )
    for entry in found:
        if states.get(entry, REFUNDED) == REFUNDED:
            yield f"there are rows of entry {entry}, which released nothing"


@dataclass
class _Settings:
    """What a data set's own row says of it, beside its limits and sums."""

    adjacency: str = str(Adjacency.REPLACE)
    at: int = 0
    persons: int = 0
    limited: int = 0


def _standing(connection: Connection) -> Iterator[str]:
    """What stands now against the events that say so.

    That is what each data set counts, its limits, open reservations and the ids of requests.
    """
    limits: dict[tuple[str, str, int], tuple[int, int, str]] = {}
    waiting: dict[str, tuple[str, int]] = {}
    requests: dict[str, tuple[str, str]] = {}
    settings: dict[str, _Settings] = defaultdict(_Settings)
    for name, number, kind, at, entry, body in connection.rows(
        "SELECT dataset, number, kind, at, entry, body FROM discreet_event ORDER BY dataset, number"
    ):
        said, own = json.loads(str(body)), settings[str(name)]
        own.at = int(str(at))
        if kind == "limit":
            own.adjacency = said["adjacency"]
            limits.pop(place := (str(name), said["person"], said["span"]), None)
            if said["nano"] is not None:
                limits[place] = (said["nano"], said["atto"], said["unit"])
        elif kind == "reserve":
            waiting[str(entry)] = (str(name), int(str(number)))
            own.persons += said["persons"]
            if "request" in said:
                requests[str(entry)] = (str(name), said["request"])
        else:
            waiting.pop(str(entry), None)
            if kind == REFUNDED:
                requests.pop(str(entry), None)
    for place in limits:
        settings[place[0]].limited += place[1] != EVERYBODY
    standing_limits: dict[Any, Any] = {}
    for name, said, adjacency, *counts in connection.rows(
        "SELECT dataset, limits, adjacency, at, persons, limited FROM discreet_dataset"
    ):
        for each in json.loads(str(said)):
            place = (str(name), EVERYBODY, each["span"])
            standing_limits[place] = (each["nano"], each["atto"], each["unit"])
        if settings[str(name)] != _Settings(str(adjacency), *(int(str(n)) for n in counts)):
            yield f"data set {name}: what it counts, and since when, is not as written"
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
    asked = {
        str(entry): (str(name), str(request))
        for name, request, entry in connection.rows(
            "SELECT dataset, request, entry FROM discreet_request"
        )
    }
    for name, _ in {*requests.items()} ^ {*asked.items()}:
        yield f"entry {name} has another request id than was written"


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
    dated: dict[tuple[str, int], set[object]] = defaultdict(set)
    sums: dict[tuple[str, str], Amount] = defaultdict(Amount)
    for name, number, person, at, nano, atto, unbounded in connection.rows(
        "SELECT dataset, number, person, at, nano, atto, unbounded FROM discreet_posting"
    ):
        amount = amount_of(nano, atto, unbounded)
        posted[str(name), int(str(number))][str(person)] = amount
        dated[str(name), int(str(number))].add(at)
        sums[str(name), str(person)] += amount
    reserved: dict[str, dict[str, Amount]] = {}
    begun: dict[str, object] = {}
    for name, number, kind, at, entry, body in connection.rows(
        "SELECT dataset, number, kind, at, entry, body FROM discreet_event ORDER BY dataset, number"
    ):
        place = (str(name), int(str(number)))
        amounts = posted.pop(place, {})
        if amounts and dated[place] != {begun.setdefault(str(entry), at)}:
            yield f"data set {name}: the amounts of event {number:,} are of another time"
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
