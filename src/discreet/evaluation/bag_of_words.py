"""What a simple classifier learns from the words of texts: naive Bayes on half, tested on half."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from discreet.arrays import Floats
from discreet.errors import InvalidValue

_SMOOTHING = 0.1


@dataclass(frozen=True)
class WordAccuracy:
    """How often the classifier is right, and how often the commonest label is."""

    accuracy: float
    commonest: float


def accuracy_of_words(
    ids: ArrayLike, offsets: ArrayLike, labels: Sequence[str], words: int, seed: int = 0
) -> WordAccuracy:
    """Learn the labels of one half of some texts from their words, and test on the other half.

    Args:
        ids: Words of all texts, end to end.
        offsets: Where each text starts, and where the last one ends.
        labels: Of each text; at least two different ones.
        words: How many words the vocabulary has.
        seed: Chooses the halves.

    >>> ids, offsets = np.tile([0, 1, 2, 1], 50), np.arange(0, 201, 2)
    >>> accuracy_of_words(ids, offsets, ["x", "y"] * 50, 3).accuracy
    1.0
    """
    names, truth = np.unique(np.asarray(labels), return_inverse=True)
    if len(names) < 2:
        raise InvalidValue("a classifier needs texts of at least 2 different labels")
    ends = np.asarray(offsets)
    ones = np.ones(int(ends[-1]))
    counts = csr_array((ones, np.asarray(ids), ends), shape=(len(ends) - 1, words))
    order = np.random.default_rng(seed).permutation(len(truth))
    known, hidden = np.split(order, [len(order) // 2])
    member = np.eye(len(names))[truth[known]]
    sums: Floats = np.asarray(member.T @ counts[known]) + _SMOOTHING
    logs = np.log(sums / sums.sum(axis=1, keepdims=True))
    frequent = np.log(member.sum(axis=0) + 1.0)
    guess = (counts[hidden] @ logs.T + frequent).argmax(axis=1)
    commonest = int(member.sum(axis=0).argmax())
    return WordAccuracy(
        float((guess == truth[hidden]).mean()), float((truth[hidden] == commonest).mean())
    )
