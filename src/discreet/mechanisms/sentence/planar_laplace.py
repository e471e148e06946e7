"""Normalised planar Laplace: spherical noise on a unit vector, then back to the sphere."""

from typing import ClassVar

import numpy as np

from discreet import check
from discreet.arrays import Floats
from discreet.mechanisms.noise import SphericalNoise
from discreet.mechanisms.sentence._sphere import NoisyDirection, chord_metric, vector_statement
from discreet.statement import Notion


class PlanarLaplace(NoisyDirection):
    """Release the direction of each unit vector plus noise of density ``exp(-epsilon * |z|)``.

    Privacy: unit sentence, adjacency replace, metric notion. For any two unit vectors x, x' and any
    set of outputs S, ``P(S|x) <= exp(epsilon * |x - x'|) * P(S|x')``. The noisy vector satisfies
    it; scaling that back to the sphere and rounding it to the grid are post-processing. A chord is
    shorter than its arc, so the same holds with the angle in place of ``|x - x'|``.

    Paper: Du et al., "Sanitizing Sentence Embeddings (and Labels) for Local Differential Privacy",
    WWW 2023. Where we differ: the density has the minus sign that the paper's display lacks, and
    vectors are released on a public grid.

    Args:
        dimension: length of the vectors, at least 2.
        epsilon: loss allowed per unit of distance, above 0.

    >>> mechanism = PlanarLaplace(dimension=3, epsilon=50.0)
    >>> released = mechanism.release([[1.0, 0.0, 0.0]] * 4, np.random.default_rng(0))
    >>> released.shape, bool((released[:, 0] > 0.5).all())
    ((4, 3), True)
    """

    name: ClassVar[str] = "planar-laplace"

    def __init__(self, dimension: int, epsilon: float) -> None:
        dimension = check.whole(dimension, "dimension of PlanarLaplace", at_least=2)
        self.epsilon = check.positive(epsilon, "epsilon of PlanarLaplace")
        super().__init__(
            dimension,
            SphericalNoise(dimension, self.epsilon),
            vector_statement(Notion.METRIC, self.epsilon, metric=chord_metric(dimension)),
        )

    def random_parts(self, count: int, rng: np.random.Generator) -> tuple[None, Floats]:
        """No angles, and the noise."""
        return None, self.noise.add_noise(np.zeros((count, self.dimension)), rng)
