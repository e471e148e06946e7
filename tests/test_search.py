"""The smallest place at which a falling quantity is within a limit."""

import math

import pytest

from discreet.search import smallest_within

PRECISION = 0.005
FALLING = {
    "a power": lambda x: 9 / x**2,
    "faster and faster": lambda x: 30 * math.exp(-x),
    "infinite at first": lambda x: math.inf if x < 5 else 40 / x,
    "nothing in the end": lambda x: 0.0 if x > 7 else 20 / x,
    "a step": lambda x: 9.0 if x < 3.3 else 0.1,
    "steps": lambda x: float(math.floor(20 / x)),
    "below 1": lambda x: 0.3 / x,
}


@pytest.mark.parametrize("name", FALLING)
def test_what_is_found_was_looked_at_and_holds_and_a_little_less_does_not(name):
    looked_at = {}

    def value(place):
        looked_at[place] = FALLING[name](place)
        return looked_at[place]

    found = smallest_within(value, 1.0, least=0.1, most=1000.0, precision=PRECISION)
    assert looked_at[found] <= 1.0
    assert FALLING[name](found * math.exp(-PRECISION)) > 1.0
    assert len(looked_at) <= 30


def test_a_smooth_quantity_is_looked_at_half_as_often_as_by_halving():
    count = 0

    def value(place):
        nonlocal count
        count += 1
        return 9 / place + 1 / place**3

    smallest_within(value, 4.0, least=0.1, most=1000.0, precision=PRECISION)
    assert count <= 6


def test_where_even_the_least_holds_it_is_taken_and_where_nothing_holds_there_is_none():
    within = {"least": 0.1, "most": 1000.0, "precision": PRECISION}
    assert 0.05 <= smallest_within(lambda _: 1e-9, 1.0, **within) <= 0.1
    assert smallest_within(lambda _: 2.0, 1.0, **within) is None
