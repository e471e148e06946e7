"""Mahalanobis: noise shaped like the cloud of words, then the nearest word."""

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from discreet import check
from discreet.arrays import Floats, Ids, row_blocks
from discreet.errors import InvalidValue
from discreet.mechanisms.noise import SphericalNoise
from discreet.mechanisms.word._noisy_nearest import NoisyNearest
from discreet.mechanisms.word._words import word_statement
from discreet.spaces.distances import euclidean_metric
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Metric, MetricKind, Notion

# Below this share of the largest, an eigenvalue is rounding and not the shape of the words.
_FLATTEST = 1e-10
# Covers the rounding of the whitened vectors that the farthest distance is measured on.
_MARGIN = 1e-6


class EllipticalNoise:
    """Noise with density proportional to ``exp(-rate * sqrt(z' M^-1 z))`` for a covariance M.

    With M = A A, this is A times spherical noise.

    Args:
        covariance: M, symmetric and positive definite.
        rate: how fast the density falls with Mahalanobis distance, above 0.
    """

    def __init__(self, covariance: Floats, rate: float) -> None:
        values, directions = np.linalg.eigh(covariance)
        if values[0] <= _FLATTEST * values[-1]:
            raise InvalidValue(
                "the covariance of the noise has directions without width; "
                "take a shrinkage of Mahalanobis below 1"
            )
        self.spherical = SphericalNoise(len(covariance), rate)
        self.root: Floats = (directions * np.sqrt(values)) @ directions.T
        self.inverse_root: Floats = (directions / np.sqrt(values)) @ directions.T
        self.width = math.sqrt(float(values[0])) * self.spherical.width
        """The least distance over which the density changes by a factor of e."""
        self._log_volume = float(np.log(values).sum()) / 2

    def add_noise(self, vectors: Floats, rng: np.random.Generator) -> Floats:
        """A fresh, independent noise vector for every row."""
        noise = self.spherical.sample(len(vectors), rng) @ self.root
        noise += vectors
        return noise

    def log_density(self, vectors: Floats, outputs: Floats) -> Floats:
        """Log-density of each output row given the vector in the same row."""
        round_ = (outputs - vectors) @ self.inverse_root
        return self.spherical.log_density(np.zeros_like(round_), round_) - self._log_volume

    def log_densities(self, vectors: Floats, outputs: Floats) -> Floats:
        """``(outputs, vectors)``: the log-density of every output given every vector."""
        round_ = vectors @ self.inverse_root, outputs @ self.inverse_root
        return self.spherical.log_densities(*round_) - self._log_volume


class Mahalanobis(NoisyNearest):
    """Release the word nearest to the vector of each word plus noise shaped by the covariance.

    The noise has covariance proportional to ``M = shrinkage * S + (1 - shrinkage) * I``, where S is
    the covariance of the public vectors scaled to mean variance 1: wide where the words are spread
    out, narrow where they are not.

    Privacy: unit word, adjacency replace, metric notion. For any two words x, x' and any output y,
    ``P(y|x) <= exp(epsilon * d(x, x')) * P(y|x')`` with d the *Mahalanobis* distance
    ``sqrt((x - x')' M^-1 (x - x'))``; the statement names it and says what it is typically worth.
    An epsilon of this metric is not comparable with one of the Euclidean metric. Words are released
    independently; their number is public.

    Paper: Xu et al., "A Differentially Private Text Perturbation Method Using Regularized
    Mahalanobis Metric", PrivateNLP 2020, where shrinkage is called lambda. Where we differ: nothing
    in the law. 0.2 is the value that published code of this mechanism uses.

    Args:
        space: the public vocabulary.
        epsilon: loss allowed per unit of Mahalanobis distance, above 0.
        shrinkage: from 0 (spherical noise, as in CMP) to 1 (the covariance as it is).

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [5.0]])
    >>> mechanism = Mahalanobis(space, epsilon=2.0)
    >>> mechanism.release(np.array([0, 1, 2]), np.random.default_rng(0)).shape
    (3,)
    """

    name: ClassVar[str] = "mahalanobis"
    noise: EllipticalNoise

    def __init__(self, space: EmbeddingSpace, epsilon: float, *, shrinkage: float = 0.2) -> None:
        self.epsilon = check.positive(epsilon, "epsilon of Mahalanobis")
        name = "shrinkage of Mahalanobis"
        self.shrinkage = float(check.in_range(shrinkage, name, at_least=0, at_most=1))
        noise = EllipticalNoise(shaped_covariance(space, self.shrinkage), self.epsilon)
        metric = _metric(space, noise.inverse_root, self.shrinkage)
        statement = word_statement(space, Notion.METRIC, self.epsilon, metric=metric)
        super().__init__(space, space.vectors, noise, statement)

    def distance(self, first: Ids, second: Ids) -> Floats:
        """Distance of each pair of word ids in the metric of the statement."""
        gap = self.points[first].astype(np.float64) - self.points[second]
        return np.asarray(np.linalg.norm(gap @ self.noise.inverse_root, axis=1))


def shaped_covariance(space: EmbeddingSpace, shrinkage: float) -> Floats:
    """``shrinkage * S + (1 - shrinkage) * I`` with S the covariance scaled to mean variance 1."""
    d = space.dimension
    mean = space.vectors.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((d, d))
    for part in row_blocks(len(space), d):
        centred = space.vectors[part].astype(np.float64) - mean
        scatter += centred.T @ centred
    average = float(np.trace(scatter)) / d
    # Words that are all at one point have no shape: a sphere is as good as any.
    shape = scatter / average if average > 0 else np.eye(d)
    return shrinkage * shape + (1.0 - shrinkage) * np.eye(d)


def _metric(space: EmbeddingSpace, inverse_root: Floats, shrinkage: float) -> Metric:
    """Euclidean distances of the whitened vectors are the Mahalanobis distances of the words."""
    # Centred and in 64 bits, or a common offset would use up the digits.
    whitened = np.empty(space.vectors.shape)
    centre = space.vectors.mean(axis=0, dtype=np.float64)
    for part in row_blocks(len(space), space.dimension):
        whitened[part] = (space.vectors[part].astype(np.float64) - centre) @ inverse_root
    measured = euclidean_metric(EmbeddingSpace(space.words, whitened, space.provenance, space.name))
    # All digits that it takes to tell two numbers apart: the name is what identifies the metric.
    told = np.format_float_positional(shrinkage, trim="-")
    return replace(
        measured,
        name=(
            f"Mahalanobis distance with shrinkage {told} in the space {space.name} "
            f"({space.fingerprint[:12]})"
        ),
        farthest=measured.farthest * (1.0 + _MARGIN),
        kind=MetricKind.MAHALANOBIS,
    )
