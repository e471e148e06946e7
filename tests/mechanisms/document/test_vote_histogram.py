"""Vote histogram: the inequality by every replacement, noise against the law, what vectors see."""

import math

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.document import VoteHistogram
from discreet.mechanisms.document import vote_histogram as module
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit
from goodness import fits
from sentence_neighbours import all_documents, largest_step

SEED = 20260508
CHOICES = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
WEIGHTS = np.array([[1.0, 0.0], [-1.0, 0.5], [0.3, -1.0]])
BIASES = np.array([0.0, 0.1, 0.3])


def example(epsilon):
    return VoteHistogram(CHOICES, WEIGHTS, BIASES, epsilon)


EXAMPLES = {str(epsilon): lambda epsilon=epsilon: example(epsilon) for epsilon in (0.5, 2.0, 9.0)}


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_law_keeps_its_epsilon_over_all_replacements_and_needs_all_of_it(epsilon):
    vectors, offsets, chosen = all_documents(3)
    worst = 0.0
    for counts in np.random.default_rng(SEED).integers(-3, 7, (60, 3)):
        rows = np.tile(counts, (len(chosen), 1))
        worst = max(
            worst, largest_step(example(epsilon).log_density(vectors, rows, offsets), chosen)
        )
    assert worst == pytest.approx(epsilon, abs=1e-10)


