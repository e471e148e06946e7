"""Learned votes: the vote, the inequality by every replacement, sampler against the law."""

import math

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.document import LearnedVotes, SentenceVotes
from discreet.mechanisms.selection import RULES, Selection
from discreet.protocols import FiniteMechanism
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit
from goodness import fits
from sentence_neighbours import all_documents, largest_step

SEED = 20260507
CHOICES = np.eye(4)[:, :3]
WEIGHTS = np.array([[1.0, 0.0], [-1.0, 0.5], [0.0, 1.0], [0.3, -1.0]])
BIASES = np.array([0.0, 0.1, -0.2, 0.3])


def example(epsilon, rule="permute-and-flip"):
    return LearnedVotes(CHOICES, WEIGHTS, BIASES, epsilon, rule)


EXAMPLES = {
    f"{rule}-{epsilon}": lambda rule=rule, epsilon=epsilon: example(epsilon, rule)
    for rule in RULES
    for epsilon in (0.0, 2.0, 8.0)
}


@pytest.mark.parametrize("sentences", [2, 4])
def test_one_sentence_moves_one_vote(sentences):
    vectors, offsets, chosen = all_documents(sentences)
    votes = example(1.0).votes(vectors, offsets)
    assert (votes.sum(axis=1) == sentences).all()
    assert largest_step(votes.astype(float), chosen) == 1.0


def test_the_largest_score_gets_the_vote_and_the_first_of_two():
    document = np.array([[2.0, 0.0], [0.0, 0.0], [-3.0, 1.0], [0.0, 5.0]])
    slow = [int(np.argmax(WEIGHTS @ s + BIASES)) for s in document]
    assert example(1.0).votes(document)[0].tolist() == np.bincount(slow, minlength=4).tolist()
    tied = LearnedVotes(np.eye(2), np.ones((2, 2)), [0.0, 0.0], 1.0)
    assert tied.votes(document).tolist() == [[4, 0]]


def test_nearest_centroids_are_a_case_of_it():
    rng = np.random.default_rng(SEED)
    centroids, vectors = rng.normal(size=(5, 3)), rng.normal(size=(40, 3))
    half = -(centroids**2).sum(axis=1) / 2
    learned = LearnedVotes(centroids, centroids, half, 2.0)
    assert (learned.votes(vectors) == SentenceVotes(centroids, 2.0).votes(vectors)).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_the_law_keeps_its_epsilon_over_all_replacements(rule, epsilon):
    vectors, offsets, chosen = all_documents(4)
    law = example(epsilon, rule).log_probabilities(vectors, offsets)
    assert np.abs(np.exp(law).sum(axis=1) - 1).max() < 1e-12
    assert largest_step(law, chosen) <= epsilon + 1e-10


@pytest.mark.parametrize("rule", RULES)
def test_without_the_half_the_inequality_fails(rule):
    vectors, offsets, chosen = all_documents(4)
    votes = example(2.0).votes(vectors, offsets).astype(float)
    assert largest_step(Selection(rule, 2 * 2.0).log_probabilities(votes), chosen) > 3.5


@pytest.mark.parametrize("rule", RULES)
def test_the_sampler_follows_the_law_and_a_wrong_epsilon_does_not(rule):
    rng = np.random.default_rng(SEED)
    document = rng.normal(size=(6, 2))
    copies, offsets = np.tile(document, (40_000, 1)), np.arange(40_001) * 6
    drawn = example(1.5, rule).select(copies, rng, offsets)
    law = np.exp(example(1.5, rule).log_probabilities(document))[0]
    assert fits(drawn, law), f"seed {SEED}"
    assert not fits(drawn, np.exp(example(1.65, rule).log_probabilities(document))[0])


def test_statement_and_release():
    mechanism = example(1.5)
    statement = mechanism.statement
    assert (statement.notion, statement.unit, statement.adjacency, statement.epsilon) == (
        Notion.PURE,
        Unit.SENTENCE,
        Adjacency.REPLACE,
        1.5,
    )
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert isinstance(mechanism, FiniteMechanism)
    vectors, offsets, _ = all_documents(2)
    chosen = mechanism.select(vectors, np.random.default_rng(1), offsets)
    released = mechanism.release(vectors, np.random.default_rng(1), offsets)
    assert (released == CHOICES[chosen]).all()


@pytest.mark.parametrize(
    ("choices", "weights", "biases", "epsilon"),
    [
        (np.empty((0, 2)), WEIGHTS, BIASES, 1.0),
        (CHOICES[:2], WEIGHTS, BIASES, 1.0),
        (CHOICES, WEIGHTS[:2], BIASES, 1.0),
        (CHOICES, WEIGHTS, BIASES[:2], 1.0),
        (CHOICES, WEIGHTS * math.nan, BIASES, 1.0),
        (CHOICES, WEIGHTS, np.full(4, math.inf), 1.0),
        (CHOICES, WEIGHTS, np.array(list("abcd")), 1.0),
        (CHOICES, WEIGHTS, BIASES, -1.0),
    ],
)
def test_bad_parameters_are_refused(choices, weights, biases, epsilon):
    with pytest.raises(InvalidValue, match="of LearnedVotes must"):
        LearnedVotes(choices, weights, biases, epsilon)


@pytest.mark.parametrize("vectors", [np.empty((0, 2)), np.zeros((1, 2)), np.zeros((4, 3))])
def test_bad_documents_are_refused(vectors):
    with pytest.raises(InvalidValue, match="of LearnedVotes must"):
        example(1.0).release(vectors, np.random.default_rng(0))
