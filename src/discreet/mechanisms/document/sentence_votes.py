"""Sentence votes: every sentence votes for a public centroid, and one centroid is released."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Rows
from discreet.encoders.candidate_store import CandidateStore
from discreet.exact import squared_lengths
from discreet.mechanisms.document._documents import public_rows
from discreet.mechanisms.document._votes import OneByVotes
from discreet.mechanisms.selection import RULES


class SentenceVotes(OneByVotes):
    """Release one public centroid, those nearest to many sentences of the document more often.

    Every sentence votes for its nearest centroid (squared Euclidean distance; of equally near ones
    the first). The counts are the scores of permute-and-flip.

    Privacy: unit sentence, adjacency replace, pure notion. For any two documents x, x' that differ
    in one sentence and any centroid c, ``P(c|x) <= exp(epsilon) * P(c|x')``: one sentence moves one
    vote, which changes two counts by 1 each. Centroids, encoder and number of sentences are public.

    Where we differ from DeepCandidate, whose task this is: a score is a count over few centroids
    and not a depth among thousands of documents, so that most of the probability goes to where most
    of the sentences are.

    Args:
        centroids: ``(c, m)``, of public documents.
        epsilon: loss allowed for the release of a document, at least 0.
        selection: ``permute-and-flip`` or ``exponential``.

    >>> rng = np.random.default_rng(0)
    >>> mechanism = SentenceVotes([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]], epsilon=6.0)
    >>> mechanism.votes([[0.9, 0.1], [0.8, 0.0], [0.7, -0.2]]).tolist()
    [[0, 3, 0]]
    >>> mechanism.release([[0.9, 0.1], [0.8, 0.0], [0.7, -0.2]], rng).tolist()
    [[1.0, 0.0]]
    """

    name: ClassVar[str] = "sentence-votes"
    public: ClassVar[str] = "the centroids"

    def __init__(self, centroids: ArrayLike, epsilon: float, selection: str = RULES[0]) -> None:
        rows = public_rows(centroids, "centroids of SentenceVotes")
        # |s - c|^2 is smallest where s.c - |c|^2 / 2 is largest.
        super().__init__(rows, rows, squared_lengths(rows) / -2, epsilon, selection)

    @staticmethod
    def _held(store: CandidateStore, epsilon: float) -> tuple[Rows, ...]:
        return (store.centroids_for(epsilon),)

    @property
    def centroids(self) -> NDArray[np.float32]:
        """The public vectors to choose from."""
        return self.choices
