"""The bounds on entities, and what is dropped so that they hold.

The certified guarantee is for data sets in a *domain*: an entity occurs with at most K users
("holders") and in at most M cells of each. With ``one_cell`` every user has moreover one cell, or
only sentences without an entity. The domain is closed under removal: if a data set is in it, so is
the data set without a user, without an entity, or without both. So for every data set in the
domain, every user and every entity *that is in it* is protected as the statement says.

What does not hold, and is not claimed. :func:`within_bounds` brings other data into the domain by
dropping sentences, and whether a sentence is dropped can depend on other users: with K + 1 holders
of an entity, one of them loses its sentences with that entity, and gets them back when another
holder is taken away. No rule that enforces K can avoid this (what a user keeps would have to depend
on that user alone, and then K users could not be told from K + 1). A single user who holds many
entities that are full can therefore move the sentences of many others, and the bound on a step is
not a bound on that. Precisely:

- If nothing is dropped (``strict`` makes sure of it), the guarantee is about the data as given.
- If something is dropped, it is about the data after dropping.
- The bounds on cells alone look at one user's own text. If K is at least the number of users,
  nothing is dropped because of K, and the figure for *users* holds for the data as given.

How much was dropped is a fact about protected text: it is for whoever runs the training.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet import check
from discreet.errors import InvalidValue
from discreet.training.user_entity.users import UserText, holders_of


@dataclass(frozen=True)
class Dropped:
    """What the bounds cost, in numbers; protected as the text is."""

    sentences: int = 0
    """Sentences that are not used, of"""
    sensitive: int = 0
    """so many that hold an entity."""
    entities_over_holders: int = 0
    """Entities that more than K users hold."""
    entities_over_cells: int = 0
    """Pairs of a user and an entity that occur in more than M cells."""
    users_over_one_cell: int = 0
    """Where each user keeps one cell: users who had more."""
    users_emptied: int = 0
    """Users who lost all their sentences."""


@dataclass(frozen=True)
class _Unit:
    """A cell, or all sentences of a user without an entity (cell -1)."""

    place: int
    cell: int
    entities: tuple[str, ...]
    words: int


def within_bounds(
    users: Sequence[UserText],
    *,
    holders: int,
    cells: int,
    one_cell: bool = False,
    strict: bool = False,
) -> tuple[tuple[UserText, ...], Dropped]:
    """The data in the domain, and how much was dropped for that.

    Cells are taken one after the other as long as no entity gets more than K (``holders``) holders
    or, with one of them, more than M (``cells``) cells. Cells with many words whose entities few
    others want come first, so that much is kept: an entity's places go to cells that stay.

    Args:
        users: their text.
        holders: K.
        cells: M.
        one_cell: a user keeps one cell, or its sentences without an entity.
        strict: refuse instead of dropping.

    Raises:
        InvalidValue: strict, and something would have to be dropped; the message has numbers only.
    """
    check.whole(holders, "holders")
    check.whole(cells, "cells", at_least=1)
    by_entity = holders_of(users)
    units = [unit for place, user in enumerate(users) for unit in _units(place, user)]

    def order(unit: _Unit) -> tuple[float, bytes]:
        others = sum(max(0, len(by_entity[entity]) - holders) for entity in unit.entities)
        return (1 + others) / unit.words, _rank(users[unit.place].name, unit.entities)

    held_by: dict[str, set[int]] = {entity: set() for entity in by_entity}
    used: Counter[tuple[int, str]] = Counter()
    taken: dict[int, list[int]] = {place: [] for place in range(len(users))}
    for unit in sorted(units, key=order):
        place, entities = unit.place, unit.entities
        if one_cell and taken[place]:
            continue
        if all(
            used[place, entity] < cells and (place in at or len(at) < holders)
            for entity, at in ((entity, held_by[entity]) for entity in entities)
        ):
            taken[place].append(unit.cell)
            used.update((place, entity) for entity in entities)
            for entity in entities:
                held_by[entity].add(place)
    bounded = [_with_cells(user, taken[place]) for place, user in enumerate(users)]
    wanted = Counter((unit.place, entity) for unit in units for entity in unit.entities)
    dropped = Dropped(
        sentences=sum(map(len, users)) - sum(map(len, bounded)),
        sensitive=sum(int((user.cell >= 0).sum()) for user in users),
        entities_over_holders=sum(len(places) > holders for places in by_entity.values()),
        entities_over_cells=sum(count > cells for count in wanted.values()),
        users_over_one_cell=sum(
            count > 1 for count in Counter(unit.place for unit in units).values()
        )
        if one_cell
        else 0,
        users_emptied=sum(len(user) == 0 for user in bounded),
    )
    if strict and dropped.sentences:
        more = f", {dropped.users_over_one_cell} users have more than one" if one_cell else ""
        raise InvalidValue(
            f"the data is not within the bounds: {dropped.entities_over_holders} entities have "
            f"more than {holders} holders, and {dropped.entities_over_cells} times an entity is in "
            f"more than {cells} cells of a user{more}; raise --holders and --cells, or leave out "
            f"--strict to drop {dropped.sentences} sentences"
        )
    return tuple(bounded), dropped


def _units(place: int, user: UserText) -> Iterator[_Unit]:
    words = np.bincount(user.cell + 1, weights=user.lengths, minlength=len(user.cells) + 1)
    without: list[tuple[str, ...]] = [()]
    for cell, entities in enumerate(without + list(user.cells), start=-1):
        if words[cell + 1]:
            yield _Unit(place, cell, entities, int(words[cell + 1]))


def _with_cells(user: UserText, cells: Sequence[int]) -> UserText:
    kept = np.isin(user.cell, cells)
    return user if kept.all() else user.take(kept)


def _rank(user: str, entities: Sequence[str]) -> bytes:
    """An order that has nothing to do with names, for cells that are as good as each other."""
    text = repr((user, entities)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16, person=b"holders").digest()
