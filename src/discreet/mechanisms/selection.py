"""Choosing one of many public candidates by score: exponential mechanism and permute-and-flip.

Both take scores of sensitivity 1 (replacing one sentence moves no score by more than 1), both are
epsilon private, and both are sampled with every candidate reachable, however small its probability.
Permute-and-flip (McKenna and Sheldon 2020) never has a lower expected score.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp, roots_legendre

from discreet import check
from discreet.arrays import Floats, Ids
from discreet.randomness import exponential

_FAR = 40.0
RULES = ("permute-and-flip", "exponential")


@dataclass(frozen=True, eq=False)
class Levels:
    """Whole numbers of at least 0 for each of some candidates, row by row; most are the row's own.

    Attributes:
        candidates: how many there are in each row.
        lowest: the level of all candidates of a row that are not listed.
        ends: where the listed candidates of each row end.
        candidate: the listed candidates, rising within a row.
        level: their levels, other than the row's own.
    """

    candidates: int
    lowest: Ids
    ends: Ids
    candidate: Ids
    level: Ids

    @property
    def rows(self) -> Ids:
        """The row of each listed candidate."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))

    def dense(self) -> Ids:
        """``(rows, candidates)``: all of them."""
        out = np.repeat(self.lowest[:, None], self.candidates, axis=1)
        out[self.rows, self.candidate] = self.level
        return out

    def counts(self) -> Ids:
        """``(rows, levels)``: how many candidates have each level."""
        rows, width = len(self.ends), 1 + int(max(self.lowest.max(), self.level.max(initial=0)))
        flat = np.bincount(self.rows * width + self.level, minlength=rows * width)
        out = flat.reshape(rows, width)
        out[np.arange(rows), self.lowest] += self.candidates - np.diff(self.ends, prepend=0)
        return out

    def members(self, level: Ids, number: Ids) -> Ids:
        """Of each row the candidate of that number, counted from 0, among those of one level."""
        rows, ends = self.rows, self.ends
        first = np.concatenate([[0], ends[:-1]])
        # Before a candidate that is not listed come as many listed ones as it is moved up by.
        up = self.candidate - (np.arange(len(rows)) - first[rows]) <= number[rows]
        members = number + np.bincount(rows[up], minlength=len(ends))
        alike = self.level == level[rows]
        among = np.cumsum(np.concatenate([[0], alike]))
        there = alike & (among[:-1] - among[first[rows]] == number[rows])
        members[rows[there]] = self.candidate[there]
        return members


