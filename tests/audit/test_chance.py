"""p-values and bounds: against SciPy, and against what they promise."""

import numpy as np
import pytest
from scipy import stats

from discreet.audit.chance import (
    at_least,
    at_most,
    binomial_p_values,
    fit_p_value,
    same_rate_p_value,
)


@pytest.mark.parametrize(
    "law", [np.full(20, 0.05), 0.5 ** np.arange(1, 15), np.array([0.99, 0.01])]
)
@pytest.mark.parametrize("draws", [10, 200, 5000])
def test_a_fitting_sample_is_rejected_no_more_often_than_stated(law, draws):
    law = law / law.sum()
    counts = np.random.default_rng(0).multinomial(draws, law, size=2000)
    rejected = sum(fit_p_value(row, law) < 0.05 for row in counts)
    assert rejected <= stats.binom.isf(1e-6, 2000, 0.05)


def test_a_5_percent_wrong_rate_is_rejected():
    law = np.exp(-0.3 * np.arange(30))
    wrong = np.exp(-0.3 * 1.05 * np.arange(30))
    counts = np.random.default_rng(0).multinomial(100_000, wrong / wrong.sum())
    assert fit_p_value(counts, law / law.sum()) < 1e-9


def test_an_impossible_outcome_is_rejected_outright():
    assert fit_p_value(np.array([1000, 1]), np.array([1.0, 0.0])) == 0


def test_intervals_and_tests_are_those_of_scipy():
    for k, n in ((0, 50), (3, 50), (25, 50), (50, 50)):
        interval = stats.binomtest(k, n).proportion_ci(0.98, method="exact")
        assert at_least(k, n, 0.01) == pytest.approx(interval.low, abs=1e-12)
        assert at_most(k, n, 0.01) == pytest.approx(interval.high, abs=1e-12)
    assert binomial_p_values(30, 100, 0.5) == pytest.approx(stats.binomtest(30, 100).pvalue)
    a, b = np.arange(40) < 25, np.arange(60) < 10
    greater = stats.fisher_exact([[25, 15], [10, 50]], alternative="greater").pvalue
    assert same_rate_p_value(a, b) == pytest.approx(2 * greater)
