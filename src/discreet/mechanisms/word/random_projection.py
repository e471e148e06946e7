"""Random projection: fewer dimensions, so less noise, then spherical noise and the nearest word."""

import hashlib
import math
import time
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Floats, Ids, Progress, row_blocks
from discreet.files import Memo
from discreet.mechanisms.certificate import metric_of
from discreet.mechanisms.noise import SphericalNoise
from discreet.mechanisms.word._noisy_nearest import NoisyNearest
from discreet.mechanisms.word._words import PUBLIC, word_statement
from discreet.spaces.neighbours import first_equal, middle
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion

_UNIT_ROUNDOFF = 2.0**-24
# More than any underflow of a float32 can amount to.
_UNDERFLOW = 2.0**-100
# Covers the float64 rounding of the ratio of two distances.
_MARGIN = 1.0 + 1e-9
_ROWS, _COLUMNS = 1024, 4096
_PAIRS_AT_ONCE = 4096
_WORTH_CACHING_SECONDS = 1.0


class RandomProjection(NoisyNearest):
    """Project the vectors to a few dimensions, add spherical noise there, release the nearest word.

    Spherical noise is about ``dimension / epsilon`` long, so fewer dimensions mean less of it. The
    projection is a public matrix. How much it can stretch a distance is *computed*, over every pair
    of words, and epsilon is divided by it, so the guarantee is in the metric of the space.

    Privacy: unit word, adjacency replace, metric notion. For any two words x, x' and any output y,
    ``P(y|x) <= exp(epsilon * d(x, x')) * P(y|x')`` with d the Euclidean distance of the original
    vectors. Words are released independently; their number is public.

    Paper: Feyisetan and Kasiviswanathan, "Private Release of Text Embedding Vectors", TrustNLP
    2021. Where we differ: the paper bounds the distortion with high probability over the matrix;
    here the worst one is known, and no probability of failure is left.

    Args:
        space: the public vocabulary.
        epsilon: loss allowed per unit of distance in the space, above 0.
        dimension: number of dimensions to project to, at most that of the space.
        seed: of the public matrix; not a secret, and not the seed of the noise.
        progress: called with (done, total) while the stretch is computed.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays("abc", [[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]])
    >>> mechanism = RandomProjection(space, epsilon=2.0, dimension=1)
    >>> mechanism.points.shape, mechanism.projected_epsilon == 2.0 / mechanism.stretch
    ((3, 1), True)
    """

    name: ClassVar[str] = "random-projection"

    def __init__(
        self,
        space: EmbeddingSpace,
        epsilon: float,
        dimension: int,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self.epsilon = check.positive(epsilon, "epsilon of RandomProjection")
        self.dimension = check.whole(dimension, "dimension of RandomProjection", at_least=1)
        if self.dimension > space.dimension:
            rule = f"at most {space.dimension}, as the space has"
            raise check.fail("dimension of RandomProjection", rule, dimension)
        self.seed = check.whole(seed, "seed of RandomProjection")
        self.matrix = projection_matrix(space.dimension, self.dimension, self.seed)
        points = project(space.vectors, self.matrix)
        self.stretch = _known_stretch(space, points, progress)
        """The largest ratio of a projected distance to the original one, over all pairs."""
        self.projected_epsilon = self.epsilon / self.stretch
        """Loss per unit of *projected* distance: what the noise is scaled to."""
        mark = hashlib.sha256(self.matrix.tobytes()).hexdigest()[:12]
        super().__init__(
            space,
            points,
            SphericalNoise(self.dimension, self.projected_epsilon),
            word_statement(
                space,
                Notion.METRIC,
                self.epsilon,
                metric=metric_of(space),
                public=(*PUBLIC, f"the projection (seed {self.seed}, matrix {mark})"),
            ),
        )


def projection_matrix(rows: int, columns: int, seed: int) -> Floats:
    """A Gaussian matrix that keeps squared lengths on average."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, columns)) / math.sqrt(columns)


def project(vectors: NDArray[np.floating], matrix: Floats) -> Floats:
    """Every vector times the matrix; equal vectors become equal points, to the last bit."""
    points = np.empty((len(vectors), matrix.shape[1]))
    for part in row_blocks(len(vectors), len(matrix)):
        points[part] = vectors[part].astype(np.float64) @ matrix
    return points[first_equal(vectors)]


# -- the stretch ---------------------------------------------------------------------------------


def _known_stretch(space: EmbeddingSpace, points: Floats, progress: Progress | None) -> float:
    """From the cache if it was computed before, else computed (and kept if that took a while)."""
    points_sha256 = hashlib.sha256(points.tobytes()).hexdigest()
    memo = Memo("stretches", {"space": space.fingerprint, "points": points_sha256})
    if (known := memo.read()) is not None:
        return check.positive(known["stretch"], "stretch")
    begin = time.perf_counter()
    stretch = largest_stretch(space.vectors, points, progress)
    if time.perf_counter() - begin > _WORTH_CACHING_SECONDS:
        memo.write({"stretch": stretch})
    return stretch


def largest_stretch(
    vectors: NDArray[np.floating], points: Floats, progress: Progress | None = None
) -> float:
    """The largest |p - p'| / |v - v'| over all pairs of rows; equal vectors have equal points.

    Every pair is covered, but few are computed. With b the best ratio so far, a pair can only beat
    it if h = |p - p'|^2 - b^2 |v - v'|^2 is above 0. That is one float32 matrix product, to which a
    bound on its rounding error is added. The pairs where it comes out above 0 are computed in
    float64; they raise b, or were false alarms.
    """
    keep = np.flatnonzero(first_equal(vectors) == np.arange(len(vectors)))
    if len(keep) < 2:
        return 1.0  # all words are one point, and so are their projections
    pairs = _Pairs(vectors, points, keep)
    for begin in range(0, len(keep), _ROWS):
        start = begin
        while start < len(keep):
            row, column, size = pairs.suspects(begin, start)
            if len(row) > _PAIRS_AT_ONCE:
                top = np.argpartition(-size, _PAIRS_AT_ONCE)[:_PAIRS_AT_ONCE]
                if pairs.try_to_beat(row[top], column[top]):
                    continue  # the same block again, with fewer suspects
            pairs.try_to_beat(row, column)
            start += _COLUMNS
        if progress:
            progress(min(begin + _ROWS, len(keep)), len(keep))
    return math.sqrt(pairs.best) * _MARGIN if pairs.best > 0 else 1.0


class _Pairs:
    """The pairs of distinct rows, and the best squared ratio found so far."""

    def __init__(self, vectors: NDArray[np.floating], points: Floats, keep: Ids) -> None:
        self._vectors, self._points, self._keep = vectors, points, keep
        d, k = vectors.shape[1], points.shape[1]
        self._split = d
        self._error = 2.0 * 1.01 * (d + k + 16) * _UNIT_ROUNDOFF
        self.best = 0.0
        centre, projected_centre = middle(vectors), middle(points)
        self._columns = np.ones((len(keep), d + k + 2), dtype=np.float32)
        self._squares = np.empty((2, len(keep)))
        self._scale = float(max(np.abs(vectors).max(), np.abs(points).max()))
        for part in row_blocks(len(keep), d):
            v = (vectors[keep[part]].astype(np.float64) - centre) / self._scale
            p = (points[keep[part]] - projected_centre) / self._scale
            self._columns[part, :d], self._columns[part, d:-2] = v, p
            self._squares[0, part] = np.einsum("ij,ij->i", v, v)
            self._squares[1, part] = np.einsum("ij,ij->i", p, p)
        self._set(0.0)

    def _set(self, best: float) -> None:
        self.best = best
        # The rounding of the product is at most a few units of the sizes of its two sides; the
        # error is the sum of what each side adds.
        own, projected = self._squares
        error = self._error * (projected + best * own) + _UNDERFLOW
        self._columns[:, -1] = projected - best * own + error

    def suspects(self, begin: int, start: int) -> tuple[Ids, Ids, NDArray[np.float32]]:
        """Pairs of a block of rows and columns that may beat the best, and by how much at most."""
        rows = self._columns[begin : begin + _ROWS].copy()
        rows[:, : self._split] *= 2.0 * self.best
        rows[:, self._split : -2] *= -2.0
        rows[:, [-2, -1]] = rows[:, [-1, -2]]
        table = rows @ self._columns[start : start + _COLUMNS].T
        flat = np.flatnonzero(table > 0)
        row, column = flat // table.shape[1] + begin, flat % table.shape[1] + start
        once = column > row
        return row[once], column[once], table.ravel()[flat[once]]

    def try_to_beat(self, row: Ids, column: Ids) -> bool:
        """Compute the ratios of some pairs in float64; true if one is better than the best."""
        best = self.best
        for part in row_blocks(len(row), self._split):
            x, y = self._keep[row[part]], self._keep[column[part]]
            gap = self._vectors[x].astype(np.float64) - self._vectors[y]
            moved = self._points[x] - self._points[y]
            # Each pair in its own unit: the square of a small gap would be lost beside a large one.
            unit = np.abs(gap).max(axis=1, keepdims=True)
            gap /= unit
            moved /= unit
            above, below = (np.einsum("ij,ij->i", rows, rows) for rows in (moved, gap))
            best = max(best, float((above / below).max(initial=0.0)))
        better = best > self.best
        if better:
            self._set(best)
        return better
