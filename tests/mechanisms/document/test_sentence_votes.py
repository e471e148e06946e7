"""Sentence votes: sensitivity and inequality by every replacement, sampler against the law."""

import math

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.document import SentenceVotes
from discreet.mechanisms.selection import RULES, Selection
from discreet.protocols import FiniteMechanism
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit
from goodness import fits
from sentence_neighbours import all_documents, largest_step

SEED = 20260503
CENTROIDS = np.array([[-1.0, 0.0], [0.2, 0.0], [0.4, 0.1], [2.0, -1.0]])

EXAMPLES = {
    f"{rule}-{epsilon}": lambda rule=rule, epsilon=epsilon: SentenceVotes(CENTROIDS, epsilon, rule)
    for rule in RULES
    for epsilon in (0.0, 2.0, 8.0)
}


@pytest.mark.parametrize("sentences", [2, 3, 5])
def test_one_sentence_moves_one_vote(sentences):
    vectors, offsets, chosen = all_documents(sentences)
    votes = SentenceVotes(CENTROIDS, 1.0).votes(vectors, offsets)
    assert (votes.sum(axis=1) == sentences).all()
    assert largest_step(votes.astype(float), chosen) == 1.0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_the_law_keeps_its_epsilon_over_all_replacements(rule, epsilon):
    vectors, offsets, chosen = all_documents(4)
    law = SentenceVotes(CENTROIDS, epsilon, rule).log_probabilities(vectors, offsets)
    assert np.abs(np.exp(law).sum(axis=1) - 1).max() < 1e-12
    loss = largest_step(law, chosen)
    assert loss <= epsilon + 1e-10
    if epsilon == 8.0:
        # A vote that moves from the winner to the winner-to-be costs all of it: nothing to sharpen.
        assert loss > 0.999 * epsilon


@pytest.mark.parametrize("rule", RULES)
def test_without_the_half_the_inequality_fails(rule):
    vectors, offsets, chosen = all_documents(4)
    votes = SentenceVotes(CENTROIDS, 2.0).votes(vectors, offsets).astype(float)
    assert largest_step(Selection(rule, 2 * 2.0).log_probabilities(votes), chosen) > 3.5


def test_the_nearest_centroid_gets_the_vote_and_the_first_of_two():
    centroids = np.array([[5.0, 5.0], [1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]])
    mechanism = SentenceVotes(centroids, 1.0)
    # A long vector is nearer to (5, 5) by angle, the next lies halfway between two.
    document = [[0.9, 0.2], [0.0, 0.0], [1.0, 0.0], [4.0, 4.5]]
    assert mechanism.votes(document).tolist() == [[1, 3, 0, 0]]


def test_votes_are_those_of_all_distances():
    rng = np.random.default_rng(SEED)
    vectors, centroids = rng.normal(size=(9000, 6)), rng.normal(size=(40, 6)).astype(np.float32)
    offsets = np.arange(0, 9001, 9)
    votes = SentenceVotes(centroids, 1.0).votes(vectors, offsets)
    slow = ((vectors[:, None] - centroids[None]) ** 2).sum(axis=2).argmin(axis=1)
    for i in (0, 454, 455, 999):
        own = np.bincount(slow[offsets[i] : offsets[i + 1]], minlength=40)
        assert (votes[i] == own).all()


@pytest.mark.parametrize("rule", RULES)
def test_the_sampler_follows_the_law_and_a_wrong_epsilon_does_not(rule):
    rng = np.random.default_rng(SEED)
    document = rng.normal(size=(6, 2))
    mechanism = SentenceVotes(CENTROIDS, 1.5, rule)
    copies, offsets = np.tile(document, (40_000, 1)), np.arange(40_001) * 6
    drawn = mechanism.select(copies, rng, offsets)
    assert fits(drawn, np.exp(mechanism.log_probabilities(document))[0]), f"seed {SEED}"
    wrong = SentenceVotes(CENTROIDS, 1.65, rule).log_probabilities(document)
    assert not fits(drawn, np.exp(wrong)[0])


def test_release_gives_the_chosen_centroids():
    mechanism = SentenceVotes(CENTROIDS, 3.0)
    vectors, offsets, _ = all_documents(3)
    chosen = mechanism.select(vectors, np.random.default_rng(1), offsets)
    released = mechanism.release(vectors, np.random.default_rng(1), offsets)
    assert (released == mechanism.centroids[chosen]).all()


def test_statement():
    statement = SentenceVotes(CENTROIDS, 1.5).statement
    assert (statement.notion, statement.unit, statement.adjacency, statement.epsilon) == (
        Notion.PURE,
        Unit.SENTENCE,
        Adjacency.REPLACE,
        1.5,
    )
    assert {"the centroids", "the number of sentences of each document"} <= set(statement.public)
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert isinstance(SentenceVotes(CENTROIDS, 1.5), FiniteMechanism)


@pytest.mark.parametrize(
    ("centroids", "epsilon", "selection"),
    [
        (np.empty((0, 2)), 1.0, "exponential"),
        (CENTROIDS * math.nan, 1.0, "exponential"),
        (CENTROIDS[0], 1.0, "exponential"),
        (CENTROIDS, -1.0, "exponential"),
        (CENTROIDS, math.nan, "exponential"),
        (CENTROIDS, 1.0, "majority"),
    ],
)
def test_bad_parameters_are_refused(centroids, epsilon, selection):
    with pytest.raises(InvalidValue, match="must"):
        SentenceVotes(centroids, epsilon, selection)


@pytest.mark.parametrize(
    ("vectors", "offsets"),
    [
        (np.empty((0, 2)), None),
        (np.zeros((1, 2)), None),
        (np.zeros((4, 3)), None),
        (np.full((4, 2), math.nan), None),
        (np.zeros((4, 2)), [0, 3, 4]),
    ],
)
def test_bad_documents_are_refused(vectors, offsets):
    with pytest.raises(InvalidValue, match="of SentenceVotes must"):
        SentenceVotes(CENTROIDS, 1.0).release(vectors, np.random.default_rng(0), offsets)
