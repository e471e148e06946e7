"""The nearest word of each vector: as fast as one float32 product, as exact as float64.

Nearest to v means largest v.p - |p|^2 / 2: the part |v|^2 is common to all words and is left out,
so it does not matter how much longer the noise is than the words. One float32 matrix product per
block gives that score for all words together with a proven bound on its error. Where the bound
leaves more than one candidate, float64 decides.
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Floats, Ids, row_blocks
from discreet.errors import InvalidValue
from discreet.parallel import in_threads

_UNIT_ROUNDOFF = 2.0**-24
# More than any underflow of a float32 can amount to.
_UNDERFLOW = 2.0**-100
_ROWS, _COLUMNS = 1024, 4096
_SAMPLED_POINTS = 1024


def nearest_words(points: NDArray[np.floating], vectors: NDArray[np.floating]) -> Ids:
    """Index of the nearest row of ``points`` for each row of ``vectors``.

    Who searches the same points again keeps a :class:`NearestWords`.

    >>> nearest_words(np.array([[0.0], [1.0], [1.0]]), np.array([[0.6], [0.5], [-9.0]]))
    array([1, 0, 0])
    """
    return NearestWords(points).search(vectors)


def nearest(points: NDArray[np.floating], vectors: NDArray[np.floating], k: int) -> Ids:
    """``(n, k)``: indices of the ``k`` nearest rows of ``points``, nearest first, in float64.

    Rows of equal distance come in the order of their index. For a few vectors: every distance is
    computed.

    >>> nearest(np.array([[0.0], [1.0], [3.0]]), np.array([[0.9]]), 2)
    array([[1, 0]])
    """
    k = check.whole(k, "k", at_least=1)
    vectors = _matrix(vectors, "vectors", points.shape[1])
    if k > len(points):
        raise check.fail("k", f"at most {len(points)}, the number of words", k)
    out = np.empty((len(vectors), k), dtype=np.int64)
    distances = np.empty(len(points))
    for row, vector in enumerate(vectors):
        for part in row_blocks(len(points), points.shape[1]):
            gap = points[part] - vector.astype(np.float64)
            distances[part] = np.einsum("ij,ij->i", gap, gap)
        limit = np.partition(distances, k - 1)[k - 1]
        close = np.flatnonzero(distances <= limit)
        out[row] = close[np.argsort(distances[close], kind="stable")][:k]
    return out


def first_equal(points: NDArray[np.floating]) -> Ids:
    """For each row the lowest index of a row with the same numbers.

    >>> first_equal(np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]]))
    array([0, 1, 0])
    """
    rows = np.ascontiguousarray(points + points.dtype.type(0))  # -0.0 and 0.0 are the same number
    marks = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    _, index, inverse = np.unique(marks, return_index=True, return_inverse=True)
    return np.asarray(index[inverse.ravel()], dtype=np.int64)


def middle(points: NDArray[np.floating]) -> Floats:
    """Where most points are: medians, so that one far point does not pull it away from them."""
    sample = np.linspace(0, len(points) - 1, min(len(points), _SAMPLED_POINTS)).astype(int)
    return np.asarray(np.median(points[sample].astype(np.float64), axis=0))


class NearestWords:
    """Finds the nearest of some fixed points; what depends on the points alone is prepared once.

    The answer is the nearest point as float64 sees it, the lowest index among equals. Memory is a
    block of rows and columns, whatever the number of vectors and points.

    Args:
        points: finite numbers, one row per word.

    >>> words = NearestWords(np.array([[0.0, 0.0], [1.0, 0.0]]))
    >>> words.search(np.array([[0.9, 3.0], [-5.0, 0.0]])).tolist()
    [1, 0]
    """

    def __init__(self, points: NDArray[np.floating]) -> None:
        points = _matrix(points, "points", None)
        first = first_equal(points)
        # Equal points could never be told apart: only the first of them takes part.
        self._ids: Ids = np.flatnonzero(first == np.arange(len(points)))
        self._points = points if len(self._ids) == len(points) else points[self._ids]
        # Near the middle of the points products are smallest, and so is their rounding error.
        self._centre = middle(self._points)
        self._radius = self._largest_norm()
        self._columns = self._prepared()
        self._error = self._columns[:, -1].copy()

    def search(self, vectors: NDArray[np.floating]) -> Ids:
        """Index of the nearest point of each row of ``vectors``."""
        vectors = _matrix(vectors, "vectors", self._points.shape[1])
        out = np.empty(len(vectors), dtype=np.int64)

        def fill(part: slice) -> None:
            out[part] = self._ids[self._search_block(vectors[part])]

        # While one thread reduces a block the other has the next product running.
        in_threads(fill, list(row_blocks(len(vectors), numbers=_ROWS)))
        return out

    # -- the fast product and its error -----------------------------------------------------------

    def _centred(self, part: slice) -> Floats:
        return self._points[part].astype(np.float64) - self._centre

    def _largest_norm(self) -> float:
        """A power of two, so that dividing by it is exact, not below the largest centred norm."""
        largest = max(
            float(_norms(self._centred(part)).max())
            for part in row_blocks(len(self._points), self._points.shape[1])
        )
        if not math.isfinite(largest):
            raise InvalidValue("points are too far apart for their distances to be finite numbers")
        return 2.0 ** math.frexp(largest)[1] if largest > 0 else 1.0

    def _prepared(self) -> NDArray[np.float32]:
        """A row (q, -|q|^2 / 2, e) per point, where q is centred and at most 1 long.

        With a vector's (a, b, 1), where |a| and b add up to 1, the product is the score plus e. A
        sum of d + 2 products in float32 is off by at most about (d + 2) roundings of the sum of the
        absolute products, and that is at most |(q, |q|^2 / 2)|; the rounding of the inputs and of e
        itself is in the constant. So e is at least the error of the product: the product is never
        below the true score, and product - 2 e never above.
        """
        d = self._points.shape[1]
        relative = 1.01 * (d + 16) * _UNIT_ROUNDOFF
        columns = np.empty((len(self._points), d + 2), dtype=np.float32)
        for part in row_blocks(len(self._points), d):
            scaled = self._centred(part) / self._radius
            squares = np.einsum("ij,ij->i", scaled, scaled)
            columns[part, :d] = scaled
            columns[part, d] = -squares / 2
            columns[part, d + 1] = relative * np.sqrt(squares + squares**2 / 4) + _UNDERFLOW
        return columns

    def _rows(self, vectors: NDArray[np.floating]) -> NDArray[np.float32]:
        d = self._points.shape[1]
        gap = vectors.astype(np.float64) - self._centre
        scale = _norms(gap) + self._radius
        if not np.isfinite(scale).all():
            raise InvalidValue("vectors must be finite numbers that can be squared and added")
        rows = np.empty((len(vectors), d + 2), dtype=np.float32)
        rows[:, :d] = gap / scale[:, None]
        rows[:, d] = self._radius / scale
        rows[:, d + 1] = 1.0
        return rows

    # -- searching --------------------------------------------------------------------------------

    def _search_block(self, vectors: NDArray[np.floating]) -> Ids:
        rows = self._rows(vectors)
        count, width = len(rows), len(self._columns)
        best = np.zeros(count, dtype=np.int64)
        upper = np.full(count, -np.inf, dtype=np.float32)  # of the best point so far
        least = np.full(count, -np.inf, dtype=np.float32)  # some point surely reaches this score
        every = np.arange(count)
        memory = np.empty(count * min(width, _COLUMNS), dtype=np.float32)
        for start in range(0, width, _COLUMNS):
            columns = self._columns[start : start + _COLUMNS]
            table = memory[: count * len(columns)].reshape(count, len(columns))
            np.matmul(rows, columns.T, out=table)
            top = table.argmax(axis=1)
            highest = table[every, top]
            np.maximum(least, _below(highest, self._error[start + top]), out=least)
            hopeful = np.flatnonzero(highest >= least)
            if not hopeful.size:
                continue
            close = table if len(hopeful) == count else table[hopeful]
            flat = np.flatnonzero(close >= least[hopeful, None])
            row, column = hopeful[flat // len(columns)], flat % len(columns)
            value, column = table[row, column], column + start
            alone = np.bincount(row, minlength=count) == 1
            alone &= upper < least
            clear = alone[row]
            best[row[clear]], upper[row[clear]] = column[clear], value[clear]
            if not clear.all():
                contested = np.unique(row[~clear])
                stays = contested[upper[contested] >= least[contested]]
                row = np.concatenate([row[~clear], stays])
                column = np.concatenate([column[~clear], best[stays]])
                value = np.concatenate([value[~clear], upper[stays]])
                chosen = self._decide(vectors, row, column, start + top)
                best[row[chosen]], upper[row[chosen]] = column[chosen], value[chosen]
        return best

    def _decide(self, vectors: NDArray[np.floating], row: Ids, column: Ids, reference: Ids) -> Ids:
        """Positions of the nearest of each row's candidates, in float64.

        Compared is |v - p|^2 - |v - r|^2 = (p - r).((p - v) + (r - v)) with one r per row. That
        form loses no digits, neither for a vector far from all points nor for one close to two.
        """
        difference = np.empty(len(row))
        for part in row_blocks(len(row), vectors.shape[1]):
            v = vectors[row[part]].astype(np.float64)
            p = self._points[column[part]].astype(np.float64)
            r = self._points[reference[row[part]]].astype(np.float64)
            # Powers of two, one per row, keep the products finite and change no digit.
            _, exponent = np.frexp(np.abs(r - v).max(axis=1, keepdims=True) + self._radius)
            towards = np.ldexp((p - v) + (r - v), -exponent)
            difference[part] = np.einsum("ij,ij->i", (p - r) / self._radius, towards)
        order = np.lexsort((column, difference, row))
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = row[order][1:] != row[order][:-1]
        return order[first]


def _below(highest: NDArray[np.float32], error: NDArray[np.float32]) -> NDArray[np.float32]:
    """``highest - 2 * error``, rounded down."""
    exact = highest.astype(np.float64) - 2.0 * error.astype(np.float64)
    return np.nextafter(exact.astype(np.float32), np.float32(-np.inf))


def _norms(rows: Floats) -> Floats:
    """Euclidean norm of each row, also of numbers whose squares would be too large or too small."""
    largest = np.abs(rows).max(axis=1)
    scale = np.where(largest > 0, largest, 1.0)
    scaled = rows / scale[:, None]
    return np.asarray(scale * np.sqrt(np.einsum("ij,ij->i", scaled, scaled)))


def _matrix(values: NDArray[np.floating], name: str, width: int | None) -> NDArray[np.floating]:
    if values.ndim != 2 or values.dtype.kind != "f" or width not in (None, values.shape[1]):
        rule = "a matrix of numbers" + (f" with {width} columns" if width else "")
        raise InvalidValue(f"{name} must be {rule}; got shape {values.shape} of {values.dtype}")
    if width is None and (not values.size or not np.isfinite(values).all()):
        raise InvalidValue(f"{name} must be finite, and at least one")
    return values
