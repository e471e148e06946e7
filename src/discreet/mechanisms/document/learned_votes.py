"""Learned votes: every sentence votes by public linear scores; one public vector is released."""

from typing import ClassVar

from discreet.arrays import Rows
from discreet.encoders.candidate_store import CandidateStore
from discreet.mechanisms.document._votes import OneByVotes


class LearnedVotes(OneByVotes):
    """Release one public vector, those that many sentences of the document speak for more often.

    Every sentence s has one vote, for the choice c with the largest score ``w_c . s + b_c`` (of
    equal ones the first). The counts are the scores of permute-and-flip.

    Privacy: unit sentence, adjacency replace, pure notion. For any two documents x, x' that differ
    in one sentence and any choice c, ``P(c|x) <= exp(epsilon) * P(c|x')``: one sentence moves one
    vote, which changes two counts by 1 each. Choices, weights, biases, encoder and the number of
    sentences are public.

    Where we differ from sentence votes: which choice a sentence speaks for is learned on public
    documents (multinomial regression from a sentence to the cluster of its document) rather than
    taken to be the nearest. Single sentences lie far from all means of documents, so that the
    nearest mean is often a matter of length and chance.

    Args:
        choices: ``(c, m)``, the public vectors to release one of.
        weights: ``(c, d)``, a public direction in the space of sentences for each choice.
        biases: ``(c,)``, public.
        epsilon: loss allowed for the release of a document, at least 0.
        selection: ``permute-and-flip`` or ``exponential``.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mechanism = LearnedVotes(np.eye(2), [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.2], epsilon=6.0)
    >>> sentences = [[1.0, 0.0], [0.9, 0.5], [0.5, 0.4]]
    >>> mechanism.votes(sentences).tolist()
    [[2, 1]]
    >>> mechanism.release(sentences * 3, rng).tolist()
    [[1.0, 0.0]]
    """

    name: ClassVar[str] = "learned-votes"

    @staticmethod
    def _held(store: CandidateStore, epsilon: float) -> tuple[Rows, ...]:
        voters = store.voters_for(epsilon)
        return voters.choices, voters.weights, voters.biases