def test_the_law_adds_up_to_one():
    grid = np.stack(np.meshgrid(*[np.arange(-40, 45)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    document = np.array([[1.0, 0.0], [0.0, 0.0], [-2.0, 1.0]])
    votes = example(1.0).votes(document)[0]
    rate = 0.5
    constant = math.log((1 - math.exp(-rate)) / (1 + math.exp(-rate)))
    total = np.exp(3 * constant - rate * np.abs(grid - votes).sum(axis=1)).sum()
    assert total == pytest.approx(1, abs=1e-6)
    some = grid[::97][:200]
    logs = example(1.0).log_density(
        np.tile(document, (len(some), 1)), some, np.arange(len(some) + 1) * 3
    )
    assert np.allclose(logs, 3 * constant - rate * np.abs(some - votes).sum(axis=1))


def test_noise_follows_the_law_and_a_wrong_epsilon_does_not():
    document, copies = np.array([[1.0, 0.0], [1.0, 0.1], [-2.0, 1.0]]), 40_000
    mechanism = example(1.2)
    drawn = mechanism.noisy(
        np.tile(document, (copies, 1)), np.random.default_rng(SEED), np.arange(copies + 1) * 3
    )
    noise = (drawn - mechanism.votes(document)).clip(-12, 12) + 12
    values = np.abs(np.arange(-12, 13))
    for epsilon, right in ((1.2, True), (1.29, False)):
        a = math.exp(-epsilon / 2)
        law = (1 - a) / (1 + a) * a**values
        law[[0, -1]] = a**12 / (1 + a)  # all that lies beyond
        for j in range(3):
            assert fits(noise[:, j], law) is right, f"seed {SEED}"
    # The three are independent: the sum of two has the law of a sum.
    a = math.exp(-0.6)
    one = (1 - a) / (1 + a) * a ** np.abs(np.arange(-60, 61))
    two = np.convolve(one, one)[108:133]
    inside = np.abs(noise[:, 0] + noise[:, 1] - 24) <= 12
    assert fits((noise[:, 0] + noise[:, 1] - 12)[inside], two / two.sum()), f"seed {SEED}"


def test_scale_for_one_count_only_would_break_the_inequality():
    """The mutant that forgets that two counts change: noise of epsilon in place of epsilon / 2."""
    vectors, offsets, chosen = all_documents(3)
    rows = np.tile([3, -1, 1], (len(chosen), 1))
    law = example(2 * 1.0).log_density(vectors, rows, offsets)
    assert largest_step(law, chosen) > 1.9


def test_a_count_becomes_its_mean_given_the_noisy_one():
    """Against the same by enumeration of all histograms of a Dirichlet-multinomial prior."""
    sentences, choices, epsilon = 4, 3, 1.5
    prior = np.zeros(sentences + 1)
    alpha = module._SPARSITY
    for first in range(sentences + 1):
        for second in range(sentences + 1 - first):
            rest = sentences - first - second
            weight = math.exp(
                sum(math.lgamma(n + alpha) - math.lgamma(n + 1) for n in (first, second, rest))
            )
            prior[first] += weight
    table = module._expected(sentences, choices, epsilon)
    for noisy in range(-2, 7):
        weights = prior * np.exp(-epsilon / 2 * np.abs(noisy - np.arange(sentences + 1)))
        expected = weights @ np.arange(sentences + 1) / weights.sum()
        assert table[min(max(noisy, 0), sentences)] == pytest.approx(expected, rel=1e-12)


def test_vectors_are_a_function_of_counts_and_lengths():
    mechanism = example(30.0)
    vectors, offsets, _ = all_documents(3)
    counts = mechanism.noisy(vectors, np.random.default_rng(2), offsets)
    released = mechanism.release(vectors, np.random.default_rng(2), offsets)
    assert (released == mechanism.vectors_of(counts, np.full(len(counts), 3))).all()
    assert (released * 2**20 == np.rint(released * 2**20)).all()
    exact = mechanism.votes(vectors, offsets) @ CHOICES / 3
    assert np.abs(released - exact).max() < 1e-4


def test_documents_of_different_lengths():
    mechanism = example(40.0)
    vectors = np.tile([[1.0, 0.0], [-2.0, 1.0]], (5, 1))
    released = mechanism.release(vectors, np.random.default_rng(0), [0, 2, 6, 10])
    assert np.abs(released - [0.5, 0.5]).max() < 1e-4


def test_statement():
    statement = example(1.5).statement
    assert (statement.notion, statement.unit, statement.adjacency, statement.epsilon) == (
        Notion.PURE,
        Unit.SENTENCE,
        Adjacency.REPLACE,
        1.5,
    )
    assert "the number of sentences of each document" in statement.public
    assert PrivacyStatement.from_json(statement.to_json()) == statement


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9])
def test_a_tiny_epsilon_leaves_nothing_of_the_counts(epsilon):
    """At 1e-20 the noise overflowed and most counts came out as they were; that is refused."""
    document, copies = np.array([[1.0, 0.0], [1.0, 0.1], [-2.0, 1.0]]), 2000
    noisy = example(epsilon).noisy(
        np.tile(document, (copies, 1)), np.random.default_rng(SEED), np.arange(copies + 1) * 3
    )
    assert np.abs(noisy).min() > 100
    assert np.median(np.abs(noisy)) == pytest.approx(math.log(2) / (epsilon / 2), rel=0.1)
    signs = (noisy > 0).sum()
    assert abs(signs - noisy.size / 2) < 6 * math.sqrt(noisy.size) / 2


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, 1e-20, 4e-13])
def test_bad_epsilon_is_refused(epsilon):
    with pytest.raises(InvalidValue, match="epsilon of VoteHistogram must"):
        example(epsilon)


@pytest.mark.parametrize("counts", [np.zeros((1, 2), int), np.zeros((1, 3)), np.zeros(3, int)])
def test_bad_counts_are_refused(counts):
    with pytest.raises(InvalidValue, match="outputs of VoteHistogram must"):
        example(1.0).log_density(np.zeros((2, 2)), counts)


@pytest.mark.parametrize("vectors", [np.empty((0, 2)), np.zeros((1, 2)), np.zeros((4, 3))])
def test_bad_documents_are_refused(vectors):
    with pytest.raises(InvalidValue, match="of VoteHistogram must"):
        example(1.0).release(vectors, np.random.default_rng(0))
