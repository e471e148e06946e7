"""Calibration returns a parameter within the target, and one that is nearly all of it."""

import math

import pytest

from discreet.accounting import (
    RepeatedRelease,
    epsilon_per_release,
    largest_within,
    local_epsilon,
    shuffle_epsilon,
)
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import Purkayastha


@pytest.mark.parametrize(("target", "n"), [(0.2, 10_000), (1.0, 1_000), (3.0, 1), (0.01, 10**6)])
def test_local_epsilon_is_within_the_target_and_uses_it(target, n):
    local = local_epsilon(target, n, 1e-6)
    assert local >= target
    assert shuffle_epsilon(local, n, 1e-6) <= target
    assert shuffle_epsilon(local * 1.001, n, 1e-6) > target


@pytest.mark.parametrize(
    ("dimension", "times", "target", "angle"),
    [(16, 1, 5.0, math.pi), (16, 20, 5.0, math.pi), (768, 3, 8.0, math.pi), (16, 3, 2.0, 1.0)],
)
def test_epsilon_per_release_is_within_the_target_and_uses_it(dimension, times, target, angle):
    found = epsilon_per_release(dimension, times, target, 1e-6, angle=angle)
    assert found > target / times / angle

    def cost(epsilon):
        return RepeatedRelease(Purkayastha(dimension, epsilon), times, angle).epsilon(1e-6)

    assert cost(found) <= target < cost(found * 1.001)


@pytest.mark.parametrize("times", [1, 3, 7, 49])
def test_without_delta_it_is_basic_composition(times):
    found = epsilon_per_release(16, times, 10.0, 0.0)
    assert found == pytest.approx(10.0 / times / math.pi, rel=2e-4)
    assert RepeatedRelease(Purkayastha(16, found), times).basic <= 10.0


def test_a_cost_that_jumps_never_leads_above_the_target():
    assert largest_within(lambda x: 0.0 if x < 1 else 5.0, 3.0, low=0.0, high=8.0) < 1
    assert largest_within(lambda x: x, 10.0, low=0.0, high=8.0) == 8.0
    with pytest.raises(InvalidValue, match="stays within"):
        largest_within(lambda _: 5.0, 3.0, low=0.0, high=8.0)


def test_bad_parameters_are_refused():
    for arguments in ((0.0, 10, 1e-6), (1.0, 0, 1e-6), (1.0, 10, 0.0)):
        with pytest.raises(InvalidValue):
            local_epsilon(*arguments)
    for arguments in ((1, 1, 1.0, 0.0), (4, 0, 1.0, 0.0), (4, 1, -1.0, 0.0), (4, 1, 1.0, -1.0)):
        with pytest.raises(InvalidValue):
            epsilon_per_release(*arguments)
