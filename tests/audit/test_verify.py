"""The exact checks of finite laws, each compared with a slow and obvious one."""

import math

import numpy as np
import pytest

from audit.gallery import approximate_statement, distance_logs, metric_statement, pure_statement
from conformance import excess_loss
from discreet.audit.distance_law import all_pairs
from discreet.audit.verify import divergences, row_sums, worst_pair
from discreet.mechanisms.word import SanText, SanTextPlus
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Metric, Notion, PrivacyStatement, Unit
from small_spaces import all_distances, both_spaces, clustered_space, random_space


def _law(rows, outputs, seed):
    logs = np.random.default_rng(seed).normal(0, 2, (rows, outputs))
    return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))


def test_the_worst_pair_of_a_pure_law_is_the_obvious_one():
    logs = _law(13, 7, 0)
    ratios = [
        (logs[i, y] - logs[j, y], i, j, y) for i in range(13) for j in range(13) for y in range(7)
    ]
    expected, i, j, y = max(ratios)
    worst = worst_pair(pure_statement(expected), logs)
    assert worst.loss == expected
    assert worst.needed == expected
    assert (worst.first, worst.second, worst.output) == (i, j, y)
    assert not worst.broken
    assert worst_pair(pure_statement(expected * (1 - 1e-6)), logs).broken


@pytest.mark.parametrize("space", both_spaces(80), ids=lambda s: s.name)
def test_the_worst_rate_of_a_metric_law_is_the_obvious_one(space):
    distances, logs = all_distances(space), distance_logs(space, 1.0)
    losses = (logs[:, None, :] - logs[None, :, :]).max(axis=2)
    with np.errstate(invalid="ignore"):
        rates = np.where(distances > 0, losses / distances, 0)
    worst = worst_pair(metric_statement(space, 2.0), logs, distances)
    assert worst.needed == pytest.approx(rates.max(), rel=1e-6)
    assert not worst.broken
    assert worst_pair(metric_statement(space, 0.99 * rates.max()), logs, distances).broken


@pytest.mark.parametrize("seed", range(5))
def test_of_pairs_that_are_as_bad_up_to_rounding_the_first_is_named(seed):
    """Which of them is largest in the last bit depends on the processor."""
    rating = np.arange(5)
    distances = np.abs(rating[:, None] - rating).astype(float)
    fall = np.exp(-1.0)
    law = fall**distances / (1 + fall)
    law[:, 1:-1] *= 1 - fall  # numbers with clamped noise: every pair loses 1 for each step
    logs = np.log(law) * (1 + np.random.default_rng(seed).uniform(-1, 1, (5, 5)) * 4e-16)
    statement = metric_statement(random_space(5), 1.0)
    worst = worst_pair(statement, logs, distances)
    assert (worst.first, worst.second, worst.output) == (0, 1, 0)
    assert worst.needed == pytest.approx(1.0, rel=2e-9)
    assert not worst.broken


def test_words_at_one_point_must_be_released_alike():
    distances = np.zeros((2, 2))
    same = np.log([[0.5, 0.5], [0.5, 0.5]])
    other = np.log([[0.5, 0.5], [0.5001, 0.4999]])
    statement = metric_statement(random_space(5), 3.0)
    assert not worst_pair(statement, same, distances).broken
    assert worst_pair(statement, other, distances).needed == math.inf


def test_a_zero_that_another_row_does_not_share_is_an_infinite_loss():
    logs = np.log([[0.5, 0.5], [0.5, 0.5]])
    logs[1] = [0.0, -np.inf]
    worst = worst_pair(pure_statement(1e6), logs)
    assert worst.needed == math.inf
    assert (worst.first, worst.second, worst.output) == (0, 1, 1)
    assert worst_pair(approximate_statement(1e6, 0.5), logs).needed == pytest.approx(0.5)


def test_a_zero_that_all_rows_share_is_none():
    logs = np.array([[0.0, -np.inf], [0.0, -np.inf]])
    assert worst_pair(pure_statement(0.0), logs).needed == 0


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_divergences_are_the_obvious_sums(epsilon):
    logs = _law(9, 11, 1)
    law = np.exp(logs)
    expected = np.array(
        [
            [
                sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(a, b, strict=True))
                for b in law
            ]
            for a in law
        ]
    )
    np.fill_diagonal(expected, 0)
    assert np.abs(divergences(logs, epsilon) - expected).max() < 1e-14
    delta = expected.max()
    assert not worst_pair(approximate_statement(epsilon, delta), logs).broken
    assert worst_pair(approximate_statement(epsilon, 0.99 * delta), logs).broken


