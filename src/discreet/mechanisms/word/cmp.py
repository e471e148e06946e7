"""CMP (calibrated multivariate perturbations): spherical noise, then the nearest word."""

from typing import ClassVar

from discreet import check
from discreet.mechanisms.certificate import metric_of
from discreet.mechanisms.noise import SphericalNoise
from discreet.mechanisms.word._noisy_nearest import NoisyNearest
from discreet.mechanisms.word._words import word_statement
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion


class CMP(NoisyNearest):
    """Release the word nearest to the vector of each word plus spherical noise.

    Privacy: unit word, adjacency replace, metric notion. For any two words x, x' and any output y,
    ``P(y|x) <= exp(epsilon * d(x, x')) * P(y|x')`` with d the Euclidean distance of the vectors.
    Words are released independently, so a text of n words is protected at
    ``epsilon * sum_i d(x_i, x'_i)``; n itself is public.

    Paper: Feyisetan et al., "Privacy- and Utility-Preserving Textual Analysis via Calibrated
    Multivariate Perturbations", WSDM 2020. Where we differ: nothing in the law. The search is
    exact, and a word that the space does not have is never passed through.

    Args:
        space: the public vocabulary.
        epsilon: loss allowed per unit of distance, above 0.

    >>> import numpy as np
    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [5.0]])
    >>> mechanism = CMP(space, epsilon=2.0)
    >>> mechanism.release(np.array([0, 1, 2]), np.random.default_rng(0)).shape
    (3,)
    """

    name: ClassVar[str] = "cmp"

    def __init__(self, space: EmbeddingSpace, epsilon: float) -> None:
        self.epsilon = check.positive(epsilon, "epsilon of CMP")
        super().__init__(
            space,
            space.vectors,
            SphericalNoise(space.dimension, self.epsilon),
            word_statement(space, Notion.METRIC, self.epsilon, metric=metric_of(space)),
        )
