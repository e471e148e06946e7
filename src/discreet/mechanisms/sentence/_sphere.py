"""What the sentence mechanisms share: their statements, noise on a direction, random turns."""

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Floats
from discreet.mechanisms.noise import VectorNoise
from discreet.mechanisms.sphere import checked_outputs, checked_units, in_blocks, on_sphere, turned
from discreet.statement import Adjacency, Metric, MetricKind, Notion, PrivacyStatement, Unit

PUBLIC = (
    "the encoder and any projection of its vectors",
    "the number of sentences",
    "the grid of 2^-20 that vectors are released on",
)
SCOPE = "the vector of each sentence is replaced by a draw, independent of the others"


def vector_statement(
    notion: Notion, epsilon: float, *, delta: float = 0.0, metric: Metric | None = None
) -> PrivacyStatement:
    """The guarantee for the vector of each sentence."""
    return PrivacyStatement(
        notion=notion,
        epsilon=epsilon,
        delta=delta,
        metric=metric,
        unit=Unit.SENTENCE,
        adjacency=Adjacency.REPLACE,
        scope=SCOPE,
        public=PUBLIC,
    )


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
        self.statement = statement
        """The guarantee for each released vector."""

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


class TurnedDirection(ABC):
    """Each unit vector turned by a random angle, in a uniform direction, then onto the grid.

    Args:
        dimension: length of the vectors, at least 2.
        epsilon: loss allowed, at least 0.
        largest: what epsilon may be.
    """

    statement: PrivacyStatement
    """The guarantee for each released vector."""

    def __init__(self, dimension: int, epsilon: float, largest: float) -> None:
        owner = type(self).__name__
        self.dimension = check.whole(dimension, f"dimension of {owner}", at_least=2)
        name = f"epsilon of {owner}"
        self.epsilon = float(check.in_range(epsilon, name, at_least=0, at_most=largest))

    def release(self, vectors: ArrayLike, rng: np.random.Generator) -> NDArray[np.float32]:
        """An independent draw for each unit row, on the grid of 2^-20 (so of length about 1)."""

        def noisy(units: Floats) -> Floats:
            return turned(units, self._angles(len(units), rng), rng)

        return in_blocks(vectors, self.dimension, type(self).__name__, noisy)

    def random_parts(self, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Angles, and directions of which the part across a vector is what counts."""
        return self._angles(count, rng), rng.standard_normal((count, self.dimension))

    @abstractmethod
    def _angles(self, count: int, rng: np.random.Generator) -> Floats:
        """Independent angles between a vector and its release."""
