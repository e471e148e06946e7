"""Amplification by shuffling: against a slow sum, between a lower bound and the closed form."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.accounting import shuffle as module
from discreet.accounting import shuffle_closed_form, shuffle_delta, shuffle_epsilon, shuffled
from discreet.errors import InvalidValue
from discreet.mechanisms.label import RandomizedResponse
from discreet.mechanisms.sentence import Purkayastha
from discreet.statement import Notion

SEED = 20260308


def slow_delta(epsilon0, n, epsilon):
    """Every number of clones, every count: the definition, summed up."""
    keep = 1 / (1 + math.exp(-epsilon0))
    total = 0.0
    for clones in range(n):
        weight = binom.pmf(clones, n - 1, math.exp(-epsilon0))
        a = np.arange(clones + 2)
        from_own, from_other = binom.pmf(a - 1, clones, 0.5), binom.pmf(a, clones, 0.5)
        one = keep * from_own + (1 - keep) * from_other
        two = (1 - keep) * from_own + keep * from_other
        total += weight * np.maximum(one - math.exp(epsilon) * two, 0).sum()
    return total


def randomised_response_delta(epsilon0, n, epsilon):
    """The exact delta of shuffled binary randomised response, everybody else holding a 0."""
    flip = 1 / (1 + math.exp(epsilon0))
    ones = np.arange(n + 1)
    others, more = binom.pmf(ones, n - 1, flip), binom.pmf(ones - 1, n - 1, flip)
    zero = (1 - flip) * others + flip * more
    one = flip * others + (1 - flip) * more
    return max(
        np.maximum(one - math.exp(epsilon) * zero, 0).sum(),
        np.maximum(zero - math.exp(epsilon) * one, 0).sum(),
    )


@settings(deadline=None, max_examples=40)
@given(st.floats(0.01, 6), st.integers(1, 25), st.floats(0, 1))
def test_agrees_with_the_slow_sum(epsilon0, n, share):
    epsilon = share * 0.999 * epsilon0
    expected = slow_delta(epsilon0, n, epsilon)
    found = shuffle_delta(epsilon0, n, epsilon)
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-14)
    assert found >= expected * (1 - 1e-12)


@pytest.mark.parametrize("epsilon0", [0.5, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("n", [50, 1_000, 50_000])
def test_is_never_below_shuffled_randomised_response(epsilon0, n):
    for epsilon in (0.01 * epsilon0, 0.1 * epsilon0, 0.5 * epsilon0, 0.9 * epsilon0):
        assert shuffle_delta(epsilon0, n, epsilon) >= randomised_response_delta(
            epsilon0, n, epsilon
        )


def test_with_half_of_the_clones_it_would_be_below():
    """The lower bound has teeth: a reduction that counts too many clones breaks it."""
    epsilon0, n, epsilon = 2.0, 1_000, 0.4
    lower = randomised_response_delta(epsilon0, n, epsilon)
    assert shuffle_delta(epsilon0, n, epsilon) > lower > shuffle_delta(epsilon0, 4 * n, epsilon)


@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-10])
@pytest.mark.parametrize("n", [1_000, 10_000, 10**6, 10**8])
@pytest.mark.parametrize("epsilon0", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_is_never_above_the_closed_form(epsilon0, n, delta):
    closed = shuffle_closed_form(epsilon0, n, delta)
    found = shuffle_epsilon(epsilon0, n, delta)
    assert 0 <= found <= epsilon0
    if closed is not None:
        assert found < closed


def test_epsilon_and_delta_are_inverse():
    for epsilon0, n, delta in ((1.0, 500, 1e-5), (3.0, 20_000, 1e-7), (0.2, 10**6, 1e-9)):
        epsilon = shuffle_epsilon(epsilon0, n, delta)
        assert shuffle_delta(epsilon0, n, epsilon) <= delta
        assert shuffle_delta(epsilon0, n, epsilon * (1 - 1e-4)) > delta


def test_more_people_more_delta_and_less_local_epsilon_all_help():
    by_n = [shuffle_epsilon(3.0, n, 1e-6) for n in (1, 10, 100, 1_000, 4_096, 4_097, 20_000, 10**6)]
    by_delta = [shuffle_epsilon(3.0, 5_000, d) for d in (1e-12, 1e-9, 1e-6, 1e-3)]
    by_local = [shuffle_epsilon(e, 5_000, 1e-6) for e in (8.0, 4.0, 2.0, 1.0, 0.1)]
    by_epsilon = [shuffle_delta(3.0, 5_000, e) for e in np.linspace(0, 3.0, 20)]
    for falling in (by_n, by_delta, by_local, by_epsilon):
        assert all(a >= b * (1 - 2e-6) for a, b in pairwise(falling))


def test_groups_of_clones_cost_next_to_nothing(monkeypatch):
    exact = [(2.0, 3_000, 0.3), (0.5, 4_000, 0.05), (5.0, 4_000, 2.0)]
    single = [shuffle_delta(*case) for case in exact]
    monkeypatch.setattr(module, "_GROUPS", 500)
    for case, right in zip(exact, single, strict=True):
        assert right * (1 - 1e-9) <= shuffle_delta(*case) <= 1.1 * right


@pytest.mark.parametrize(("epsilon0", "n"), [(2.0, 10_000), (5.0, 10**5), (10.0, 10**6)])
def test_groups_are_fine_where_there_are_few_clones_among_many(epsilon0, n):
    """Every number of clones that can matter, one by one."""
    p = math.exp(-epsilon0)
    clones = np.arange(0.0, 2 * n * p + 400)
    weights = binom.pmf(clones, n - 1, p)
    for epsilon in (0.1, 0.2 * epsilon0):
        exact = float(weights @ module._delta_given(clones, epsilon0, epsilon))
        found = shuffle_delta(epsilon0, n, epsilon)
        assert exact <= found * (1 + 1e-12)
        assert found <= 1.02 * exact + 1e-30


def test_ends():
    assert shuffle_epsilon(0.0, 10, 1e-6) == 0
    assert shuffle_epsilon(1e-7, 10, 1e-6) == 0  # within delta anyway
    assert shuffle_delta(2.0, 1, 1.0) == pytest.approx((math.e**2 - math.e) / (math.e**2 + 1))
    # Nobody hides one person, and hardly anybody a large epsilon; digits must not hide that.
    for epsilon0 in (40.0, 300.0, 800.0, 5_000.0):
        for n in (1, 10_000):
            assert epsilon0 - 1e-3 < shuffle_epsilon(epsilon0, n, 1e-6) <= epsilon0
            assert shuffle_delta(epsilon0, n, epsilon0 - 1) == pytest.approx(
                -math.expm1(-1), abs=1e-6
            )
    assert shuffle_delta(2.0, 10, 2.0) == shuffle_delta(2.0, 10, 7.0) == 0


def test_a_simulated_shuffle_does_not_beat_it():
    """Counting the ones of shuffled answers: the observed advantage stays below delta(0)."""
    rng = np.random.default_rng(SEED)
    n, runs, epsilon0 = 200, 4_000, 1.0
    mechanism = RandomizedResponse(2, epsilon0)
    sums = []
    for own in (0, 1):
        labels = np.zeros((runs, n), dtype=int)
        labels[:, 0] = own
        sums.append(mechanism.release(labels.ravel(), rng).reshape(runs, n).sum(axis=1))
    threshold = np.median(sums[0])
    advantage = (sums[1] > threshold).mean() - (sums[0] > threshold).mean()
    assert advantage < shuffle_delta(epsilon0, n, 0.0) + 6.5 * math.sqrt(0.5 / runs), f"seed {SEED}"


def test_statement():
    local = Purkayastha(16, 0.5).statement.to_pure(diameter=math.pi)
    after = shuffled(local, 10_000, 1e-6)
    assert after.notion is Notion.APPROXIMATE
    assert after.delta == 1e-6
    assert after.epsilon == shuffle_epsilon(0.5 * math.pi, 10_000, 1e-6) < 0.2
    assert "trusted shuffle" in str(after)
    with pytest.raises(InvalidValue, match="pure statement"):
        shuffled(Purkayastha(16, 0.5).statement, 10, 1e-6)


@pytest.mark.parametrize(
    "arguments",
    [(-1.0, 10, 1e-6), (math.nan, 10, 1e-6), (1.0, 0, 1e-6), (1.0, 2.5, 1e-6), (1.0, 10, 0.0),
     (1.0, 10, 1.0)],
)  # fmt: skip
def test_bad_parameters_are_refused(arguments):
    for function in (shuffle_epsilon, shuffle_closed_form):
        with pytest.raises(InvalidValue, match="of shuffling must be"):
            function(*arguments)
