"""Goodness of fit with a stated false-alarm rate.

The whole suite may cry wolf once in a million runs. At most 1,000 comparisons are made in it, so
each uses a level of 1e-9.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy import stats

LEVEL = 1e-9


def fits(draws: np.ndarray, probabilities: np.ndarray) -> bool:
    """False if the draws contradict the law (chi-squared, cells below 10 expected are merged)."""
    expected = probabilities * len(draws)
    observed = np.bincount(draws, minlength=len(probabilities)).astype(float)
    if observed[probabilities == 0].any():
        return False
    order = np.argsort(expected)
    expected, observed = expected[order], observed[order]
    small = int(np.searchsorted(np.cumsum(expected), 10.0)) + 1
    expected = np.append(expected[:small].sum(), expected[small:])
    observed = np.append(observed[:small].sum(), observed[small:])
    large = np.flatnonzero(expected >= 10.0)
    if len(large) < 2:
        return True
    expected, observed = expected[large], observed[large]
    statistic = ((observed - expected) ** 2 / expected).sum()
    return bool(stats.chi2.sf(statistic, len(large) - 1) > LEVEL)


def follows(draws: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> bool:
    """False if the draws contradict a continuous law (Kolmogorov-Smirnov).

    By Massart's bound, which holds for any number of draws and this far out is the p-value; an
    exact one takes longer than everything else.
    """
    below, steps = cdf(np.sort(draws)), np.linspace(0.0, 1.0, len(draws) + 1)
    gap = max((steps[1:] - below).max(), (below - steps[:-1]).max())
    return bool(2 * math.exp(-2 * len(draws) * gap**2) > LEVEL)


def mean_fits(draws: np.ndarray, probabilities: np.ndarray, scores: np.ndarray) -> bool:
    """False if the mean score of the draws contradicts the law (normal approximation).

    With distances as scores this is the sharpest test of the rate of a distance law.
    """
    mean = probabilities @ scores
    variance = probabilities @ (scores - mean) ** 2
    gap = (scores[draws].mean() - mean) / np.sqrt(variance / len(draws))
    return bool(2 * stats.norm.sf(abs(gap)) > LEVEL)


def exact_delta(first: np.ndarray, second: np.ndarray, times: int, epsilon: float) -> float:
    """The delta of two laws drawn so many times, at an epsilon: over every tuple of outputs."""
    pairs = [
        (math.prod(first[y] for y in out), math.prod(second[y] for y in out))
        for out in itertools.product(range(len(first)), repeat=times)
    ]
    return math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in pairs)
