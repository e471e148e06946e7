"""Soft votes: every sentence gives each public choice a weight from 0 to 1; one is released."""

from typing import ClassVar

import numpy as np

from discreet.arrays import Floats, Ids, Rows
from discreet.encoders.candidate_store import CandidateStore
from discreet.exact import tanh
from discreet.mechanisms.document._votes import OneByVotes

GRID = 2**20


class SoftVotes(OneByVotes):
    """Release one public vector, chosen by what the sentences of a document have in common.

    A sentence s gives choice c the weight ``1 / (1 + exp(-(w_c . s + b_c)))``, rounded to a
    multiple of 2^-20. A sentence may speak for several choices, for one, or for none. The sums of
    weights are the scores of permute-and-flip.

    Privacy: unit sentence, adjacency replace, pure notion. For any two documents x, x' that differ
    in one sentence and any choice c, ``P(c|x) <= exp(epsilon) * P(c|x')``: a weight lies between 0
    and 1, so one sentence moves no sum by more than 1. Sums are of whole numbers, hence exact.
    Weights, biases, choices, encoder and the number of sentences are public.

    Where we differ from sentence votes: the weights can be trained on public documents, through the
    law of the mechanism itself (``discreet.training.documents.soft_votes.fit_soft_votes``), to lead
    to the class of a document or to its nearest centroid.

    Args:
        choices: ``(c, m)``, the public vectors to release one of: class means or centroids.
        weights: ``(c, d)``, a public direction in the space of sentences for each choice.
        biases: ``(c,)``, public.
        epsilon: loss allowed for the release of a document, at least 0.
        selection: ``permute-and-flip`` or ``exponential``.

    >>> rng = np.random.default_rng(0)
    >>> mechanism = SoftVotes(np.eye(2), [[20.0, 0.0], [0.0, 20.0]], [-10.0, -10.0], epsilon=6.0)
    >>> sentences = [[1.0, 0.0], [0.9, 0.5], [1.0, 0.2]]
    >>> (mechanism.votes(sentences) / 2**20).round(2).tolist()
    [[3.0, 0.5]]
    >>> mechanism.release(sentences, rng).tolist()
    [[1.0, 0.0]]
    """

    name: ClassVar[str] = "soft-votes"
    unit = GRID
    public: ClassVar[str] = "the choices and what a sentence is weighed by"

    @staticmethod
    def _held(store: CandidateStore, epsilon: float) -> tuple[Rows, ...]:
        voters = store.soft_voters_for(epsilon)
        return voters.choices, voters.weights, voters.biases

    def _vote(self, scores: Floats) -> Ids:
        return np.rint(GRID / 2 * (1.0 + tanh(scores / 2))).astype(np.int64)
