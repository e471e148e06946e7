"""Iterators in, iterators out: items are read ahead by a block, and released together."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.arrays import Generator
from discreet.errors import InputError
from discreet.receipt import Receipt
from discreet.release._kinds import is_missing, kind_of
from discreet.release._plan import Plan
from discreet.release.rows import Tally
from discreet.statement import PrivacyStatement

BLOCK_ROWS = 4096
"""So many texts of an iterator are read ahead and released together, if they are short."""
_BLOCK_CHARACTERS = 2**22


class SanitizedStream(Iterator[Any]):
    """What comes out of an iterator: one item for each, read ahead by a block at most.

    Attributes:
        statement: what holds for each word; it does not depend on what is read.
        units: words that were released so far.
    """

    def __init__(
        self,
        items: Iterator[Any],
        statement: PrivacyStatement,
        tally: Tally,
        told: Callable[[], Receipt],
    ) -> None:
        self.statement = statement
        self._items, self._tally, self._told = items, tally, told

    def __next__(self) -> Any:
        return next(self._items)

    @property
    def values(self) -> "SanitizedStream":
        """The stream itself, where other releases have what was released."""
        return self

    @property
    def units(self) -> int:
        return self._tally.words.total()

    @property
    def receipt(self) -> Receipt:
        """Of what was released so far."""
        return self._told()

    def __repr__(self) -> str:
        return f"SanitizedStream({self.units:,} words so far; {self.statement.brief()})"


@dataclass(frozen=True)
class Gathered:
    """Items of an iterator that are released together."""

    table: Any = field(repr=False)
    apart: bool
    """Whether its rows come out one by one, as they went in."""


def gathered(items: Iterator[Any]) -> Iterator[Gathered]:
    """Texts and rows by the thousand; tables as they come."""
    rows: list[Any] = []
    size = 0
    for item in items:
        if not (isinstance(item, str | Mapping) or is_missing(item)):
            if rows:
                raise InputError("an iterator must give texts, rows or tables, and one of these")
            yield Gathered(item, apart=False)
            continue
        rows.append(item)
        values = item.values() if isinstance(item, Mapping) else (item,)
        size += sum(len(value) for value in values if isinstance(value, str))
        if len(rows) >= BLOCK_ROWS or size >= _BLOCK_CHARACTERS:
            yield Gathered(rows, apart=True)
            rows, size = [], 0
    if rows:
        yield Gathered(rows, apart=True)


def released(blocks: Iterator[Gathered], plan: Plan, tally: Tally, rng: Generator) -> Iterator[Any]:
    """Release what was gathered, one after the other; items come out as they went in."""
    for some in blocks:
        kind = kind_of(some.table)
        # A row may lack a field that others have; a field that nobody spoke of is refused.
        plan.fates.refuse_undecided(kind.names, kind.what, python=True, repeat=not tally.documents)
        block = plan.block(kind, rng)
        tally.count(block.words, block.identifiers, block.draws, plan.persons(kind))
        values = kind.rebuilt(plan.fates, block.columns)
        if some.apart:
            yield from values
        else:
            yield values
