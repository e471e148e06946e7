"""CMP (calibrated multivariate perturbations): spherical noise, then the nearest word."""

import math
from typing import ClassVar

import numpy as np

from discreet import check
from discreet.arrays import Floats
from discreet.mechanisms.word._certificate import metric_of
from discreet.mechanisms.word._noisy_nearest import NoisyNearest
from discreet.mechanisms.word._words import PUBLIC, SCOPE
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit

# Far above any norm that comes out: noise of this many times its mean is still a finite number.
_HEADROOM = 1e6


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

    def sample(self, count: int, rng: np.random.Generator) -> Floats:
        """``count`` independent noise vectors."""
        noise = rng.standard_normal((count, self.dimension))
        norms = np.sqrt(np.einsum("ij,ij->i", noise, noise))
        while (empty := norms == 0).any():  # no direction; can happen in 1 dimension, rarely
            noise[empty] = rng.standard_normal((int(empty.sum()), self.dimension))
            norms[empty] = np.sqrt(np.einsum("ij,ij->i", noise[empty], noise[empty]))
        noise *= (rng.standard_gamma(self.dimension, count) / self.rate / norms)[:, None]
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
            PrivacyStatement(
                notion=Notion.METRIC,
                epsilon=self.epsilon,
                metric=metric_of(space),
                unit=Unit.WORD,
                adjacency=Adjacency.REPLACE,
                scope=SCOPE,
                public=PUBLIC,
            ),
        )
