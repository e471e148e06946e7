"""Uniform: nothing of the word comes through."""

import numpy as np
import pytest

from conformance import excess_loss
from discreet.errors import InvalidValue
from discreet.mechanisms.word import SanText, Uniform
from discreet.protocols import FiniteMechanism
from discreet.statement import Notion, Unit
from goodness import fits
from small_spaces import all_distances, clustered_space, random_space

EXAMPLES = {
    "random": lambda: Uniform(random_space()),
    "clusters": lambda: Uniform(clustered_space(40)),
}


def test_law_is_flat_and_costs_nothing():
    mechanism = Uniform(random_space())
    assert isinstance(mechanism, FiniteMechanism)
    assert np.ptp(mechanism.log_probabilities(np.arange(120))) == 0
    assert excess_loss(mechanism, all_distances(mechanism.space)) == 0.0


def test_anything_that_looks_at_the_word_is_caught():
    space = random_space()
    mutant = SanText(space, epsilon=0.05, calibration="published")
    mutant.statement = Uniform(space).statement
    assert excess_loss(mutant, all_distances(space)) > 0.01


def test_draws_are_uniform_and_a_5_percent_error_is_seen():
    mechanism = Uniform(random_space(20))
    draws = mechanism.release(np.full(400_000, 3), np.random.default_rng(0))
    law = np.full(20, 1 / 20)
    assert fits(draws, law)
    law[:10] *= 1.05
    assert not fits(draws, law / law.sum())


def test_the_output_does_not_depend_on_the_input():
    mechanism = Uniform(random_space())
    first = mechanism.release(np.zeros(500, dtype=int), np.random.default_rng(4))
    second = mechanism.release(np.full(500, 99), np.random.default_rng(4))
    assert (first == second).all()


def test_positions_are_independent():
    out = Uniform(random_space(12)).release(np.zeros(200_000, dtype=int), np.random.default_rng(1))
    assert fits(out[0::2] * 12 + out[1::2], np.full(144, 1 / 144))


def test_statement():
    statement = Uniform(random_space()).statement
    assert (statement.notion, statement.epsilon, statement.unit) == (Notion.PURE, 0.0, Unit.WORD)
    assert Uniform(random_space()).epsilon == 0.0


@pytest.mark.parametrize("ids", [[120], [-1], [0.5], [[1]]])
def test_ids_are_checked_although_they_are_not_used(ids):
    with pytest.raises(InvalidValue):
        Uniform(random_space()).release(ids, np.random.default_rng(0))
