"""Gaussian noise on a unit vector, then back to the sphere: one guarantee for any two sentences."""

import math
from typing import ClassVar

from discreet import check
from discreet.errors import InvalidValue
from discreet.mechanisms.noise import GaussianNoise, gaussian_multiplier
from discreet.mechanisms.sentence._sphere import NoisyDirection, vector_statement
from discreet.statement import Notion

# Two unit vectors are at most 2 apart; the margin covers the rounding of their length.
_SENSITIVITY = 2.0 * (1.0 + 1e-9)


class SphereGaussian(NoisyDirection):
    """Release the direction of each unit vector plus independent Gaussian noise.

    Privacy: unit sentence, adjacency replace, approximate notion. For any two unit vectors x, x'
    and any set of outputs S, ``P(S|x) <= exp(epsilon) * P(S|x') + delta``. The noisy vector
    satisfies it; scaling that back to the sphere and rounding it to the grid are post-processing.

    Paper: the calibration is that of Balle and Wang, "Improving the Gaussian Mechanism for
    Differential Privacy", ICML 2018, exact for every epsilon; Du et al. (WWW 2023) name Gaussian
    noise as the way to a guarantee without a metric and leave it open.

    Args:
        dimension: length of the vectors, at least 2.
        epsilon: loss allowed between any two sentences, above 0.
        delta: probability with which the loss may be larger, between 0 and 1.

    >>> mechanism = SphereGaussian(dimension=16, epsilon=10.0, delta=1e-5)
    >>> round(mechanism.noise.standard_deviation, 3)
    1.0
    """

    name: ClassVar[str] = "sphere-gaussian"

    def __init__(self, dimension: int, epsilon: float, delta: float) -> None:
        dimension = check.whole(dimension, "dimension of SphereGaussian", at_least=2)
        self.epsilon = check.positive(epsilon, "epsilon of SphereGaussian")
        self.delta = check.probability(delta, "delta of SphereGaussian")
        deviation = gaussian_multiplier(self.epsilon, self.delta) * _SENSITIVITY
        if not math.isfinite(deviation):
            raise InvalidValue(
                "the noise of SphereGaussian is too large for a floating-point number; "
                "raise epsilon or delta"
            )
        statement = vector_statement(Notion.APPROXIMATE, self.epsilon, delta=self.delta)
        super().__init__(dimension, GaussianNoise(deviation), statement)
