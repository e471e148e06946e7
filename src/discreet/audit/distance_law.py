"""All pairs of a large vocabulary at once, for laws proportional to exp(-kappa * d(x, y)).

For such a law the worst log-ratio of a pair has a closed form: at most
kappa * d(x, x') + |ln Z(x) - ln Z(x')|, with equality if x itself may come out. So all pairs can be
checked without going through all outputs. Nothing is taken from the mechanism's certificate. A
first pass bounds every ln Z from both sides with float32 distances whose error is bounded; a second
one bounds every pair, and the pairs that come closest are computed again in float64.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from discreet.arrays import Floats, Ids, row_blocks
from discreet.audit.subject import ROUNDING
from discreet.parallel import in_threads
from discreet.spaces.distances import Distances
from discreet.spaces.space import EmbeddingSpace

MOST_WORDS = 30_000
"""Beyond this a pass over all pairs takes too long for an audit by default."""

_BLOCK_NUMBERS = 2**22
_KEPT = 4096
_REFINED = 256
_EXTREME = 128
# Float32 rounding of exp(-t) and of its argument t, which matters only up to about 20.
_EXP_ROUNDING = 4e-6


@dataclass(frozen=True)
class AllPairs:
    """What a pass over all pairs found."""

    rate: float
    """The largest epsilon that a pair was found to need, in float64."""
    bound: float
    """No pair needs a larger epsilon. Slightly above the rate, because most pairs were bounded."""
    pair: tuple[int, int]
    """The pair that needs most."""


def all_pairs(
    space: EmbeddingSpace,
    kappa: float,
    epsilon: float,
    *,
    targets: Ids | None = None,
    offsets: Floats | None = None,
    slack: float = 0.0,
) -> AllPairs:
    """Bound the epsilon that any pair of words needs under a distance law.

    Args:
        space: the vocabulary.
        kappa: how fast the law falls with distance.
        epsilon: what is claimed; pairs that are bounded by it need no closer look.
        targets: ids of the words that may come out of any word (all unless given).
        offsets: added to each word's ln Z; ln(1/p) for words that are replaced with probability p.
        slack: loss allowed on top of epsilon times distance.
    """
    log_z, error, nearest = _log_normalisers(Distances(space, targets), kappa)
    if offsets is not None:
        log_z = log_z + offsets
    slopes, first, second = _steepest(space, log_z, error, nearest, slack)
    rest = float(slopes.min()) if len(slopes) >= _KEPT else 0.0
    falling = np.argsort(-slopes)
    closer = falling[(np.arange(len(slopes)) < _REFINED) | (slopes[falling] + kappa > epsilon)]
    rest = max(rest, float(np.delete(slopes, closer).max(initial=0.0)))
    first, second = first[closer], second[closer]
    words, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    exact = _exact_log_normalisers(Distances(space, targets), kappa, words)
    if offsets is not None:
        exact = exact + offsets[words]
    x, y = places[: len(first)], places[len(first) :]
    over = np.abs(exact[x] - exact[y]) - slack - ROUNDING
    gaps = Distances(space).exact(first, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        sharp = np.where(over > 0, over / gaps, 0.0)
    top = int(sharp.argmax())
    rate = kappa + float(sharp[top])
    return AllPairs(rate, max(rate, kappa + rest), (int(first[top]), int(second[top])))


def _log_normalisers(distances: Distances, kappa: float) -> tuple[Floats, Floats, Floats]:
    """For every word an upper bound of ln Z, how far it may be above, and a nearest distance."""
    count, width = len(distances.space), len(distances.targets)
    every = np.arange(count)
    upper, error, nearest = np.empty(count), np.empty(count), np.empty(count)
    # A word's own column, where it has one: its distance is 0 exactly.
    place = np.full(count, -1)
    place[distances.targets] = np.arange(width)
    norms = distances.band(every, every) / 2
    most = norms[distances.targets].max()
    for rows in row_blocks(count, width, numbers=_BLOCK_NUMBERS):
        table = distances.lower_squared(every[rows])

        def weigh(part: slice, rows: slice = rows, table: NDArray[np.float32] = table) -> None:
            near = table[part]
            ids = every[rows][part]
            np.sqrt(np.maximum(near, 0.0, out=near), out=near)
            inside = np.flatnonzero(place[ids] >= 0)
            near[inside, place[ids[inside]]] = np.inf
            least = near.min(axis=1).astype(np.float64)
            shift = np.where(place[ids] >= 0, 0.0, least)
            near -= shift[:, None].astype(np.float32)
            near *= np.float32(-kappa)
            others = np.exp(near, out=near).sum(axis=1, dtype=np.float64) * (1 + _EXP_ROUNDING)
            band = norms[ids] + most
            with np.errstate(divide="ignore"):
                off = kappa * np.minimum(band / (2 * least), np.sqrt(band)) + 2 * _EXP_ROUNDING
            own = (place[ids] >= 0).astype(np.float64)
            upper[ids] = np.log(own + others) - kappa * shift
            error[ids] = np.log(own + others) - np.log(own + others * np.exp(-off))
            nearest[ids] = least

        in_threads(weigh, list(row_blocks(len(table), width)))
    return upper, error, nearest


def _exact_log_normalisers(distances: Distances, kappa: float, words: Ids) -> Floats:
    out = np.empty(len(words))
    for rows in row_blocks(len(words), len(distances.targets)):
        out[rows] = logsumexp(-kappa * distances.block(words[rows]), axis=1)
    return out


def _steepest(
    space: EmbeddingSpace, log_z: Floats, error: Floats, nearest: Floats, slack: float
) -> tuple[Floats, Ids, Ids]:
    """The pairs with the largest upper bounds of (|ln Z - ln Z'| - slack) / d, and those bounds."""
    count = len(log_z)
    order = np.argsort(log_z, kind="stable")
    values = log_z[order]
    loose = 2 * float(error.max()) - slack
    distances = Distances(space, order)
    ends = np.unique(np.concatenate([order[:_EXTREME], order[-_EXTREME:]]))
    first, second = (ends[i] for i in np.triu_indices(len(ends), 1))
    kept = _Top(log_z, loose, Distances(space))
    kept.offer(first, second)
    single = values.astype(np.float32)
    rounding = 2.0**-22 * max(1.0, float(np.abs(values).max()))
    typical = 0.5 * float(np.median(nearest))
    lonely = nearest[order] >= typical
    # Words without close neighbours first: for them most columns are ruled out by ln Z alone.
    for group, closest in ((np.flatnonzero(lonely), typical), (np.flatnonzero(~lonely), 0.0)):
        for part in row_blocks(len(group), count, numbers=_BLOCK_NUMBERS):
            rows = group[part]
            table = distances.lower_squared(order[rows])
            needed = kept.limit * closest - loose
            low = int(np.searchsorted(values, values[rows[-1]] - needed))
            high = int(np.searchsorted(values, values[rows[0]] + needed))
            ranges = [(0, count)] if low >= high else [(0, low), (high, count)]
            for start, stop in ranges:
                if start < stop:
                    gap = np.abs(single[rows, None] - single[None, start:stop])
                    gap += np.float32(loose + rounding)
                    x, y = np.nonzero(
                        np.maximum(gap, 0.0, out=gap) ** 2
                        > np.maximum(table[:, start:stop], 0.0)
                        * np.float32(kept.limit**2 * (1 - 1e-5))
                    )
                    x, y = rows[x], y + start
                    kept.offer(order[x[x != y]], order[y[x != y]])
    return kept.slopes, kept.first, kept.second


class _Top:
    """Keeps the pairs with the largest bounds."""

    def __init__(self, log_z: Floats, loose: float, distances: Distances) -> None:
        self._log_z, self._loose, self._distances = log_z, loose, distances
        self.slopes, self.first, self.second = np.empty(0), np.empty(0, int), np.empty(0, int)

    @property
    def limit(self) -> float:
        """What a pair must exceed to be kept."""
        return float(self.slopes.min()) if len(self.slopes) >= _KEPT else 0.0

    def offer(self, first: Ids, second: Ids) -> None:
        """Take in pairs of word ids, bounded with their exact distances."""
        over = np.abs(self._log_z[first] - self._log_z[second]) + self._loose
        gaps = self._distances.exact(first, second)
        # The same point has the same ln Z: such pairs need nothing.
        slopes = np.where(gaps > 0, over, 0.0) / np.where(gaps > 0, gaps, 1.0)
        slopes = np.maximum(slopes, 0.0)
        swap = first > second
        first, second = np.where(swap, second, first), np.where(swap, first, second)
        slopes = np.concatenate([self.slopes, slopes])
        first, second = np.concatenate([self.first, first]), np.concatenate([self.second, second])
        _, once = np.unique(first * len(self._log_z) + second, return_index=True)
        slopes, first, second = slopes[once], first[once], second[once]
        if len(slopes) > _KEPT:
            top = np.argpartition(-slopes, _KEPT - 1)[:_KEPT]
            slopes, first, second = slopes[top], first[top], second[top]
        self.slopes, self.first, self.second = slopes, first, second
