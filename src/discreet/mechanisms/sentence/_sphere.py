"""What the sentence mechanisms share: the wording of their statements, and noise on a direction."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Floats
from discreet.mechanisms.noise import VectorNoise
from discreet.mechanisms.sphere import checked_outputs, checked_units, in_blocks, on_sphere
from discreet.statement import Metric, MetricKind, PrivacyStatement

PUBLIC = (
    "the encoder and any projection of its vectors",
    "the number of sentences",
    "the grid of 2^-20 that vectors are released on",
)
SCOPE = "the vector of each sentence is replaced by a draw, independent of the others"


# A sphere is no finite set, so there is no nearest neighbour; half of all pairs of directions are
# at most a right angle apart.
def angle_metric(dimension: int) -> Metric:
    """The angle of two unit vectors."""
    name = f"angle in radians between unit vectors in {dimension} dimensions"
    return Metric(name, None, math.pi / 2, math.pi, MetricKind.ANGLE)


def chord_metric(dimension: int) -> Metric:
    """The Euclidean distance of two unit vectors."""
    name = f"Euclidean distance between unit vectors in {dimension} dimensions"
    return Metric(name, None, math.sqrt(2), 2.0, MetricKind.EUCLIDEAN)


class NoisyDirection:
    """Noise on each unit vector, then back to the sphere and onto the grid: post-processing.

    Args:
        dimension: length of the vectors.
        noise: the noise, with its density.
        statement: what the noise guarantees for each sentence.
    """

    def __init__(self, dimension: int, noise: VectorNoise, statement: PrivacyStatement) -> None:
        self.dimension = dimension
        self.noise = noise
        self._statement = statement

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each released vector."""
        return self._statement

    def release(self, vectors: ArrayLike, rng: np.random.Generator) -> NDArray[np.float32]:
        """Fresh noise for each unit row, back to the sphere, on the grid of 2^-20."""

        def noisy(units: Floats) -> Floats:
            return on_sphere(self.noise.add_noise(units, rng))

        return in_blocks(vectors, self.dimension, type(self).__name__, noisy)

    def log_density(self, vectors: ArrayLike, outputs: ArrayLike) -> Floats:
        """Log-density of each noisy row, before it is scaled back to the sphere."""
        owner = type(self).__name__
        units = checked_units(vectors, self.dimension, owner)
        return self.noise.log_density(units, checked_outputs(outputs, units, owner))
