"""Soft votes: bounded weights, the inequality by every replacement, sampler against the law."""

import math

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.document import SoftVotes
from discreet.mechanisms.document.soft_votes import GRID
from discreet.mechanisms.selection import RULES, Selection
from discreet.protocols import FiniteMechanism
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit
from goodness import fits
from sentence_neighbours import all_documents, largest_step

SEED = 20260504
CHOICES = np.eye(3)
WEIGHTS = np.array([[40.0, 0.0], [-40.0, 5.0], [0.5, 0.5]])
BIASES = np.array([-8.0, -8.0, 0.1])


def example(epsilon, rule="permute-and-flip"):
    return SoftVotes(CHOICES, WEIGHTS, BIASES, epsilon, rule)


EXAMPLES = {
    f"{rule}-{epsilon}": lambda rule=rule, epsilon=epsilon: example(epsilon, rule)
    for rule in RULES
    for epsilon in (0.0, 2.0, 8.0)
}


@pytest.mark.parametrize("sentences", [2, 4])
def test_one_sentence_moves_no_sum_by_more_than_one(sentences):
    vectors, offsets, chosen = all_documents(sentences)
    scores = example(1.0).votes(vectors, offsets) / GRID
    # Whole multiples of the grid: the bound is exact, and these weights reach it.
    assert (scores * GRID == np.rint(scores * GRID)).all()
    assert largest_step(scores, chosen) == 1.0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_the_law_keeps_its_epsilon_over_all_replacements(rule, epsilon):
    vectors, offsets, chosen = all_documents(4)
    law = example(epsilon, rule).log_probabilities(vectors, offsets)
    assert np.abs(np.exp(law).sum(axis=1) - 1).max() < 1e-12
    assert largest_step(law, chosen) <= epsilon + 1e-10


@pytest.mark.parametrize("rule", RULES)
def test_mutants_break_the_inequality(rule):
    vectors, offsets, chosen = all_documents(4)
    scores = example(2.0).votes(vectors, offsets) / GRID
    assert largest_step(Selection(rule, 2 * 2.0).log_probabilities(scores), chosen) > 3.0
    # Logits without the bound of a weight.
    sums = np.add.reduceat(vectors @ WEIGHTS.T + BIASES, offsets[:-1], axis=0)
    assert largest_step(Selection(rule, 2.0).log_probabilities(sums), chosen) > 3.0


def test_scores_are_sums_of_bounded_weights():
    rng = np.random.default_rng(SEED)
    document = rng.normal(size=(5, 2))
    slow = sum(1 / (1 + np.exp(-(WEIGHTS @ s + BIASES))) for s in document)
    assert np.abs(example(1.0).votes(document)[0] / GRID - slow).max() < 5 / GRID


def test_huge_vectors_have_bounded_weights():
    document = np.array([[1e308, -1e308], [0.0, 0.0], [-1e308, 1e308]])
    scores = example(1.0).votes(document) / GRID
    assert ((scores >= 0) & (scores <= 3)).all()


@pytest.mark.parametrize("rule", RULES)
def test_the_sampler_follows_the_law_and_a_wrong_epsilon_does_not(rule):
    rng = np.random.default_rng(SEED)
    document = rng.normal(scale=0.3, size=(6, 2))
    copies, offsets = np.tile(document, (40_000, 1)), np.arange(40_001) * 6
    drawn = example(1.5, rule).select(copies, rng, offsets)
    law = np.exp(example(1.5, rule).log_probabilities(document))[0]
    assert fits(drawn, law), f"seed {SEED}"
    assert not fits(drawn, np.exp(example(1.75, rule).log_probabilities(document))[0])


def test_release_gives_the_chosen_vectors():
    vectors, offsets, _ = all_documents(3)
    chosen = example(3.0).select(vectors, np.random.default_rng(1), offsets)
    released = example(3.0).release(vectors, np.random.default_rng(1), offsets)
    assert (released == CHOICES[chosen]).all()


def test_statement():
    statement = example(1.5).statement
    assert (statement.notion, statement.unit, statement.adjacency, statement.epsilon) == (
        Notion.PURE,
        Unit.SENTENCE,
        Adjacency.REPLACE,
        1.5,
    )
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert isinstance(example(1.5), FiniteMechanism)


@pytest.mark.parametrize(
    ("choices", "weights", "biases", "epsilon"),
    [
        (np.empty((0, 2)), WEIGHTS, BIASES, 1.0),
        (CHOICES[:2], WEIGHTS, BIASES, 1.0),
        (CHOICES, WEIGHTS[:2], BIASES, 1.0),
        (CHOICES, WEIGHTS, BIASES[:2], 1.0),
        (CHOICES, WEIGHTS, BIASES[:, None], 1.0),
        (CHOICES, WEIGHTS * math.nan, BIASES, 1.0),
        (CHOICES, WEIGHTS, np.full(3, math.inf), 1.0),
        (CHOICES, WEIGHTS, BIASES, -1.0),
    ],
)
def test_bad_parameters_are_refused(choices, weights, biases, epsilon):
    with pytest.raises(InvalidValue, match="must"):
        SoftVotes(choices, weights, biases, epsilon)


@pytest.mark.parametrize(
    ("vectors", "offsets"),
    [
        (np.empty((0, 2)), None),
        (np.zeros((1, 2)), None),
        (np.zeros((4, 3)), None),
        (np.full((4, 2), math.nan), None),
    ],
)
def test_bad_documents_are_refused(vectors, offsets):
    with pytest.raises(InvalidValue, match="of SoftVotes must"):
        example(1.0).release(vectors, np.random.default_rng(0), offsets)