@pytest.mark.parametrize("epsilon", [0.5, 6.0])
@pytest.mark.parametrize("space", both_spaces(90), ids=lambda s: s.name)
def test_agrees_with_the_conformance_suite_on_both_metric_notions(space, epsilon):
    distances = all_distances(space)
    everything = np.arange(len(space))
    sensitive = np.arange(0, 90, 4)
    protected = np.isin(everything, sensitive)
    for mechanism in (
        SanText(space, epsilon=epsilon),
        SanTextPlus(space, epsilon=epsilon, sensitive=sensitive, p=0.4),
    ):
        for shift in (0.0, 0.3):
            if shift:
                mechanism._law.kappa = epsilon * (1 + shift)
            worst = worst_pair(
                mechanism.statement,
                mechanism.log_probabilities(everything),
                distances,
                own=everything,
                protected=protected,
            )
            assert worst.broken == (excess_loss(mechanism, distances) > 1e-9)


def test_only_its_own_word_may_come_out_unprotected():
    # Word 0 is protected, words 1 and 2 are not.
    statement = PrivacyStatement(
        notion=Notion.UTILITY_OPTIMISED,
        epsilon=1.0,
        slack=math.log(2),
        metric=Metric("m", 1, 1, 1),
        unit=Unit.WORD,
    )
    arguments = {
        "distances": 1.0 - np.eye(3),
        "own": np.arange(3),
        "protected": np.array([True, False, False]),
    }
    with np.errstate(divide="ignore"):
        good = np.log([[1.0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5]])
        bad = np.log([[1.0, 0, 0], [0.4, 0.5, 0.1], [0.5, 0, 0.5]])
    assert not worst_pair(statement, good, **arguments).broken
    worst = worst_pair(statement, bad, **arguments)
    assert worst.needed == math.inf
    assert (worst.first, worst.output) == (1, 2)


def test_rows_that_are_no_probabilities_do_not_sum_to_one():
    sums = row_sums(np.array([[0.0, 0.0], [np.nan, 0.0], [800.0, 0.0]]))
    assert not (np.abs(sums - 1) < 1e-6).any()


# -- the closed form for large vocabularies ------------------------------------------------------


def _brute_force(space, kappa, targets, slack=0.0, offsets=0.0):
    distances = all_distances(space)
    log_z = np.log(np.exp(-kappa * distances[:, targets]).sum(axis=1)) + offsets
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = (np.abs(log_z[:, None] - log_z[None]) - slack) / distances
    slopes[distances == 0] = 0
    return kappa + max(0.0, float(slopes.max()))


@pytest.mark.parametrize("kappa", [0.3, 2.0, 15.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [random_space, clustered_space])
def test_all_pairs_are_what_brute_force_finds(kind, dtype, kappa):
    plain = kind(300)
    vectors = plain.vectors.astype(dtype)
    vectors[5] = vectors[6]
    vectors[7] = vectors[8] * dtype(1 + 1e-4)
    space = EmbeddingSpace.from_arrays(plain.words, vectors)
    for targets in (None, np.arange(0, 300, 7)):
        expected = _brute_force(space, kappa, slice(None) if targets is None else targets)
        claimed = expected * (1 + 1e-4)
        found = all_pairs(space, kappa, claimed, targets=targets)
        assert found.rate == pytest.approx(expected, rel=1e-4)
        assert found.rate <= found.bound <= claimed, "the claim holds, so it must be provable"


def test_slack_and_offsets_enter_the_closed_form():
    space = clustered_space(200)
    sensitive = np.arange(0, 200, 3)
    offsets = np.where(np.isin(np.arange(200), sensitive), 0.0, 0.7)
    found = all_pairs(space, 4.0, 8.0, targets=sensitive, offsets=offsets, slack=0.7)
    expected = _brute_force(space, 4.0, sensitive, 0.7, offsets)
    assert found.rate == pytest.approx(expected, rel=1e-6)


def test_thousands_of_near_duplicates_do_not_make_a_sound_law_look_broken():
    vectors = np.random.default_rng(0).standard_normal((40, 5))
    vectors = np.repeat(vectors, 10, axis=0) + 1e-7 * np.random.default_rng(1).normal(size=(400, 5))
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(400)], vectors)
    expected = _brute_force(space, 3.0, slice(None))
    found = all_pairs(space, 3.0, 6.0)
    assert found.rate <= 6.0
    assert found.rate == pytest.approx(expected, rel=0.02)
