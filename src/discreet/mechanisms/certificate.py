"""How sharp a distance law may be at a given epsilon: checked over every pair of words, once.

For P(y | x) proportional to exp(-kappa * d(x, y)) the worst log-ratio between x and x' is exactly
kappa * d(x, x') + ln Z(x') - ln Z(x), met at y = x. So the law costs epsilon per unit of distance
if and only if

    E(kappa) = kappa + max over pairs of |ln Z(x) - ln Z(x')| / d(x, x')

is at most epsilon. E depends on public data alone, and one table kappa -> E(kappa) serves every
epsilon: take the largest kappa of the table with E(kappa) <= epsilon. The published calibration,
kappa = epsilon / 2, always passes, because the triangle inequality gives E(kappa) <= 2 * kappa.

Kappas are counted in a unit of the space's own scale, and what rounding can hide in the difference
of two logarithms is added to it: between two words that lie very near each other it may be more
than the difference itself.
"""

import hashlib
import math
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Ids, Progress, row_blocks
from discreet.files import cache_directory, sealed_json, unsealed_json, written_whole
from discreet.search import last_that_holds
from discreet.spaces.distances import (
    Distances,
    block_error,
    farthest_rounded_up,
    measured_metric,
)
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Metric, MetricKind

# Covers the float64 rounding of the sums and of the pair check, but for pairs of words that are so
# near each other that their normalisers differ by less than a billion roundings.
_MARGIN = 1e-9
_UNIT_ROUNDOFF = 2.0**-53
_FEWEST_STEPS = 64
_KEPT_AT_THE_TOP = 0.999
_SAMPLED_WORDS = 256
_BLOCK_NUMBERS = 2**23
# Fits the cache, and is small enough that the product does not start threads of its own.
_COLUMNS = 2560
_GROUP = 128
_GROUPS_AT_ONCE = 1024
# Smaller spaces are certified faster than a file is written and read.
_WORTH_CACHING = 2048
# As long as the space is there, for another epsilon.
_of_small_spaces: WeakKeyDictionary[EmbeddingSpace, dict[str, "CertificateTable"]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True)
class Certificate:
    """Why a law satisfies its epsilon."""

    space: str
    """Fingerprint of the words and vectors it holds for; void for any other."""
    kappa: float
    rate: float
    """Proven bound on the loss per unit of distance."""
    reason: str
    worst_pair: tuple[int, int] | None = None
    """The pair of words that comes closest to the bound."""


