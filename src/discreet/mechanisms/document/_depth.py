"""How deep public candidates lie among the sentences of a document, on all projections at once.

Nearly all candidates lie beyond all sentences on some projection. For each projection the
candidates below each of a few thresholds are kept as a row of bits, 64 to a word, so that those
between two thresholds on all projections are an intersection of rows. Sentences are rounded to
thresholds: outwards for candidates that may be that deep, inwards for those that surely are. Only
where the two differ are sentences counted. How far a sentence or candidate reaches on a projection
depends on itself alone, to the last bit (:mod:`discreet.exact`). So
every depth is exact, ties included, and one sentence moves it by one at most.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Ids, Rows
from discreet.exact import ExactProducts
from discreet.mechanisms.selection import Levels

_MOST_CELLS, _FEWEST_CELLS = 128, 4
_TABLE_BITS = 2**28
# So many rows of bits, and so many comparisons, at a time stay in a processor's cache.
_AT_ONCE = 8
_DEPTHS = 2
_COMPARISONS = 2**19
# Counting the sentences of so many costs less than to look who is deeper than the outermost.
_FEW = 1024


class Depths:
    """Counts sentences on both sides of fixed candidates.

    Args:
        candidates: ``(n, m)``, finite.
        projections: ``(p, m)``, finite.
    """

    def __init__(self, candidates: Rows, projections: Rows) -> None:
        self._products = ExactProducts(projections)
        self._count = len(candidates)
        self._heights = self._heights_of(candidates)
        self._thresholds = _thresholds(self._heights)
        self._bits = self._below_thresholds()

    def levels(self, rows: Rows, starts: Ids, first: int, last: int) -> Levels:
        """``max |2h - k|`` of each candidate for a block of documents.

        Of the k sentences of a document, h reach at least as far as the candidate; the largest is
        over the projections. Those of level k, beyond all sentences somewhere, are not listed.
        """
        heights = self._heights_of(rows[starts[first] : starts[last]])
        cuts = starts[first : last + 1] - starts[first]
        lowest = self._cells(np.minimum.reduceat(heights, cuts[:-1], axis=0))
        highest = self._cells(np.maximum.reduceat(heights, cuts[:-1], axis=0))
        by_document = []
        for start in range(0, len(lowest), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            hopeful = [
                np.flatnonzero(own) for own in self._between(lowest[part] - 1, highest[part])
            ]
            ends = cuts[start : start + _AT_ONCE + 1]
            some = heights[ends[0] : ends[-1]]
            # Where no document needs them nothing is looked up.
            many = max(map(len, hopeful)) > _FEW
            cells = self._cells(some) if many else np.empty(some.shape, dtype=np.int32)
            for maybe, low, high in zip(hopeful, ends - ends[0], ends[1:] - ends[0], strict=False):
                by_document.append(self._document(some[low:high], cells[low:high], maybe))
        counts = [len(candidates) for candidates, _ in by_document]
        return Levels(
            candidates=self._count,
            lowest=np.diff(cuts),
            ends=np.cumsum(counts),
            candidate=np.concatenate([candidates for candidates, _ in by_document]),
            level=np.concatenate([levels for _, levels in by_document]),
        )

    def _document(self, heights: Rows, cells: NDArray[np.int32], hopeful: Ids) -> tuple[Ids, Ids]:
        """The candidates above the lowest score among those given, and their levels."""
        sentences = len(heights)
        if len(hopeful) <= _FEW:
            levels = self._counted(heights, hopeful)
        else:
            at_least, at_most = self._bounds(np.sort(cells, axis=0))
            surely = at_least[hopeful]
            levels = sentences - 2 * surely
            unsure = surely < at_most[hopeful]
            levels[unsure] = self._counted(heights, hopeful[unsure])
        deeper = levels < sentences
        return hopeful[deeper], levels[deeper]

    def _heights_of(self, rows: Rows) -> NDArray[np.float32]:
        """How far each row reaches on each projection, rounded only once it is known exactly."""
        with np.errstate(over="ignore"):  # as far as any, if 32 bits do not hold it
            return self._products.of(rows).astype(np.float32)

    def _cells(self, heights: Rows) -> NDArray[np.int32]:
        """For each height the number of the first threshold above it on its projection."""
        columns = np.ascontiguousarray(heights.T)
        cells = np.empty(columns.shape, dtype=np.int32)
        for own, limits, column in zip(cells, self._thresholds, columns, strict=True):
            own[:] = limits.searchsorted(column, side="right")
        return cells.T

    def _below_thresholds(self) -> NDArray[np.uint64]:
        """``(p * (thresholds + 1), words)``: who is below each threshold, and last everyone."""
        words, used = -(-self._count // 64), -(-self._count // 8)
        projections, cells = self._thresholds.shape
        table = np.zeros((projections, cells + 1, words * 8), dtype=np.uint8)
        for own, limits, values in zip(table, self._thresholds, self._heights.T, strict=True):
            own[:-1, :used] = np.packbits(values < limits[:, None], axis=1, bitorder="little")
        table[:, -1, :used] = np.packbits(np.ones(self._count, np.bool_), bitorder="little")
        return table.reshape(-1, words * 8).view(np.uint64)

    def _between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.bool_]:
        """``(rows, n)``: who is below ``high`` and not below ``low`` on all projections.

        Args:
            low: ``(rows, p)``, numbers of thresholds.
            high: the same.
        """
        projections, cells = self._thresholds.shape
        first = np.arange(projections) * (cells + 1)
        bits = np.bitwise_and.reduce(self._bits.take(high + first, axis=0), axis=1)
        bits &= ~np.bitwise_or.reduce(self._bits.take(low + first, axis=0), axis=1)
        each = np.unpackbits(bits.view(np.uint8), axis=1, count=self._count, bitorder="little")
        return each.view(np.bool_)

    def _bounds(self, cells: NDArray[np.int32]) -> tuple[Ids, Ids]:
        """By how many sentences from the outermost each candidate is surely, and may be, inside.

        ``h > d`` says that a candidate is at most as high as the sentence d from the top, and
        ``h < k - d`` that it is above the sentence d from the bottom. So those between these two
        on all projections are those of ``max |2h - k| < k - 2d``.
        """
        at_least = np.zeros(self._count, dtype=np.int64)
        at_most = np.zeros(self._count, dtype=np.int64)
        half = len(cells) // 2
        for start in range(0, half, _DEPTHS):
            depths = np.arange(start, min(start + _DEPTHS, half))
            low, high = cells[depths], cells[-1 - depths]
            outer = self._between(low - 1, high)
            at_most += outer.sum(axis=0, dtype=np.uint8)
            at_least += self._between(low, high - 1).sum(axis=0, dtype=np.uint8)
            if not outer[-1].any():
                break
        return at_least, at_most

    def _counted(self, heights: Rows, candidates: Ids) -> Ids:
        """``max |2h - k|`` of some candidates for one document, by counting its sentences."""
        sentences = len(heights)
        out = np.empty(len(candidates), dtype=np.int64)
        kind = np.uint8 if sentences < 256 else np.int32
        step = max(1, _COMPARISONS // heights.size)
        for start in range(0, len(candidates), step):
            part = slice(start, start + step)
            passed = heights[:, None, :] >= self._heights[candidates[part]]
            reach = passed.view(np.uint8).sum(axis=0, dtype=kind)
            most, least = reach.max(axis=1).astype(np.int64), reach.min(axis=1).astype(np.int64)
            out[part] = np.maximum(2 * most - sentences, sentences - 2 * least)
        return out


def _thresholds(heights: Rows) -> Rows:
    """``(p, thresholds)``: about as many candidates between any two; the outer ones beyond all."""
    cells = int(np.clip(_TABLE_BITS // heights.size, _FEWEST_CELLS, _MOST_CELLS))
    ordered = np.sort(heights, axis=0)
    inner = ordered[np.arange(cells) * len(heights) // cells]
    beyond = np.nextafter(ordered[-1:], np.float32(np.inf))
    lowest = np.full_like(beyond, -np.inf)
    return np.ascontiguousarray(np.concatenate([lowest, inner, beyond]).T)
