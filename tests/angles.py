"""Laws of angles by quadrature, slowly and independently of the package."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.integrate import quad

BINS = 24


def purkayastha_shape(dimension: int, kappa: float) -> Callable[[float], float]:
    """The logarithm of the angle's density, up to a constant."""

    def shape(t: float) -> float:
        body = (dimension - 2) * math.log(math.sin(t)) if dimension > 2 else 0.0
        return body - kappa * t

    return shape


def binned(
    shape: Callable[[float], float], points: int = 4_001
) -> tuple[np.ndarray, np.ndarray, float]:
    """Edges of bins of about equal mass, their probabilities, and the logarithm of the integral."""
    even, fine = np.linspace(0, math.pi, points), np.geomspace(1e-9, 3, points)
    grid = np.unique(np.concatenate([even, fine]))
    grid = grid[(grid > 0) & (grid < math.pi)]
    logs = np.array([shape(t) for t in grid])
    top = logs.max()
    heights = np.exp(logs - top)
    cells = np.diff(grid) * (heights[1:] + heights[:-1]) / 2
    rough = np.append(0, np.cumsum(cells)) / cells.sum()
    edges = np.interp(np.arange(1, BINS) / BINS, rough, grid)
    first = grid[max(0, int(np.searchsorted(rough, 1e-14)) - 1)]
    last = grid[min(len(grid) - 1, int(np.searchsorted(rough, 1 - 1e-14)) + 1)]
    first, last = (0.0 if first == grid[0] else first), (math.pi if last == grid[-1] else last)
    cuts = np.concatenate([[first], edges, [last]])

    def mass(low: float, high: float) -> float:
        # Pieces, because the end bins are long and their mass sits at one side.
        pieces = np.linspace(low, high, 9)
        return sum(
            quad(
                lambda t: math.exp(shape(t) - top) if 0 < t < math.pi else 0.0, a, b, epsrel=1e-12
            )[0]
            for a, b in pairwise(pieces)
        )

    masses = np.array([mass(a, b) for a, b in pairwise(cuts)])
    total = float(masses.sum())
    return edges, masses / total, math.log(total) + float(top)


def noisy_direction_shape(
    dimension: int, log_noise: Callable[[np.ndarray], np.ndarray], reach: float
) -> Callable[[float], float]:
    """The angle's log-density when noise is added to a unit vector and the sum is normalised.

    ``log_noise`` is the log-density of the noise as a function of its length.
    """
    radius = np.linspace(1e-6, reach, 1501)

    def shape(t: float) -> float:
        length = np.sqrt(np.maximum(radius**2 - 2 * radius * math.cos(t) + 1, 0))
        logs = (dimension - 1) * np.log(radius) + log_noise(length)
        top = logs.max()
        whole = math.log(np.trapezoid(np.exp(logs - top), radius)) + top
        return (dimension - 2) * math.log(math.sin(t)) + whole

    return shape


def pole(dimension: int, count: int) -> np.ndarray:
    """The first unit vector, many times."""
    rows = np.zeros((count, dimension))
    rows[:, 0] = 1.0
    return rows


def in_bins(angles: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.searchsorted(edges, angles)


def random_units(count: int, dimension: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dimension))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
