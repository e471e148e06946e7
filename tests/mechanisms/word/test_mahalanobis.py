"""Mahalanobis: the shape of the noise, its density, and the metric that the statement names."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.spatial.distance import cdist

from discreet.errors import InvalidValue
from discreet.mechanisms.word import CMP, Mahalanobis
from discreet.mechanisms.word.mahalanobis import EllipticalNoise, shaped_covariance
from discreet.spaces.space import EmbeddingSpace
from goodness import fits
from noise_laws import directions_fit, law_on_a_line, norms_fit, total_mass
from small_spaces import both_spaces, clustered_space, random_space

LINE = EmbeddingSpace.from_arrays("abcdef", [[0.0], [0.4], [0.4], [1.5], [-1.0], [6.0]])

EXAMPLES = {
    f"{space}-{shrinkage}": (
        lambda space=space, shrinkage=shrinkage: Mahalanobis(
            {"random": random_space, "clusters": clustered_space}[space](),
            epsilon=4.0,
            shrinkage=shrinkage,
        )
    )
    for space, shrinkage in itertools.product(("random", "clusters"), (0.0, 0.2, 0.9, 1.0))
} | {"line": lambda: Mahalanobis(LINE, epsilon=2.0)}


def _stretched(count: int = 400) -> EmbeddingSpace:
    vectors = np.random.default_rng(3).standard_normal((count, 4)) * [5.0, 2.0, 1.0, 0.3]
    turn, _ = np.linalg.qr(np.random.default_rng(4).standard_normal((4, 4)))
    return EmbeddingSpace.from_arrays([f"w{i}" for i in range(count)], vectors @ turn)


def test_covariance_is_the_textbook_one():
    space = _stretched()
    empirical = np.cov(space.vectors.T, ddof=0)
    scaled = empirical / np.mean(np.linalg.eigvalsh(empirical))
    for shrinkage in (0.0, 0.2, 1.0):
        wanted = shrinkage * scaled + (1 - shrinkage) * np.eye(4)
        assert np.abs(shaped_covariance(space, shrinkage) - wanted).max() < 1e-12


def _noise(mechanism, count, seed=0):
    zeros = np.zeros((count, mechanism.space.dimension))
    return mechanism.noise.add_noise(zeros, np.random.default_rng(seed))


@pytest.mark.parametrize("shrinkage", [0.2, 0.8])
def test_whitened_noise_is_spherical_and_a_5_percent_error_is_seen(shrinkage):
    space = _stretched()
    mechanism = Mahalanobis(space, epsilon=3.0, shrinkage=shrinkage)
    factor = np.linalg.cholesky(shaped_covariance(space, shrinkage))
    round_ = np.linalg.solve(factor, _noise(mechanism, 200_000).T).T
    assert norms_fit(round_, 3.0)
    assert not norms_fit(round_, 3.0 * 1.05)
    for axis in np.eye(4):
        assert directions_fit(round_, axis)
    other = np.linalg.cholesky(shaped_covariance(space, shrinkage - 0.1))
    wrong = np.linalg.solve(other, _noise(mechanism, 200_000).T).T
    assert not all(directions_fit(wrong, axis) for axis in np.linalg.qr(other)[0].T)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_density_adds_up_to_one(dimension):
    root = np.random.default_rng(dimension).standard_normal((dimension, dimension))
    noise = EllipticalNoise(root @ root.T + np.eye(dimension), 2.0)

    def log_density(z):
        return noise.log_density(np.zeros_like(z), z)

    assert total_mass(log_density, dimension, 80.0) == pytest.approx(1.0, abs=1e-6)


numbers = st.floats(-20, 20)
SPACE = _stretched(60)
SHAPED = shaped_covariance(SPACE, 0.7)


def _excess(noise, epsilon, x, other, output):
    ratio = noise.log_density(x[None], output[None]) - noise.log_density(other[None], output[None])
    gap = x - other
    return float(ratio[0]) - epsilon * float(np.sqrt(gap @ np.linalg.inv(SHAPED) @ gap))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(arrays.arrays(np.float64, (3, 4), elements=numbers), st.floats(0.01, 50))
def test_loss_is_at_most_epsilon_times_mahalanobis_distance(triple, epsilon):
    noise = EllipticalNoise(SHAPED, epsilon)
    assert _excess(noise, epsilon, *triple) <= 1e-8 * (1 + epsilon)


def test_wrong_shape_or_scale_is_caught():
    x, other = np.zeros(4), np.linalg.eigh(SHAPED)[1][:, 0]
    assert _excess(EllipticalNoise(SHAPED, 2.0), 2.0, x, other, x) == pytest.approx(0.0, abs=1e-9)
    assert _excess(EllipticalNoise(SHAPED, 2.0 * 1.05), 2.0, x, other, x) > 0.05
    # The covariance in place of its root: twice the exponent of every eigenvalue.
    squared = EllipticalNoise(SHAPED @ SHAPED, 2.0)
    assert _excess(squared, 2.0, x, other, x) > 0.05


@pytest.mark.parametrize("space", both_spaces(), ids=lambda s: s.name)
@pytest.mark.parametrize("shrinkage", [0.0, 0.2, 0.95])
def test_the_statement_names_the_metric_and_its_figures_are_right(space, shrinkage):
    mechanism = Mahalanobis(space, epsilon=1.0, shrinkage=shrinkage)
    inverse = np.linalg.inv(shaped_covariance(space, shrinkage))
    table = cdist(space.vectors, space.vectors, "mahalanobis", VI=inverse)
    metric = mechanism.statement.metric
    assert "Mahalanobis" in metric.name
    assert space.fingerprint[:12] in metric.name
    assert table.max() <= metric.farthest <= table.max() * (1 + 1e-5)
    off = table + np.diag(np.full(len(table), np.inf))
    assert metric.nearest == pytest.approx(np.median(off.min(axis=1)), rel=1e-6)
    others = table[~np.eye(len(table), dtype=bool)].reshape(len(table), -1)
    assert metric.median == pytest.approx(np.median(np.median(others, axis=1)), rel=1e-6)
    x, y = np.arange(60), np.arange(60, 120)
    assert mechanism.distance(x, y) == pytest.approx(table[x, y], rel=1e-9)


def test_metrics_of_other_shrinkages_and_of_cmp_are_other_metrics():
    space = random_space()
    statements = [Mahalanobis(space, epsilon=1.0, shrinkage=s).statement for s in (0.2, 0.3)]
    assert not statements[0].implies(statements[1])
    assert not statements[0].implies(CMP(space, epsilon=1.0).statement)


def test_no_shrinkage_is_cmp():
    space = random_space()
    ids = np.arange(len(space)).repeat(50)
    ours = Mahalanobis(space, epsilon=2.0, shrinkage=0.0).release(ids, np.random.default_rng(1))
    assert (ours == CMP(space, epsilon=2.0).release(ids, np.random.default_rng(1))).mean() > 0.999


def test_the_exact_law_on_a_line():
    # In one dimension the scaled covariance is 1, whatever the shrinkage.
    mechanism = Mahalanobis(LINE, epsilon=2.0, shrinkage=1.0)
    law = law_on_a_line(LINE.vectors, 2.0)
    draws = mechanism.release(np.full(150_000, 3), np.random.default_rng(0))
    assert fits(draws, law[3])
    assert not fits(draws, law_on_a_line(LINE.vectors, 2.0 * 1.05)[3])


def test_words_that_are_all_at_one_point_or_in_a_plane():
    words = "abcd"
    point = EmbeddingSpace.from_arrays(words, np.ones((4, 3)))
    assert (Mahalanobis(point, epsilon=1.0).release([1, 2, 3], np.random.default_rng(0)) == 0).all()
    plane = EmbeddingSpace.from_arrays(words, [[0.0, 0, 1], [1, 0, 1], [0, 1, 1], [3, 2, 1]])
    assert len(Mahalanobis(plane, epsilon=1.0).release([0], np.random.default_rng(0))) == 1
    with pytest.raises(InvalidValue, match="shrinkage of Mahalanobis below 1"):
        Mahalanobis(plane, epsilon=1.0, shrinkage=1.0)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "2", None, True])
def test_bad_epsilon(epsilon):
    with pytest.raises(
        InvalidValue, match="epsilon of Mahalanobis must be a finite number above 0"
    ):
        Mahalanobis(random_space(), epsilon=epsilon)


@pytest.mark.parametrize("shrinkage", [-0.1, 1.1, float("nan"), "0.2", None, True])
def test_bad_shrinkage(shrinkage):
    with pytest.raises(InvalidValue, match="shrinkage of Mahalanobis must be"):
        Mahalanobis(random_space(), epsilon=1.0, shrinkage=shrinkage)