@dataclass(frozen=True)
class Selection:
    """A rule and the loss it may cause.

    Args:
        rule: ``permute-and-flip`` or ``exponential``.
        epsilon: loss allowed when every score moves by at most 1; 0 chooses uniformly.
    """

    rule: str
    epsilon: float

    def __post_init__(self) -> None:
        check.one_of(self.rule, RULES, "selection")
        check.non_negative(self.epsilon, "epsilon of a selection")

    @property
    def rate(self) -> float:
        """What a score is multiplied by: a step of 1 costs at most half of epsilon, twice."""
        return self.epsilon / 2

    def log_probabilities(self, scores: Floats) -> Floats:
        """``(n, candidates)``: the law of the choice for each row of scores.

        Every entry is right to 1e-10 of itself or better. The exponential mechanism's law is
        ``q_i / sum q`` with ``q_i = exp(-rate * (best score - score i))``. That of permute-and-flip
        is ``q_i`` times the integral over t from 0 to 1 of ``prod (1 - t * q_j)``, j other than i:
        in a random order, in which each comes at a uniform time t, i is tried and taken, and all
        who came before it were tried and refused. This is a polynomial of degree n - 1 in t, so
        that Gauss-Legendre quadrature with n / 2 points has no error but rounding; all its terms
        are positive.
        """
        weights = -self.rate * (scores.max(axis=1, keepdims=True) - scores)
        if self.rule == "exponential":
            return np.asarray(weights - logsumexp(weights, axis=1, keepdims=True))
        return _permute_and_flip(weights)

    def select(self, scores: Floats, rng: np.random.Generator) -> Ids:
        """One candidate for each row of scores, by noise on each: the largest sum is taken."""
        drawn = exponential(scores.shape, rng)
        if self.rule == "exponential":
            drawn = _gumbel(drawn)
        # From the best downwards: the sums of those that can win then keep all their digits.
        drawn += self.rate * (scores - scores.max(axis=1, keepdims=True))
        return np.asarray(drawn.argmax(axis=1))

    def select_level(self, levels: Levels, step: float, rng: np.random.Generator) -> Ids:
        """The same law for scores ``-step * level`` that take few values, at a draw for each value.

        The largest noise among the candidates of one level has a law of its own; the winning level
        then gives one of its candidates, each equally likely.

        Args:
            levels: of all candidates, at least one row.
            step: what a level takes off the score.
            rng: source of randomness.
        """
        counts = levels.counts()
        sums = self._largest_noise(counts, rng) - self.rate * step * np.arange(counts.shape[1])
        sums[counts == 0] = -np.inf
        best = sums.argmax(axis=1)
        number = rng.integers(0, counts[np.arange(len(counts)), best])
        return levels.members(best, number)

    def _largest_noise(self, counts: Ids, rng: np.random.Generator) -> Floats:
        """The law of the largest of ``counts`` independent draws of the rule's noise."""
        drawn = exponential(counts.shape, rng)
        many = np.maximum(counts, 1)
        if self.rule == "exponential":
            return _gumbel(drawn) + np.log(many)
        # exp(-drawn) is the chance of a larger maximum: 1 - (1 - exp(-x))^n, solved for x.
        return np.asarray(-np.log(-np.expm1(_log_share_below(drawn) / many)))


def _log_share_below(drawn: Floats) -> Floats:
    """``ln(1 - exp(-x))`` without loss of the small term, whichever that is."""
    with np.errstate(divide="ignore"):
        return np.where(drawn < 1, np.log(-np.expm1(-drawn)), np.log1p(-np.exp(-drawn)))


def _gumbel(drawn: Floats) -> Floats:
    """Gumbel noise from exponential draws, with the full range of its upper tail.

    A draw of 0 stands for all below the smallest other one. Taken as it is, its noise would be
    endless, and whoever is worse by whatever would win.
    """
    with np.errstate(divide="ignore"):  # of those that are far
        noise = -np.log(-_log_share_below(np.maximum(drawn, 2.0**-54)))
    # So far out the two are the same number, until the exponential is lost.
    return np.where(drawn > _FAR, drawn, noise)


def _permute_and_flip(weights: Floats) -> Floats:
    """The law of each row; that of the same weights in whatever order is computed once."""
    laws: dict[tuple[bytes, bytes], Floats] = {}
    out = np.empty_like(weights)
    for row, own in zip(weights, out, strict=True):
        values, inverse, counts = np.unique(row, return_inverse=True, return_counts=True)
        key = values.tobytes(), counts.tobytes()
        if key not in laws:
            laws[key] = _law_of_values(values, counts)
        own[:] = laws[key][inverse]
    return out


def _law_of_values(values: Floats, counts: Ids) -> Floats:
    """For each weight the chance of one candidate, where so many have it."""
    points, shares = _quadrature((int(counts.sum()) + 1) // 2)
    refused = np.log1p(-np.outer(points, np.exp(values)))
    # Written out: SciPy's logsumexp takes longer to begin than such a small sum takes.
    others = (refused @ counts)[:, None] - refused
    largest = others.max(axis=0)
    law = values + largest + np.log(shares @ np.exp(others - largest))
    # The points of thousands are themselves rounded, which shows in the sum; this takes it out.
    best = law.max()
    law -= best + np.log(counts @ np.exp(law - best))
    return np.asarray(law)


@lru_cache(maxsize=8)
def _quadrature(count: int) -> tuple[Floats, Floats]:
    points, shares = roots_legendre(count)
    return (points + 1) / 2, shares / 2
