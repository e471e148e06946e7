"""Noise on a word's vector, then the nearest word: what seven mechanisms of the literature share.

The two steps are kept apart. The noise is a mechanism of its own with a density, on which the
guarantee rests. The search for the nearest word is post-processing: it is handed the noisy vectors
and nothing else, so it cannot look at the input word.

Noise is drawn as floating-point numbers, which have gaps. Seen finely enough a noisy vector could
come from one word and not from another. So the search sees it on a grid: 2^-16 of the width of the
noise, in whose cells there are billions of numbers that can be drawn. Then every cell that one word
can reach all words can reach, at the odds that the density says, however small epsilon is and
however near each other words are.
"""

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Floats, Progress, row_blocks
from discreet.mechanisms.noise import VectorNoise
from discreet.parallel import ahead
from discreet.spaces.neighbours import NearestWords
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import PrivacyStatement

# Small enough that the last blocks keep all cores busy, large enough for a fast product.
_BLOCK_NUMBERS = 2**17
_GRID_BITS = 16
# A grid this much finer than the points changes nothing, and dividing by it stays in range.
_FINEST_BITS = 200


class NoisyNearest:
    """Release for each word the word nearest to its noisy vector.

    Args:
        space: the public vocabulary.
        points: the public vector of each word as the noise sees it (clipped, projected, ...); the
            nearest word is searched among these.
        noise: the noise, with its density.
        statement: what the noise guarantees for each word.
    """

    progress: Progress | None = None
    """Called with (words done, words in all) after each block of a release, if it is set."""

    def __init__(
        self,
        space: EmbeddingSpace,
        points: NDArray[np.floating],
        noise: VectorNoise,
        statement: PrivacyStatement,
    ) -> None:
        self.space = space
        self.points = points
        self.noise = noise
        self.statement = statement
        """The guarantee for each released word."""
        largest = math.frexp(float(max(points.max(), -points.min())))[1]
        self.grid = math.ldexp(
            1.0, max(math.frexp(noise.width)[1] - 1 - _GRID_BITS, largest - _FINEST_BITS, -1000)
        )
        """What the search sees noisy vectors in multiples of: a power of two."""

    def release(self, ids: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Noise on each word's vector, then the nearest word; memory is a block."""
        words = self.space.checked_ids(ids)
        blocks = row_blocks(len(words), self.points.shape[1], _BLOCK_NUMBERS)
        # All noise is drawn here, in order; other threads search while the next block is drawn.
        nearest = ahead(self._search, (self.noisy(words[part], rng) for part in blocks))
        released, done = [np.empty(0, dtype=np.int64)], 0
        for block in nearest:
            released.append(block)
            done += len(block)
            if self.progress is not None:
                self.progress(done, len(words))
        return np.concatenate(released)

    def seen(self, noisy: Floats) -> Floats:
        """Noisy vectors as the search sees them: on the grid."""
        return np.asarray(np.rint(noisy / self.grid) * self.grid)

    def _search(self, noisy: Floats) -> NDArray[np.int64]:
        return self._nearest.search(self.seen(noisy))

    @cached_property
    def _nearest(self) -> NearestWords:
        return NearestWords(self.points)

    def noisy(self, words: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """The noisy vectors themselves: what the density is of, before the search."""
        return self.noise.add_noise(self.points[words].astype(np.float64), rng)
