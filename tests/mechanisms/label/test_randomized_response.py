"""Randomised response against its matrix."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidValue
from discreet.mechanisms.label import RandomizedResponse
from discreet.protocols import FiniteMechanism
from discreet.statement import Notion, PrivacyStatement, Unit
from goodness import fits

SEED = 20260305

EXAMPLES = {
    "two": lambda: RandomizedResponse(2, 1.0),
    "names": lambda: RandomizedResponse(["good", "bad", "neither"], 4.0),
    "nothing": lambda: RandomizedResponse(5, 0.0),
    "many": lambda: RandomizedResponse(40, 3.0),
}


def matrix(classes, epsilon):
    """Slow and obvious."""
    law = np.ones((classes, classes))
    np.fill_diagonal(law, math.exp(epsilon))
    return law / law.sum(axis=1, keepdims=True)


def worst_loss(logs):
    return float((logs[:, None, :] - logs[None, :, :]).max())


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 30), st.floats(0, 30))
def test_the_law_is_the_matrix_and_costs_exactly_epsilon(classes, epsilon):
    mechanism = RandomizedResponse(classes, epsilon)
    logs = mechanism.log_probabilities(np.arange(classes))
    assert np.allclose(np.exp(logs), matrix(classes, epsilon), rtol=1e-12, atol=0)
    assert np.allclose(mechanism.transition.sum(axis=1), 1)
    assert worst_loss(logs) == pytest.approx(epsilon, abs=1e-12)


def test_a_matrix_that_keeps_more_breaks_the_inequality():
    sharper = RandomizedResponse(5, 1.05).log_probabilities(np.arange(5))
    assert worst_loss(sharper) > RandomizedResponse(5, 1.0).statement.epsilon + 0.04


@pytest.mark.parametrize(
    ("classes", "epsilon"), [(2, 0.0), (2, 1.0), (5, 2.0), (40, 3.0), (3, 8.0)]
)
def test_the_sampler_follows_the_matrix(classes, epsilon):
    rng = np.random.default_rng(SEED)
    mechanism = RandomizedResponse(classes, epsilon)
    law = matrix(classes, epsilon)
    for label in (0, classes - 1):
        draws = mechanism.release(np.full(40_000, label), rng)
        assert fits(draws, law[label]), f"seed {SEED}"


def test_a_wrong_epsilon_is_rejected():
    draws = RandomizedResponse(5, 2.0).release(np.zeros(40_000, int), np.random.default_rng(SEED))
    for wrong in (1.86, 2.14):
        assert not fits(draws, matrix(5, wrong)[0])


class _Zero:
    """Randomness by which every test of chance succeeds."""

    def random(self, count):
        return np.zeros(count)

    def integers(self, low, _high, count):
        return np.full(count, low)


def test_a_flip_is_possible_at_any_epsilon():
    # One comparison with a 53-bit uniform would make it impossible from epsilon = 37 on.
    for epsilon in (1.0, 40.0, 1000.0):
        assert RandomizedResponse(3, epsilon).release([0], _Zero()).tolist() == [1]
    logs = RandomizedResponse(3, 1000.0).log_probabilities([0])
    assert logs[0, 1] == pytest.approx(-1000.0)


def test_labels_by_name():
    mechanism = RandomizedResponse(["good", "bad", "neither"], 1.0)
    assert mechanism.indices(["bad", "good"]).tolist() == [1, 0]
    assert mechanism.classes == 3
    with pytest.raises(InvalidValue, match="1 of 2 are not, the first in row 1") as error:
        mechanism.indices(["good", "secret"])
    assert "secret" not in str(error.value)


def test_every_label_has_its_own_noise_and_batches_keep_their_shape():
    mechanism = RandomizedResponse(2, 0.0)
    rng = np.random.default_rng(SEED)
    first, second = (mechanism.release(np.zeros(200, int), rng) for _ in range(2))
    assert 0 < first.sum() < 200
    assert (first != second).any()
    assert first.dtype == np.int64
    assert mechanism.release([], rng).shape == (0,)


def test_statement():
    mechanism = RandomizedResponse(4, 1.5)
    statement = mechanism.statement
    assert (statement.notion, statement.unit, statement.epsilon) == (Notion.PURE, Unit.LABEL, 1.5)
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert isinstance(mechanism, FiniteMechanism)


@pytest.mark.parametrize(
    ("labels", "epsilon", "words"),
    [
        (1, 1.0, "keep-probability is 1"),
        (["only"], 1.0, "keep-probability is 1"),
        ([], 1.0, "at least 2"),
        (0, 1.0, "at least 1"),
        (True, 1.0, "whole number"),
        (["a", "a"], 1.0, "distinct"),
        ("ab", 1.0, "not one text"),
        (3, -1.0, "epsilon of RandomizedResponse"),
        (3, math.nan, "epsilon of RandomizedResponse"),
        (3, math.inf, "epsilon of RandomizedResponse"),
    ],
)
def test_bad_parameters_are_refused(labels, epsilon, words):
    with pytest.raises(InvalidValue, match=words):
        RandomizedResponse(labels, epsilon)


@pytest.mark.parametrize("indices", [[3], [-1], [0.5], [[0]], ["good"], [True]])
def test_bad_labels_are_refused(indices):
    for method in (RandomizedResponse(3, 1.0).log_probabilities,):
        with pytest.raises(InvalidValue, match="labels of RandomizedResponse"):
            method(np.array(indices))
    with pytest.raises(InvalidValue, match="labels of RandomizedResponse"):
        RandomizedResponse(3, 1.0).release(np.array(indices), np.random.default_rng(0))
