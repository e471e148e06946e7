"""Noise on vectors, with its density: what mechanisms of several families add."""

import math
from typing import Protocol

import numpy as np

from discreet import check
from discreet.arrays import Floats
from discreet.errors import VerificationFailed
from discreet.randomness import bernoulli_exp, exponential
from discreet.search import last_that_holds

# Far above any norm that comes out: noise of this many times its mean is still a finite number.
_HEADROOM = 1e6
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Covers the rounding of a logarithm of the normal distribution function, generously.
_LOG_ERROR = 1e-13
_FARTHEST = 40.0
_MARGIN = 1e-9


# NumPy's normal draws end near 12; so far out they are still as they should be.
_FAR = 6.0


class VectorNoise(Protocol):
    """Adds noise to rows of vectors, and knows its density."""

    @property
    def width(self) -> float:
        """The distance over which the density of a coordinate changes by a factor of e or more."""

    def add_noise(self, vectors: Floats, rng: np.random.Generator) -> Floats:
        """A fresh, independent noise vector for every row."""

    def log_density(self, vectors: Floats, outputs: Floats) -> Floats:
        """Log-density of each output row given the vector in the same row."""

    def log_densities(self, vectors: Floats, outputs: Floats) -> Floats:
        """``(outputs, vectors)``: the log-density of every output given every vector."""


class SphericalNoise:
    """Noise with density proportional to ``exp(-rate * |z|)``: the same in every direction.

    In polar coordinates that density is a uniform direction and, independently, a norm with density
    proportional to ``r^(d-1) exp(-rate * r)``, which is the Gamma law of shape d. Both are sampled
    directly.

    Args:
        dimension: length of the vectors, d.
        rate: how fast the density falls with distance, above 0.
    """

    def __init__(self, dimension: int, rate: float) -> None:
        self.dimension = dimension
        self.rate = check.positive(rate, "rate of the noise")
        if not math.isfinite(_HEADROOM * dimension / self.rate):
            raise check.fail("rate of the noise", "large enough for the noise to be finite", rate)

    @property
    def width(self) -> float:
        """The distance over which the density changes by a factor of e."""
        return 1.0 / self.rate

    def sample(self, count: int, rng: np.random.Generator) -> Floats:
        """``count`` independent noise vectors."""
        noise = rng.standard_normal((count, self.dimension))
        norms = np.sqrt(np.einsum("ij,ij->i", noise, noise))
        while (empty := norms == 0).any():  # no direction; can happen in 1 dimension, rarely
            noise[empty] = rng.standard_normal((int(empty.sum()), self.dimension))
            norms[empty] = np.sqrt(np.einsum("ij,ij->i", noise[empty], noise[empty]))
        noise *= (_gamma(self.dimension, count, rng) / self.rate / norms)[:, None]
        return noise

    def add_noise(self, vectors: Floats, rng: np.random.Generator) -> Floats:
        """A fresh, independent noise vector for every row."""
        noise = self.sample(len(vectors), rng)
        noise += vectors
        return noise

    def log_density(self, vectors: Floats, outputs: Floats) -> Floats:
        """Log-density of each output row given the vector in the same row."""
        d = self.dimension
        surface = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
        constant = d * math.log(self.rate) - math.lgamma(d) - surface
        return np.asarray(constant - self.rate * np.linalg.norm(outputs - vectors, axis=1))

    def log_densities(self, vectors: Floats, outputs: Floats) -> Floats:
        """``(outputs, vectors)``: the log-density of every output given every vector."""
        origin = np.zeros((1, self.dimension))
        highest = self.log_density(origin, origin)
        return np.asarray(highest - self.rate * np.sqrt(squared_distances(outputs, vectors)))


class GaussianNoise:
    """Independent Gaussian noise of one standard deviation on every coordinate."""

    def __init__(self, standard_deviation: float) -> None:
        self.standard_deviation = standard_deviation

    @property
    def width(self) -> float:
        """The standard deviation."""
        return self.standard_deviation

    def add_noise(self, vectors: Floats, rng: np.random.Generator) -> Floats:
        """A fresh, independent noise vector for every row."""
        noise = standard_normal(vectors.shape, rng)
        noise *= self.standard_deviation
        noise += vectors
        return noise

    def log_density(self, vectors: Floats, outputs: Floats) -> Floats:
        """Log-density of each output row given the vector in the same row."""
        gap = (outputs - vectors) / self.standard_deviation
        constant = vectors.shape[1] * (math.log(self.standard_deviation) + _LOG_SQRT_2PI)
        return np.asarray(-0.5 * np.einsum("ij,ij->i", gap, gap) - constant)

    def log_densities(self, vectors: Floats, outputs: Floats) -> Floats:
        """``(outputs, vectors)``: the log-density of every output given every vector."""
        constant = vectors.shape[1] * (math.log(self.standard_deviation) + _LOG_SQRT_2PI)
        squares = squared_distances(outputs, vectors) / self.standard_deviation**2
        return np.asarray(-0.5 * squares - constant)


