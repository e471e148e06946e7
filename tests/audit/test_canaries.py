"""Canary audits: the p-value, the bound it gives, and mechanisms whose epsilon is known."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from discreet.audit.canaries import ALARM, audit_canaries, judged, lower_bound, p_value
from discreet.errors import InvalidValue


class RandomizedResponse:
    """Every canary's coin, reported truthfully with odds e^epsilon: the worst that is allowed.

    With probability ``delta`` a coin is given away altogether, marked as such.
    """

    def __init__(self, canaries: int, epsilon: float, delta: float = 0.0) -> None:
        self.canaries = canaries
        self._truth = 1 / (1 + math.exp(-epsilon))
        self._delta = delta

    def play(self, included, rng):
        kept = rng.random(self.canaries) < self._truth
        told = rng.random(self.canaries) < self._delta
        seen = np.where(kept, included, ~included)
        return np.where(told, np.where(included, 2.0, -2.0), np.where(seen, 1.0, -1.0))


def test_the_figures_of_the_paper():
    # Appendix D: 75 of 100 guesses right among 1,000 canaries, delta 1e-4, 95 %.
    assert lower_bound(1000, 100, 75, 1e-4, 0.05) == pytest.approx(0.673, abs=1e-3)
    # Mutants: without delta, or with the guesses in the place of the canaries.
    assert lower_bound(1000, 100, 75, 0.0, 0.05) > 0.70
    assert lower_bound(100, 100, 75, 1e-4, 0.05) > 0.69


def test_the_pure_bound_is_the_binomial_tail():
    for epsilon, guesses, correct in itertools.product((0.0, 0.7, 3.0), (1, 9, 40), (0, 1, 9)):
        if correct <= guesses:
            tail = stats.binom.sf(correct - 1, guesses, math.exp(epsilon) / (1 + math.exp(epsilon)))
            assert p_value(50, guesses, correct, epsilon, 0.0) == pytest.approx(tail)


def test_delta_by_the_definition():
    canaries, guesses, correct, epsilon, delta = 30, 12, 10, 0.4, 1e-3
    law = stats.binom(guesses, 1 / (1 + math.exp(-epsilon)))
    worst = max(
        sum(law.pmf(k) for k in range(max(0, correct - i), correct)) / i
        for i in range(1, canaries + 1)
    )
    expected = law.sf(correct - 1) + 2 * canaries * delta * worst
    assert p_value(canaries, guesses, correct, epsilon, delta) == pytest.approx(expected)


def test_everything_below_the_bound_is_contradicted():
    for canaries, guesses, correct in [(40, 40, 33), (1000, 60, 60), (1000, 1000, 700)]:
        bound = lower_bound(canaries, guesses, correct, 1e-5, 0.05)
        assert bound > 0
        for epsilon in np.linspace(0, bound, 50):
            assert p_value(canaries, guesses, correct, float(epsilon), 1e-5) < 0.05
        assert p_value(canaries, guesses, correct, bound + 1e-5, 1e-5) >= 0.05 - 1e-6
    assert lower_bound(100, 100, 50, 0.0, 0.05) == 0.0
    assert lower_bound(100, 0, 0, 0.0, 0.05) == 0.0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (2.0, 0.0), (1.0, 1e-3)])
def test_coverage_and_power_where_the_truth_is_known(epsilon, delta):
    runs, canaries = 60, 300
    bounds, alarms = [], 0
    for seed in range(runs):
        found = audit_canaries(
            RandomizedResponse(canaries, epsilon, delta),
            claimed=epsilon,
            delta=delta,
            seed=seed,
            confidence=0.9,
        )
        bounds.append(found.lower)
        alarms += found.broken
    # A bound may exceed the truth in one audit of ten: more than 24 of 60 has a chance of 1e-9.
    assert sum(bound > epsilon for bound in bounds) <= 24
    assert alarms == 0
    # And it is worth something.
    assert np.median(bounds) > (0.2 if delta else 0.35) * epsilon


def test_a_mutant_that_ignores_delta_is_not_valid():
    """Canaries given away with probability delta alone: only the term for delta explains them."""
    game = RandomizedResponse(2000, 0.0, delta=0.05)
    exceeded = {0.0: 0, 0.05: 0}
    for seed in range(20):
        for delta in exceeded:
            found = audit_canaries(game, claimed=0.05, delta=delta, seed=seed)
            exceeded[delta] += found.lower > 0.05
    assert exceeded[0.05] <= 5  # 1 expected at most
    assert exceeded[0.0] >= 15


def test_a_false_claim_is_contradicted():
    found = audit_canaries(RandomizedResponse(400, 3.0), claimed=1.0, delta=0.0, seed=3)
    assert found.broken
    assert found.p_value < ALARM
    assert 1.0 < found.lower < 3.0
    assert found.to_dict()["broken"] is True


def test_several_runs_count_as_one_with_more_canaries():
    one = audit_canaries(RandomizedResponse(5, 2.0), claimed=2.0, delta=0.0, seed=1)
    many = audit_canaries(RandomizedResponse(5, 2.0), claimed=2.0, delta=0.0, seed=1, runs=80)
    assert (one.canaries, many.canaries, many.runs) == (5, 400, 80)
    assert one.lower < 0.5 < many.lower < 2.0


def test_scores_that_are_blind_show_nothing():
    rng = np.random.default_rng(5)
    for _ in range(50):
        found = judged(rng.random(500), rng.random(500) < 0.5, claimed=0.1, delta=0.0)
        assert not found.broken
    # Seldom drawn canaries: high scores say all, low ones nothing.
    included = rng.random(1000) < 0.5
    drawn = included & (rng.random(1000) < 0.5)
    found = judged(drawn + rng.random(1000) / 2, included, claimed=0.1, delta=0.0)
    assert found.correct == found.guesses == 125
    assert found.lower > 2


@pytest.mark.parametrize(
    "change",
    [
        {"canaries": 0},
        {"guesses": 11},
        {"correct": 11},
        {"epsilon": -1.0},
        {"delta": 2.0},
        {"delta": math.nan},
    ],
)
def test_values_that_make_no_sense(change):
    values = {"canaries": 10, "guesses": 10, "correct": 5, "epsilon": 1.0, "delta": 0.0}
    with pytest.raises(InvalidValue):
        p_value(**(values | change))
