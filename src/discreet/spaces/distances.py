"""Euclidean distances between the words of a space: fast lower bounds, and exact values.

The fast path is one float32 matrix product per block. Its rounding error is bounded (not
estimated), and the bound is subtracted, so what it returns is never above the true distance. Who
needs the exact value asks for it, for the few pairs where the difference matters.
"""

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Ids, row_blocks
from discreet.errors import InvalidValue
from discreet.parallel import in_threads
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Metric, MetricKind

WIDTH_UNIT = 32
_UNIT_ROUNDOFF = 2.0**-24
_BEYOND = 1e30
_LEAST_ROOT = 2.0**-63

SMALLEST_SPREAD = 1e-9
"""How far from the mean some word must lie, unless all are at one point.

Below, squared distances come too near to the smallest numbers of 32 bits, as above
:data:`~discreet.spaces.space.LARGEST_NUMBER` they come too near to the largest.
"""


class Distances:
    """Distances from any word of a space to its ``targets`` (all words unless given).

    Columns of the results are positions in ``targets``.
    """

    def __init__(self, space: EmbeddingSpace, targets: Ids | None = None) -> None:
        self.space = space
        self.targets = np.arange(len(space)) if targets is None else targets

    @property
    def padded(self) -> int:
        """Number of targets, rounded up to a multiple of 32."""
        return -(-len(self.targets) // WIDTH_UNIT) * WIDTH_UNIT

    @cached_property
    def _mean(self) -> NDArray[np.float64]:
        return np.asarray(self.space.vectors.mean(axis=0, dtype=np.float64))

    @cached_property
    def _squared_norms(self) -> NDArray[np.float64]:
        norms = np.empty(len(self.space))
        for block in row_blocks(len(self.space), self.space.dimension):
            centred = self._centred(block)
            norms[block] = np.einsum("ij,ij->i", centred, centred)
        # A mean of equal vectors is rounded, and they seem to lie beside it.
        spread = math.sqrt(float(norms.max()))
        if spread < SMALLEST_SPREAD and (self.space.vectors != self.space.vectors[0]).any():
            raise InvalidValue(
                f"the words of {self.space.name} lie within {spread:.3g} of their mean, too near "
                f"for distances to be computed (one must lie {SMALLEST_SPREAD:g} away); multiply "
                "all vectors by one number"
            )
        return norms

    def _centred(self, rows: slice | Ids) -> NDArray[np.float64]:
        return self.space.vectors[rows].astype(np.float64) - self._mean

    @property
    def reach(self) -> float:
        """At least the distance of any two words, and at most about twice the largest one."""
        return 2.0 * math.sqrt(float(self._squared_norms.max())) * (1.0 + 1e-9)

    @property
    def relative_error(self) -> float:
        """Bound g: the float32 squared distance is off by at most g * (|x|^2 + |y|^2).

        Vectors are centred first. The product of length d + 2 accumulates at most (d + 2) roundings
        of terms whose absolute values add up to at most 2 (|x|^2 + |y|^2); rounding the inputs adds
        a few more, covered by the constant.
        """
        return 2.0 * (self.space.dimension + 12) * _UNIT_ROUNDOFF

    @cached_property
    def _columns(self) -> NDArray[np.float32]:
        # One product gives the whole lower bound: the squared norms ride along as two more
        # coordinates, already reduced by the error bound.
        columns = np.zeros((self.padded, self.space.dimension + 2), dtype=np.float32)
        columns[: len(self.targets)] = self._augmented(self.targets, scale=1.0, swap=True)
        columns[len(self.targets) :, -1] = _BEYOND
        return columns

    def _augmented(self, ids: Ids, *, scale: float, swap: bool) -> NDArray[np.float32]:
        d = self.space.dimension
        out = np.empty((len(ids), d + 2), dtype=np.float32)
        for block in row_blocks(len(ids), d):
            out[block, :d] = scale * self._centred(ids[block])
        norms = (1.0 - self.relative_error) * self._squared_norms[ids]
        out[:, d] = 1.0 if swap else norms
        out[:, d + 1] = norms if swap else 1.0
        return out

    def lower_squared(self, ids: Ids) -> NDArray[np.float32]:
        """``(n, padded)``: never above the true squared distance; may be slightly below 0.

        Columns past the last target hold a huge number.
        """
        rows = self._augmented(ids, scale=-2.0, swap=False)
        return np.asarray(rows @ self._columns.T)

    def band(self, ids: Ids, targets: Ids) -> NDArray[np.float64]:
        """How far above its lower bound each squared distance can be (``targets`` are word ids)."""
        return 2.0 * self.relative_error * (self._squared_norms[ids] + self._squared_norms[targets])

    def upper(self, ids: Ids, lower: NDArray[np.floating]) -> NDArray[np.float64]:
        """Never below the distance of any pair of each word whose lower bound is as given."""
        widest = 2.0 * self.relative_error * (self._squared_norms[ids] + self._squared_norms.max())
        return np.asarray(np.sqrt(lower.astype(np.float64) ** 2 + widest) * (1 + 1e-6))

    def exact(self, ids: Ids, targets: Ids) -> NDArray[np.float64]:
        """Distance of each pair of word ids, from the difference of the vectors in float64."""
        return self._pairwise(ids, targets, np.dtype(np.float64))

    def bounds(self, ids: Ids, targets: Ids) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Never above and never below the distance of each pair; quicker than the exact one."""
        # The relative error of a sum of d squares is at most d + 2 roundings; its root has half.
        margin = (self.space.dimension / 2 + 4) * _UNIT_ROUNDOFF
        # Squares too small for a float32 are lost, and can amount to this.
        lost = math.sqrt(self.space.dimension) * _LEAST_ROOT
        near = self._pairwise(ids, targets, self.space.vectors.dtype)
        return near * (1.0 - margin), near * (1.0 + margin) + lost

    def _pairwise(self, ids: Ids, targets: Ids, dtype: np.dtype[Any]) -> NDArray[np.float64]:
        out = np.empty(len(ids))
        vectors = self.space.vectors

        def measure(part: slice) -> None:
            # take, because an index in brackets copies rows more slowly.
            gap = vectors.take(ids[part], axis=0).astype(dtype, copy=False)
            gap -= vectors.take(targets[part], axis=0)
            out[part] = np.einsum("ij,ij->i", gap, gap)

        in_threads(measure, list(row_blocks(len(ids), self.space.dimension)))
        return np.sqrt(out, out=out)

    def block(self, ids: Ids) -> NDArray[np.float64]:
        """``(n, targets)``: distances in float64, close pairs from the vectors' difference."""
        out = np.empty((len(ids), len(self.targets)))
        rows = np.column_stack(
            [-2.0 * self._centred(ids), self._squared_norms[ids], np.ones(len(ids))]
        )
        for part in row_blocks(len(self.targets), self.space.dimension):
            columns = self.targets[part]
            ones = np.ones(len(columns))
            out[:, part] = (
                rows
                @ np.column_stack([self._centred(columns), ones, self._squared_norms[columns]]).T
            )
        # Subtracting nearly equal numbers loses digits: such pairs are computed again directly.
        limit = 0.03 * self._squared_norms[ids][:, None]

        def finish(part: slice) -> tuple[Ids, Ids]:
            table = out[part]
            near_rows, near_columns = np.nonzero(table < limit[part])
            np.sqrt(np.maximum(table, 0.0, out=table), out=table)
            return near_rows + part.start, near_columns

        close_pairs = in_threads(finish, list(row_blocks(len(ids), len(self.targets))))
        for near_rows, near_columns in close_pairs:
            out[near_rows, near_columns] = self.exact(ids[near_rows], self.targets[near_columns])
        return out


def block_error(dimension: int) -> float:
    """Bound on the relative error of a distance of :meth:`Distances.block`.

    A pair that is not computed from its difference has |x|^2 + |y|^2 <= 104 d(x, y)^2, and the
    product is off by at most d + 12 roundings of twice that; the root halves it.
    """
    return 110.0 * (dimension + 12) * 2.0**-53


_EXACT_DIAMETER = 4096
_SAMPLED_WORDS = 512


def euclidean_metric(space: EmbeddingSpace) -> Metric:
    """The Euclidean metric of a space, with its typical and largest distances."""
    return farthest_rounded_up(measured_metric(space), space.dimension)


def farthest_rounded_up(metric: Metric, dimension: int) -> Metric:
    """The same with a farthest distance that rounding cannot have made too small."""
    return replace(metric, farthest=metric.farthest * (1.0 + block_error(dimension)))


def measured_metric(space: EmbeddingSpace) -> Metric:
    """The metric with its distances as they were measured.

    Up to 4,096 words everything is computed from all pairs. Above, the two medians come from 512
    evenly spaced words against all, and the farthest pair is bounded by the two largest distances
    from the mean, which needs no pass over all pairs.
    """
    distances = Distances(space)
    count = len(space)
    everything = count <= _EXACT_DIAMETER
    ids = np.arange(count) if everything else np.linspace(0, count - 1, _SAMPLED_WORDS).astype(int)
    nearest, medians, farthest = [], [], 0.0
    for part in row_blocks(len(ids), count):
        table = distances.block(ids[part])
        farthest = max(farthest, float(table.max()))
        table[np.arange(len(table)), ids[part]] = np.inf
        nearest.append(table.min(axis=1))
        # The word itself was put last, so these ranks are the middle of the others.
        middle = [(count - 2) // 2, (count - 1) // 2]
        medians.append(np.partition(table, middle, axis=1)[:, middle].mean(axis=1))
    if not everything:
        radii = np.sqrt(np.sort(distances._squared_norms)[-2:])
        farthest = float(radii.sum())
    return Metric(
        name=f"Euclidean distance in the space {space.name} ({space.fingerprint[:12]})",
        nearest=float(np.median(np.concatenate(nearest))),
        median=float(np.median(np.concatenate(medians))),
        farthest=farthest,
        kind=MetricKind.EUCLIDEAN,
    )
