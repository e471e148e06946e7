"""Vote histogram: every sentence votes, and the counts of all choices are released with noise."""

from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln

from discreet import check
from discreet.arrays import Floats, Ids
from discreet.encoders.candidate_store import CandidateStore
from discreet.mechanisms.document._documents import NoisyStatistic, checked_documents
from discreet.mechanisms.document._votes import LinearVotes
from discreet.mechanisms.sphere import on_grid
from discreet.mechanisms.whole_noise import SMALLEST_RATE, GeometricNoise

# Of a document's votes most go to few choices: a Dirichlet prior with so much for each choice.
_SPARSITY = 0.1


class VoteHistogram(NoisyStatistic, LinearVotes):
    """Release how many sentences vote for each public choice, with noise, and a vector from that.

    Every sentence s has one vote, for the choice c with the largest score ``w_c . s + b_c``. Each
    count gets independent two-sided geometric noise, ``P(n) = (1 - a) / (1 + a) * a^|n|`` with
    ``a = exp(-epsilon / 2)``. The vector is the mean of the choices weighted by what the noisy
    counts say of the true ones: a function of the release and of the number of sentences alone.

    Privacy: unit sentence, adjacency replace, pure notion. For any two documents x, x' that differ
    in one sentence and any noisy counts y, ``P(y|x) <= exp(epsilon) * P(y|x')``: one sentence moves
    one vote, which changes two counts by 1 each, and each costs at most epsilon / 2. Choices,
    weights, biases, encoder and the number of sentences are public.

    Where we differ from the votes that release one choice: at a larger epsilon the noise of all
    counts is small, and what a document says beside its main subject is kept.

    Args:
        choices: ``(c, m)``, the public vectors that votes stand for.
        weights: ``(c, d)``, a public direction in the space of sentences for each choice.
        biases: ``(c,)``, public.
        epsilon: loss allowed for the release of a document, at least 2^-41 (4.5e-13).

    >>> rng = np.random.default_rng(0)
    >>> mechanism = VoteHistogram(np.eye(2), [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], epsilon=20.0)
    >>> sentences = [[1.0, 0.0], [0.9, 0.5], [0.0, 0.4], [0.7, 0.1]]
    >>> mechanism.noisy(sentences, rng).tolist()
    [[3, 1]]
    >>> mechanism.release(sentences, rng).round(3).tolist()
    [[0.75, 0.25]]
    """

    name: ClassVar[str] = "vote-histogram"

    def __init__(
        self, choices: ArrayLike, weights: ArrayLike, biases: ArrayLike, epsilon: float
    ) -> None:
        epsilon = float(
            check.in_range(epsilon, "epsilon of VoteHistogram", at_least=2 * SMALLEST_RATE)
        )
        self._noise = GeometricNoise(epsilon / 2)
        super().__init__(choices, weights, biases, epsilon)

    @classmethod
    def from_store(cls, store: CandidateStore, epsilon: float) -> "VoteHistogram":
        """With the public side that a store holds.

        Args:
            store: made from public documents.
            epsilon: loss allowed for the release of a document, at least 2^-41 (4.5e-13).
        """
        voters = store.voters_for(epsilon)
        return cls(voters.choices, voters.weights, voters.biases, epsilon)

    def release(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """``(documents, m)``: a vector for each document, made from its noisy counts.

        Args:
            vectors: ``(N, d)``, the sentence vectors of all documents in order.
            rng: source of randomness.
            offsets: where each document starts, and N at the end; None for a single document.
        """
        _, starts = checked_documents(vectors, offsets, self.dimension, "VoteHistogram")
        return self.vectors_of(self.noisy(vectors, rng, offsets), np.diff(starts))

    def statistic(self, vectors: ArrayLike, offsets: ArrayLike | None = None) -> Ids:
        """``(documents, choices)``: the votes, which the noise is added to. Not private."""
        return self.votes(vectors, offsets)

    def vectors_of(self, counts: ArrayLike, sentences: ArrayLike) -> NDArray[np.float32]:
        """The vectors that noisy counts of documents of so many sentences stand for.

        A count is replaced by its mean given the noisy one, where votes are believed to gather on
        few choices. Nothing of a document is seen but its release and its length.
        """
        noisy, lengths = np.asarray(counts), np.asarray(sentences)
        means = np.empty(noisy.shape)
        for length in np.unique(lengths):
            rows = lengths == length
            table = _expected(int(length), len(self.choices), self.epsilon)
            means[rows] = table[noisy[rows].clip(0, length)]
        return on_grid(means @ self.choices.astype(np.float64) / lengths[:, None])


@lru_cache(maxsize=1024)
def _expected(sentences: int, choices: int, epsilon: float) -> Floats:
    """For each noisy count from 0 to k the mean of the true one; beyond, it is that of the end."""
    count = np.arange(sentences + 1)
    others = _SPARSITY * max(choices - 1, 1)
    log_prior = betaln(count + _SPARSITY, sentences - count + others)
    log_prior -= gammaln(count + 1) + gammaln(sentences - count + 1)
    logs = log_prior - epsilon / 2 * np.abs(count[:, None] - count)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights @ count / weights.sum(axis=1))
