"""Laplace noise on every coordinate of a word's clipped vector, then the nearest word."""

import math
from typing import ClassVar

import numpy as np

from discreet import check
from discreet.arrays import Floats, Progress
from discreet.mechanisms.word._noisy_nearest import NoisyNearest
from discreet.mechanisms.word._sensitivity import (
    CLIPPED_PUBLIC,
    SCOPE,
    clipped,
    noise_scale,
    sensitivity_of,
)
from discreet.mechanisms.word._words import word_statement
from discreet.randomness import exponential
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion


def symmetric(magnitudes: Floats, rng: np.random.Generator) -> Floats:
    """The same magnitudes with independent, fair signs (in place)."""
    minus = rng.integers(0, 2, magnitudes.shape, dtype=np.bool_)
    return np.negative(magnitudes, out=magnitudes, where=minus)


class LaplaceNoise:
    """Independent Laplace noise of one scale on every coordinate."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    @property
    def width(self) -> float:
        """The distance over which the density changes by a factor of e."""
        return self.scale

    @property
    def standard_deviation(self) -> float:
        """Of each coordinate."""
        return math.sqrt(2.0) * self.scale

    def add_noise(self, vectors: Floats, rng: np.random.Generator) -> Floats:
        """A fresh, independent noise vector for every row."""
        noise = symmetric(exponential(vectors.shape, rng), rng)
        noise *= self.scale
        noise += vectors
        return noise

    def log_density(self, vectors: Floats, outputs: Floats) -> Floats:
        """Log-density of each output row given the vector in the same row."""
        away = np.abs(outputs - vectors).sum(axis=1) / self.scale
        return np.asarray(-away - vectors.shape[1] * math.log(2.0 * self.scale))

    def log_densities(self, vectors: Floats, outputs: Floats) -> Floats:
        """``(outputs, vectors)``: the log-density of every output given every vector."""
        from scipy.spatial.distance import cdist  # slow to import, and only needed here

        away = cdist(outputs, vectors, "cityblock") / self.scale
        return np.asarray(-away - vectors.shape[1] * math.log(2.0 * self.scale))


class Laplace(NoisyNearest):
    """Release the word nearest to the clipped vector plus independent Laplace noise.

    Privacy: unit word, adjacency replace, pure notion. For any two words x, x' of the vocabulary
    and any set of outputs S, ``P(S|x) <= exp(epsilon) * P(S|x')``: the noise has scale
    ``Delta_1 / epsilon`` where ``Delta_1`` is the largest l1 distance of two clipped vectors. The
    guarantee is per word; a text of n words is protected word by word and n is public.

    Where we differ from the word-embedding literature: ``Delta_1`` is the largest distance over the
    public vocabulary (``sensitivity="exact"``), not ``2 * sqrt(d) * clip`` (``"general"``).

    Args:
        space: the public vocabulary.
        epsilon: loss allowed between any two words, above 0.
        clip: longer vectors are scaled down to this Euclidean norm.
        sensitivity: ``"exact"`` or ``"general"``.
        progress: called with (done, total) while the farthest pair of a large space is searched.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0, 1.0], [1, 1], [5, 0]])
    >>> mechanism = Laplace(space, epsilon=2.0, clip=1.0)
    >>> mechanism.statement.notion.value, mechanism.statement.epsilon
    ('pure', 2.0)
    >>> general = Laplace(space, epsilon=2.0, clip=1.0, sensitivity="general")
    >>> mechanism.noise.scale < general.noise.scale
    True
    """

    name: ClassVar[str] = "laplace"
    noise: LaplaceNoise

    def __init__(
        self,
        space: EmbeddingSpace,
        epsilon: float,
        clip: float,
        *,
        sensitivity: str = "exact",
        progress: Progress | None = None,
    ) -> None:
        self.epsilon = check.positive(epsilon, "epsilon of Laplace")
        self.clip = check.positive(clip, "clip of Laplace")
        points = clipped(space, self.clip)
        self.sensitivity = sensitivity_of(
            space,
            points,
            self.clip,
            "l1",
            choice=sensitivity,
            owner="Laplace",
            progress=progress,
        )
        super().__init__(
            space,
            points,
            LaplaceNoise(noise_scale(self.sensitivity.value / self.epsilon, "Laplace")),
            word_statement(space, Notion.PURE, self.epsilon, scope=SCOPE, public=CLIPPED_PUBLIC),
        )
