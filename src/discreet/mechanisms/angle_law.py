"""The law of the angle between a vector and its Purkayastha draw, sampled exactly.

On the sphere in m dimensions the angle t has the density ``sin(t)^(m-2) exp(-kappa t) / F`` on
(0, pi). Its logarithm ``l`` is concave. Everything below rests on that.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, loggamma

from discreet.arrays import Floats
from discreet.randomness import bernoulli_exp, exponential
from discreet.search import last_that_holds

# Where the body ends and the tails begin: the density has fallen by this much, on a log scale.
_DROP = 12.0


def log_normaliser(dimension: int, kappa: float) -> float:
    """``ln F``, the logarithm of the integral of ``sin(t)^(m-2) exp(-kappa t)`` over (0, pi).

    With n = m - 2 it has a closed form, ``pi n! exp(-kappa pi/2) / (2^n |Gamma(1 + n/2 +
    i kappa/2)|^2)`` (Cauchy's beta integral), so no quadrature is needed and nothing underflows.

    >>> round(log_normaliser(2, 1.0), 12) == round(math.log(1 - math.exp(-math.pi)), 12)
    True
    """
    n = dimension - 2
    modulus = float(loggamma(complex(1.0 + n / 2, kappa / 2)).real)
    return (
        math.log(math.pi)
        - n * math.log(2.0)
        + float(gammaln(n + 1))
        - kappa * math.pi / 2
        - 2.0 * modulus
    )


class AngleLaw:
    """The angle's density and an exact sampler of it.

    In two dimensions the law is an exponential one cut at pi. In more, proposals come from an upper
    bound of the density in three pieces: a body, whichever is closer of a normal and a Gamma
    density, and on either side the exponential tail of the tangent to ``l``. A proposal is accepted
    with the ratio of the density to the bound. The tails and the acceptance use draws that have no
    smallest probability, so an angle of probability exp(-1000) has exactly that probability.

    Args:
        dimension: of the space, m, at least 2.
        kappa: how fast the density falls with the angle, at least 0.
        drop: where the tails begin; another value changes the speed, never the law.
    """

    def __init__(self, dimension: int, kappa: float, *, drop: float = _DROP) -> None:
        self.power = dimension - 2
        self.kappa = kappa
        self.log_normaliser = log_normaliser(dimension, kappa)
        self.acceptance = 1.0
        if self.power:
            self._bound(drop)

    def log_density(self, angles: Floats) -> Floats:
        """Log-density of each angle in (0, pi)."""
        return self._shape(angles) - self.log_normaliser

    def support(self, drop: float) -> tuple[float, float]:
        """The angles between which the density is within ``exp(-drop)`` of its top."""
        if self.power == 0:
            return 0.0, min(math.pi, drop / self.kappa) if self.kappa > 0 else math.pi
        return self._where_fallen(0.0, drop), self._where_fallen(math.pi, drop)

    def sample(self, count: int, rng: np.random.Generator) -> Floats:
        """``count`` independent angles."""
        if self.power == 0:
            return self._cut_exponential(count, rng)
        out = np.empty(count)
        done = 0
        while done < count:
            tries = int((count - done) / self.acceptance * 1.02) + 16
            accepted = self._accepted(tries, rng)[: count - done]
            out[done : done + len(accepted)] = accepted
            done += len(accepted)
        return out

    # -- two dimensions ------------------------------------------------------------------------

    def _cut_exponential(self, count: int, rng: np.random.Generator) -> Floats:
        whole = self.kappa * math.pi
        if whole == 0.0:
            return math.pi * rng.random(count)
        return exponential((count,), rng, longest=whole) / self.kappa

    # -- three and more ------------------------------------------------------------------------

    def _shape(self, angles: Floats) -> Floats:
        if self.power == 0:
            return -self.kappa * angles
        with np.errstate(divide="ignore"):
            return np.asarray(self.power * np.log(np.sin(angles)) - self.kappa * angles)

    def _at(self, angle: float) -> float:
        return self.power * math.log(math.sin(angle)) - self.kappa * angle

    def _slope(self, angle: float) -> float:
        return self.power / math.tan(angle) - self.kappa

    def _bound(self, drop: float) -> None:
        n, kappa = self.power, self.kappa
        self._mode = math.atan2(n, kappa)
        self._top = self._at(self._mode)
        low, high = self.support(drop)
        # Inside (low, high) the curvature of l is at most -n / sin^2 at the most upright angle.
        upright = 1.0 if low <= math.pi / 2 <= high else max(math.sin(low), math.sin(high))
        self._deviation = upright / math.sqrt(n)
        log_normal = self._top + math.log(self._deviation) + 0.5 * math.log(2 * math.pi)
        log_gamma = (
            float(gammaln(n + 1)) - (n + 1) * math.log(kappa) if kappa > 0 else math.inf
        )  # sin t <= t bounds the density by that of a Gamma law
        self._normal = log_normal <= log_gamma
        self._low, self._high = low, high
        self._slopes = self._slope(low), self._slope(high)
        log_left = self._at(low) - math.log(self._slopes[0])
        log_right = self._at(high) - math.log(-self._slopes[1])
        body = min(log_normal, log_gamma)
        log_tails = float(np.logaddexp(log_left, log_right))
        log_all = float(np.logaddexp(body, log_tails))
        self._log_in_tails = log_tails - log_all
        self._log_right = log_right - log_tails
        self.acceptance = math.exp(min(0.0, self.log_normaliser - log_all))

    def _where_fallen(self, end: float, drop: float) -> float:
        """Between the mode and an end of the range, where l is ``drop`` below its top."""
        far = last_that_holds(lambda t: self._at(t) <= self._top - drop, end, self._mode)
        return far if 0.0 < far < math.pi else math.nextafter(end, self._mode)

    def _accepted(self, tries: int, rng: np.random.Generator) -> Floats:
        """Those of ``tries`` proposals that are accepted, in the order in which they were made."""
        angles, inside, exponent = self._body(tries, rng)
        tail = np.flatnonzero(bernoulli_exp(np.full(tries, -self._log_in_tails), rng))
        if tail.size:
            angles[tail], inside[tail], exponent[tail] = self._tails(tail.size, rng)
        kept = np.flatnonzero(inside)
        kept = kept[bernoulli_exp(np.maximum(exponent[kept], 0.0), rng)]
        return angles[kept]

    def _body(
        self, count: int, rng: np.random.Generator
    ) -> tuple[Floats, NDArray[np.bool_], Floats]:
        if self._normal:
            step = self._deviation * rng.standard_normal(count)
            angles = self._mode + step
            bound = self._top - 0.5 * (step / self._deviation) ** 2
        else:
            angles = rng.standard_gamma(self.power + 1, count) / self.kappa
            bound = self.power * np.log(angles) - self.kappa * angles
        inside = (angles >= self._low) & (angles <= self._high)
        return angles, inside, bound - self._shape(np.where(inside, angles, self._mode))

    def _tails(
        self, count: int, rng: np.random.Generator
    ) -> tuple[Floats, NDArray[np.bool_], Floats]:
        right = bernoulli_exp(np.full(count, -self._log_right), rng)
        start = np.where(right, self._high, self._low)
        slope = np.where(right, self._slopes[1], self._slopes[0])
        fallen = exponential((count,), rng)
        angles = start - fallen / slope
        inside = (angles > 0.0) & (angles < math.pi)
        bound = self._shape(start) - fallen
        return angles, inside, bound - self._shape(np.where(inside, angles, self._mode))
