"""The law of two weights, in whole numbers: the claim is proven, the draw is exact."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.word._two_weights import MOST, TwoWeights, exp_from_below, weights
from goodness import fits

EPSILONS = (1e-300, 1e-12, 1e-3, 0.1, math.log(2), 1.0, 3.7, 8.0, 14.0, 30.0, 43.0)


def series(x: float, terms: int = 300) -> tuple[Fraction, Fraction]:
    """Bounds of exp(x) from its series in whole multiples of 2**-400: another way than ours."""
    unit, exact = 2**400, Fraction(x)
    low = high = low_term = high_term = unit
    for n in range(1, terms):
        low_term = low_term * exact.numerator // (exact.denominator * n)
        high_term = -(-high_term * exact.numerator // (exact.denominator * n))
        low, high = low + low_term, high + high_term
    # What is left is less than the last term again: from some n on, terms more than halve.
    return Fraction(low, unit), Fraction(high + high_term, unit)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_exponential_is_never_above_and_hardly_below(epsilon):
    low, high = series(epsilon)
    found = exp_from_below(epsilon)
    assert 1 <= found <= low
    assert high - found < found / 10**50


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("near", "outputs"), [(1, 2), (2, 2), (3, 600), (64, 400_000)])
def test_the_ratio_of_the_weights_is_at_most_exp_epsilon_and_nearly_that(epsilon, near, outputs):
    heavy, light = weights(epsilon, near, outputs)
    total = near * heavy + (outputs - near) * light
    assert 0 < light <= heavy <= series(epsilon)[0] * light, "more than exp(epsilon)"
    assert total <= MOST
    if epsilon <= 14:
        # One step more of the heavy weight would be too much: nothing is given away.
        assert heavy + 1 > series(epsilon)[1] * light
        assert total > MOST // 2


@pytest.mark.parametrize("epsilon", [50.0, 710.0, 1e6, 1e300])
def test_beyond_what_fits_nothing_changes_and_every_output_keeps_a_chance(epsilon):
    law = TwoWeights(epsilon, 2, 500)
    assert (law.heavy, law.light) == ((MOST - 498) // 2, 1)
    assert law.total <= MOST
    assert law.log_chances[1] > -45


class _Given:
    """Hands out given whole numbers."""

    def __init__(self, numbers):
        self.numbers = np.asarray(numbers)

    def integers(self, low, high, size, dtype):
        assert low == 0
        assert (self.numbers < high).all()
        assert size == len(self.numbers)
        return self.numbers.astype(dtype)


@pytest.mark.parametrize(
    "near_places", [[0], [4], [0, 1], [1, 3], [3, 4], [0, 2, 4], [0, 1, 2, 3, 4]]
)
def test_all_numbers_that_can_be_drawn_make_up_the_law(near_places):
    """The whole sample space: how many numbers lead to each place is its weight, exactly."""
    law = TwoWeights(1.0, len(near_places), 5)
    law.heavy, law.light = 7, 3
    law.total = 7 * len(near_places) + 3 * (5 - len(near_places))
    every = _Given(np.arange(law.total))
    out = law.draw(np.array([near_places]), np.zeros(law.total, dtype=np.int64), every)
    expected = [7 if place in near_places else 3 for place in range(5)]
    assert np.bincount(out, minlength=5).tolist() == expected
    assert np.exp(law.log_probabilities(np.array([near_places])))[0] * law.total == pytest.approx(
        expected
    )


def test_the_ends_of_the_largest_range_are_in_the_right_place():
    law = TwoWeights(8.0, 2, 600)
    cut = 2 * law.heavy
    numbers = [0, law.heavy - 1, law.heavy, cut - 1, cut, cut + law.light - 1, law.total - 1]
    out = law.draw(np.array([[0, 599]]), np.zeros(len(numbers), dtype=np.int64), _Given(numbers))
    assert out.tolist() == [0, 0, 599, 599, 1, 1, 598]


def test_rows_have_their_own_sets_and_a_5_percent_error_is_seen():
    rng = np.random.default_rng(20260301)
    sets = np.sort(rng.permuted(np.tile(np.arange(12), (6, 1)), axis=1)[:, :3], axis=1)
    law = TwoWeights(1.3, 3, 12)
    which = np.repeat(np.arange(6), 150_000)
    drawn = law.draw(sets, which, rng).reshape(6, -1)
    right = np.exp(law.log_probabilities(sets))
    wrong = np.exp(TwoWeights(1.3 * 1.05, 3, 12).log_probabilities(sets))
    for row in range(6):
        assert fits(drawn[row], right[row])
        assert not fits(drawn[row], wrong[row])
