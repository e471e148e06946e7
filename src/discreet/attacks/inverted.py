"""The law of a mechanism turned round: for every released word its likeliest originals.

An attacker who sees one word at a time takes the first of them, the exact best guess. One that
also knows which words follow each other (:mod:`discreet.attacks.chain`) weighs all of them. A law
that depends on what was released before (a guided mechanism) is inverted place by place, by what it
was at that place.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Floats, Generator, Ids, row_blocks
from discreet.attacks.bayes import checked_prior, log_likelihoods
from discreet.errors import InvalidValue
from discreet.protocols import ContextualMechanism, WordMechanism

KEPT = 48
"""Originals that are kept for each released word."""
_NUMBERS = 2**22


@dataclass(frozen=True)
class Originals:
    """The likeliest originals of released words, the best first.

    Attributes:
        words: ``(places, n)`` word ids.
        logs: ``ln P(y|x) + ln prior(x)`` of each, up to a constant of the place.
    """

    words: Ids = field(repr=False)
    logs: Floats = field(repr=False)

    def best(self, never: int | None = None) -> Ids:
        """The exact best guess at each place; ``never`` is a word that is not guessed."""
        first = self.words[:, 0]
        if never is None or self.words.shape[1] < 2:
            return first
        return np.where(first == never, self.words[:, 1], first)

    def with_public(self, passed: NDArray[np.bool_], released: Ids) -> "Originals":
        """The same where some words came out as they were: nothing else is possible there."""
        words, logs = self.words.copy(), self.logs.copy()
        words[passed, 0], logs[passed, 0], logs[passed, 1:] = released[passed], 0.0, -np.inf
        return Originals(words, logs)


def originals(
    mechanism: WordMechanism,
    released: Ids,
    offsets: Ids,
    prior: Floats,
    *,
    passed: NDArray[np.bool_] | None = None,
    keep: int = KEPT,
    rng: Generator | None = None,
) -> Originals:
    """Invert a mechanism on released texts.

    Args:
        mechanism: What released the texts.
        released: Word ids that came out, of all texts end to end.
        offsets: Where each text starts.
        prior: A weight for every word that was replaced, from public knowledge.
        passed: Which words are public and came out as they were: each is its own only original.
        keep: How many originals to keep for each place.
        rng: Of the simulation of a law that has no formula.

    >>> from discreet.mechanisms.word import SanText
    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [9.0]])
    >>> mechanism = SanText(space, epsilon=1.0, calibration="published")
    >>> inverted = originals(mechanism, np.arange(3), np.array([0, 3]), np.array([0.8, 0.1, 0.1]))
    >>> inverted.best().tolist()
    [0, 0, 2]
    """
    weights = checked_prior(prior, len(mechanism.space))
    keep = min(check.whole(keep, "originals to keep", at_least=1), int((weights > 0).sum()))
    drawn = np.ones(len(released), np.bool_) if passed is None else ~passed
    if hasattr(mechanism, "near_inputs"):
        inverted = _of_near_sets(mechanism, released, offsets, weights, keep, drawn)
        return inverted if passed is None else inverted.with_public(passed, released)
    if reads_on(mechanism):
        _checked_inputs(mechanism)
    possible = np.flatnonzero(weights)
    words = np.zeros((len(released), keep), dtype=np.int64)
    scores = np.zeros((len(released), keep))
    if drawn.any():
        place, logs = log_likelihoods(
            mechanism, released[drawn], weights, possible=possible, rng=rng
        )
        logs += np.log(weights[possible]).astype(np.float32)
        columns, best = _largest(logs, keep)
        words[drawn], scores[drawn] = possible[columns][place], best[place]
    inverted = Originals(words, scores)
    return inverted if passed is None else inverted.with_public(passed, released)


def likelihoods_at(
    mechanism: WordMechanism,
    released: Ids,
    offsets: Ids,
    places: Ids,
    prior: Floats,
    *,
    rng: Generator | None = None,
) -> tuple[Ids, NDArray[np.float32]]:
    """``ln P(y|x)`` of every word x at some places of released texts, given what came before.

    Args:
        mechanism: What released the texts.
        released: Word ids that came out, of all texts end to end.
        offsets: Where each text starts.
        places: In ``released``.
        prior: A weight for every word, from public knowledge: where a simulation looks first.
        rng: Of the simulation of a law that has no formula.

    Returns:
        for each place its row, and the rows: as :func:`discreet.attacks.bayes.log_likelihoods`.
    """
    if not reads_on(mechanism):
        return log_likelihoods(mechanism, released[places], prior, rng=rng)
    sets: Any = _checked_inputs(mechanism)
    elsewhere = np.ones(len(released), np.bool_)
    elsewhere[places] = False
    near, far = sets.log_chances
    table = np.full((len(places), len(mechanism.space)), far, np.float32)
    where, words = sets.near_inputs(released, offsets, elsewhere)
    order = np.argsort(places, kind="stable")
    table[order[np.searchsorted(places[order], where)], words] = near
    return np.arange(len(places)), table


def reads_on(mechanism: WordMechanism) -> bool:
    """Whether the law of a word depends on what was released before it."""
    return isinstance(mechanism, ContextualMechanism) and mechanism.contextual


def _checked_inputs(mechanism: WordMechanism) -> WordMechanism:
    if not hasattr(mechanism, "near_inputs"):
        raise InvalidValue(
            f"{mechanism.name} draws by what was released before and does not say how; it cannot "
            "be inverted"
        )
    return mechanism


def _of_near_sets(
    mechanism: Any,
    released: Ids,
    offsets: Ids,
    weights: Floats,
    keep: int,
    drawn: NDArray[np.bool_],
) -> Originals:
    """At each place a few words have the larger of two chances, all others the smaller."""
    with np.errstate(divide="ignore"):  # a word that is impossible beforehand
        logs = np.log(weights)
    near, far = mechanism.log_chances
    frequent = np.argsort(-weights, kind="stable")[:keep]
    column_of = np.full(len(weights), -1)
    column_of[frequent] = np.arange(keep)
    words = np.empty((len(released), keep), dtype=np.int64)
    scores = np.empty((len(released), keep))
    places, whose = mechanism.near_inputs(released, offsets, ~drawn, weights > 0)
    starts = np.searchsorted(places, np.arange(len(released) + 1))
    most = int(np.diff(starts).max(initial=0))
    for part in row_blocks(len(released), most + keep, _NUMBERS):
        low, high = starts[part.start], starts[part.stop]
        size = part.stop - part.start
        row = places[low:high] - part.start
        column = np.arange(low, high) - starts[part][row]
        # The frequent words stand in all rows as far ones, and once more where they are near.
        table = np.concatenate(
            [np.zeros((size, most), np.int64), np.broadcast_to(frequent, (size, keep))], axis=1
        )
        value = np.full((size, most + keep), -np.inf)
        value[:, most:] = logs[frequent] + far
        table[row, column] = whose[low:high]
        value[row, column] = logs[whose[low:high]] + near
        also = column_of[whose[low:high]]
        value[row[also >= 0], most + also[also >= 0]] = -np.inf
        order, scores[part] = _largest(value, keep)
        words[part] = np.take_along_axis(table, order, axis=1)
    return Originals(words, scores)


def _largest(table: NDArray[np.floating[Any]], keep: int) -> tuple[Ids, Floats]:
    """Columns and values of the largest numbers of each row, the largest first."""
    columns = np.empty((len(table), keep), dtype=np.int64)
    for part in row_blocks(len(table), table.shape[1], _NUMBERS):
        some = np.argpartition(-table[part], keep - 1, axis=1)[:, :keep]
        order = np.argsort(-np.take_along_axis(table[part], some, axis=1), axis=1, kind="stable")
        columns[part] = np.take_along_axis(some, order, axis=1)
    return columns, np.take_along_axis(table, columns, axis=1).astype(np.float64)
