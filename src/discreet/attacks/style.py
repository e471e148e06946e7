"""How a text is written, as numbers: its words, and runs of 2 to 4 letters within words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, hstack

from discreet.arrays import Floats, Ids

_RUNS = (2, 3, 4)
_FEWEST = 2  # texts that have a word or run, for it to say something of others
_SPACE = ord(" ")


@dataclass(frozen=True)
class StyleFeatures:
    """Words and runs that some texts have, weighed by how few of the texts have each (TF-IDF).

    Attributes:
        words: The column of each word.
        runs: Of letters, as numbers, rising.
        weights: Of the words and of the runs.
    """

    words: Mapping[str, int] = field(repr=False)
    runs: NDArray[np.int64] = field(repr=False)
    weights: tuple[Floats, Floats] = field(repr=False)

    @classmethod
    def learnt(cls, texts: Sequence[str]) -> tuple["StyleFeatures", csr_array]:
        """Those that at least two of these texts have, and the table of these texts."""
        known = dict.fromkeys(word for text in texts for word in text.split())
        words = {word: column for column, word in enumerate(known)}
        runs = np.unique(_runs_of(texts)[1])
        bare = cls(words, runs, (np.ones(len(words)), np.ones(len(runs))))
        counts = bare._counts(texts)
        features = cls(words, runs, (_rarity(counts[0]), _rarity(counts[1])))
        return features, features._weighed(counts)

    def table(self, texts: Sequence[str]) -> csr_array:
        """``(texts, features)``; the words and the runs of a text have length 1 each.

        >>> features, _ = StyleFeatures.learnt(["a cat", "a dog"])
        >>> features.table(["a cow"]).toarray()[0, :3].tolist()
        [1.0, 0.0, 0.0]
        """
        return self._weighed(self._counts(texts))

    def _weighed(self, counts: tuple[csr_array, csr_array]) -> csr_array:
        parts = zip(counts, self.weights, strict=True)
        return csr_array(hstack([_weighed(*part) for part in parts], format="csr"))

    def _counts(self, texts: Sequence[str]) -> tuple[csr_array, csr_array]:
        cut = [text.split() for text in texts]
        row = np.repeat(np.arange(len(texts)), [len(words) for words in cut])
        column = np.array([self.words.get(word, -1) for word in chain(*cut)], dtype=np.int64)
        text, run = _runs_of(texts)
        place = np.minimum(np.searchsorted(self.runs, run), max(0, len(self.runs) - 1))
        known = self.runs[place] == run if len(self.runs) else np.zeros(len(run), np.bool_)
        return (
            _table(row[column >= 0], column[column >= 0], (len(texts), len(self.words))),
            _table(text[known], place[known], (len(texts), len(self.runs))),
        )


def _runs_of(texts: Sequence[str]) -> tuple[Ids, NDArray[np.int64]]:
    """All runs of letters within words, with the spaces around a word, and whose they are."""
    written = [f" {' '.join(text.split())} ".encode("utf-8", "replace") for text in texts]
    letters = np.frombuffer(b"".join(written), np.uint8).astype(np.int64)
    text = np.repeat(np.arange(len(texts)), [len(each) for each in written])
    space = letters == _SPACE
    runs, whose = [], []
    for size in _RUNS:
        count = max(0, len(letters) - size + 1)
        within = ~(space[:count] & space[1 : 1 + count])  # what stands between two texts
        run = np.zeros(count, np.int64)
        for place in range(size):
            run = 256 * run + letters[place : place + count]
            if 0 < place < size - 1:
                within &= ~space[place : place + count]
        runs.append(run[within])
        whose.append(text[:count][within])
    return np.concatenate(whose), np.concatenate(runs)


def _table(row: Ids, column: Ids, shape: tuple[int, int]) -> csr_array:
    table = csr_array(coo_array((np.ones(len(row)), (row, column)), shape=shape))
    table.sum_duplicates()
    return table


def _rarity(counts: csr_array) -> Floats:
    """The weight of a feature: the fewer texts have it the more, and none if only one has."""
    texts = np.bincount(counts.indices, minlength=counts.shape[1])
    rare = np.log((1 + counts.shape[0]) / (1 + texts)) + 1
    return np.asarray(np.where(texts < _FEWEST, 0.0, rare))


def _weighed(counts: csr_array, weights: Floats) -> csr_array:
    table = counts.copy()
    table.data = (1 + np.log(table.data)) * weights[table.indices]
    lengths = np.sqrt(np.asarray(table.multiply(table).sum(axis=1)).ravel())
    table.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(table.indptr))
    table.eliminate_zeros()
    return table
