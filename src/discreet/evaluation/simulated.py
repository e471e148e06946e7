"""What draws prove about a mechanism whose law has no formula.

An estimate from draws is no reason to say that something holds: 200 draws of a word never show more
than 200 different outcomes. What is said here holds at a stated confidence, by exact bounds
that need no large numbers, and is False wherever the draws do not prove it.

Most questions of a search are far from the edge, and a few draws settle them: a first look, at a
sixteenth of the cost, may say no (which claims nothing) or, with its own share of the doubt, yes.
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Generator, Ids
from discreet.protocols import WordMechanism

CONFIDENCE = 0.999
"""That nothing is said which does not hold, over all questions of one search."""
_QUESTIONS = 100
_MASS = 0.95
_KEEP_DRAWS, _OPTION_DRAWS = 2**14, 1000
_FIRST_LOOK = 16
_OPTION_WORDS = 31
# Named by a first look's few draws, outcomes have less of the chance than they will have.
_HOPELESS = 0.8


def keeps_at_least(mechanism: WordMechanism, ids: Ids, share: float, rng: Generator) -> bool:
    """Whether draws prove that these words stay with at least this probability on average.

    Draws of different words are independent and each stays or does not: by Hoeffding the mean of n
    of them is above its expectation by ``t`` with probability at most ``exp(-2 n t^2)``.
    """
    doubt = (1.0 - CONFIDENCE) / (2 * _QUESTIONS)

    def sure(draws: int) -> float:
        return math.sqrt(-math.log(doubt) / (2 * draws))

    def stayed(draws: int) -> float:
        words = np.resize(ids, draws)
        return float((mechanism.release(words, rng) == words).mean())

    draws = len(ids) * max(1, _KEEP_DRAWS // len(ids))
    # Whole rounds over the words: each counts the same.
    few = len(ids) * max(1, _KEEP_DRAWS // _FIRST_LOOK // len(ids))
    seen = stayed(few)
    if seen - sure(few) >= share:
        return True
    if seen + sure(few) < share:
        return False
    return stayed(draws) - sure(draws) >= share


def options_at_most(mechanism: WordMechanism, ids: Ids, count: float, rng: Generator) -> bool:
    """Whether draws prove that for most of these words so few outcomes have 95 % of the chance.

    Half of the draws of a word name its commonest outcomes; how often the others, which had no say
    in that, fall among these is binomial, with the bound of Clopper and Pearson. Measured on at
    most 31 words, evenly spaced; all of the bounds hold together.
    """
    from discreet.audit.chance import at_least  # slow to import, and only needed here

    places = np.linspace(0, len(ids) - 1, min(len(ids), _OPTION_WORDS)).astype(int)
    words = ids[places]
    few = _OPTION_DRAWS // _FIRST_LOOK
    if np.median(_hits(mechanism, words, few, count, rng)) < _HOPELESS * (few - few // 2):
        return False
    hits = _hits(mechanism, words, _OPTION_DRAWS, count, rng)
    judging = _OPTION_DRAWS - _OPTION_DRAWS // 2
    doubt = (1.0 - CONFIDENCE) / (_QUESTIONS * len(words))
    least = at_least(hits, judging, doubt)
    return bool(2 * np.count_nonzero(least >= _MASS) > len(words))


def _hits(
    mechanism: WordMechanism, words: Ids, draws: int, count: float, rng: Generator
) -> NDArray[np.float64]:
    """How many of the second half of each word's draws are among the commonest of the first."""
    drawn = mechanism.release(np.repeat(words, draws), rng).reshape(len(words), draws)
    naming, judging = drawn[:, : draws // 2], drawn[:, draws // 2 :]
    hits = np.empty(len(words))
    for row in range(len(words)):
        outcomes, times = np.unique(naming[row], return_counts=True)
        few = outcomes[np.argsort(-times, kind="stable")[: int(count)]]
        hits[row] = np.isin(judging[row], few).sum()
    return hits
