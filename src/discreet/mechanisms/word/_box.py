"""The mass that a box of truncated Laplace noise leaves outside a shifted copy of itself.

Everything is in units of the noise: distances are multiplied by the rate alpha, so the box reaches
from -a to a with ``a = alpha * A`` and two words differ by ``e_i = alpha * |x_i - y_i|``.

One coordinate of the noise ends beyond the other box with probability t(e); coordinates are
independent, so the mass outside is ``1 - exp(-sum_i f(e_i))`` with ``f = -ln(1 - t)``. That sum is
called the exponent. It is what is bounded, maximised over pairs, and compared with
``-ln(1 - delta)``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, row_blocks
from discreet.search import last_that_holds

# Covers the rounding of sums of up to a few thousand terms, generously.
MARGIN = 1.0 + 1e-11
# Pairs times coordinates: about a second. Few of the pairs then need their exact exponent, unless
# epsilon is so large that the bound on the others is loose; that, too, has an end.
MOST_WORK = 5.0e8
MOST_EXACT = 3.0e7
_BLOCK_NUMBERS = 2**20
_PAIRS_AT_ONCE = 1024


def coordinate_exponent(shifts: Floats, width: float) -> Floats:
    """``f(e)``: minus the log-probability that a coordinate stays inside the box shifted by e.

    For ``e <= a`` the mass beyond is ``t = exp(-a) * (exp(e) - 1) / (2 * (1 - exp(-a)))``; a larger
    shift leaves the mass inside between ``e - a`` and ``a``, and from ``2 a`` on there is none.
    """
    shifts = np.asarray(shifts, dtype=np.float64)
    double = -2.0 * math.expm1(-width)
    near = np.minimum(shifts, width)
    out = -np.log1p(np.exp(near - width) * np.expm1(-near) / double)
    if (shifts > width).any():
        far = np.clip(shifts, width, 2.0 * width)
        with np.errstate(divide="ignore"):
            inside = -np.log(-np.expm1(far - 2.0 * width) / double) + (far - width)
        out = np.where(shifts > width, inside, out)
    return out


class TooManyPairs(Exception):
    """The exact maximum would take too long; the caller has a bound."""


@dataclass(frozen=True)
class Reach:
    """Bounds on how far apart two words are, in units of the noise."""

    l1: float
    l2: float
    linf: float

    def exponent(self, width: float) -> float:
        """At least the exponent of every pair within these bounds."""
        return float(_upper(np.array(self.l1), np.array(self.l2**2), self.linf, width)) * MARGIN


def _upper(l1: Floats, squares: Floats, linf: float, width: float) -> Floats:
    """At least the exponent of pairs with these l1 distances and squared l2 distances.

    f is convex with f(0) = 0 (the noise is log-concave), so f(e) <= e * f(linf) / linf. Up to
    ``e = a`` it is moreover a power series with no negative term, so ``(f(e) - f'(0) e) / e^2``
    rises and f(e) <= f'(0) * e + c * e^2 with c taken at linf. Summed over the coordinates these
    are bounds in l1 and l2 alone, the second one tight to the third order.
    """
    top = float(coordinate_exponent(np.array(linf), width))
    if math.isinf(top):
        return np.where(l1 > 0, math.inf, 0.0)
    if linf > width:
        return l1 * (top / linf)
    slope = 0.5 * math.exp(-width) / -math.expm1(-width)
    curve = max(0.0, (top / linf - slope) / linf)
    return slope * l1 + curve * squares


def exponent(points: Floats, rate: float, linf: float, width: float) -> tuple[float, Floats]:
    """The largest exponent over all pairs of rows, rounded upwards, and the worst pair's shift.

    Every pair is covered; the few whose bound from l1 and l2 distance beats the best so far are
    computed, from the difference of the two rows itself: rows that were scaled first would be
    rounded, and two that are near each other could become equal. ``linf`` is at least every
    difference of two coordinates, times the rate. Raises :class:`TooManyPairs` if the few are not
    few.
    """
    from scipy.spatial.distance import cdist  # slow to import, and only needed here

    count, dimension = points.shape
    best, worst = 0.0, np.zeros(dimension)
    # For the bounds, too, what the rows have in common is taken off before they are scaled.
    scaled = (points - points[0]) * rate
    computed = 0
    for block in row_blocks(count, count, numbers=_BLOCK_NUMBERS):
        rows, others = scaled[block], scaled[block.start :]
        upper = _upper(
            cdist(rows, others, "cityblock"),
            cdist(rows, others, "sqeuclidean"),
            linf * MARGIN,
            width,
        )
        upper *= MARGIN
        flat = upper.ravel()
        hopeful = np.flatnonzero(flat > best * MARGIN)
        hopeful = hopeful[np.argsort(-flat[hopeful])]
        for first in range(0, len(hopeful), _PAIRS_AT_ONCE):
            if flat[hopeful[first]] <= best * MARGIN:
                break
            computed += _PAIRS_AT_ONCE
            if computed * dimension > MOST_EXACT:
                raise TooManyPairs
            x, y = np.divmod(hopeful[first : first + _PAIRS_AT_ONCE], len(others))
            shifts = np.abs(points[block.start + x] - points[block.start + y]) * rate
            sums = coordinate_exponent(shifts, width).sum(axis=1)
            place = int(sums.argmax())
            if sums[place] > best:
                best, worst = float(sums[place]), shifts[place]
    return best * MARGIN, worst


def enough_width(epsilon: float, delta: float) -> float:
    """``ln(1 + (exp(epsilon) - 1) / (2 delta))``: a width that suffices for every pair.

    With ``l1 <= epsilon`` convexity makes one shifted coordinate the worst case, and its t is at
    most delta. Rounded upwards.
    """
    log_numerator = epsilon + math.log(-math.expm1(-epsilon))
    width = float(np.logaddexp(0.0, log_numerator - math.log(2.0) - math.log(delta)))
    return width * (1.0 + 1e-9)


def smallest_width(exponent_at: Callable[[float], float], delta: float, enough: float) -> float:
    """The smallest width, rounded upwards, whose exponent is at most that of ``delta``.

    ``exponent_at`` falls with the width, and ``enough`` is known to suffice.
    """
    target = -math.log1p(-delta)
    return last_that_holds(lambda width: exponent_at(width) <= target, enough, 0.0, relative=1e-13)


def smallest_width_of_pairs(
    points: Floats, rate: float, linf: float, delta: float, enough: float
) -> float:
    """The smallest width for all pairs of rows: that of the worst pair.

    Start from the pair that is worst for a width that suffices; while another pair breaks the width
    found so far, take that one. The width only rises, and a pair that was taken never breaks it.
    """
    target = -math.log1p(-delta)
    width = 0.0
    _, shift = exponent(points, rate, linf, enough)
    while True:

        def of_pair(trial: float, shift: Floats = shift) -> float:
            return float(coordinate_exponent(shift, trial).sum()) * MARGIN * MARGIN

        width = max(width, smallest_width(of_pair, delta, enough))
        worst, shift = exponent(points, rate, linf, width)
        if worst <= target or width >= enough:
            return width
