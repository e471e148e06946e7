"""Truncation: the ratio by every replacement, noise against the law."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidValue
from discreet.mechanisms.document import Truncation
from discreet.protocols import DensityMechanism
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit
from goodness import LEVEL, fits
from sentence_neighbours import all_documents, largest_step

SEED = 20260505
LOWER, UPPER = np.array([-1.0, -0.3]), np.array([1.0, 0.3])

EXAMPLES = {
    "box-0.5": lambda: Truncation(LOWER, UPPER, 0.5),
    "box-5": lambda: Truncation(LOWER, UPPER, 5.0),
    "line-2": lambda: Truncation([-0.2], [0.3], 2.0),
}


STEPS = 2**20


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_the_ratio_is_bounded_and_the_bound_is_reached(epsilon):
    vectors, offsets, chosen = all_documents(3)
    mechanism = Truncation(LOWER, UPPER, epsilon)
    worst = 0.0
    for output in np.random.default_rng(SEED).normal(scale=4 * STEPS, size=(40, 2)).astype(int):
        outputs = np.tile(output, (len(chosen), 1))
        worst = max(worst, largest_step(mechanism.log_density(vectors, outputs, offsets), chosen))
    assert worst <= epsilon + 1e-10
    assert worst > 0.99 * epsilon


def test_without_clipping_the_ratio_is_not_bounded():
    """The mutant: noise for the box, on vectors that are not in it."""
    wide = Truncation(LOWER * 4, UPPER * 4, 4 * 2.0)  # the noise of the box at epsilon 2
    vectors, offsets, chosen = all_documents(3)
    outputs = np.tile([9 * STEPS, -9 * STEPS], (len(chosen), 1))
    assert largest_step(wide.log_density(vectors, outputs, offsets), chosen) > 4.0


def test_a_sentence_is_worth_at_most_the_steps_of_a_width():
    mechanism = Truncation(LOWER, UPPER, 1.0)
    document = np.array([[-7.0, 0.3], [1.0, 0.0], [1e30, -0.3]])
    assert mechanism.statistic(document).tolist() == [[2 * STEPS, 1.5 * STEPS]]


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-6])
def test_at_a_tiny_epsilon_all_sums_have_the_same_outputs(epsilon):
    """In floating point the noise had gaps, and two documents no output in common."""
    mechanism = Truncation([0.0], [1.0], epsilon)
    one, other = np.full((2, 1), 0.3), np.full((2, 1), 0.7)
    shift = mechanism.statistic(other) - mechanism.statistic(one)
    noise = mechanism.noisy(np.tile(one, (4000, 1)), np.random.default_rng(0), np.arange(4001) * 2)
    noise = noise - mechanism.statistic(one)
    # Lowest bits are fair coins, so that moving all noise by any step meets as many outputs.
    for bit in (1, 2, 4, 8):
        ones = int((noise & bit != 0).sum())
        assert stats.binomtest(ones, noise.size).pvalue > LEVEL
    rows, offsets = np.concatenate([one, other]), [0, 2, 4]
    at = mechanism.log_density(rows, np.tile(noise[:1], (2, 1)), offsets)
    assert abs(at[0] - at[1]) <= epsilon * (1 + 1e-9) + 1e-12 * abs(at[0])
    assert abs(int(shift[0, 0])) <= mechanism._steps


def test_the_smallest_epsilon_grows_with_the_dimension():
    with pytest.raises(InvalidValue, match="epsilon of Truncation in 768 dimensions must"):
        Truncation(np.zeros(768), np.ones(768), 1e-10)
    coarse = Truncation(np.zeros(768), np.ones(768), 1e-9)
    assert coarse.statistic(np.ones((2, 768))).max() == 2 * coarse._steps
    assert np.isfinite(coarse.release(np.ones((2, 768)), np.random.default_rng(0))).all()


def test_noise_follows_the_law_and_a_wrong_scale_does_not():
    epsilon, sentences, copies = 3.0, 4, 60_000
    document = np.array([[0.2, 0.1], [5.0, 0.0], [0.0, -9.0], [0.4, 0.4]])
    mean = np.clip(document, LOWER, UPPER).mean(axis=0)
    drawn = Truncation(LOWER, UPPER, epsilon).release(
        np.tile(document, (copies, 1)),
        np.random.default_rng(SEED),
        np.arange(copies + 1) * sentences,
    )
    for j in range(2):
        scale = 2 * (UPPER - LOWER)[j] / (sentences * epsilon)
        for factor, right in ((1.0, True), (1.07, False)):
            cells = np.floor(40 * stats.laplace(mean[j], factor * scale).cdf(drawn[:, j]))
            assert fits(cells.clip(0, 39).astype(int), np.full(40, 1 / 40)) is right, f"seed {SEED}"


def test_the_law_adds_up_to_one():
    mechanism, document = Truncation([0.0], [1.0], 2.0), np.array([[0.3], [0.9], [7.0]])
    every = 64  # the law is smooth: each stands for those up to the next
    points = np.arange(-30 * STEPS, 30 * STEPS, every)
    logs = mechanism.log_density(
        np.tile(document, (len(points), 1)), points[:, None], np.arange(len(points) + 1) * 3
    )
    assert np.exp(logs).sum() * every == pytest.approx(1, abs=1e-4)


def test_released_vectors_are_on_the_grid():
    released = Truncation(LOWER, UPPER, 9.0).release(np.zeros((6, 2)), np.random.default_rng(0))
    assert released.dtype == np.float32
    assert (released * 2**20 == np.rint(released * 2**20)).all()


def test_the_box_of_public_vectors_holds_their_middle():
    public = np.random.default_rng(SEED).normal(size=(4000, 3))
    mechanism = Truncation.from_public(public, 1.0, share=0.75)
    inside = ((public >= mechanism.lower) & (public <= mechanism.upper)).mean(axis=0)
    assert np.abs(inside - 0.75).max() < 0.001


def test_statement():
    mechanism = Truncation(LOWER, UPPER, 1.5)
    statement = mechanism.statement
    assert (statement.notion, statement.unit, statement.adjacency, statement.epsilon) == (
        Notion.PURE,
        Unit.SENTENCE,
        Adjacency.REPLACE,
        1.5,
    )
    assert "the bounds of the box" in statement.public
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert isinstance(mechanism, DensityMechanism)


@pytest.mark.parametrize(
    ("lower", "upper", "epsilon"),
    [
        (LOWER, UPPER[:1], 1.0),
        (UPPER, LOWER, 1.0),
        (LOWER, [1.0, -0.3], 1.0),
        (LOWER, [1.0, math.nan], 1.0),
        ([LOWER], [UPPER], 1.0),
        ([], [], 1.0),
        (["a"], ["b"], 1.0),
        (LOWER, UPPER, 0.0),
        (LOWER, UPPER, math.inf),
        (LOWER, UPPER, 1e-13),
        (LOWER, [1.0, 1e13], 1.0),
    ],
)
def test_bad_parameters_are_refused(lower, upper, epsilon):
    with pytest.raises(InvalidValue, match="must"):
        Truncation(lower, upper, epsilon)


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
    with pytest.raises(InvalidValue, match="of Truncation must"):
        Truncation(LOWER, UPPER, 1.0).release(vectors, np.random.default_rng(0), offsets)


def test_outputs_of_another_shape_are_refused():
    with pytest.raises(InvalidValue, match="outputs of Truncation must"):
        Truncation(LOWER, UPPER, 1.0).log_density(np.zeros((4, 2)), np.zeros((2, 2), int))
    with pytest.raises(InvalidValue, match="outputs of Truncation must be whole"):
        Truncation(LOWER, UPPER, 1.0).log_density(np.zeros((4, 2)), np.zeros((1, 2)))
