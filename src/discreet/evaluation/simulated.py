"""What draws prove about a mechanism whose law has no formula.

An estimate from draws is no reason to say that something holds: 200 draws of a word never show more
than 200 different outcomes. What is said here holds at a stated confidence, by exact bounds
that need no large numbers, and is False wherever the draws do not prove it.
"""

import math

import numpy as np

from discreet.arrays import Generator, Ids
from discreet.protocols import WordMechanism

CONFIDENCE = 0.999
"""That nothing is said which does not hold, over all questions of one search."""
_QUESTIONS = 100
_MASS = 0.95
_KEEP_DRAWS, _OPTION_DRAWS = 2**14, 1000
_OPTION_WORDS = 31


def keeps_at_least(mechanism: WordMechanism, ids: Ids, share: float, rng: Generator) -> bool:
    """Whether draws prove that these words stay with at least this probability on average.

    Draws of different words are independent and each stays or does not: by Hoeffding the mean of n
    of them is above its expectation by ``t`` with probability at most ``exp(-2 n t^2)``.
    """
    each = max(1, _KEEP_DRAWS // len(ids))
    words = np.repeat(ids, each)
    stayed = float((mechanism.release(words, rng) == words).mean())
    doubt = (1.0 - CONFIDENCE) / _QUESTIONS
    return stayed - math.sqrt(-math.log(doubt) / (2 * len(words))) >= share


def options_at_most(mechanism: WordMechanism, ids: Ids, count: float, rng: Generator) -> bool:
    """Whether draws prove that for most of these words so few outcomes have 95 % of the chance.

    Half of the draws of a word name its commonest outcomes; how often the others, which had no say
    in that, fall among these is binomial, with the bound of Clopper and Pearson. Measured on at
    most 31 words, evenly spaced; all of the bounds hold together.
    """
    from scipy.stats import beta  # slow to import, and only needed here

    places = np.linspace(0, len(ids) - 1, min(len(ids), _OPTION_WORDS)).astype(int)
    words = ids[places]
    drawn = mechanism.release(np.repeat(words, _OPTION_DRAWS), rng).reshape(len(words), -1)
    naming, judging = np.split(drawn, 2, axis=1)
    hits = np.empty(len(words))
    for row in range(len(words)):
        outcomes, times = np.unique(naming[row], return_counts=True)
        few = outcomes[np.argsort(-times, kind="stable")[: int(count)]]
        hits[row] = np.isin(judging[row], few).sum()
    doubt = (1.0 - CONFIDENCE) / (_QUESTIONS * len(words))
    least = beta.ppf(doubt, np.maximum(hits, 1e-9), judging.shape[1] - hits + 1)
    return bool(2 * np.count_nonzero(least >= _MASS) > len(words))
