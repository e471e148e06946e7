"""Random projection: the stretch is exact, and what it is divided by shows."""

import json

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.files import sealed_json
from discreet.mechanisms.word import CMP, RandomProjection
from discreet.mechanisms.word import random_projection as module
from discreet.mechanisms.word.random_projection import largest_stretch, project, projection_matrix
from discreet.spaces.space import EmbeddingSpace
from goodness import fits
from noise_laws import law_on_a_line, norms_fit
from small_spaces import all_distances, both_spaces, clustered_space, random_space

EXAMPLES = {
    "random-3": lambda: RandomProjection(random_space(), epsilon=2.0, dimension=3),
    "clusters-1": lambda: RandomProjection(clustered_space(), epsilon=20.0, dimension=1),
    "line": lambda: RandomProjection(random_space(dimension=1), epsilon=1.0, dimension=1),
    "all": lambda: RandomProjection(random_space(), epsilon=2.0, dimension=8, seed=5),
}


def _brute(vectors: np.ndarray, points: np.ndarray) -> float:
    before = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    after = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float((after[before > 0] / before[before > 0]).max())


@pytest.mark.parametrize("dimension", [1, 3, 8])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("space", both_spaces(300), ids=lambda s: s.name)
def test_stretch_is_that_of_the_worst_pair(space, seed, dimension, monkeypatch):
    points = project(space.vectors, projection_matrix(8, dimension, seed))
    wanted = _brute(space.vectors, points)
    assert wanted <= largest_stretch(space.vectors, points) <= wanted * (1 + 2e-9)
    for rows, columns, at_once in ((7, 11, 2), (64, 32, 4096)):
        monkeypatch.setattr(module, "_ROWS", rows)
        monkeypatch.setattr(module, "_COLUMNS", columns)
        monkeypatch.setattr(module, "_PAIRS_AT_ONCE", at_once)
        assert wanted <= largest_stretch(space.vectors, points) <= wanted * (1 + 2e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stretch_with_duplicates_near_duplicates_and_outliers(dtype):
    rng = np.random.default_rng(2)
    vectors = clustered_space(150).vectors.copy()
    vectors[1] = vectors[0]
    vectors[2:30] = vectors[0] + 1e-5 * rng.standard_normal((28, 8))
    vectors[30] *= 1e6
    vectors = vectors.astype(dtype)
    matrix = projection_matrix(8, 2, 0)
    # The worst direction at the smallest distance, where a float32 product sees nothing.
    worst = np.linalg.svd(matrix)[0][:, 0]
    vectors[31] = vectors[40] + dtype(2e-6) * worst
    points = project(vectors, matrix)
    wanted = _brute(vectors.astype(np.float64), points)
    assert wanted <= largest_stretch(vectors, points) <= wanted * (1 + 2e-9)
    assert (points[1] == points[0]).all()


def test_words_at_one_point():
    space = EmbeddingSpace.from_arrays("abc", np.ones((3, 2)))
    mechanism = RandomProjection(space, epsilon=1.0, dimension=1)
    assert mechanism.stretch == 1.0
    assert (mechanism.release([2, 1], np.random.default_rng(0)) == 0).all()


def _excess(mechanism) -> float:
    """Largest loss between two words minus what the statement allows in the original metric."""
    points = mechanism.points
    logs = np.stack(
        [mechanism.noise.log_density(np.broadcast_to(p, points.shape), points) for p in points]
    )
    # Spherical noise loses most at the word itself: the density at y = x given x, against given x'.
    loss = np.diagonal(logs)[:, None] - logs
    return float((loss - mechanism.statement.epsilon * all_distances(mechanism.space)).max())


@pytest.mark.parametrize("space", both_spaces(), ids=lambda s: s.name)
@pytest.mark.parametrize("dimension", [1, 3, 8])
def test_guarantee_is_in_the_original_metric_and_not_wasteful(space, dimension):
    mechanism = RandomProjection(space, epsilon=5.0, dimension=dimension)
    assert -1e-7 < _excess(mechanism) <= 1e-9
    assert mechanism.noise.rate == mechanism.projected_epsilon == 5.0 / mechanism.stretch
    assert "Euclidean" in mechanism.statement.metric.name
    assert mechanism.statement.metric == CMP(space, epsilon=5.0).statement.metric


def test_forgetting_the_stretch_is_caught():
    mechanism = RandomProjection(clustered_space(), epsilon=5.0, dimension=3)
    assert mechanism.stretch > 1.05
    mechanism.noise.rate = 5.0
    assert _excess(mechanism) > 0.01


def test_noise_follows_its_law_and_a_5_percent_error_is_seen():
    mechanism = RandomProjection(random_space(), epsilon=2.0, dimension=3)
    ids = np.zeros(100_000, dtype=int)
    noise = mechanism.noisy(ids, np.random.default_rng(0)) - mechanism.points[0]
    assert noise.shape == (100_000, 3)
    assert norms_fit(noise, mechanism.projected_epsilon)
    assert not norms_fit(noise, 1.05 * mechanism.projected_epsilon)


def test_the_exact_law_in_one_dimension():
    space = random_space(20, dimension=5)
    mechanism = RandomProjection(space, epsilon=3.0, dimension=1)
    law = law_on_a_line(mechanism.points, mechanism.projected_epsilon)
    with np.errstate(divide="ignore"):
        logs = np.log(law)
    allowed = 3.0 * all_distances(space)[:, :, None]
    assert (logs[:, None, :] - logs[None, :, :] - allowed).max() <= 1e-9
    wrong = law_on_a_line(mechanism.points, mechanism.projected_epsilon * 1.05)
    for word in (0, 11):
        draws = mechanism.release(np.full(200_000, word), np.random.default_rng(word))
        assert fits(draws, law[word])
        assert not fits(draws, wrong[word])


def test_the_matrix_is_public_fixed_and_recorded():
    space = random_space()
    first, again, other = (
        RandomProjection(space, epsilon=1.0, dimension=4, seed=seed) for seed in (0, 0, 1)
    )
    assert (first.matrix == again.matrix).all()
    assert first.statement == again.statement
    assert first.statement != other.statement
    assert any("seed 1, matrix" in entry for entry in other.statement.public)


def test_lengths_are_kept_on_average():
    squares = (projection_matrix(50, 20_000, 0) ** 2).sum(axis=1)
    assert squares == pytest.approx(np.ones(50), abs=0.05)


def test_a_slow_stretch_is_kept_and_a_damaged_or_foreign_one_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "_WORTH_CACHING_SECONDS", -1.0)
    space = random_space()
    stretch = RandomProjection(space, epsilon=1.0, dimension=2).stretch
    (path,) = (tmp_path / "stretches").iterdir()
    kept = json.loads(path.read_text())
    assert kept["stretch"] == stretch

    del kept["sha256"]
    path.write_text(sealed_json({**kept, "stretch": 2 * stretch}))
    assert RandomProjection(space, epsilon=1.0, dimension=2).stretch == 2 * stretch, "it is read"
    for damage in (
        "",
        "[]",
        json.dumps({**kept, "stretch": 2 * stretch}),
        sealed_json({**kept, "space": "another", "stretch": 1e-9}),
        sealed_json({**kept, "points": "another", "stretch": 1e-9}),
    ):
        path.write_text(damage)
        assert RandomProjection(space, epsilon=1.0, dimension=2).stretch == stretch

    # One that cannot be written is done without.
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "taken"))
    assert RandomProjection(space, epsilon=1.0, dimension=2).stretch == stretch


def test_progress_is_told(monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 50)
    told = []
    RandomProjection(random_space(), 1.0, 2, progress=lambda *step: told.append(step))
    assert told == [(50, 120), (100, 120), (120, 120)]


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "2", None, True])
def test_bad_epsilon(epsilon):
    with pytest.raises(InvalidValue, match="epsilon of RandomProjection must be a finite number"):
        RandomProjection(random_space(), epsilon=epsilon, dimension=2)


@pytest.mark.parametrize("dimension", [0, 9, -1, 2.0, "2", None, True])
def test_bad_dimension(dimension):
    with pytest.raises(InvalidValue, match="dimension of RandomProjection must be"):
        RandomProjection(random_space(), epsilon=1.0, dimension=dimension)


@pytest.mark.parametrize("seed", [-1, 0.5, "0", None])
def test_bad_seed(seed):
    with pytest.raises(InvalidValue, match="seed of RandomProjection must be"):
        RandomProjection(random_space(), epsilon=1.0, dimension=2, seed=seed)


def test_a_pair_too_near_for_its_squares_is_measured_too():
    vectors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1e-200]])
    points = vectors @ np.array([[1.0], [3.0]])
    assert largest_stretch(vectors, points) == pytest.approx(3.0)
