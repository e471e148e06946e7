"""Normalised planar Laplace: spherical noise on a unit vector, then back to the sphere."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.mechanisms.sentence._sphere import (
    PUBLIC,
    SCOPE,
    Floats,
    checked_outputs,
    checked_units,
    chord_metric,
    in_blocks,
    on_sphere,
)
from discreet.mechanisms.word.cmp import SphericalNoise
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit


class PlanarLaplace:
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
        self.dimension = check.whole(dimension, "dimension of PlanarLaplace", at_least=2)
        self.epsilon = check.positive(epsilon, "epsilon of PlanarLaplace")
        self.noise = SphericalNoise(self.dimension, self.epsilon)
        self._statement = PrivacyStatement(
            notion=Notion.METRIC,
            epsilon=self.epsilon,
            metric=chord_metric(self.dimension),
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
        """Fresh noise for each unit row, back to the sphere, on the grid of 2^-20."""

        def noisy(units: Floats) -> Floats:
            return on_sphere(self.noise.add_noise(units, rng))

        return in_blocks(vectors, self.dimension, "PlanarLaplace", noisy)

    def log_density(self, vectors: ArrayLike, outputs: ArrayLike) -> Floats:
        """Log-density of each noisy row, before it is scaled back to the sphere."""
        units = checked_units(vectors, self.dimension, "PlanarLaplace")
        return self.noise.log_density(units, checked_outputs(outputs, units, "PlanarLaplace"))
