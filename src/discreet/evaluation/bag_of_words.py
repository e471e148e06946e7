"""What a simple classifier learns from the words of texts: naive Bayes, tested on other texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from discreet.arrays import Floats, Ids
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
    counts = word_counts(ids, offsets, words)
    order = np.random.default_rng(seed).permutation(len(truth))
    known, hidden = np.split(order, [len(order) // 2])
    guess = _learnt(counts, truth, known, hidden, len(names))
    commonest = int(np.bincount(truth[known], minlength=len(names)).argmax())
    return WordAccuracy(
        float((guess == truth[hidden]).mean()), float((truth[hidden] == commonest).mean())
    )


def guessed_by_words(ids: ArrayLike, offsets: ArrayLike, truth: Ids, words: int, folds: Ids) -> Ids:
    """The label that is guessed for each text, having learnt from the texts of other folds.

    Args:
        ids: Words of all texts, end to end.
        offsets: Where each text starts, and where the last one ends.
        truth: The label of each text, as a number from 0.
        words: How many words the vocabulary has.
        folds: Which fold each text is in.
    """
    counts = word_counts(ids, offsets, words)
    guesses = np.empty(len(truth), dtype=np.int64)
    for fold in np.unique(folds):
        known, hidden = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        guesses[hidden] = _learnt(counts, truth, known, hidden, int(truth.max()) + 1)
    return guesses


def word_counts(ids: ArrayLike, offsets: ArrayLike, words: int) -> csr_array:
    """``(texts, words)``: how often each word occurs in each text."""
    ends = np.asarray(offsets)
    ones = np.ones(int(ends[-1]))
    return csr_array((ones, np.asarray(ids), ends), shape=(len(ends) - 1, words))


def _learnt(counts: csr_array, truth: Ids, known: Ids, hidden: Ids, classes: int) -> Ids:
    """What naive Bayes, learnt from some texts, says of others."""
    member = np.eye(classes)[truth[known]]
    sums: Floats = np.asarray(member.T @ counts[known]) + _SMOOTHING
    logs = np.log(sums / sums.sum(axis=1, keepdims=True))
    frequent = np.log(member.sum(axis=0) + 1.0)
    return np.asarray((counts[hidden] @ logs.T + frequent).argmax(axis=1), dtype=np.int64)
