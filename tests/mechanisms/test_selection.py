"""Both ways of choosing: the law against enumeration, the samplers against the law."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from discreet.errors import InvalidValue
from discreet.mechanisms import selection as module
from discreet.mechanisms.selection import RULES, Levels, Selection
from goodness import fits

SEED = 20260501

rows = st.lists(st.integers(-6, 0), min_size=1, max_size=6)


def listed(dense):
    """Levels from all of them; the first candidate's is the row's own."""
    lowest = dense[:, 0]
    row, candidate = np.nonzero(dense != lowest[:, None])
    ends = np.cumsum(np.bincount(row, minlength=len(dense)))
    return Levels(dense.shape[1], lowest, ends, candidate, dense[row, candidate])


def enumerated(scores, rate):
    """Slow and obvious: every order, every way the coins may fall."""
    accept = np.exp(rate * (np.array(scores) - max(scores)))
    law = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for i in order:
            law[i] += left * accept[i]
            left *= 1 - accept[i]
    return law / len(orders)


@settings(deadline=None, max_examples=80)
@given(rows, st.floats(0, 12))
def test_the_law_of_permute_and_flip_is_that_of_all_orders(scores, epsilon):
    law = Selection("permute-and-flip", epsilon).log_probabilities(np.array([scores], float))
    assert np.allclose(np.exp(law[0]), enumerated(scores, epsilon / 2), rtol=1e-11, atol=0)


@settings(deadline=None, max_examples=60)
@given(rows, st.floats(0, 12))
def test_permute_and_flip_never_has_a_lower_expected_score(scores, epsilon):
    table = np.array([scores], float)
    flip, exponential = (np.exp(Selection(r, epsilon).log_probabilities(table))[0] for r in RULES)
    assert flip @ table[0] >= exponential @ table[0] - 1e-12


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 4.0, 60.0, 3000.0])
def test_thousands_of_candidates_add_up_to_one(rule, epsilon):
    scores = -np.random.default_rng(SEED).integers(0, 8, (2, 5000)).astype(float)
    law = Selection(rule, epsilon).log_probabilities(scores)
    assert np.isfinite(law).all()
    assert np.abs(np.exp(law).sum(axis=1) - 1).max() < 1e-11


@pytest.mark.parametrize(("top", "below", "epsilon"), [(1, 4999, 1.0), (40, 4000, 9.0)])
def test_the_law_of_thousands_agrees_with_another_quadrature(top, below, epsilon):
    q = math.exp(-epsilon / 2)

    def integrand(x, group):  # with t = exp(-x), which spreads out where the mass is
        t = math.exp(-x)
        power = (top - (group == 0)) * math.log1p(-t) + (below - (group == 1)) * math.log1p(-q * t)
        return math.exp(power - x)

    scores = np.array([[0.0] * top + [-1.0] * below])
    law = Selection("permute-and-flip", epsilon).log_probabilities(scores)[0]
    peak = math.log(top + q * below)
    for group, place in ((0, 0), (1, -1)):
        total = sum(
            quad(integrand, *ends, args=(group,), epsabs=0, epsrel=1e-12, limit=200)[0]
            for ends in ((1e-300, peak), (peak, peak + 4), (peak + 4, peak + 60))
        )
        expected = math.log(total) - group * epsilon / 2
        assert law[place] == pytest.approx(expected, abs=1e-10)


def test_the_law_is_that_of_exact_fractions():
    """Two groups: n candidates at the top and m below, by the binomial expansion in integers."""
    top, below, q = 3, 40, Fraction(1, 7)
    # Integral of (1-t)^(top-1) (1-qt)^below, term by term; exact, so no cancellation.
    total = Fraction(0)
    for i in range(top):
        for j in range(below + 1):
            sign = (-1) ** (i + j)
            total += sign * math.comb(top - 1, i) * math.comb(below, j) * q**j / (i + j + 1)
    scores = np.array([[0.0] * top + [-1.0] * below])
    law = Selection("permute-and-flip", 2 * math.log(7)).log_probabilities(scores)
    assert math.exp(law[0, 0]) == pytest.approx(float(total), rel=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_the_samplers_follow_the_law_and_a_wrong_epsilon_does_not(rule):
    levels = np.array([0, 1, 1, 2, 2, 2, 3, 0, 5, 5])
    selection, rng = Selection(rule, 1.7), np.random.default_rng(SEED)
    law = np.exp(selection.log_probabilities(-levels[None] / 2))[0]
    many = np.tile(levels, (40_000, 1))
    dense = selection.select(-many / 2, rng)
    grouped = selection.select_level(listed(many), 0.5, rng)
    assert fits(dense, law), f"seed {SEED}"
    assert fits(grouped, law), f"seed {SEED}"
    wrong = np.exp(Selection(rule, 1.7 * 1.08).log_probabilities(-levels[None] / 2))[0]
    assert not fits(dense, wrong)
    assert not fits(grouped, wrong)


@pytest.mark.parametrize("rule", RULES)
def test_levels_that_differ_by_row_and_are_missing_in_some(rule):
    levels = np.array([[3, 3, 3], [0, 7, 7], [2, 0, 1]])
    selection, rng = Selection(rule, 2.0), np.random.default_rng(SEED)
    law = np.exp(selection.log_probabilities(-levels / 2))
    many = listed(np.tile(levels, (1500, 1)))
    drawn = np.concatenate([selection.select_level(many, 0.5, rng) for _ in range(4)])
    for row in range(3):
        assert fits(drawn[row::3], law[row]), f"seed {SEED}"


def test_listed_levels_are_those_of_the_whole_table():
    dense = np.random.default_rng(SEED).integers(0, 4, (40, 9))
    levels = listed(dense)
    assert (levels.dense() == dense).all()
    assert (levels.counts() == [np.bincount(row, minlength=4) for row in dense]).all()
    for level in range(4):
        members = [np.flatnonzero(row == level) for row in dense]
        for number in range(9):
            found = levels.members(np.full(40, level), np.full(40, number))
            for one, own in zip(found, members, strict=True):
                assert number >= len(own) or one == own[number]


@pytest.mark.parametrize("rule", RULES)
def test_outcomes_beyond_a_53_bit_uniform_are_reached(rule):
    """One uniform cannot make noise above 36.7; several must, and must not make infinite noise."""

    class Far(np.random.Generator):
        """Uniforms that are always as large as they get, but for the last."""

        left = 6

        def random(self, shape=None):
            Far.left -= 1
            return np.full(shape, 1 - 2**-53 if Far.left > 0 else 0.5)

    counts = np.array([[1]])
    noise = Selection(rule, 1.0)._largest_noise(counts, Far(np.random.PCG64(1)))
    assert np.isfinite(noise).all()
    assert noise.min() > 40


@pytest.mark.parametrize("rule", RULES)
def test_a_draw_of_zero_does_not_choose_the_worst(rule, monkeypatch):
    """It comes with a chance of 2^-53, far above that of what is 80 below all others."""
    monkeypatch.setattr(module, "exponential", lambda *_: np.array([[0.0] + [1.0] * 160]))
    levels = listed(np.array([[160, 0, 0]]))
    chosen = Selection(rule, 2.0).select_level(levels, 0.5, np.random.default_rng(SEED))
    assert chosen[0] in (1, 2)


def test_epsilon_zero_is_uniform():
    law = Selection("permute-and-flip", 0.0).log_probabilities(np.array([[0.0, -4.0, -9.0]]))
    assert np.allclose(np.exp(law), 1 / 3)


@pytest.mark.parametrize(
    ("rule", "epsilon"), [("best", 1.0), ("exponential", -1.0), ("exponential", math.nan)]
)
def test_bad_parameters_are_refused(rule, epsilon):
    with pytest.raises(InvalidValue):
        Selection(rule, epsilon)
