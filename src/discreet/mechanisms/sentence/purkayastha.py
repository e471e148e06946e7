"""Purkayastha: replace a unit vector by one at a random angle, small angles more often."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from discreet import check
from discreet.arrays import Floats
from discreet.mechanisms.angle_law import AngleLaw
from discreet.mechanisms.sentence._sphere import PUBLIC, SCOPE, angle_metric
from discreet.mechanisms.sphere import angles_released, in_blocks, turned
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit

# Here the noise is already finer than the grid it is released on.
LARGEST_EPSILON = 1e6


class Purkayastha:
    """Release each unit vector x as ``y`` with density proportional to ``exp(-epsilon * angle)``.

    Privacy: unit sentence, adjacency replace, metric notion. For any two unit vectors x, x' and any
    set of outputs S, ``P(S|x) <= exp(epsilon * angle(x, x')) * P(S|x')``, and no smaller factor
    would do. Rows are released independently; their number is public.

    Paper: Du et al., "Sanitizing Sentence Embeddings (and Labels) for Local Differential Privacy",
    WWW 2023, after Weggenmann and Kerschbaum, "Differential Privacy for Directional Data", CCS
    2021. Where we differ: the angle is drawn exactly instead of by bisection on a quadrature, the
    normalising constant has a closed form, and vectors are released on a public grid.

    Args:
        dimension: length of the vectors, at least 2.
        epsilon: loss allowed per radian, at least 0 and at most 1e6; 0 releases uniform directions.

    >>> mechanism = Purkayastha(dimension=3, epsilon=10.0)
    >>> released = mechanism.release([[1.0, 0.0, 0.0]] * 4, np.random.default_rng(0))
    >>> released.shape, bool((released[:, 0] > 0).all())
    ((4, 3), True)
    """

    name: ClassVar[str] = "purkayastha"

    def __init__(self, dimension: int, epsilon: float) -> None:
        self.dimension = check.whole(dimension, "dimension of Purkayastha", at_least=2)
        self.epsilon = check.non_negative(epsilon, "epsilon of Purkayastha")
        if self.epsilon > LARGEST_EPSILON:
            raise check.fail("epsilon of Purkayastha", f"at most {LARGEST_EPSILON:g}", epsilon)
        self.law = AngleLaw(self.dimension, self.epsilon)
        self._statement = PrivacyStatement(
            notion=Notion.METRIC,
            epsilon=self.epsilon,
            metric=angle_metric(self.dimension),
            unit=Unit.SENTENCE,
            adjacency=Adjacency.REPLACE,
            scope=SCOPE,
            public=PUBLIC,
        )

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each released vector."""
        return self._statement

    def release(self, vectors: ArrayLike, rng: np.random.Generator) -> NDArray[np.float32]:
        """An independent draw for each unit row, on the grid of 2^-20 (so of length about 1)."""

        def noisy(units: Floats) -> Floats:
            return self._draw(units, rng)

        return in_blocks(vectors, self.dimension, "Purkayastha", noisy)

    def log_density(self, vectors: ArrayLike, outputs: ArrayLike) -> Floats:
        """Log-density of each output row given the vector in the same row, before rounding.

        The reference measure is surface area, whose total is ``2 pi^(m/2) / Gamma(m/2)``: the
        exponential of this integrates to 1 over the sphere.
        """
        angles = angles_released(vectors, outputs, self.dimension, "Purkayastha")
        return self._log_constant - self.epsilon * angles

    def random_parts(self, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Angles, and directions of which the part across a vector is what counts."""
        return self.law.sample(count, rng), rng.standard_normal((count, self.dimension))

    @property
    def _log_constant(self) -> float:
        # Surface of the sphere of tangent directions; in two dimensions these are two points.
        half = (self.dimension - 1) / 2
        surface = math.log(2.0) + half * math.log(math.pi) - float(gammaln(half))
        return -surface - self.law.log_normaliser

    def _draw(self, units: Floats, rng: np.random.Generator) -> Floats:
        return turned(units, self.law.sample(len(units), rng), rng)
