"""p-values and bounds that hold at every sample size, so that a stated false-alarm rate is kept.

An audit runs many tests at levels around 1e-9. Approximations by the normal or the chi-squared law
are not good that far out in the tails; everything here is exact or a proven bound. (The laws of
``scipy.stats`` would do, but take longer to import than a short audit takes.)
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.arrays import Floats


def fit_p_value(observed: NDArray[np.integer[Any]], probabilities: Floats) -> float:
    """Bound on the probability of counts that fit a law as badly as these, by divergence.

    For n draws over k cells, P(n KL(counts / n, law) >= t) <= exp(-t) (e t / (k - 1))^(k - 1) for
    t > k - 1, whatever n and the law are (Agrawal, "Finite-sample concentration of the multinomial
    in relative entropy", 2020).

    >>> fit_p_value(np.array([500, 500]), np.array([0.5, 0.5]))
    1.0
    >>> fit_p_value(np.array([600, 400]), np.array([0.5, 0.5])) < 1e-6
    True
    """
    n = int(observed.sum())
    seen = observed > 0
    if (seen & (probabilities <= 0)).any():
        return 0.0
    cells = int((probabilities > 0).sum())
    if n == 0 or cells < 2:
        return 1.0
    counts = observed[seen].astype(np.float64)
    t = float((counts * np.log(counts / (n * probabilities[seen]))).sum())
    if t <= cells - 1:
        return 1.0
    return min(1.0, math.exp(-t + (cells - 1) * (1 + math.log(t / (cells - 1)))))


def binomial_p_values(successes: Any, trials: Any, probability: Any) -> Floats:
    """Two-sided exact p-values, of one count or of many: twice the smaller tail."""
    law = (trials, np.clip(probability, 0.0, 1.0))
    low, high = special.bdtr(successes, *law), special.bdtrc(successes - 1, *law)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(low, high)))


def same_rate_p_value(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Fisher's exact test, two-sided (twice the smaller tail), of two samples of an event."""
    a, events = int(first.sum()), int(first.sum()) + int(second.sum())
    # How many of all events may be in the first sample, and how likely that is.
    inside = np.arange(max(0, events - len(second)), min(events, len(first)) + 1)
    weights = -special.betaln(inside + 1, len(first) - inside + 1)
    outside = events - inside
    weights -= special.betaln(outside + 1, len(second) - outside + 1)
    law = special.softmax(weights)
    return float(min(1.0, 2 * min(law[inside <= a].sum(), law[inside >= a].sum())))


def at_least(successes: NDArray[Any] | int, trials: int, level: float) -> Any:
    """Clopper-Pearson: a probability below this is contradicted at the level."""
    k = np.asarray(successes, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        low = special.betaincinv(k, trials - k + 1, level)
    return np.where(k > 0, low, 0.0)


def at_most(successes: NDArray[Any] | int, trials: int, level: float) -> Any:
    """Clopper-Pearson: a probability above this is contradicted at the level."""
    k = np.asarray(successes, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        high = special.betaincinv(k + 1, trials - k, 1 - level)
    return np.where(k < trials, high, 1.0)
