"""Truncation: clip every sentence vector to a public box, add them up, add noise, divide."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Floats, Ids
from discreet.encoders.candidate_store import CandidateStore
from discreet.errors import InvalidValue
from discreet.mechanisms.document._documents import (
    NoisyStatistic,
    checked_documents,
    document_blocks,
    public_rows,
    sentence_statement,
)
from discreet.mechanisms.sphere import on_grid
from discreet.mechanisms.whole_noise import SMALLEST_RATE, GeometricNoise
from discreet.spaces.space import LARGEST_NUMBER

# A width of the box is counted in so many steps, or in as many as the noise leaves room for.
_MOST_BITS = 20


class Truncation(NoisyStatistic):
    """Release the mean of the clipped sentence vectors with noise in every dimension.

    In dimension j the sentences are clipped to a box of width ``w_j``, which is divided into 2^20
    steps, and each is rounded to a whole number of steps. To their sum two-sided geometric noise is
    added, which on the mean of a document of k sentences in m dimensions is Laplace noise of the
    scale ``m * w_j / (k * epsilon)``, to a step.

    Privacy: unit sentence, adjacency replace, pure notion. For any two documents x, x' that differ
    in one sentence and any set of outputs S, ``P(S|x) <= exp(epsilon) * P(S|x')``: one sentence
    moves the sum by at most 2^20 steps in each of m dimensions, and a step costs
    ``epsilon / (m * 2^20)``. The box, the encoder and the number of sentences are public.

    Paper: the baseline of "Sentence-level Privacy for Document Embeddings", after Li and Clifton,
    "Differentially Private Imaging via Latent Space Manipulation", 2021. Where we differ: sums and
    noise are whole numbers, so that no digit of a sum gives the document away, and vectors are
    released on the public grid of 2^-20.

    Args:
        lower: ``(m,)``, public lower bounds, at most 1e12 in size.
        upper: ``(m,)``, public upper bounds, above the lower ones.
        epsilon: loss allowed for the release of a document, at least ``m * 2^-42``; below
            ``m * 2^-22`` a width has fewer steps.

    >>> mechanism = Truncation([0.0, 0.0], [1.0, 1.0], epsilon=50.0)
    >>> released = mechanism.release([[0.5, 2.0]] * 10, np.random.default_rng(0))
    >>> released.round(1).tolist()
    [[0.5, 1.0]]
    """

    name: ClassVar[str] = "truncation"
    recoded: ClassVar[bool] = False

    def __init__(self, lower: ArrayLike, upper: ArrayLike, epsilon: float) -> None:
        self.lower, self.upper = _bounds(lower), _bounds(upper)
        self.dimension = len(self.lower)
        if len(self.upper) != self.dimension:
            raise InvalidValue(
                f"upper of Truncation must have as many bounds as lower, {self.dimension}; "
                f"got {len(self.upper)}"
            )
        if not (self.lower < self.upper).all():
            place = int((self.lower >= self.upper).argmax())
            raise InvalidValue(
                "upper of Truncation must be above lower in every dimension; "
                f"dimension {place} (counted from 0) is not"
            )
        self.epsilon = check.positive(epsilon, "epsilon of Truncation")
        least = self.dimension * SMALLEST_RATE
        check.in_range(
            epsilon, f"epsilon of Truncation in {self.dimension} dimensions", at_least=least
        )
        room = math.frexp(self.epsilon / least)[1] - 1
        self._steps = 2 ** min(_MOST_BITS, room)
        self._noise = GeometricNoise(self.epsilon / (self.dimension * self._steps))
        self.statement = sentence_statement(
            self.epsilon, "the bounds of the box", "the grid of 2^-20 that vectors are released on"
        )
        """The guarantee for each sentence of a released document."""

    @classmethod
    def from_public(
        cls, vectors: ArrayLike, epsilon: float, *, share: float = 0.75
    ) -> "Truncation":
        """The box that holds the middle ``share`` of PUBLIC vectors in each dimension."""
        rows = public_rows(vectors, "public vectors of Truncation")
        tail = (1 - check.share(share, "share of Truncation")) / 2
        lower, upper = np.quantile(rows, [tail, 1 - tail], axis=0)
        return cls(lower, upper, epsilon)

    @classmethod
    def from_store(cls, store: CandidateStore, epsilon: float) -> "Truncation":
        """With the public side that a store holds.

        Args:
            store: made from public documents.
            epsilon: loss allowed for the release of a document, at least ``m * 2^-42``.
        """
        lower, upper = store.box
        return cls(lower, upper, epsilon)

    def release(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """``(documents, m)``: an independent draw for each document, on the grid of 2^-20."""
        sums = self.noisy(vectors, rng, offsets)  # and both are checked
        lengths = np.diff([0, len(np.asarray(vectors))] if offsets is None else offsets)
        shares = sums / (self._steps * lengths[:, None])
        return on_grid(self.lower + (self.upper - self.lower) * shares)

    def statistic(self, vectors: ArrayLike, offsets: ArrayLike | None = None) -> Ids:
        """``(documents, m)``: the sums in steps, which the noise is added to. Not private."""
        rows, starts = checked_documents(vectors, offsets, self.dimension, "Truncation")
        out = np.empty((len(starts) - 1, self.dimension), dtype=np.int64)
        for first, last in document_blocks(starts):
            part = np.clip(rows[starts[first] : starts[last]], self.lower, self.upper)
            # Between 0 and 1, both included: dividing is monotone.
            shares = (part - self.lower) / (self.upper - self.lower)
            whole = np.rint(shares * self._steps).astype(np.int64)
            out[first:last] = np.add.reduceat(whole, starts[first:last] - starts[first], axis=0)
        return out


def _bounds(values: ArrayLike) -> Floats:
    array = np.asarray(values)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "fiu":
        raise InvalidValue("bounds of Truncation must be a flat array of numbers, one a dimension")
    bounds: Floats = array.astype(np.float64)
    if not (np.abs(bounds) <= LARGEST_NUMBER).all():
        raise InvalidValue(f"bounds of Truncation must be at most {LARGEST_NUMBER:g} in size")
    return bounds
