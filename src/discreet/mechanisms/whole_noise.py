"""Noise on whole numbers: two-sided geometric, exact over its whole range.

``P(n) = (1 - a) / (1 + a) * a^|n|`` with ``a = exp(-rate)``. The whole part of one floating-point
number would do for a rate near 1. For a small one it would not: a number of 53 bits, stretched, has
gaps, and a count that falls into a gap tells what was added to it. Here the size of the noise is
``u + t * v`` with t a power of two near 1 / rate: v is geometric and small, u is a uniform whole
number below t that is kept with probability ``exp(-rate * u)`` (Canonne, Kamath and Steinke 2020).
Every whole number has its own chance.

Sums are cut off at 2^61 in size. That is done to the sum and sees nothing else: noise of 2^62 and
more ends there whatever it was added to.
"""

import math

import numpy as np

from discreet import check
from discreet.arrays import Floats, Ids
from discreet.randomness import bernoulli_exp, exponential

SMALLEST_RATE = 2.0**-42
"""Below, sizes of noise that come out would not fit 64 bits."""
LARGEST_SUM = 2**61
_LARGEST_NOISE = 2**62


class GeometricNoise:
    """Two-sided geometric noise on whole numbers of at most 2^60 in size.

    Args:
        rate: what a step of 1 costs, at least 2^-42.

    >>> GeometricNoise(50.0).add_noise(np.array([3, 1]), np.random.default_rng(0)).tolist()
    [3, 1]
    """

    def __init__(self, rate: float) -> None:
        self.rate = check.in_range(rate, "rate of the noise", at_least=SMALLEST_RATE)
        # exp(-rate * t) is at most about 1 / e, so that v is small.
        self._stretch = 2 ** max(0, -math.frexp(self.rate)[1] + 1)

    def add_noise(self, values: Ids, rng: np.random.Generator) -> Ids:
        """Fresh, independent noise for every entry, cut off at 2^61 in size."""
        sizes = self._sizes(values.size, rng).reshape(values.shape)
        return np.asarray((values + sizes).clip(-LARGEST_SUM, LARGEST_SUM))

    def log_probabilities(self, noise: Ids) -> Floats:
        """The log-probability of each value of the noise."""
        constant = math.log(-math.expm1(-self.rate)) - math.log1p(math.exp(-self.rate))
        return np.asarray(constant - self.rate * np.abs(noise))

    def _sizes(self, count: int, rng: np.random.Generator) -> Ids:
        out = np.empty(count, dtype=np.int64)
        open_ = np.arange(count)
        while open_.size:
            below = rng.integers(0, self._stretch, open_.size)
            steps = np.floor(exponential(open_.shape, rng) / (self.rate * self._stretch))
            steps = np.minimum(steps, _LARGEST_NOISE // self._stretch)
            drawn = below + self._stretch * steps.astype(np.int64)
            minus = rng.integers(0, 2, open_.size, dtype=np.bool_)
            # There is one zero, not one of either sign.
            kept = bernoulli_exp(np.asarray(self.rate * below, np.float64), rng) & ~(
                minus & (drawn == 0)
            )
            out[open_[kept]] = np.where(minus, -drawn, drawn)[kept]
            open_ = open_[~kept]
        return out
