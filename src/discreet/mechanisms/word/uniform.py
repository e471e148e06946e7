"""Uniform: any word may come out, whatever went in. The floor that other mechanisms stand on."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.word._words import word_statement
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion


class Uniform:
    """Release for each word a word drawn uniformly from the vocabulary.

    Privacy: unit word, adjacency replace, pure with epsilon 0: the output does not depend on the
    word at all. Only the number of words is kept. It is the baseline of perfect privacy: whatever
    an attacker or a classifier achieves on its output, it achieves without the words.

    Args:
        space: the public vocabulary.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup"], [[0.0], [1.0]])
    >>> np.exp(Uniform(space).log_probabilities(np.array([1])))
    array([[0.5, 0.5]])
    """

    name: ClassVar[str] = "uniform"
    epsilon: ClassVar[float] = 0.0

    def __init__(self, space: EmbeddingSpace) -> None:
        self.space = space
        self.statement = word_statement(space, Notion.PURE, self.epsilon)
        """The guarantee for each released word."""

    def release(self, ids: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """An independent draw for each word id."""
        return rng.integers(0, len(self.space), len(self.space.checked_ids(ids)), dtype=np.int64)

    def log_probabilities(self, ids: ArrayLike) -> NDArray[np.float64]:
        """``(n, words)``: the law that :meth:`release` samples from."""
        count = len(self.space.checked_ids(ids))
        return np.full((count, len(self.space)), -math.log(len(self.space)))
