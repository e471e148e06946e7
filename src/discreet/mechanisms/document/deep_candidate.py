"""DeepCandidate: release a public document's vector that lies deep among the private sentences."""

import itertools
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.mechanisms.document._documents import (
    Offsets,
    Rows,
    blocks,
    checked_documents,
    public_rows,
    sentence_statement,
)
from discreet.mechanisms.document._selection import Indices, Selection
from discreet.parallel import ahead
from discreet.statement import PrivacyStatement

Floats = NDArray[np.float64]
Levels = NDArray[np.int32]

# So many projections at a time stay in a processor's cache.
_STAGE = 16
_FEW = 64


class DeepCandidate:
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

    def __init__(
        self,
        candidates: ArrayLike,
        projections: ArrayLike,
        epsilon: float,
        selection: str = "permute-and-flip",
    ) -> None:
        self.candidates = public_rows(candidates, "candidates of DeepCandidate")
        self.dimension = self.candidates.shape[1]
        self.projections = public_rows(projections, "projections of DeepCandidate", self.dimension)
        self.epsilon = check.non_negative(epsilon, "epsilon of DeepCandidate")
        self.selection = Selection(selection, self.epsilon).rule
        # Laid out twice: by projection to compare all candidates, by candidate to look at few.
        self._by_candidate = np.ascontiguousarray(self.candidates @ self.projections.T)
        self._by_projection = np.ascontiguousarray(self._by_candidate.T)
        self._middle = np.median(self._by_candidate, axis=0)
        self._spread = self._by_candidate.std(axis=0) + np.float32(1e-30)
        self._statement = sentence_statement(
            self.epsilon, "the candidate documents", "the projections"
        )

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each sentence of a released document."""
        return self._statement

    def release(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """``(documents, m)``: the vector of an independently chosen candidate for each document."""
        return np.asarray(self.candidates[self.select(vectors, rng, offsets)])

    def select(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> Indices:
        """The index of the candidate chosen for each document.

        Args:
            vectors: ``(N, m)``, the sentence vectors of all documents in order.
            rng: source of randomness.
            offsets: where each document starts, and N at the end; None for a single document.
        """
        rows, starts = checked_documents(vectors, offsets, self.dimension, "DeepCandidate")
        rule = Selection(self.selection, self.epsilon)
        chosen = np.empty(len(starts) - 1, dtype=np.int64)
        parts = list(blocks(starts))
        for (first, last), levels in zip(
            parts, ahead(lambda part: self._levels(rows, starts, *part), parts), strict=True
        ):
            chosen[first:last] = rule.select_level(levels, 0.5, rng)
        return chosen

    def log_probabilities(self, vectors: ArrayLike, offsets: ArrayLike | None = None) -> Floats:
        """``(documents, candidates)``: the law that :meth:`select` samples from."""
        scores = self.scores(vectors, offsets)
        return Selection(self.selection, self.epsilon).log_probabilities(scores)

    def scores(self, vectors: ArrayLike, offsets: ArrayLike | None = None) -> Floats:
        """``(documents, candidates)``: the depth of each candidate, from -k/2 to 0. Not private."""
        rows, starts = checked_documents(vectors, offsets, self.dimension, "DeepCandidate")
        out = np.empty((len(starts) - 1, len(self.candidates)))
        for first, last in blocks(starts):
            out[first:last] = self._levels(rows, starts, first, last) / -2
        return out

    def _levels(self, rows: Rows, starts: Offsets, first: int, last: int) -> Levels:
        """``max |2h - k|`` of all candidates for a block of documents."""
        with np.errstate(over="ignore", invalid="ignore"):
            # Whatever a huge vector becomes here, it is one row and moves each count by one.
            heights = rows[starts[first] : starts[last]].astype(np.float32) @ self.projections.T
        heights[np.isnan(heights)] = -np.inf  # reaches as far as no candidate, like no number
        cuts = starts[first : last + 1] - starts[first]
        out = np.empty((last - first, len(self.candidates)), dtype=np.int32)
        for row, (start, end) in enumerate(itertools.pairwise(cuts)):
            out[row] = self._document(np.sort(heights[start:end], axis=0))
        return out

    def _document(self, heights: Rows) -> Levels:
        """``max |2h - k|`` of all candidates; heights are sorted on each projection.

        ``h > d`` says that a candidate is at most as high as the sentence d from the top, and
        ``h < k - d`` that it is above the sentence d from the bottom. So the candidates between
        these two on all projections are those of ``max |2h - k| < k - 2d``: two comparisons a
        projection tell, for one depth after the other, who is deeper. Most candidates are not even
        between the outermost sentences, and once few are left their sentences are counted.
        """
        sentences = len(heights)
        out = np.full(len(self.candidates), sentences, dtype=np.int32)
        kept = np.arange(len(self.candidates))
        for depth in range(sentences // 2):
            kept = self._between(heights[depth], heights[-1 - depth], kept)
            if len(kept) <= _FEW:
                reach = (heights[:, None, :] >= self._by_candidate[kept]).sum(axis=0)
                out[kept] = np.abs(2 * reach - sentences).max(axis=1)
                break
            out[kept] = sentences - 2 * (depth + 1)
        return out

    def _between(self, low: Rows, high: Rows, kept: Indices) -> Indices:
        """Those above ``low`` and not above ``high`` on all projections, or a few more if few."""
        # Where the sentences reach least far beyond the candidates, most of these are told apart.
        room = np.minimum(high - self._middle, self._middle - low) / self._spread
        order = room.argsort()
        every = 2 * len(kept) > len(self.candidates)  # then skipping some is slower than not
        beyond = np.zeros(len(self.candidates) if every else len(kept), dtype=np.bool_)
        for start in range(0, len(order), _STAGE):
            part = order[start : start + _STAGE]
            values = self._by_projection[part]
            if not every:
                values = values.take(kept, axis=1)
            outside = values <= low[part, None]
            outside |= values > high[part, None]
            beyond |= outside.any(axis=0)
            if len(beyond) - np.count_nonzero(beyond) <= _FEW:
                break
        return kept[~(beyond[kept] if every else beyond)]
