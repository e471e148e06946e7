"""What n releases cost together, by the smallest of the ways that are proven.

Losses add: n releases of loss epsilon cost ``n * epsilon`` with certainty. With a chance of delta
that it is more, less is proven. A text of n words is n releases, each drawn after the ones before.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet import check

# Covers, for each unit, the rounding of the transforms; a smaller delta is left to adding up.
_ERROR = 1e-14
# exp(-epsilon) is lost in rounding long before.
_LARGEST_EPSILON = 500.0
# Composing a law takes seconds from here on, and saves little: what is left is adding up.
_MOST_UNITS = 2**20


@dataclass(frozen=True)
class UnitLoss:
    """What is known of the loss of one release between any two units.

    Attributes:
        epsilon: It is never more.
        top: If given, the loss is ``epsilon`` with at most this probability, ``-epsilon`` with
            ``top * exp(-epsilon)``, and 0 otherwise, in the worst pair. Unless given, every loss up
            to epsilon is allowed for (the worst law is then randomised response).
        spread: If given, the loss differs by at most this between any two outputs.
    """

    epsilon: float
    top: float | None = None
    spread: float | None = None

    def of(self, units: int, delta: float = 0.0) -> float:
        """The smallest epsilon that is proven for so many units at this delta.

        >>> UnitLoss(1.0).of(200), round(UnitLoss(1.0).of(200, 1e-6))
        (200.0, 147)
        >>> round(UnitLoss(1.0, spread=1.0).of(200, 1e-6))
        61
        """
        units = check.whole(units, "units", at_least=1)
        delta = check.non_negative(delta, "delta")
        ways = [units * self.epsilon]
        if 2 * units * _ERROR < delta < 1 and 0 < self.epsilon < _LARGEST_EPSILON:
            if units <= _MOST_UNITS:
                ways.append(self._by_its_law(units, delta))
            # A larger spread costs more than adding up does at any delta worth having.
            if self.spread is not None and 0 < self.spread**2 / 8 < self.epsilon:
                ways.append(_by_its_spread(self.spread, units, delta))
        return min(ways)

    def _by_its_law(self, units: int, delta: float) -> float:
        """By the composed law of a loss of epsilon, 0 or -epsilon, which stays on a lattice."""
        down_by_up = math.exp(-self.epsilon)
        most = 1.0 / (1.0 + down_by_up)
        top = most if self.top is None else min(self.top, most)
        once = np.array([top * down_by_up, max(0.0, 1.0 - top - top * down_by_up), top])
        masses = np.clip(_convolved(once, units), 1e-300, None)
        losses = self.epsilon * np.arange(-units, units + 1)
        # delta(e) is the largest P(loss >= l) - exp(e) * E[exp(-loss); loss >= l] over all l.
        above = np.cumsum(masses[::-1])[::-1] - (delta - units * _ERROR)
        other = np.logaddexp.accumulate((np.log(masses) - losses)[::-1])[::-1]
        more = above > 0
        return max(0.0, float((np.log(above[more]) - other[more]).max(initial=0.0)))


def _convolved(masses: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    """The law of the sum of ``times`` draws, by squaring."""
    total = np.ones(1)
    while times:
        if times % 2:
            total = _product(total, masses)
        times //= 2
        if times:
            masses = _product(masses, masses)
    return total


def _product(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """The convolution of two laws (SciPy's takes longer to import than a file to sanitise)."""
    length = len(one) + len(other) - 1
    size = 1 << (length - 1).bit_length()
    spectrum = np.fft.rfft(one, size) * np.fft.rfft(other, size)
    return np.asarray(np.fft.irfft(spectrum, size)[:length], dtype=np.float64)


def _by_its_spread(spread: float, units: int, delta: float) -> float:
    """A loss within an interval of this length is ``spread**2 / 8``-zCDP (Hoeffding's lemma)."""
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    rho = units * spread**2 / 8
    # The best order is near 1 + sqrt(ln(1/delta) / rho).
    orders = 1.0 + math.sqrt(-math.log(delta) / rho) * np.geomspace(0.1, 10.0, 201)
    return float(compute_epsilon(orders, rho * orders, delta)[0])
