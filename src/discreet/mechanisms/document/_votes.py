"""What the voting mechanisms share: sentences vote by public linear scores, votes are counted."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet import check
from discreet.arrays import Floats, Ids
from discreet.errors import InvalidValue
from discreet.exact import ExactProducts
from discreet.mechanisms.document._documents import (
    PublicChoice,
    checked_documents,
    document_blocks,
    public_rows,
    sentence_statement,
)
from discreet.mechanisms.selection import RULES, Selection


class LinearVotes:
    """Sentence s votes for the choice c with the largest ``w_c . s + b_c``, of equal the first.

    The products are exact, so that what a sentence votes for does not depend on the others.

    Args:
        choices: ``(c, m)``, public vectors to release from.
        weights: ``(c, d)``, public.
        biases: ``(c,)``, public.
        epsilon: loss allowed for the release of a document, checked already.
    """

    recoded: ClassVar[bool] = False
    public: ClassVar[str] = "the choices and what a sentence is scored by"
    """What the statement calls choices, weights and biases."""

    def __init__(
        self, choices: ArrayLike, weights: ArrayLike, biases: ArrayLike, epsilon: float
    ) -> None:
        owner = type(self).__name__
        self.choices = public_rows(choices, f"choices of {owner}")
        self.weights = public_rows(weights, f"weights of {owner}")
        column = np.asarray(biases)
        number = len(self.choices)
        if column.shape != (number,) or len(self.weights) != number:
            raise InvalidValue(
                f"weights and biases of {owner} must be one for each of the {number} choices; "
                f"got {len(self.weights)} and an array of shape {column.shape}"
            )
        if column.dtype.kind not in "fiu" or not np.isfinite(column).all():
            raise InvalidValue(f"biases of {owner} must be finite numbers")
        self.biases: Floats = column.astype(np.float64)
        self._products = ExactProducts(self.weights)
        self.dimension = self.weights.shape[1]
        self.epsilon = epsilon
        self.statement = sentence_statement(epsilon, self.public)
        """The guarantee for each sentence of a released document."""

    def votes(self, vectors: ArrayLike, offsets: ArrayLike | None = None) -> Ids:
        """``(documents, choices)``: the votes of all sentences, added up. Not private."""
        rows, starts = checked_documents(vectors, offsets, self.dimension, type(self).__name__)
        out = np.empty((len(starts) - 1, len(self.choices)), dtype=np.int64)
        for first, last in document_blocks(starts):
            products = self._products.of(rows[starts[first] : starts[last]])
            votes = self._vote(products + self.biases)
            out[first:last] = np.add.reduceat(votes, starts[first:last] - starts[first], axis=0)
        return out

    def _vote(self, scores: Floats) -> Ids:
        """The votes of each sentence, whole numbers so that their sum is exact."""
        votes = np.zeros(scores.shape, dtype=np.int64)
        votes[np.arange(len(scores)), scores.argmax(axis=1)] = 1
        return votes


class OneByVotes(PublicChoice, LinearVotes):
    """Release one choice, by permute-and-flip or the exponential mechanism on the votes."""

    unit = 1
    """What a sentence has to give at most."""

    def __init__(
        self,
        choices: ArrayLike,
        weights: ArrayLike,
        biases: ArrayLike,
        epsilon: float,
        selection: str = RULES[0],
    ) -> None:
        epsilon = check.non_negative(epsilon, f"epsilon of {type(self).__name__}")
        super().__init__(choices, weights, biases, epsilon)
        self._rule = Selection(selection, epsilon)
        self.selection = self._rule.rule

    def select(
        self, vectors: ArrayLike, rng: np.random.Generator, offsets: ArrayLike | None = None
    ) -> Ids:
        """The index of the choice made for each document."""
        return self._rule.select(self.votes(vectors, offsets) / self.unit, rng)

    def log_probabilities(self, vectors: ArrayLike, offsets: ArrayLike | None = None) -> Floats:
        """``(documents, choices)``: the law that :meth:`select` samples from."""
        return self._rule.log_probabilities(self.votes(vectors, offsets) / self.unit)
