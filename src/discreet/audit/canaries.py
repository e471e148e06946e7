"""What one training run, or a few, certainly gave away: a lower bound on epsilon from canaries.

Canaries are users, or entities, that are put into the training data by a coin each. Whoever sees
what training released then guesses some of the coins. If training is (epsilon, delta)-DP, many
right guesses are improbable, whatever the guesser does, although all canaries share the run
(Steinke, Nasr, Jagielski 2023). So many right guesses refute an epsilon; few prove nothing.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet import check
from discreet.arrays import Floats, Progress
from discreet.randomness import generator
from discreet.search import last_that_holds

Bools = NDArray[np.bool_]

# A claim is contradicted if the guesses are this improbable under it, after all ways of guessing.
# No smaller: a delta of 1e-5 allows that many canaries to be given away now and then.
ALARM = 1e-3
# The shares of canaries that are guessed, highest scores as in and lowest as out; and highest only,
# for canaries that are seldom drawn: a low score says little of them. Fixed before any score is
# seen, and the level is split over all of them.
_BOTH_ENDS = (1.0, 0.5, 0.25)
_TOP_ONLY = (0.125,)
_GRID = 0.05
_MOST_EPSILON = 50.0


def p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """Bound on the probability of so many right guesses under (epsilon, delta)-DP.

    With W binomial, ``guesses`` trials of probability e^epsilon / (1 + e^epsilon), it is
    ``P(W >= correct) + 2 * canaries * delta * max_i P(correct - i <= W < correct) / i``
    (their Theorem 5.2 and Corollary 5.4; for delta = 0 their Theorem 5.1).

    Args:
        canaries: How many coins were thrown.
        guesses: How many were guessed; fixed before, or no more than this whatever is seen.
        correct: How many guesses were right.
        epsilon: Of the claim.
        delta: Of the claim; canaries and guarantee must be of the same adjacency (add or remove).

    >>> round(p_value(100, 100, 75, math.log(3), 0.0), 3)
    0.553
    """
    canaries = check.whole(canaries, "canaries", at_least=1)
    guesses = check.whole(guesses, "guesses")
    correct = check.whole(correct, "correct guesses")
    if not correct <= guesses <= canaries:
        raise check.fail("correct guesses", "at most the guesses, and these the canaries", correct)
    epsilon = check.non_negative(epsilon, "epsilon")
    delta = check.in_range(delta, "delta", at_least=0, at_most=1)
    right = 1 / (1 + math.exp(-epsilon))
    # P(W >= k), for k from what was seen down to 0.
    least = np.arange(correct, 0, -1)
    tails = np.append(special.betainc(least, guesses - least + 1, right), 1.0)
    bound = float(tails[0])
    if delta > 0 and correct > 0:
        near = tails[1:] - tails[0]
        bound += 2 * canaries * delta * float((near / np.arange(1, correct + 1)).max())
    return min(1.0, bound)


def lower_bound(canaries: int, guesses: int, correct: int, delta: float, level: float) -> float:
    """The epsilon up to which every (epsilon, delta)-DP is contradicted at the level; at least 0.

    All epsilons below it are contradicted too, so it exceeds the true one only if that one is:
    with probability at most ``level``.

    >>> round(lower_bound(1000, 100, 75, 1e-4, 0.05), 3)
    0.673
    """
    level = check.probability(level, "level")

    def contradicted(epsilon: float) -> bool:
        return p_value(canaries, guesses, correct, epsilon, delta) < level

    low = -_GRID
    while low + _GRID <= _MOST_EPSILON and contradicted(low + _GRID):
        low += _GRID
    if low < 0:
        return 0.0
    return last_that_holds(contradicted, low, low + _GRID, absolute=1e-6)


class Game(Protocol):
    """Training with canaries."""

    @property
    def canaries(self) -> int:
        """How many there are in one run."""
        ...

    def play(self, included: Bools, rng: np.random.Generator) -> Floats:
        """Train once with these canaries; a score for each from what is released, high for in."""
        ...


@dataclass(frozen=True)
class CanaryAudit:
    """What the guesses show."""

    lower: float
    """Epsilon is above this, at the confidence."""
    confidence: float
    claimed: float
    delta: float
    p_value: float
    """Bound on the probability of guesses as good as these if the claim were true."""
    canaries: int
    runs: int
    guesses: int
    correct: int
    alarm: float = ALARM

    @property
    def broken(self) -> bool:
        """True if the claim is contradicted: for a true one with probability at most ``alarm``."""
        return self.p_value < self.alarm

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"broken": self.broken}


def audit_canaries(
    game: Game,
    *,
    claimed: float,
    delta: float,
    runs: int = 1,
    confidence: float = 0.95,
    alarm: float = ALARM,
    seed: int | None = None,
    progress: Progress | None = None,
) -> CanaryAudit:
    """Play the game and bound epsilon from below.

    Several runs, each with canaries of its own, are one mechanism in which a canary takes part in
    one run only, so they obey the same (epsilon, delta) and count as one game with more canaries.

    Args:
        game: Training with canaries in it.
        claimed: Epsilon that is claimed for one canary more or less.
        delta: Failure probability of that claim.
        runs: How many runs.
        confidence: Of the lower bound.
        alarm: Probability with which a true claim may be called contradicted.
        seed: To repeat an audit.
        progress: Called with (done, total) runs.
    """
    runs = check.whole(runs, "runs", at_least=1)
    rng = generator(seed)
    coins, scores = [], []
    for run in range(runs):
        coins.append(rng.random(game.canaries) < 0.5)
        scores.append(np.asarray(game.play(coins[-1], rng), dtype=np.float64))
        if progress is not None:
            progress(run + 1, runs)
    return judged(
        np.concatenate(scores),
        np.concatenate(coins),
        claimed=claimed,
        delta=delta,
        runs=runs,
        confidence=confidence,
        alarm=alarm,
    )


def judged(
    scores: Floats,
    included: Bools,
    *,
    claimed: float,
    delta: float,
    runs: int = 1,
    confidence: float = 0.95,
    alarm: float = ALARM,
) -> CanaryAudit:
    """What scores of canaries show, over several ways of guessing that are fixed beforehand.

    The scores come from what was released alone, high where a canary seems to be in; ``included``
    are the coins. All else is as for :func:`audit_canaries`.
    """
    if scores.shape != included.shape or scores.ndim != 1 or not np.isfinite(scores).all():
        raise check.fail("scores", "a finite number for each canary", scores.shape)
    level = 1 - check.probability(confidence, "confidence")
    total = len(scores)
    ordered = included[np.argsort(scores, kind="stable")]
    ways = list(dict.fromkeys(_ways(total)))
    outcomes: list[tuple[float, float, int, int]] = []
    for high, low in ways:
        correct = int(ordered[total - high :].sum() + (~ordered[:low]).sum())
        bound = lower_bound(total, high + low, correct, delta, level / len(ways))
        p = len(ways) * p_value(total, high + low, correct, claimed, delta)
        outcomes.append((bound, -min(1.0, p), high + low, correct))
    bound, _, guesses, correct = max(outcomes)
    return CanaryAudit(
        lower=bound,
        confidence=confidence,
        claimed=claimed,
        delta=delta,
        p_value=min(-p for _, p, _, _ in outcomes),
        canaries=total,
        runs=runs,
        guesses=guesses,
        correct=correct,
        alarm=alarm,
    )


def _ways(total: int) -> list[tuple[int, int]]:
    """How many of the highest scores are guessed as in, and of the lowest as out."""
    both, top = ([round(share * total) for share in some] for some in (_BOTH_ENDS, _TOP_ONLY))
    return [((n + 1) // 2, n // 2) for n in both if n > 0] + [(n, 0) for n in top if n > 0]
