"""How far apart two words can be: what noise between any two of them must hide.

Vectors are clipped to a public norm. Because the vocabulary is finite and public, the largest
distance of a pair is a number that can be computed, and it is smaller than what clipping alone
promises. Every figure here is rounded upwards: a sensitivity below the truth is a broken guarantee.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Floats, Progress, row_blocks
from discreet.errors import InvalidValue
from discreet.files import Memo
from discreet.mechanisms.word._words import PUBLIC
from discreet.mechanisms.word._words import SCOPE as ANY_WORD
from discreet.parallel import WORKERS, in_threads
from discreet.spaces.space import EmbeddingSpace

Points = NDArray[np.floating]

SENSITIVITIES = ("exact", "general")
SCOPE = f"any two words of the vocabulary; {ANY_WORD}"
CLIPPED_PUBLIC = (*PUBLIC, "the clipping norm")

# Pairs times coordinates: at most about a minute on two cores. Beyond, a bound has to do.
_MOST_WORK = {"l1": 2.0e11, "l2": 1.0e12}
_BLOCK_NUMBERS = 2**21
_SAMPLED_WORDS = 4096
# Covers the rounding of a radius, generously.
_RADIUS_MARGIN = 1.0 + 1e-9
# Smaller spaces are searched faster than a file is written and read.
_WORTH_CACHING = 2048


@dataclass(frozen=True)
class Sensitivity:
    """The largest distance of two words in one norm, and how it is known."""

    value: float
    reason: str
    """``exact`` (every pair covered), ``bound`` (proven, not tight) or ``general`` (clip alone)."""


def clipped(space: EmbeddingSpace, clip: float) -> Points:
    """The vectors, those longer than ``clip`` scaled down; no norm is above ``clip``."""
    vectors = space.vectors
    # Rounding to 32 bits is relative only well above the smallest numbers.
    dtype = vectors.dtype if clip > 1e-30 else np.dtype(np.float64)
    shrink = 1.0 - 4.0 * float(np.finfo(dtype).eps)
    points = np.empty(vectors.shape, dtype)
    for part in row_blocks(len(space), space.dimension):
        rows = vectors[part].astype(np.float64)
        # Dividing by the largest entry first keeps the squares in range.
        largest = np.abs(rows).max(axis=1)
        unit = rows / np.where(largest > 0, largest, 1.0)[:, None]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            factor = shrink * clip / largest / np.sqrt(np.einsum("ij,ij->i", unit, unit))
        short = ~(factor < 1.0)
        points[part] = rows * np.where(short, 1.0, factor)[:, None]
    points.flags.writeable = False
    return points


def general(dimension: int, clip: float, norm: str) -> Sensitivity:
    """What clipping alone promises, whatever the vectors."""
    value = 2.0 * clip * (math.sqrt(dimension) if norm == "l1" else 1.0)
    return Sensitivity(float(np.nextafter(value, math.inf)), "general")


def sensitivity_of(
    space: EmbeddingSpace,
    points: Points,
    clip: float,
    norm: str,
    *,
    choice: str,
    owner: str,
    progress: Progress | None = None,
) -> Sensitivity:
    """The largest distance of two words in ``norm`` (``l1``, ``l2`` or ``linf``), never too small.

    Args:
        space: the vocabulary, for the name of the cache file.
        points: its clipped vectors.
        clip: the norm they were clipped to.
        norm: which distance.
        choice: ``exact`` or ``general``.
        owner: the mechanism that asks, for messages.
        progress: called with (done, total) during a long search.
    """
    check.one_of(choice, SENSITIVITIES, f"sensitivity of {owner}")
    if choice == "general":
        sensitivity = general(space.dimension, clip, norm)
    else:
        sensitivity = _remembered(space, points, clip, norm, progress)
    if sensitivity.value == 0.0:
        raise InvalidValue(
            f"all words of {space.name} have the same vector after clipping: there is nothing "
            f"to hide and nothing to keep, so {owner} has no noise to calibrate"
        )
    if not math.isfinite(sensitivity.value):
        raise InvalidValue(f"clip of {owner} is too large: the distance of two words overflows")
    return sensitivity


def noise_scale(value: float, owner: str) -> float:
    """A scale of noise, rounded upwards; one that is not a finite number is an error."""
    scale = float(np.nextafter(value, math.inf)) if math.isfinite(value) else value
    if not math.isfinite(scale):
        raise InvalidValue(
            f"the noise of {owner} is too large for a floating-point number; "
            "raise epsilon or delta, or lower clip"
        )
    return scale


def _remembered(
    space: EmbeddingSpace, points: Points, clip: float, norm: str, progress: Progress | None
) -> Sensitivity:
    if len(space) < _WORTH_CACHING or norm == "linf":
        return largest_distance(points, clip, norm, progress)
    memo = Memo("sensitivities", {"space": space.fingerprint, "clip": clip.hex(), "norm": norm})
    if (known := memo.read()) is not None:
        return Sensitivity(float.fromhex(known["value"]), str(known["reason"]))
    largest = largest_distance(points, clip, norm, progress)
    memo.write({"value": largest.value.hex(), "reason": largest.reason})
    return largest


# -- the search ----------------------------------------------------------------------------


def largest_distance(
    points: Points, clip: float, norm: str, progress: Progress | None = None
) -> Sensitivity:
    """The largest distance of two rows, rounded upwards."""
    count, dimension = points.shape
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    # A power of two is exact and keeps squares far from the ends of the range.
    exponent = math.frexp(float(max(np.abs(low).max(), np.abs(high).max())))[1]
    spread = float((np.ldexp(high, -exponent) - np.ldexp(low, -exponent)).max())
    reason = "exact"
    if norm == "linf" or spread == 0.0:
        value = _up(spread, 1)
    elif count * count / 2 * dimension > _MOST_WORK[norm]:
        value, reason = _bound(points, norm, exponent), "bound"
    else:
        scaled = np.ldexp(points.astype(np.float64), -exponent)
        radius = _radii(points, norm, exponent)
        # By the triangle inequality no pair is farther apart than its two radii together.
        order = np.argsort(-radius)
        search = _farthest_l1 if norm == "l1" else _farthest_l2
        value = search(scaled[order], radius[order], progress)
    value = math.ldexp(value, exponent)
    ceiling = general(dimension, clip, norm)
    return Sensitivity(value, reason) if value <= ceiling.value else ceiling


def _bound(points: Points, norm: str, exponent: int) -> float:
    """The two largest radii, which needs one pass over the words and none over the pairs."""
    value = float(np.sort(_radii(points, norm, exponent))[-2:].sum())
    if norm == "l1":
        other = math.sqrt(points.shape[1]) * _bound(points, "l2", exponent)
        value = min(value, other)
    return _up(value, 4)


def _radii(points: Points, norm: str, exponent: int) -> Floats:
    """Never below the distance of each row from a central point; any centre would do."""
    centre = _centre(points, norm, exponent)
    radii = np.empty(len(points))
    for part in row_blocks(*points.shape):
        centred = np.ldexp(points[part].astype(np.float64), -exponent) - centre
        if norm == "l1":
            radii[part] = np.abs(centred).sum(axis=1)
        else:
            radii[part] = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    return radii * _RADIUS_MARGIN


def _centre(points: Points, norm: str, exponent: int) -> Floats:
    count = len(points)
    some = points[np.linspace(0, count - 1, min(count, _SAMPLED_WORDS)).astype(np.int64)]
    some = np.ldexp(some.astype(np.float64), -exponent)
    return np.asarray(np.median(some, axis=0) if norm == "l1" else some.mean(axis=0))


def _farthest_l1(points: Floats, radius: Floats, progress: Progress | None) -> float:
    """Rows sorted by falling radius; pairs whose radii rule them out are not computed."""
    from scipy.spatial.distance import cdist  # slow to import, and only needed here

    count, dimension = points.shape
    best = _good_start(points)

    def farthest(rows: slice) -> float:
        columns = _hopeful(rows.start, radius, best)
        if columns.stop <= columns.start:
            return 0.0
        return float(cdist(points[rows], points[columns], "cityblock").max())

    parts = list(row_blocks(count, count, numbers=_BLOCK_NUMBERS))
    for first in range(0, len(parts), WORKERS):
        if 2.0 * radius[parts[first].start] <= best:
            break
        best = max(best, *in_threads(farthest, parts[first : first + WORKERS]))
        if progress:
            _report(progress, parts[min(first + WORKERS, len(parts)) - 1].stop, count)
    return _up(best, dimension + 4)


def _farthest_l2(points: Floats, radius: Floats, progress: Progress | None) -> float:
    """As in l1, but a block is one matrix product, whose rounding error is added."""
    count, dimension = points.shape
    centred = points - points.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    # The product of length d accumulates at most d roundings of terms that add up to at most
    # (|x|^2 + |y|^2) / 2; centring and the norms add a few more.
    upper = squares * (1.0 + 2.0 * (dimension + 12) * 2.0**-53)
    best = 0.0
    for rows in row_blocks(count, count, numbers=_BLOCK_NUMBERS):
        if 2.0 * radius[rows.start] <= best:
            break
        columns = _hopeful(rows.start, radius, best)
        table = centred[rows] @ centred[columns].T
        table *= -2.0
        table += upper[rows, None]
        table += upper[columns]
        best = max(best, math.sqrt(max(float(table.max()), 0.0)))
        if progress:
            _report(progress, rows.stop, count)
    return _up(best, 4)


def _report(progress: Progress, rows: int, count: int) -> None:
    """A row has one pair fewer than the row before it."""
    progress(count**2 - (count - rows) ** 2, count**2)


def _good_start(points: Floats) -> float:
    """A far pair, found by walking to the farthest word a few times: it rules out others early."""
    best, at = 0.0, 0
    for _ in range(8):
        away = np.abs(points - points[at]).sum(axis=1)
        at = int(away.argmax())
        if away[at] <= best:
            break
        best = float(away[at])
    return best


def _hopeful(start: int, radius: Floats, best: float) -> slice:
    """Columns from ``start`` on that can be farther than ``best`` from a row at or after it."""
    stop = int(np.searchsorted(-radius, radius[start] - best, side="left"))
    return slice(start, max(start, stop))


def _up(value: float, roundings: int) -> float:
    """At least the true value behind a result with this many roundings."""
    if value == 0.0:
        return 0.0
    return float(np.nextafter(value * (1.0 + (roundings + 2) * 2.0**-52), math.inf))
