"""Gaussian noise on a word's clipped vector, then the nearest word."""

import math
from typing import ClassVar

import numpy as np

from discreet import check
from discreet.arrays import Floats, Progress
from discreet.errors import InvalidValue, VerificationFailed
from discreet.mechanisms.word._noisy_nearest import NoisyNearest
from discreet.mechanisms.word._sensitivity import (
    CLIPPED_PUBLIC,
    SCOPE,
    clipped,
    noise_scale,
    sensitivity_of,
)
from discreet.mechanisms.word._words import CALIBRATIONS
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Covers the rounding of a logarithm of the normal distribution function, generously.
_LOG_ERROR = 1e-13
_FARTHEST = 40.0
_MARGIN = 1e-9


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
    low, high, target = -_FARTHEST, _FARTHEST, math.log(delta)
    for _ in range(200):
        middle = (low + high) / 2
        if _log_delta(middle, epsilon) <= target:
            low = middle
        else:
            high = middle
    root = math.sqrt(low * low + 2.0 * epsilon)
    multiplier = ((root - low) / (2.0 * epsilon) if low < 0 else 1.0 / (root + low)) * (1 + _MARGIN)
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
    found = log_density + math.log(width) + math.log(slope * (1 + 1e-9)) if width > 0 else -math.inf
    log_ratio = log_density + math.log(math.sqrt(math.pi / 2) * float(erfcx(b / math.sqrt(2))))
    left = -math.expm1(min(0.0, log_ratio - log_mass))
    if left > 1e-6:
        error = _LOG_ERROR * (1.0 + abs(log_mass)) / left
        found = min(found, log_mass + math.log(left) + error)
    return found


class GaussianNoise:
    """Independent Gaussian noise of one standard deviation on every coordinate."""

    def __init__(self, standard_deviation: float) -> None:
        self.standard_deviation = standard_deviation

    def add_noise(self, vectors: Floats, rng: np.random.Generator) -> Floats:
        """A fresh, independent noise vector for every row."""
        noise = rng.standard_normal(vectors.shape)
        noise *= self.standard_deviation
        noise += vectors
        return noise

    def log_density(self, vectors: Floats, outputs: Floats) -> Floats:
        """Log-density of each output row given the vector in the same row."""
        gap = (outputs - vectors) / self.standard_deviation
        constant = vectors.shape[1] * (math.log(self.standard_deviation) + _LOG_SQRT_2PI)
        return np.asarray(-0.5 * np.einsum("ij,ij->i", gap, gap) - constant)


class Gaussian(NoisyNearest):
    """Release the word nearest to the clipped vector plus independent Gaussian noise.

    Privacy: unit word, adjacency replace, approximate notion. For any two words x, x' of the
    vocabulary and any set of outputs S, ``P(S|x) <= exp(epsilon) * P(S|x') + delta``. The guarantee
    is per word; a text of n words is protected word by word and n is public.

    Paper: Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy", ICML 2018,
    for ``calibration="certified"``, which is exact for every epsilon. ``calibration="published"``
    is the textbook rule ``Delta_2 * sqrt(2 ln(1.25 / delta)) / epsilon`` of the word-embedding
    papers, whose proof needs epsilon of at most 1. Where we differ: ``Delta_2`` is the largest
    distance over the public vocabulary (``sensitivity="exact"``), not ``2 * clip``
    (``"general"``).

    Args:
        space: the public vocabulary.
        epsilon: loss allowed between any two words, above 0.
        delta: probability with which the loss may be larger, between 0 and 1.
        clip: longer vectors are scaled down to this Euclidean norm.
        calibration: ``"certified"`` or ``"published"``.
        sensitivity: ``"exact"`` or ``"general"``.
        progress: called with (done, total) while the farthest pair of a large space is searched.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0, 1.0], [1, 1], [5, 0]])
    >>> certified = Gaussian(space, epsilon=1.0, delta=1e-5, clip=1.0)
    >>> published = Gaussian(space, epsilon=1.0, delta=1e-5, clip=1.0, calibration="published")
    >>> certified.noise.standard_deviation < published.noise.standard_deviation
    True
    """

    name: ClassVar[str] = "gaussian"
    noise: GaussianNoise

    def __init__(
        self,
        space: EmbeddingSpace,
        epsilon: float,
        delta: float,
        clip: float,
        *,
        calibration: str = "certified",
        sensitivity: str = "exact",
        progress: Progress | None = None,
    ) -> None:
        self.epsilon = check.positive(epsilon, "epsilon of Gaussian")
        self.delta = check.probability(delta, "delta of Gaussian")
        self.clip = check.positive(clip, "clip of Gaussian")
        self.calibration = check.one_of(calibration, CALIBRATIONS, "calibration of Gaussian")
        if calibration == "certified":
            multiplier = gaussian_multiplier(self.epsilon, self.delta)
        else:
            multiplier = _textbook(self.epsilon, self.delta)
        points = clipped(space, self.clip)
        self.sensitivity = sensitivity_of(
            space,
            points,
            self.clip,
            "l2",
            choice=sensitivity,
            owner="Gaussian",
            progress=progress,
        )
        super().__init__(
            space,
            points,
            GaussianNoise(noise_scale(multiplier * self.sensitivity.value, "Gaussian")),
            PrivacyStatement(
                notion=Notion.APPROXIMATE,
                epsilon=self.epsilon,
                delta=self.delta,
                unit=Unit.WORD,
                adjacency=Adjacency.REPLACE,
                scope=SCOPE,
                public=CLIPPED_PUBLIC,
            ),
        )


def _textbook(epsilon: float, delta: float) -> float:
    if epsilon > 1:
        raise InvalidValue(
            "epsilon of Gaussian must be at most 1 with calibration published, because the proof "
            "of its rule ends there and at larger epsilon the rule can give too little noise; "
            f"got {epsilon!r}; use calibration certified, which holds for every epsilon"
        )
    multiplier = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
    if math.isfinite(multiplier) and gaussian_delta(epsilon, multiplier) > delta:
        raise VerificationFailed(
            f"the published rule misses delta {delta!r} at epsilon {epsilon!r}; "
            "use calibration certified"
        )
    return multiplier
