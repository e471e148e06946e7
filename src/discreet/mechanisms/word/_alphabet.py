"""Which words can come out, and how many of them are near a word: chosen on public data.

Under the law of two weights the expected squared distance between a word and what comes out is
known exactly from two public means: to its nearest outputs, and to all of them. For a given epsilon
the alphabet and the number of near words are those for which it is smallest, among those at which
the best guess at a word is not right too often. A larger alphabet has nearer words, but more of it
is far; with fewer near words more is guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Floats32, Ids, Progress
from discreet.mechanisms.word._two_weights import TwoWeights
from discreet.spaces.exemplars import AlphabetFigures, exemplars, kept_nearest, measured_alphabet
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace


@dataclass(frozen=True)
class Alphabet:
    """The words that can come out, and how many of them are near each word."""

    space: EmbeddingSpace
    words: Ids
    near: int

    def nearest(self, size: int) -> tuple[NDArray[np.int32], Floats32]:
        """For each word of the space the places of its nearest outputs, and their distances."""
        return kept_nearest(self.space, self.words, size)

    @cached_property
    def typical_distance(self) -> float:
        """Root of the mean squared distance of two words; 1 if all are at one point."""
        vectors = self.space.vectors.astype(np.float64)
        return float(np.sqrt(2 * vectors.var(axis=0).sum())) or 1.0


def choose(
    space: EmbeddingSpace,
    epsilon: float,
    near: int | None,
    outputs: int | None,
    progress: Progress | None = None,
) -> Alphabet:
    """The alphabet for an epsilon; what is not given is chosen so that words stay near.

    Args:
        space: the public vocabulary.
        epsilon: loss allowed between any two words.
        near: how many outputs are near each word.
        outputs: how many words can come out.
        progress: called with (done, total) while exemplars are chosen for the first time.
    """
    near, outputs = _checked(len(space), near, outputs)
    if near is not None and outputs == len(space):
        return Alphabet(space, np.arange(len(space)), near)
    found = exemplars(space, progress)
    if near is None or outputs is None:
        figures = map(AlphabetFigures, found.near, found.far, found.named)
        tables = dict(zip(found.sizes, figures, strict=True))
        if outputs is not None:
            measured = tables.get(outputs)
            tables = {outputs: measured or measured_alphabet(space, np.sort(found.order[:outputs]))}
        near, outputs = _nearest_on_average(epsilon, near, tables, float(rank_prior(space).max()))
    return Alphabet(space, np.sort(found.order[:outputs]), near)


def _checked(count: int, near: int | None, outputs: int | None) -> tuple[int | None, int | None]:
    if outputs is not None:
        outputs = check.whole(outputs, "outputs of NearWords", at_least=2)
        if outputs > count:
            rule = f"at most {count}, the number of words of the space"
            raise check.fail("outputs of NearWords", rule, outputs)
    if near is not None:
        near = check.whole(near, "near of NearWords", at_least=1)
        if near > (outputs or count):
            rule = f"at most the number of outputs, {outputs or count}"
            raise check.fail("near of NearWords", rule, near)
    return near, outputs


def most_guessed(epsilon: float) -> float:
    """How often the best guess may be right, by public frequencies, at settings that are chosen.

    Real texts use fewer words: there it is right about 1.4 times as often (measured on reviews and
    news), 0.35 of the time at epsilon 8 and 0.5 at 12.

    >>> [round(most_guessed(epsilon), 2) for epsilon in (1.0, 8.0, 10.0, 12.0, 20.0)]
    [0.25, 0.25, 0.31, 0.37, 0.37]
    """
    return float(np.interp(epsilon, (8.0, 12.0), (0.25, 0.37)))


def _nearest_on_average(
    epsilon: float, near: int | None, tables: Mapping[int, AlphabetFigures], commonest: float
) -> tuple[int, int]:
    """How many near and in all, of those measured: words that stay near and are not guessed.

    Of equally good ones the fewest; if too much is guessed at all of them, where it is least.
    """
    tried = []
    for size, figures in tables.items():
        for count in range(1, len(figures.near) + 1):
            if near in (None, count):
                far, guessed = _expected(epsilon, count, size, figures, commonest)
                excess = max(0.0, guessed - most_guessed(epsilon))
                tried.append((excess, far, size, count))
    if not tried:
        most = max(len(figures.near) for figures in tables.values())
        raise check.fail("near of NearWords", f"at most {most} unless outputs is given", near)
    _, _, outputs, count = min(tried)
    return count, outputs


def _expected(
    epsilon: float, near: int, outputs: int, figures: AlphabetFigures, commonest: float
) -> tuple[float, float]:
    """Mean squared distance between a word and what comes out, and the best guess at most.

    Args:
        epsilon: loss allowed.
        near: number of near outputs.
        outputs: how many there are.
        figures: of this alphabet.
        commonest: share of the commonest word.
    """
    law = TwoWeights(epsilon, near, outputs)
    heavy, light = law.near_chance / near, law.light / law.total
    # Every output with the weight of a far one, and the near ones with the rest on top.
    distance = outputs * light * figures.far
    distance += (law.near_chance - near * light) * figures.near[near - 1]
    return distance, heavy * figures.named[near - 1] + outputs * light * commonest
