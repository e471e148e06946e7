"""Which words can come out, and how many of them are near a word: chosen on public data.

Under the law of two weights the expected squared distance between a word and what comes out is
known exactly from two public means: to its nearest outputs, and to all of them. For a given epsilon
the alphabet and the number of near words are those for which it is smallest. A larger alphabet has
nearer words, but more of it is far.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Floats32, Ids, Progress
from discreet.mechanisms.word._two_weights import TwoWeights
from discreet.spaces.exemplars import exemplars, kept_nearest, mean_distances
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
        tables = dict(zip(found.sizes, zip(found.near, found.far, strict=True), strict=True))
        if outputs is not None:
            measured = tables.get(outputs)
            tables = {outputs: measured or mean_distances(space, np.sort(found.order[:outputs]))}
        near, outputs = _nearest_on_average(epsilon, near, tables)
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


def _nearest_on_average(
    epsilon: float, near: int | None, tables: Mapping[int, tuple[tuple[float, ...], float]]
) -> tuple[int, int]:
    """How many near and in all, of those measured; the fewest of equally good ones."""
    tried = [
        (_expected(epsilon, count, size, means, far), size, count)
        for size, (means, far) in tables.items()
        for count in range(1, len(means) + 1)
        if near in (None, count)
    ]
    if not tried:
        most = max(len(means) for means, _ in tables.values())
        raise check.fail("near of NearWords", f"at most {most} unless outputs is given", near)
    _, outputs, count = min(tried)
    return count, outputs


def _expected(
    epsilon: float, near: int, outputs: int, means: tuple[float, ...], far: float
) -> float:
    """The mean squared distance between a word and what comes out."""
    law = TwoWeights(epsilon, near, outputs)
    light = law.light / law.total
    # Every output with the weight of a far one, and the near ones with the rest on top.
    return outputs * light * far + (law.near_chance - near * light) * means[near - 1]
