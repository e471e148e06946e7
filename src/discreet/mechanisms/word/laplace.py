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


class LaplaceNoise:
    """Independent Laplace noise of one scale on every coordinate, given that it is inside a box.

    Args:
        scale: of the noise without a box.
        half_width: the noise of each coordinate lies between minus this and this.
    """

    def __init__(self, scale: float, half_width: float = math.inf) -> None:
        self.scale, self.half_width = scale, half_width

    @property
    def width(self) -> float:
        """The distance over which the density changes by a factor of e, or ends."""
        return min(self.scale, self.half_width)

    @property
    def standard_deviation(self) -> float:
        """Of each coordinate."""
        width = self.half_width / self.scale
        if width < 1e-2:
            # The closed form loses its digits; this is the series about the uniform law.
            return self.half_width * math.sqrt((1 - width / 4 + width**2 / 120) / 3)
        width = min(width, 1e3)  # beyond, nothing is left to be cut off
        cut = width * (width + 2.0) * math.exp(-width) / -math.expm1(-width)
        return self.scale * math.sqrt(2.0 - cut)

    def add_noise(self, vectors: Floats, rng: np.random.Generator) -> Floats:
        """A fresh, independent noise vector for every row."""
        noise = exponential(vectors.shape, rng, self.half_width / self.scale)
        np.negative(noise, out=noise, where=rng.integers(0, 2, noise.shape, dtype=np.bool_))
        noise *= self.scale
        if self.half_width < math.inf:
            np.clip(noise, -self.half_width, self.half_width, out=noise)
        noise += vectors
        return noise

    def log_density(self, vectors: Floats, outputs: Floats) -> Floats:
        """Log-density of each output row given the vector in the same row; -inf outside the box."""
        away = np.abs(outputs - vectors)
        return self._logs(away.sum(axis=1), away.max(axis=1, initial=0.0), vectors.shape[1])

    def log_densities(self, vectors: Floats, outputs: Floats) -> Floats:
        """``(outputs, vectors)``: the log-density of every output given every vector."""
        from scipy.spatial.distance import cdist  # slow to import, and only needed here

        away = cdist(outputs, vectors, "cityblock")
        boxed = self.half_width < math.inf
        farthest = cdist(outputs, vectors, "chebyshev") if boxed else away
        return self._logs(away, farthest, vectors.shape[1])

    def _logs(self, away: Floats, farthest: Floats, dimension: int) -> Floats:
        """By the distance in all coordinates together, and in the one where it is largest."""
        mass = -math.expm1(-self.half_width / self.scale)
        constant = dimension * (math.log(2.0 * self.scale) + math.log(mass))
        logs = -away / self.scale - constant
        return np.where(farthest <= self.half_width, logs, -math.inf)


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