@dataclass(frozen=True)
class CertificateTable:
    """Exact loss rates of a space's distance laws, one per kappa.

    ``kappas`` rise in equal steps from the first step on. ``keeps`` is the mean probability that a
    word of the targets comes out as itself.
    """

    space: str
    targets: str
    kappas: tuple[float, ...]
    rates: tuple[float, ...]
    keeps: tuple[float, ...]
    worst_pairs: tuple[tuple[int, int], ...]
    metric: Metric

    def certify(self, epsilon: float) -> Certificate:
        """The sharpest law that is proven to cost at most ``epsilon`` per unit of distance."""
        best = max(
            (i for i, rate in enumerate(self.rates) if rate <= epsilon),
            key=lambda i: self.kappas[i],
            default=None,
        )
        if best is None or self.kappas[best] < epsilon / 2:
            return by_theorem(self.space, epsilon)
        return Certificate(
            space=self.space,
            kappa=self.kappas[best],
            rate=self.rates[best],
            reason="checked over every pair of words",
            worst_pair=self.worst_pairs[best],
        )

    def lines(self) -> list[str]:
        """Some of its rows for people, under a heading."""
        head = f"{'epsilon':>10} {'published kappa':>16} {'certified kappa':>16} {'word stays':>11}"
        some = range(0, len(self.kappas), max(1, len(self.kappas) // 16))
        rows = [(self.rates[i], self.rates[i] / 2, self.kappas[i], self.keeps[i]) for i in some]
        return [head, *(f"{a:>10.4g} {b:>16.4g} {c:>16.4g} {d:>11.3g}" for a, b, c, d in rows)]

    def to_json(self) -> str:
        """One JSON object, columns rounded to the digits that matter (rates upwards)."""
        values = asdict(self)
        digits = max(9, 6 - math.floor(math.log10(self.kappas[0])))
        values["rates"] = [_rounded_up(rate, digits) for rate in self.rates]
        values["keeps"] = [round(keep, 6) for keep in self.keeps]
        return sealed_json(values)

    @classmethod
    def from_json(cls, text: str) -> "CertificateTable":
        """The inverse of :meth:`to_json`; a table that was altered is refused."""
        values = unsealed_json(text)
        # Tables that were written before metrics had kinds are of this one, too.
        values["metric"] = Metric(**values["metric"] | {"kind": MetricKind.EUCLIDEAN})
        values["worst_pairs"] = tuple((int(x), int(y)) for x, y in values["worst_pairs"])
        for name in ("kappas", "rates", "keeps"):
            values[name] = tuple(values[name])
        return cls(**values)


def by_theorem(fingerprint: str, epsilon: float) -> Certificate:
    """The published calibration, which holds in every space."""
    return Certificate(
        space=fingerprint,
        kappa=epsilon / 2,
        rate=epsilon,
        reason="kappa = epsilon / 2 holds in every metric space (triangle inequality)",
    )


def certificate_table(
    space: EmbeddingSpace,
    targets: Ids | None = None,
    progress: Progress | None = None,
    *,
    again: bool = False,
) -> CertificateTable:
    """The table of a space: shipped, computed before, or computed now (and kept).

    Args:
        space: the vocabulary.
        targets: ids of the words that may come out (all unless given).
        progress: called with (done, total).
        again: compute it even if one is at hand.
    """
    held = _of_small_spaces.setdefault(space, {})
    known = None if again else held.get(_targets_mark(targets)) or known_table(space, targets)
    if known is not None:
        return known
    table = compute_table(space, targets, progress)
    if len(space) < _WORTH_CACHING:
        held[_targets_mark(targets)] = table
    else:
        # A cache that cannot be written costs time, not correctness.
        with suppress(OSError), written_whole(_path(space, targets)) as temporary:
            temporary.write_text(table.to_json(), "utf-8")
    return table


def _rounded_up(rate: float, digits: int) -> float:
    near = round(rate, digits)
    return near if near >= rate else round(near + 10.0**-digits, digits)


def known_table(space: EmbeddingSpace, targets: Ids | None = None) -> CertificateTable | None:
    """The table of a space if it is shipped or was computed before; else nothing."""
    name = _path(space, targets).name
    shipped = resources.files("discreet") / "data" / "certificates" / name
    for place in (shipped, _path(space, targets)):
        try:
            table = CertificateTable.from_json(place.read_text("utf-8"))
        except (OSError, ValueError, TypeError, KeyError):
            continue
        if (table.space, table.targets) == (space.fingerprint, _targets_mark(targets)):
            return table
    return None


def metric_of(space: EmbeddingSpace) -> Metric:
    """The metric of a space, from its table if that is known."""
    table = known_table(space)
    measured = measured_metric(space) if table is None else table.metric
    return farthest_rounded_up(measured, space.dimension)


def _targets_mark(targets: Ids | None) -> str:
    if targets is None:
        return "all"
    return hashlib.sha256(targets.astype("<i8").tobytes()).hexdigest()


def _path(space: EmbeddingSpace, targets: Ids | None) -> Path:
    mark = "" if targets is None else f"-{_targets_mark(targets)[:16]}"
    return cache_directory() / "certificates" / f"{space.fingerprint[:32]}{mark}.json"


# -- computing a table -------------------------------------------------------------------------


def compute_table(
    space: EmbeddingSpace, targets: Ids | None = None, progress: Progress | None = None
) -> CertificateTable:
    """Check every pair of words for every kappa of a grid; time grows with the words squared."""
    distances = Distances(space, targets)
    kappas = _grid(distances)
    work = 2 * len(space)
    log_z, farthest, errors = _log_normalisers(distances, kappas, progress, work)
    hidden = _Hidden(2.0 * errors, _MARGIN * kappas)
    slopes, pairs = _steepest(Distances(space), log_z, hidden, progress, work)
    # |ln Z(x) - ln Z(x')| <= kappa d(x, x') always holds; rounding must not hide it.
    rates = (kappas + np.minimum(slopes, kappas)) * (1 + _MARGIN)
    metric = measured_metric(space)
    if targets is None:
        metric = replace(metric, farthest=farthest)
    return CertificateTable(
        space=space.fingerprint,
        targets=_targets_mark(targets),
        kappas=tuple(kappas.tolist()),
        rates=tuple(rates.tolist()),
        keeps=tuple(np.exp(-log_z[:, distances.targets]).mean(axis=1).tolist()),
        worst_pairs=tuple((int(x), int(y)) for x, y in pairs),
        metric=metric,
    )


def _grid(distances: Distances) -> Floats:
    """Equal steps of a round number, up to where the median word nearly always stays."""
    targets = distances.targets
    sample = targets[
        np.linspace(0, len(targets) - 1, min(len(targets), _SAMPLED_WORDS)).astype(int)
    ]
    table = distances.block(sample)
    positive = table[table > 0]
    if not positive.size:
        return np.array([1.0])  # all words at one point: every kappa gives the same law

    def kept(kappa: float) -> bool:
        keep = float(np.median(1.0 / np.exp(-kappa * table).sum(axis=1)))
        return keep >= _KEPT_AT_THE_TOP

    high = last_that_holds(kept, 64.0 / float(np.median(positive)), 0.0, relative=1e-3)
    mantissa, power = _round_number(high / _FEWEST_STEPS)
    steps = math.ceil(high / float(f"{mantissa}e{power}"))
    # Each is the decimal number itself, as near as a float can be, whatever the scale.
    return np.array([float(f"{mantissa * n}e{power}") for n in range(1, steps + 1)])


def _round_number(most: float) -> tuple[int, int]:
    """The largest of 1, 2, 2.5 and 5 times a power of ten that is not above ``most``."""
    power = math.floor(math.log10(most)) - 1
    # From 10 to 50 but for the rounding of the logarithm, for which there are the ends.
    fitting = [m for m in (5, 10, 20, 25, 50, 100) if float(f"{m}e{power}") <= most]
    return max(fitting), power


def _log_normalisers(
    distances: Distances, kappas: Floats, progress: Progress | None, work: int
) -> tuple[Floats, float, Floats]:
    """ln Z for every kappa and word, the largest distance met, and how far off each kappa's are.

    The grid has equal steps, so with r = exp(-step * d) the weights of kappa number n are r**n.
    With n = a * fine + b, the sums over y of (r**(a * fine)) * r**b are one small matrix product.
    """
    count, width = len(distances.space), len(distances.targets)
    fine = math.isqrt(len(kappas)) + 1
    coarse = -(-len(kappas) // fine)
    lows, highs = np.empty((fine, _COLUMNS)), np.ones((coarse, _COLUMNS))
    log_z = np.empty((len(kappas), count))
    far, nearest = [0.0], [0.0]
    for rows in row_blocks(count, width, numbers=_BLOCK_NUMBERS):
        table = distances.block(np.arange(rows.start, rows.stop))
        far.append(float(table.max()))
        least = table.min(axis=1)
        nearest.append(float(least.max()))
        table -= least[:, None]
        table *= -kappas[0]

        for row, exponents in enumerate(table):
            sums = np.zeros((coarse, fine))
            for start in range(0, width, _COLUMNS):
                part = exponents[start : start + _COLUMNS]
                low, high = lows[:, : len(part)], highs[:, : len(part)]
                np.exp(part, out=low[0])
                for b in range(1, fine):
                    np.multiply(low[b - 1], low[0], out=low[b])
                for a in range(1, coarse):
                    np.multiply(high[a - 1], low[-1], out=high[a])
                sums += high @ low.T
            log_z[:, rows.start + row] = sums.ravel()[: len(kappas)]
        log_z[:, rows] = np.log(log_z[:, rows]) - kappas[:, None] * least
        if progress:
            progress(rows.stop, work)
    # An error of a share s in all distances moves ln Z by at most s times the mean exponent, which
    # under a law over n words is at most ln n above the least. Sums of positive terms are off by a
    # rounding a term; a power by a few for each factor.
    share = block_error(distances.space.dimension) + 8.0 * _UNIT_ROUNDOFF
    roundings = 3.0 * len(kappas) + _COLUMNS + width / _COLUMNS + 8.0
    errors = share * (math.log(width) + kappas * max(nearest)) + roundings * _UNIT_ROUNDOFF
    return log_z, max(far), errors


@dataclass(frozen=True)
class _Hidden:
    """What rounding may hide, for each kappa: of a difference of two ln Z, and what is covered."""

    difference: Floats
    covered: Floats
    """Of the slope."""

    def slope(self, k: int, inverse: Floats) -> Floats:
        """What must be added to the slopes of pairs of so many units of inverse distance."""
        return np.asarray(np.maximum(self.difference[k] * inverse - self.covered[k], 0.0))


def _steepest(
    distances: Distances, log_z: Floats, hidden: _Hidden, progress: Progress | None, work: int
) -> tuple[Floats, NDArray[np.int64]]:
    """For every kappa the largest |ln Z(x) - ln Z(x')| / d(x, x') and its pair.

    Every pair is covered, but not every pair is computed: words are sorted by ln Z and columns
    taken in groups; a group is skipped for a row when its extreme ln Z and its smallest distance
    prove that none of its pairs can beat the best one so far.
    """
    steps, count = log_z.shape
    order = np.argsort(log_z[steps // 2], kind="stable")
    groups = np.append(np.arange(0, count, _GROUP), count)
    values = np.ascontiguousarray(log_z[:, order])
    highest = np.maximum.reduceat(values, groups[:-1], axis=1)
    lowest = np.minimum.reduceat(values, groups[:-1], axis=1)
    best = np.zeros(steps)
    pairs = np.zeros((steps, 2), dtype=np.int64)
    done = 0
    for rows in _extremes_first(list(row_blocks(count, count, numbers=_BLOCK_NUMBERS))):
        with np.errstate(divide="ignore"):
            inverse = 1.0 / distances.block(order[rows])[:, order]
        inverse[np.isinf(inverse)] = 0.0  # the same point: ln Z is the same too
        closest = np.maximum.reduceat(inverse, groups[:-1], axis=1)
        for k in range(steps):
            own = values[k, rows][:, None]
            most = np.maximum(highest[k] - own, own - lowest[k]) * closest
            most += hidden.slope(k, closest)
            row, group = np.nonzero(most > best[k])
            if len(row) > _GROUPS_AT_ONCE:
                # The most promising first: a good bound found early rules out most others.
                first = np.argpartition(-most[row, group], _GROUPS_AT_ONCE)
                row, group = row[first], group[first]
            for start in range(0, len(row), _GROUPS_AT_ONCE):
                x, g = row[start : start + _GROUPS_AT_ONCE], group[start : start + _GROUPS_AT_ONCE]
                hopeful = most[x, g] > best[k]
                if not hopeful.any():
                    continue
                x, g = x[hopeful][:, None], g[hopeful]
                column = np.minimum(groups[g][:, None] + np.arange(_GROUP), count - 1)
                near = inverse[x, column]
                slope = np.abs(values[k][column] - own[x[:, 0]]) * near + hidden.slope(k, near)
                place = np.unravel_index(int(slope.argmax()), slope.shape)
                if slope[place] > best[k]:
                    best[k] = slope[place]
                    pairs[k] = order[rows.start + x[place[0], 0]], order[column[place]]
        done += rows.stop - rows.start
        if progress:
            progress(count + done, work)
    return best, pairs


def _extremes_first(parts: list[slice]) -> list[slice]:
    """From both ends inwards."""
    return [parts.pop(0 if turn % 2 else -1) for turn in range(len(parts))]
