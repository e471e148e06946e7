"""Purkayastha: replace a unit vector by one at a random angle, small angles more often."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from discreet.arrays import Floats
from discreet.mechanisms.angle_law import AngleLaw
from discreet.mechanisms.sentence._sphere import TurnedDirection, angle_metric, vector_statement
from discreet.mechanisms.sphere import angles_released
from discreet.statement import Notion

# Here the noise is already finer than the grid it is released on.
LARGEST_EPSILON = 1e6


class Purkayastha(TurnedDirection):
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
        super().__init__(dimension, epsilon, LARGEST_EPSILON)
        self.law = AngleLaw(self.dimension, self.epsilon)
        metric = angle_metric(self.dimension)
        self.statement = vector_statement(Notion.METRIC, self.epsilon, metric=metric)

    def log_density(self, vectors: ArrayLike, outputs: ArrayLike) -> Floats:
        """Log-density of each output row given the vector in the same row, before rounding.

        The reference measure is surface area, whose total is ``2 pi^(m/2) / Gamma(m/2)``: the
        exponential of this integrates to 1 over the sphere.
        """
        angles = angles_released(vectors, outputs, self.dimension, "Purkayastha")
        return self._log_constant - self.epsilon * angles

    @property
    def _log_constant(self) -> float:
        # Surface of the sphere of tangent directions; in two dimensions these are two points.
        half = (self.dimension - 1) / 2
        surface = math.log(2.0) + half * math.log(math.pi) - float(gammaln(half))
        return -surface - self.law.log_normaliser

    def _angles(self, count: int, rng: np.random.Generator) -> Floats:
        return self.law.sample(count, rng)
