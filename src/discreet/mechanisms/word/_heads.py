"""The heads of rows: words whose weight is listed, and where a point falls among them.

What proposes words for :mod:`discreet.mechanisms.word._distance_law`. A head is made of a whole row
or of the nearest words that the public index of a space knows.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Ids, row_blocks
from discreet.spaces.distances import WIDTH_UNIT

CHUNK = WIDTH_UNIT
"""So many columns of a whole row are summed at a time."""
# From so many draws a row on, its running sum costs less than the chunks they fall in.
_MANY_DRAWS = 256


@dataclass(frozen=True)
class Head(ABC):
    """Upper bounds of the weights of some rows, all scaled by exp(shift)."""

    cumulative: Floats
    bound: Floats
    """Upper bound of the weight of any word that the head does not list."""
    outside: NDArray[np.bool_]
    """True where there are words that the head does not list."""
    shift: Floats
    reach: Floats
    """Upper bound of the distance of any word that the head lists."""

    @abstractmethod
    def find(self, rows: Ids, point: Floats) -> tuple[Ids, Floats]:
        """Column and weight of the word at a point of the row's cumulative weight."""

    @abstractmethod
    def lists(self, rows: Ids, columns: Ids) -> NDArray[np.bool_]:
        """True where the head lists that column."""


@dataclass(frozen=True)
class RowHead(Head):
    """All words of a row; cumulated by chunks, so that no long running sum is needed."""

    weights: NDArray[np.float32]

    def find(self, rows: Ids, point: Floats) -> tuple[Ids, Floats]:
        if len(rows) > _MANY_DRAWS * len(self.weights):
            column = self._find_many(rows, point)
        else:
            column = self._find_few(rows, point)
        return column, self.weights[rows, column].astype(np.float64)

    def _find_many(self, rows: Ids, point: Floats) -> Ids:
        """A running sum of each row, which so many draws are worth; rows come in rising order."""
        column = np.empty(len(rows), dtype=np.int64)
        ends = np.searchsorted(rows, np.arange(len(self.weights)), side="right")
        for own, first, last in zip(self.weights, np.append(0, ends), ends, strict=False):
            summed = np.cumsum(own, dtype=np.float64)
            column[first:last] = np.searchsorted(summed, point[first:last], side="right")
        return np.asarray(np.minimum(column, self.weights.shape[1] - 1))

    def _find_few(self, rows: Ids, point: Floats) -> Ids:
        chunk, before = _bisect(self.cumulative, rows, point)
        chunked = self.weights.reshape(len(self.weights), -1, CHUNK)
        left = point - before
        column = np.empty(len(rows), dtype=np.int64)
        for part in row_blocks(len(rows), CHUNK):
            inner = np.cumsum(chunked[rows[part], chunk[part]], axis=1, dtype=np.float64)
            place = np.count_nonzero(inner <= left[part, None], axis=1)
            column[part] = chunk[part] * CHUNK + np.minimum(place, CHUNK - 1)
        return column

    def lists(self, rows: Ids, columns: Ids) -> NDArray[np.bool_]:
        return np.asarray(self.weights[rows, columns] > 0)


@dataclass(frozen=True)
class IndexHead(Head):
    """The nearest words of a row, from the public index."""

    weights: Floats
    neighbors: NDArray[np.int32]

    def find(self, rows: Ids, point: Floats) -> tuple[Ids, Floats]:
        place, _ = _bisect(self.cumulative, rows, point)
        return self.neighbors[rows, place].astype(np.int64), self.weights[rows, place]

    def lists(self, rows: Ids, columns: Ids) -> NDArray[np.bool_]:
        match = (self.neighbors[rows] == columns[:, None]) & (self.weights[rows] > 0)
        return np.asarray(match.any(axis=1))


def _bisect(cumulative: Floats, rows: Ids, point: Floats) -> tuple[Ids, Floats]:
    """For each point the first column of its row with a greater value, and the value before it."""
    width = cumulative.shape[1]
    flat = cumulative.ravel()
    start = rows * width
    low = np.zeros(len(rows), dtype=np.int64)
    size = width
    while size > 1:
        half = size // 2
        low += np.where(flat[start + low + half - 1] <= point, half, 0)
        size -= half
    before = np.where(low > 0, flat[start + low - 1], 0.0)
    return low, before
