"""Tools to compare noise with its law: quadrature, directions, and the exact law on a line."""

from collections.abc import Callable

import numpy as np
from scipy import stats

from goodness import LEVEL, follows


def total_mass(
    log_density: Callable[[np.ndarray], np.ndarray], dimension: int, reach: float
) -> float:
    """The integral of a density over 1, 2 or 3 dimensions, up to ``reach`` from the origin."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    radius, step = reach * (nodes + 1) / 2, reach * weights / 2
    directions, areas = {1: _ends, 2: _circle, 3: _sphere}[dimension]()
    total = 0.0
    for direction, area in zip(directions, areas, strict=True):
        density = np.exp(log_density(radius[:, None] * direction))
        total += area * float((step * radius ** (dimension - 1) * density).sum())
    return total


def _ends():
    return np.array([[1.0], [-1.0]]), np.ones(2)


def _circle(count=64):
    angle = 2 * np.pi * np.arange(count) / count
    return np.column_stack([np.cos(angle), np.sin(angle)]), np.full(count, 2 * np.pi / count)


def _sphere():
    height, weight = np.polynomial.legendre.leggauss(40)
    ring, arc = _circle(40)
    flat = np.sqrt(1 - height**2)[:, None, None] * ring
    directions = np.concatenate([flat, np.broadcast_to(height[:, None, None], (40, 40, 1))], axis=2)
    return directions.reshape(-1, 3), np.outer(weight, arc).ravel()


def norms_fit(noise: np.ndarray, rate: float) -> bool:
    """False if the norms contradict the Gamma law of spherical noise (Kolmogorov-Smirnov)."""
    law = stats.gamma(noise.shape[1], scale=1 / rate)
    return follows(np.linalg.norm(noise, axis=1), law.cdf)


def directions_fit(noise: np.ndarray, axis: np.ndarray) -> bool:
    """False if the cosines with an axis contradict a uniform direction."""
    d = noise.shape[1]
    cosines = noise @ axis / np.linalg.norm(noise, axis=1) / np.linalg.norm(axis)
    if d == 1:
        return bool(stats.binomtest(int((cosines > 0).sum()), len(noise)).pvalue > LEVEL)
    law = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1, scale=2)
    return follows(cosines, law.cdf)


def independent(first: np.ndarray, second: np.ndarray) -> bool:
    """False if two columns of numbers visibly depend on each other (rank correlation)."""
    return bool(stats.spearmanr(first, second).pvalue > LEVEL)


def law_on_a_line(points: np.ndarray, rate: float) -> np.ndarray:
    """``(words, words)``: the exact law of noise-then-nearest for points on a line.

    The noise has density rate / 2 * exp(-rate * |z|); a word gets what falls between the middles to
    its neighbours.
    """
    places, first = np.unique(points.ravel(), return_index=True)
    edges = np.concatenate([[-np.inf], (places[1:] + places[:-1]) / 2, [np.inf]])
    steps = np.diff(stats.laplace.cdf(edges - points.reshape(-1, 1), scale=1 / rate), axis=1)
    law = np.zeros((len(points), len(points)))
    law[:, first] = steps
    return law
