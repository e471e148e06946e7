"""Intervals that cover, and words that say who wins."""

import numpy as np
import pytest
from scipy import stats

from discreet.attacks.outcome import AttackOutcome, Estimate, bootstrapped, mean_of_shares, share
from goodness import LEVEL


def coverage_is_possible(covered: int, runs: int, promised: float) -> bool:
    """False if so few covering intervals contradict the promise."""
    return bool(stats.binom.cdf(covered, runs, promised) > LEVEL)


def test_an_exact_interval_is_that_of_clopper_and_pearson():
    found = share(np.arange(40) < 12)
    assert found.value == 0.3
    assert stats.binom.sf(11, 40, found.low) == pytest.approx(0.025, abs=1e-6)
    assert stats.binom.cdf(12, 40, found.high) == pytest.approx(0.025, abs=1e-6)


def test_the_mean_of_two_shares_is_covered():
    rng = np.random.default_rng(1)
    truth = (0.9 + 0.4) / 2
    runs, covered = 120, 0
    for _ in range(runs):
        found = mean_of_shares(rng.random(30) < 0.9, rng.random(80) < 0.4)
        assert found.low <= found.value <= found.high
        covered += found.low <= truth <= found.high
    assert coverage_is_possible(covered, runs, 0.95)
    narrow = mean_of_shares(np.arange(3000) < 2700, np.arange(8000) < 3200)
    assert narrow.value == pytest.approx(truth)
    assert narrow.high - narrow.low < 0.04


def test_bootstrap_of_a_ratio():
    rng = np.random.default_rng(2)
    runs, covered = 60, 0
    for _ in range(runs):
        hits = rng.poisson(2.0, 200).astype(float)
        found = bootstrapped([hits, np.full(200, 5.0)], lambda a, b: a / b, rng)
        assert found.value == pytest.approx(hits.sum() / 1000)
        covered += found.low <= 0.4 <= found.high
        assert 0.02 < found.high - found.low < 0.12
    # Percentiles are approximate at 200 rows; far fewer than nine in ten would be a mistake.
    assert coverage_is_possible(covered, runs, 0.9)


def test_it_says_whether_the_attack_beats_chance():
    base = Estimate(0.9, 0.85, 0.95)
    good = AttackOutcome("x", "accuracy", Estimate(0.6, 0.55, 0.65), 0.5, base, 1200)
    lucky = AttackOutcome("x", "accuracy", Estimate(0.6, 0.49, 0.7), 0.5, None, 10)
    assert "1,200 targets" in good.lines()[0]
    assert "the attack is above it" in good.lines()[-1]
    assert "the attack is not above it" in lucky.lines()[-1]
    assert "not measured" in lucky.lines()[2]
    values = good.to_dict()
    assert (values["success"]["low"], values["unprotected"]["value"]) == (0.55, 0.9)
    assert (values["chance"], values["level"]) == (0.5, 0.95)
