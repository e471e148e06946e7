"""Small spaces for exact checks: spread out at random, and clustered with an outlier."""

import numpy as np

from discreet.spaces.space import EmbeddingSpace
from discreet.text.stand_ins import NAMES, NOUNS


def random_space(count: int = 120, dimension: int = 8, seed: int = 0) -> EmbeddingSpace:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension))
    return EmbeddingSpace.from_arrays(_names(count), vectors, "test: random", name="random")


def clustered_space(count: int = 120, dimension: int = 8, seed: int = 0) -> EmbeddingSpace:
    """Three tight clusters and one outlier: here the classic mistakes become visible."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((3, dimension))
    vectors = centres[np.arange(count) % 3] + 0.05 * rng.standard_normal((count, dimension))
    vectors[-1] = 3.0
    return EmbeddingSpace.from_arrays(_names(count), vectors, "test: clusters", name="clusters")


def everyday_space(count: int = 60, dimension: int = 6, seed: int = 0) -> EmbeddingSpace:
    """With some of the nouns and names that stand in for unknown words."""
    vectors = np.random.default_rng(seed).standard_normal((count, dimension))
    words = [*_names(count - 10), *NOUNS[:5], *NAMES[:5]]
    return EmbeddingSpace.from_arrays(words, vectors, "test: everyday", name="everyday")


def both_spaces(count: int = 120) -> list[EmbeddingSpace]:
    return [random_space(count), clustered_space(count)]


def _names(count: int) -> list[str]:
    return ["[UNK]", *(f"word{i}" for i in range(1, count))]


def all_distances(space: EmbeddingSpace) -> np.ndarray:
    """Slow and obvious."""
    v = space.vectors.astype(np.float64)
    return np.sqrt(((v[:, None, :] - v[None, :, :]) ** 2).sum(axis=2))
