"""Input rows that were released before, known again by a keyed fingerprint."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet import check
from discreet.errors import BudgetExceeded, InvalidValue
from discreet.ledger.entries import COMMITTED
from discreet.ledger.schema import Connection, Rows, in_parts

STORED, REFUSE, CHARGE = "stored-first-release", "refuse", "charge"
POLICIES = (STORED, REFUSE, CHARGE)
"""What becomes of a row that was released before; the first is the default.

``stored-first-release`` hands out what was released the first time where that was kept, and
refuses the row where it was not. It costs nothing more, and shows that both rows are the same.
"""
_HALF = re.compile("[\ud800-\udfff]")
_ROW = ("dataset", "fingerprint", "entry", "kept")
_FIRST = (
    "ON CONFLICT (dataset, fingerprint) DO UPDATE SET kept = excluded.kept "
    "WHERE discreet_row.entry = excluded.entry AND discreet_row.kept IS NULL"
)


@dataclass(frozen=True)
class Seen:
    """The first release of a row."""

    entry: str
    kept: str | None
    """What was released, if it was kept and is committed: what is not may yet be given back."""
    made_with: str = ""
    """What its charge said of how it was made."""


@dataclass(frozen=True)
class Screened:
    """Which rows are to be released, and what is handed out for the others."""

    new: tuple[int, ...]
    """Places of rows to draw for."""
    stored: dict[int, str]
    """Earlier releases by the place of the row."""


def screened(
    rows: Sequence[Seen | None], policy: str = STORED, *, rows_before: int = 0
) -> Screened:
    """Apply a policy to what a ledger has seen of some rows.

    Args:
        rows: What was seen of each of them.
        policy: One of ``POLICIES``.
        rows_before: How many rows of the input come before them.

    Raises:
        BudgetExceeded: A row was released before and the policy does not allow it again.

    >>> screened([None, Seen("e", "tea cup")])
    Screened(new=(0,), stored={1: 'tea cup'})
    """
    check.one_of(policy, POLICIES, "policy for rows that come again")
    if policy == CHARGE:
        return Screened(tuple(range(len(rows))), {})
    again = {place: seen for place, seen in enumerate(rows) if seen is not None}
    refused = [p for p, seen in again.items() if policy == REFUSE or seen.kept is None]
    if refused:
        first = f"row {rows_before + refused[0] + 1:,}"
        told = f"was released before ({first})"
        if len(refused) > 1:
            told = f"were released before (the first is {first})"
        raise BudgetExceeded(
            f"{len(refused):,} of the rows read so far {told}, and no release of the same "
            "settings is kept that may be handed out; leave out what was released before, or "
            "charge it again (--again charge)"
        )
    stored = {place: str(seen.kept) for place, seen in again.items()}
    return Screened(tuple(p for p, seen in enumerate(rows) if seen is None), stored)


def seen(connection: Connection, name: str, prints: Sequence[str]) -> list[Seen | None]:
    """What is known of fingerprints."""
    found: dict[str, tuple[str, object]] = {}
    wanted = list(dict.fromkeys(prints))
    for chunk, marks in in_parts(wanted):
        for fingerprint, entry, kept in connection.rows(
            "SELECT fingerprint, entry, kept FROM discreet_row WHERE dataset = ? "
            f"AND fingerprint IN ({marks})",
            *(name, *chunk),
        ):
            found[str(fingerprint)] = str(entry), kept
    made_with = _committed(
        connection, {entry for entry, kept in found.values() if kept is not None}
    )
    known = {
        fingerprint: Seen(entry, str(kept), made_with[entry])
        if kept is not None and entry in made_with
        else Seen(entry, None)
        for fingerprint, (entry, kept) in found.items()
    }
    return [known.get(each) for each in prints]


def _committed(connection: Connection, entries: Iterable[str]) -> dict[str, str]:
    """How releases were made, of those of these entries that are committed."""
    made_with: dict[str, str] = {}
    for chunk, marks in in_parts(sorted(entries)):
        for entry, body in connection.rows(
            "SELECT e.entry, e.body FROM discreet_event AS e JOIN discreet_event AS c "
            "ON c.entry = e.entry AND c.kind = ? WHERE e.kind = 'reserve' "
            f"AND e.entry IN ({marks})",
            *(COMMITTED, *chunk),
        ):
            made_with[str(entry)] = json.loads(str(body)).get("made_with", "")
    return made_with


def digest_of(rows: Iterable[tuple[str, str | None]]) -> str:
    """A digest of the rows of a release, each with what was kept of it, for the chain to cover."""
    lines = sorted(f"{fingerprint} {_hashed(kept)}" for fingerprint, kept in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _hashed(kept: str | None) -> str:
    raw = None if kept is None else kept.encode("utf-8", "surrogatepass")
    return "" if raw is None else hashlib.sha256(raw).hexdigest()


def told_of(connection: Connection, entry: str) -> dict[str, object]:
    """How many rows a release has, and their digest: what the event says that commits it."""
    found = connection.rows("SELECT fingerprint, kept FROM discreet_row WHERE entry = ?", entry)
    rows = [(str(fingerprint), None if kept is None else str(kept)) for fingerprint, kept in found]
    return {"count": len(rows), "digest": digest_of(rows)}


def _is_storable(kept: str | None) -> bool:
    return kept is None or not ("\0" in kept or _HALF.search(kept))


def remember(
    connection: Connection,
    name: str,
    prints: Sequence[str],
    entry: str,
    releases: Sequence[str] | None,
) -> None:
    """Keep fingerprints; the first release of a row stays the first."""
    if releases is not None and len(releases) != len(prints):
        raise InvalidValue("there must be one release for each row")
    kept: Sequence[str | None] = [None] * len(prints) if releases is None else releases
    if not all(map(_is_storable, kept)):
        raise InvalidValue(
            "a release holds the character NUL or half a surrogate pair, which a ledger cannot keep"
        )
    # Fingerprints may be kept before anything is drawn; their releases then follow.
    added = sorted((name, p, entry, out) for p, out in dict(zip(prints, kept, strict=True)).items())
    connection.write(Rows("discreet_row", _ROW, added, _FIRST))
