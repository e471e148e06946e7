"""Randomised response with a prior: its law, and that nothing of the same epsilon does better."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.errors import InvalidValue
from discreet.mechanisms.label import PriorResponse, RandomizedResponse
from discreet.mechanisms.label import prior_response as module
from discreet.protocols import FiniteMechanism
from discreet.statement import Notion, PrivacyStatement, Unit
from goodness import fits

SEED = 20260306

EXAMPLES = {
    "even": lambda: PriorResponse([0.25] * 4, 1.0),
    "two-of-four": lambda: PriorResponse([0.6, 0.3, 0.05, 0.05], 1.0),
    "one-of-three": lambda: PriorResponse([0.9, 0.05, 0.05], 0.5),
    "all-of-four": lambda: PriorResponse([0.6, 0.3, 0.05, 0.05], 8.0),
}

priors = st.lists(st.floats(0.01, 1), min_size=2, max_size=6).map(lambda w: np.array(w) / sum(w))


def matrix(classes, kept, epsilon):
    """Slow and obvious."""
    law = np.zeros((classes, classes))
    for label in range(classes):
        for output in kept:
            if label not in kept:
                law[label, output] = 1 / len(kept)
            else:
                weight = math.exp(epsilon) if label == output else 1.0
                law[label, output] = weight / (math.exp(epsilon) + len(kept) - 1)
    return law


def accuracy(prior, law):
    return float(prior @ np.diag(law))


def worst_loss(logs):
    same = np.isfinite(logs)
    if not (same == same[0]).all():
        return math.inf
    logs = logs[:, same[0]]
    return float((logs[:, None, :] - logs[None, :, :]).max())


@settings(deadline=None, max_examples=60)
@given(priors, st.floats(0, 8))
def test_the_law_is_the_matrix_and_keeps_its_epsilon(prior, epsilon):
    mechanism = PriorResponse(prior, epsilon)
    expected = matrix(len(prior), set(mechanism.kept.tolist()), epsilon)
    assert np.allclose(mechanism.transition, expected, rtol=1e-12, atol=0)
    assert worst_loss(mechanism.log_probabilities(np.arange(len(prior)))) <= epsilon + 1e-12
    assert mechanism.expected_accuracy == pytest.approx(accuracy(prior, expected))


@settings(deadline=None, max_examples=60)
@given(priors, st.floats(0, 8))
def test_no_other_set_of_labels_is_better(prior, epsilon):
    best = max(
        accuracy(prior, matrix(len(prior), set(kept), epsilon))
        for size in range(1, len(prior) + 1)
        for kept in combinations(range(len(prior)), size)
    )
    assert PriorResponse(prior, epsilon).expected_accuracy == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_no_other_mechanism_is_better(seed, epsilon):
    """The best private matrix of all, by linear programming."""
    k = 4
    prior = np.random.default_rng(seed).dirichlet(np.full(k, 0.7))
    rows = []
    for output in range(k):
        for y in range(k):
            for other in range(k):
                if y != other:
                    row = np.zeros((k, k))
                    row[y, output], row[other, output] = 1.0, -math.exp(epsilon)
                    rows.append(row.ravel())
    sums = np.kron(np.eye(k), np.ones(k))
    cost = -np.diag(prior).ravel()
    best = -linprog(cost, np.array(rows), np.zeros(len(rows)), sums, np.ones(k)).fun
    assert PriorResponse(prior, epsilon).expected_accuracy == pytest.approx(best, rel=1e-7)


def test_one_label_too_many_is_worse():
    prior = np.array([0.6, 0.3, 0.05, 0.05])
    right = PriorResponse(prior, 1.0)
    assert right.kept.tolist() == [0, 1]
    assert accuracy(prior, matrix(4, {0, 1, 2}, 1.0)) < right.expected_accuracy - 1e-3


def test_a_uniform_prior_is_plain_randomised_response():
    for classes in (2, 5):
        plain = RandomizedResponse(classes, 1.3).transition
        assert np.allclose(PriorResponse(np.full(classes, 1 / classes), 1.3).transition, plain)


def test_a_certain_prior_makes_the_release_constant():
    mechanism = PriorResponse([0.01, 0.98, 0.01], 0.5)
    assert mechanism.kept.tolist() == [1]
    out = mechanism.release([0, 1, 2], np.random.default_rng(0))
    assert out.tolist() == [1, 1, 1]
    assert worst_loss(mechanism.log_probabilities([0, 1, 2])) == 0


def test_the_sampler_follows_the_law_and_a_wrong_epsilon_does_not():
    prior, epsilon = [0.05, 0.3, 0.35, 0.25, 0.05], 2.0
    mechanism = PriorResponse(prior, epsilon)
    assert set(mechanism.kept.tolist()) == {1, 2, 3}
    rng = np.random.default_rng(SEED)
    for label in range(5):
        draws = mechanism.release(np.full(40_000, label), rng)
        assert fits(draws, matrix(5, {1, 2, 3}, epsilon)[label]), f"seed {SEED}"
    draws = mechanism.release(np.full(40_000, 2), rng)
    assert not fits(draws, matrix(5, {1, 2, 3}, 1.05 * epsilon + 0.05)[2])
    # A mutant that maps labels outside to the likeliest one.
    assert not fits(np.full(40_000, 2), matrix(5, {1, 2, 3}, epsilon)[0])


def test_keeping_labels_outside_would_break_the_inequality():
    law = PriorResponse([0.6, 0.3, 0.05, 0.05], 1.0).log_probabilities(range(4))
    law[3] = np.log([1e-300, 1e-300, 1e-300, 1.0])
    assert worst_loss(law) == math.inf


def test_statement():
    mechanism = PriorResponse([0.7, 0.3], 1.5)
    statement = mechanism.statement
    assert (statement.notion, statement.unit, statement.epsilon) == (Notion.PURE, Unit.LABEL, 1.5)
    assert "the prior over labels" in statement.public
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert isinstance(mechanism, FiniteMechanism)


@pytest.mark.parametrize(
    ("prior", "epsilon"),
    [
        ([1.0], 1.0),
        ([], 1.0),
        ([0.5, 0.6], 1.0),
        ([0.4, 0.4], 1.0),
        ([-0.1, 1.1], 1.0),
        ([math.nan, 1.0], 1.0),
        ([[0.5, 0.5]], 1.0),
        (["a", "b"], 1.0),
        ([0.5, 0.5], -1.0),
        ([0.5, 0.5], math.inf),
    ],
)
def test_bad_parameters_are_refused(prior, epsilon):
    with pytest.raises(InvalidValue, match="of PriorResponse must be"):
        PriorResponse(prior, epsilon)


@pytest.mark.parametrize("indices", [[2], [-1], [0.5], [[0]], ["good"]])
def test_bad_labels_are_refused(indices):
    with pytest.raises(InvalidValue, match="labels of PriorResponse"):
        PriorResponse([0.5, 0.5], 1.0).release(np.array(indices), np.random.default_rng(0))


def test_the_prior_cannot_be_changed_afterwards():
    mechanism = PriorResponse([0.5, 0.5], 1.0)
    with pytest.raises(ValueError, match="read-only"):
        mechanism.prior[0] = 1.0
    assert module._best_labels(mechanism.prior, 1.0)[0].tolist() == [0, 1]
