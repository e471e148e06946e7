"""Users and their sentences as arrays; a cell is one user and one set of entities."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Ids, ragged_places
from discreet.errors import InputError

MAX_WORDS = 128
"""Of a longer sentence only the first so many words, or tokens, are read."""


@dataclass(frozen=True)
class Sentence:
    """One sentence before it becomes numbers; protected, so never shown."""

    user: str = field(repr=False)
    ids: Sequence[int] = field(repr=False)
    """Numbers of its words in a public vocabulary."""
    entities: frozenset[str] = field(default=frozenset(), repr=False)
    label: int | None = field(default=None, repr=False)
    marked: Sequence[bool] | None = field(default=None, repr=False)
    """Which of its words belong to an entity, where that is known word by word."""


@dataclass(frozen=True, eq=False)
class UserText:
    """All that one user brings: the only thing a client of a federation holds.

    Attributes:
        name: who; enters the draws and nothing else.
        tokens: word numbers of all sentences, one after the other.
        lengths: words of each sentence.
        cell: which cell each sentence belongs to; -1 if it holds no sensitive entity.
        cells: the entities of each cell, sorted.
        labels: class of each sentence, if sentences are classified.
        marked: which words belong to an entity, if known; to measure with, not to train with.
    """

    name: str = field(repr=False)
    tokens: Ids = field(repr=False)
    lengths: Ids = field(repr=False)
    cell: Ids = field(repr=False)
    cells: tuple[tuple[str, ...], ...] = field(repr=False)
    labels: Ids | None = field(default=None, repr=False)
    marked: NDArray[np.bool_] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, kept: NDArray[Any]) -> "UserText":
        """Some of the sentences, in their order; cells without a sentence go too."""
        positions = np.flatnonzero(kept) if kept.dtype == np.bool_ else kept
        places = self.places(positions)
        cell = self.cell[positions]
        used = np.unique(cell[cell >= 0])
        renumbered = np.full(len(self.cells) + 1, -1, dtype=np.int64)
        renumbered[used] = np.arange(len(used))
        return UserText(
            self.name,
            self.tokens[places],
            self.lengths[positions],
            renumbered[cell],
            tuple(self.cells[i] for i in used),
            None if self.labels is None else self.labels[positions],
            None if self.marked is None else self.marked[places],
        )

    def places(self, sentences: Ids) -> Ids:
        """Where the words of these sentences are in ``tokens``, sentence by sentence."""
        starts = np.cumsum(self.lengths) - self.lengths
        return ragged_places(starts[sentences], self.lengths[sentences])[0]


def gather(sentences: Iterable[Sentence], *, max_words: int = MAX_WORDS) -> tuple[UserText, ...]:
    """Sentences by user, users in the order of their first sentence.

    Args:
        sentences: in any order; those without a word are left out.
        max_words: of a longer sentence only the first so many words are used.

    >>> users = gather([Sentence("u", [1, 2], frozenset({"x"})), Sentence("u", [3])])
    >>> users[0].cell.tolist(), users[0].lengths.tolist()
    ([0, -1], [2, 1])
    """
    by_user: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        by_user.setdefault(sentence.user, []).append(sentence)
    if not by_user:
        raise InputError("there are no users: the input holds no sentence")
    users = []
    for number, (name, all_own) in enumerate(by_user.items()):
        own = [sentence for sentence in all_own if len(sentence.ids)]
        if not own:
            raise InputError(f"user {number} (counted from 0) has no text; drop it")
        cells: dict[tuple[str, ...], int] = {}
        cell = [
            cells.setdefault(tuple(sorted(sentence.entities)), len(cells))
            if sentence.entities
            else -1
            for sentence in own
        ]
        words = [np.asarray(sentence.ids, dtype=np.int64)[:max_words] for sentence in own]
        labels = [sentence.label for sentence in own]
        marks = [s.marked[:max_words] for s in own if s.marked is not None]
        users.append(
            UserText(
                name,
                np.concatenate(words),
                np.array([len(ids) for ids in words], dtype=np.int64),
                np.array(cell, dtype=np.int64),
                tuple(cells),
                None if None in labels else np.array(labels, dtype=np.int64),
                np.concatenate(marks).astype(np.bool_) if len(marks) == len(own) else None,
            )
        )
    return tuple(users)


def holders_of(users: Iterable[UserText]) -> Mapping[str, list[int]]:
    """The users that hold each entity, by their place."""
    holders: dict[str, list[int]] = {}
    for place, user in enumerate(users):
        for entity in {entity for cell in user.cells for entity in cell}:
            holders.setdefault(entity, []).append(place)
    return holders
