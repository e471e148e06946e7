"""DeepCandidate: release a public document's vector that lies deep among the private sentences."""

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet import check
from discreet.arrays import Floats, Ids, Rows
from discreet.encoders.candidate_store import CandidateStore
from discreet.mechanisms.document._depth import Depths
from discreet.mechanisms.document._documents import (
    PublicChoice,
    checked_documents,
    document_blocks,
    public_rows,
    sentence_statement,
)
from discreet.mechanisms.selection import RULES, Selection
from discreet.parallel import ahead


class DeepCandidate(PublicChoice):
    """Release one of many public document vectors, those deep among the sentences more often.

    On each projection the sentences of a document lie on both sides of a candidate f; ``h`` of them
    reach at least as far as f. The score of f is ``u = -max |h - k/2|`` over the projections, for a
    document of k sentences: 0 if f is a median of all projections, -k/2 if f lies beyond all
    sentences on one of them.

    Privacy: unit sentence, adjacency replace, pure notion. For any two documents x, x' that differ
    in one sentence and any candidate f, ``P(f|x) <= exp(epsilon) * P(f|x')``: one sentence moves
    each h by at most 1, hence each score. Candidates, projections, encoder and k are public.

    Paper: "Sentence-level Privacy for Document Embeddings" (SentDP, DeepCandidate). Where we
    differ: permute-and-flip is the default, with the same guarantee and never a lower expected
    score; candidates that cannot be deep are set aside early, which leaves the law as it is.

    Args:
        candidates: ``(n, m)``, vectors of public documents.
        projections: ``(p, m)``, public directions.
        epsilon: loss allowed for the release of a document, at least 0.
        selection: ``permute-and-flip`` or ``exponential``.

    >>> rng = np.random.default_rng(0)
    >>> mechanism = DeepCandidate(rng.normal(size=(50, 4)), rng.normal(size=(6, 4)), epsilon=10.0)
    >>> sentences = rng.normal(size=(12, 4))
    >>> mechanism.select(sentences, rng).shape, mechanism.release(sentences, rng).shape
    ((1,), (1, 4))
    """

    name: ClassVar[str] = "deep-candidate"
    recoded: ClassVar[bool] = True

    def __init__(
        self,
        candidates: ArrayLike,
        projections: ArrayLike,
        epsilon: float,
        selection: str = RULES[0],
    ) -> None:
        self.choices = public_rows(candidates, "candidates of DeepCandidate")
        self.dimension = self.choices.shape[1]
        self.projections = public_rows(projections, "projections of DeepCandidate", self.dimension)
        self.epsilon = check.non_negative(epsilon, "epsilon of DeepCandidate")
        self._rule = Selection(selection, self.epsilon)
        self.selection = self._rule.rule
        self.statement = sentence_statement(
            self.epsilon, "the candidate documents", "the projections"
        )
        """The guarantee for each sentence of a released document."""

    @staticmethod
    def _held(store: CandidateStore, epsilon: float) -> tuple[Rows, ...]:
        return store.candidates, store.projections_for(epsilon)

    @property
    def candidates(self) -> Rows:
        """The public vectors to choose from."""
        return self.choices

    def select(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> Ids:
        """The index of the candidate chosen for each document."""
        rows, starts = checked_documents(vectors, offsets, self.dimension, "DeepCandidate")
        depths = self._depths
        chosen = np.empty(len(starts) - 1, dtype=np.int64)
        parts = list(document_blocks(starts))
        for (first, last), levels in zip(
            parts, ahead(lambda part: depths.levels(rows, starts, *part), parts), strict=True
        ):
            chosen[first:last] = self._rule.select_level(levels, 0.5, rng)
        return chosen

    def log_probabilities(self, vectors: ArrayLike, offsets: ArrayLike | None = None) -> Floats:
        """``(documents, candidates)``: the law that :meth:`select` samples from."""
        return self._rule.log_probabilities(self.scores(vectors, offsets))

    def scores(self, vectors: ArrayLike, offsets: ArrayLike | None = None) -> Floats:
        """``(documents, candidates)``: the depth of each candidate, from -k/2 to 0. Not private."""
        rows, starts = checked_documents(vectors, offsets, self.dimension, "DeepCandidate")
        out = np.empty((len(starts) - 1, len(self.choices)))
        for first, last in document_blocks(starts):
            out[first:last] = self._depths.levels(rows, starts, first, last).dense() / -2
        return out

    @cached_property
    def _depths(self) -> Depths:
        return Depths(self.choices, self.projections)