def squared_distances(rows: Floats, others: Floats) -> Floats:
    """``(rows, others)``, by one product; rounding may cost the last half of the digits."""
    squares = np.einsum("ij,ij->i", others, others) - 2.0 * (rows @ others.T)
    squares += np.einsum("ij,ij->i", rows, rows)[:, None]
    return np.asarray(np.maximum(squares, 0.0, out=squares))


def standard_normal(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Normal draws that can be of any size.

    Those of NumPy end near 12, beyond which a word could not be reached that another word reaches
    often. What lies beyond 6 is drawn anew: sqrt(36 + 2 E) for an exponential E, accepted with
    probability 6 over itself, has the law of the tail (Marsaglia 1964).
    """
    out = rng.standard_normal(shape)
    flat = out.reshape(-1)
    far = np.flatnonzero((flat > _FAR) | (flat < -_FAR))
    while far.size:
        size = np.sqrt(_FAR**2 + 2.0 * exponential(far.shape, rng))
        kept = rng.random(far.size) * size < _FAR
        flat[far[kept]] = np.copysign(size[kept], flat[far[kept]])
        far = far[~kept]
    return out


def _gamma(shape: int, count: int, rng: np.random.Generator) -> Floats:
    """Gamma draws that can be of any size; NumPy's of shape 1 end near 44.

    With n = shape - 1, from a point t on ``x^n exp(-x)`` lies below its tangent in logarithms,
    an exponential law of rate ``1 - n / t``. Draws beyond t are made anew from that law and
    accepted with the ratio of the two.
    """
    out = rng.standard_gamma(shape, count)
    start = shape + 4.0 * math.sqrt(shape) + 8.0
    far = np.flatnonzero(out > start)
    while far.size:
        beyond = exponential(far.shape, rng) / (1.0 - (shape - 1) / start)
        ratio = beyond / start
        kept = bernoulli_exp((shape - 1) * (ratio - np.log1p(ratio)), rng)
        out[far[kept]] = start + beyond[kept]
        far = far[~kept]
    return out


def gaussian_delta(epsilon: float, multiplier: float) -> float:
    """The smallest delta, rounded upwards, at loss ``epsilon`` of noise ``multiplier * Delta_2``.

    This is ``Phi(a) - exp(epsilon) * Phi(-b)`` with ``a = 1 / (2 m) - epsilon * m`` and
    ``b = 1 / (2 m) + epsilon * m`` for the multiplier m (Balle and Wang 2018): exact, both
    directions alike, for every epsilon.

    >>> round(gaussian_delta(1.0, 3.7306), 8)
    1e-05
    """
    return math.exp(_log_delta(0.5 / multiplier - epsilon * multiplier, epsilon))


def gaussian_multiplier(epsilon: float, delta: float) -> float:
    """The smallest noise, in multiples of ``Delta_2``, with at most this delta at this epsilon.

    Rounded upwards by about one part in a billion, and checked.

    >>> round(gaussian_multiplier(1.0, 1e-5), 4)
    3.7306
    """
    # Searched over a, not over the multiplier: b = sqrt(a^2 + 2 epsilon) then has no cancellation,
    # and the same interval serves every epsilon.
    target = math.log(delta)
    a = last_that_holds(lambda a: _log_delta(a, epsilon) <= target, -_FARTHEST, _FARTHEST)
    root = math.sqrt(a * a + 2.0 * epsilon)
    multiplier = ((root - a) / (2.0 * epsilon) if a < 0 else 1.0 / (root + a)) * (1 + _MARGIN)
    if math.isfinite(multiplier) and gaussian_delta(epsilon, multiplier) > delta:
        raise VerificationFailed(
            f"no noise could be calibrated to epsilon {epsilon!r} and delta {delta!r}"
        )
    return multiplier


def _log_delta(a: float, epsilon: float) -> float:
    """Never below the logarithm of ``Phi(a) - exp(epsilon) * Phi(-b)``, ``b^2 = a^2 + 2 epsilon``.

    With R(x) = Phi(-x) / phi(x), which is convex and falls, the difference is
    ``phi(a) * (R(-a) - R(b))``. Taken as it stands it loses digits when a and b are close; there
    ``R(-a) - R(b) <= (a + b) * -R'(-a)`` with ``-R'(x) = 1 - x R(x)`` is all but exact.
    """
    from scipy.special import erfcx, log_ndtr  # slow to import, and only needed here

    b = math.sqrt(a * a + 2.0 * epsilon)
    log_density = -0.5 * a * a - _LOG_SQRT_2PI
    log_mass = float(log_ndtr(a))
    width = a + b if a > 0 else 2.0 * epsilon / (b - a)
    slope = 1.0 + a * math.exp(log_mass - log_density)
    bound = log_density + math.log(width) + math.log(slope * (1 + 1e-9)) if width > 0 else -math.inf
    log_ratio = log_density + math.log(math.sqrt(math.pi / 2) * float(erfcx(b / math.sqrt(2))))
    left = -math.expm1(min(0.0, log_ratio - log_mass))
    if left > 1e-6:
        error = _LOG_ERROR * (1.0 + abs(log_mass)) / left
        bound = min(bound, log_mass + math.log(left) + error)
    return bound
