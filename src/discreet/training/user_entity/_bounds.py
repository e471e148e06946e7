"""The bounds on entities, and what is dropped so that they hold.

The certified guarantee is for data sets in a *domain*: an entity occurs with at most K users
("holders") and in at most M cells of each. The domain is closed under removal: if a data set is in
it, so is the data set without a user, without an entity, or without both. So for every data set in
the domain, every user and every entity *that is in it* is protected as the statement says.

What does not hold, and is not claimed. :func:`within_bounds` brings other data into the domain by
dropping sentences, and whether a sentence is dropped can depend on other users: with K + 1 holders
of an entity, one of them loses its sentences with that entity, and gets them back when another
holder is taken away. No rule that enforces K can avoid this (what a user keeps would have to depend
on that user alone, and then K users could not be told from K + 1). A single user who holds many
entities that are full can therefore move the sentences of many others, and the bound on a step is
not a bound on that. Precisely:

- If nothing is dropped (``strict`` makes sure of it), the guarantee is about the data as given.
- If something is dropped, it is about the data after dropping.
- The bound M alone looks at one user's own text. If K is at least the number of users, nothing is
  dropped because of K, and the figure for *users* holds for the data as given.

How much was dropped is a fact about protected text: it is for whoever runs the training.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
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
    users_emptied: int = 0
    """Users who lost all their sentences."""


def within_bounds(
    users: Sequence[UserText], *, holders: int, cells: int, strict: bool = False
) -> tuple[tuple[UserText, ...], Dropped]:
    """The data in the domain, and how much was dropped for that.

    An entity stays with the K (``holders``) of its holders that come first in an order that a hash
    of user and entity gives; the other holders lose their sentences with it. Then each user's cells
    are taken in order (few entities first, then many sentences) as long as no entity is in more
    than M (``cells``).

    Raises:
        InvalidValue: strict, and something would have to be dropped; the message has numbers only.
    """
    check.whole(holders, "holders")
    check.whole(cells, "cells", at_least=1)
    by_entity = holders_of(users)
    denied: dict[int, set[str]] = {}
    for entity, places in by_entity.items():
        if len(places) > holders:
            for place in sorted(places, key=lambda p: _rank(users[p].name, entity))[holders:]:
                denied.setdefault(place, set()).add(entity)
    over_cells, bounded = 0, []
    for place, user in enumerate(users):
        kept, over = _own_cells(user, denied.get(place, set()), cells)
        over_cells += over
        bounded.append(user if kept.all() else user.take(kept))
    dropped = Dropped(
        sentences=sum(map(len, users)) - sum(map(len, bounded)),
        sensitive=sum(int((user.cell >= 0).sum()) for user in users),
        entities_over_holders=sum(len(places) > holders for places in by_entity.values()),
        entities_over_cells=over_cells,
        users_emptied=sum(len(user) == 0 for user in bounded),
    )
    if strict and dropped.sentences:
        raise InvalidValue(
            f"the data is not within the bounds: {dropped.entities_over_holders} entities have "
            f"more than {holders} holders, and {over_cells} times an entity is in more than "
            f"{cells} cells of a user; raise --holders and --cells, or leave out --strict to drop "
            f"{dropped.sentences} of {dropped.sensitive} sensitive sentences"
        )
    return tuple(bounded), dropped


def _rank(user: str, entity: str) -> bytes:
    text = f"{len(user)} {user} {entity}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16, person=b"holders").digest()


def _own_cells(user: UserText, denied: set[str], most: int) -> tuple[np.ndarray, int]:
    """Which sentences a user keeps, and how many entities were in too many cells."""
    sizes = np.bincount(user.cell[user.cell >= 0], minlength=len(user.cells))
    allowed = [i for i, entities in enumerate(user.cells) if denied.isdisjoint(entities)]
    allowed.sort(key=lambda i: (len(user.cells[i]), -sizes[i], user.cells[i]))
    used: Counter[str] = Counter()
    keep = np.zeros(len(user.cells) + 1, dtype=np.bool_)
    keep[-1] = True  # cell -1: no entity
    for i in allowed:
        if all(used[entity] < most for entity in user.cells[i]):
            keep[i] = True
            used.update(user.cells[i])
    wanted = Counter(entity for i in allowed for entity in user.cells[i])
    return keep[user.cell], sum(count > most for count in wanted.values())
