"""Truncation: clip every sentence vector to a public box, average, add Laplace noise."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Floats, Ids
from discreet.encoders.candidate_store import CandidateStore
from discreet.errors import InvalidValue
from discreet.mechanisms.document._documents import (
    checked_documents,
    document_blocks,
    public_rows,
    sentence_statement,
)
from discreet.mechanisms.sphere import on_grid
from discreet.randomness import exponential
from discreet.statement import PrivacyStatement


class Truncation:
    """Release the mean of the clipped sentence vectors with Laplace noise in every dimension.

    In dimension j the sentences are clipped to a box of width ``w_j`` and the noise has the scale
    ``m * w_j / (k * epsilon)`` for a document of k sentences in m dimensions.

    Privacy: unit sentence, adjacency replace, pure notion. For any two documents x, x' that differ
    in one sentence and any set of outputs S, ``P(S|x) <= exp(epsilon) * P(S|x')``: one sentence
    moves the mean by at most ``w_j / k`` in each of m dimensions, and each costs epsilon / m at
    most. The box, the encoder and the number of sentences are public.

    Paper: the baseline of "Sentence-level Privacy for Document Embeddings", after Li and Clifton,
    "Differentially Private Imaging via Latent Space Manipulation", 2021. Where we differ: vectors
    are released on the public grid of 2^-20.

    Args:
        lower: ``(m,)``, public lower bounds.
        upper: ``(m,)``, public upper bounds, above the lower ones.
        epsilon: loss allowed for the release of a document, above 0.

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
        self._statement = sentence_statement(
            self.epsilon, "the bounds of the box", "the grid of 2^-20 that vectors are released on"
        )

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
            epsilon: loss allowed for the release of a document, above 0.
        """
        lower, upper = store.box
        return cls(lower, upper, epsilon)

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each sentence of a released document."""
        return self._statement

    def release(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """``(documents, m)``: an independent draw for each document, on the grid of 2^-20."""
        return on_grid(self.noisy(vectors, rng, offsets))

    def statistic(self, vectors: ArrayLike, offsets: ArrayLike | None = None) -> Floats:
        """``(documents, m)``: the means, which the noise is added to. Not private."""
        rows, starts = checked_documents(vectors, offsets, self.dimension, "Truncation")
        out = np.empty((len(starts) - 1, self.dimension))
        for first, last in document_blocks(starts):
            part = np.clip(rows[starts[first] : starts[last]], self.lower, self.upper)
            cuts = starts[first : last + 1] - starts[first]
            out[first:last] = np.add.reduceat(part, cuts[:-1], axis=0) / np.diff(cuts)[:, None]
        return out

    def noisy(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> Floats:
        """``(documents, m)``: the noisy means, before they are rounded to the grid."""
        means = self.statistic(vectors, offsets)
        noise = exponential(means.shape, rng)
        noise *= 1.0 - 2.0 * rng.integers(0, 2, means.shape)
        noise *= self._scales(_lengths(vectors, offsets))
        noise += means
        return noise

    def log_density(
        self, vectors: ArrayLike, outputs: ArrayLike, offsets: ArrayLike | None = None
    ) -> Floats:
        """Log-density of each output row given the document of the same number, before rounding."""
        means, released = self.statistic(vectors, offsets), np.asarray(outputs)
        if released.shape != means.shape or released.dtype.kind not in "fiu":
            raise InvalidValue(f"outputs of Truncation must be numbers of shape {means.shape}")
        scales = self._scales(_lengths(vectors, offsets))
        terms = -np.abs(released - means) / scales - np.log(2 * scales)
        return np.asarray(terms.sum(axis=1))

    def _scales(self, lengths: Ids) -> Floats:
        factor = self.dimension / (lengths * self.epsilon)
        return np.asarray(factor[:, None] * (self.upper - self.lower))


def _lengths(vectors: ArrayLike, offsets: ArrayLike | None) -> Ids:
    """How many sentences each of some documents has that were checked already."""
    return np.array([len(np.asarray(vectors))]) if offsets is None else np.diff(offsets)


def _bounds(values: ArrayLike) -> Floats:
    array = np.asarray(values)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "fiu":
        raise InvalidValue("bounds of Truncation must be a flat array of numbers, one a dimension")
    bounds: Floats = array.astype(np.float64)
    if not np.isfinite(bounds).all():
        raise InvalidValue("bounds of Truncation must be finite")
    return bounds
