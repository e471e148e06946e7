"""CMP: the noise, its density, and what comes out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from conformance import assert_fresh_noise
from discreet.errors import InvalidValue
from discreet.mechanisms.noise import GaussianNoise, SphericalNoise
from discreet.mechanisms.word import CMP
from discreet.mechanisms.word.laplace import LaplaceNoise
from discreet.mechanisms.word.mahalanobis import EllipticalNoise
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Metric, Notion, Unit
from goodness import fits
from noise_laws import directions_fit, independent, law_on_a_line, norms_fit, total_mass
from small_spaces import all_distances, clustered_space, random_space

LINE = EmbeddingSpace.from_arrays("abcdef", [[0.0], [0.4], [0.4], [1.5], [-1.0], [6.0]])

EXAMPLES = {
    "random-1": lambda: CMP(random_space(), epsilon=1.0),
    "clusters-20": lambda: CMP(clustered_space(), epsilon=20.0),
    "line": lambda: CMP(LINE, epsilon=2.0),
}


def _noise(dimension, rate, count, seed=0):
    return SphericalNoise(dimension, rate).sample(count, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("dimension", "count"), [(1, 200_000), (2, 100_000), (50, 20_000), (300, 5_000)]
)
@pytest.mark.parametrize("rate", [0.3, 12.0])
def test_norms_are_gamma_and_a_5_percent_error_is_seen(dimension, count, rate):
    noise = _noise(dimension, rate, count)
    assert norms_fit(noise, rate)
    assert not norms_fit(noise, 1.05 * rate)
    assert not norms_fit(noise, rate / 1.05)


@pytest.mark.parametrize("dimension", [1, 2, 3, 40])
def test_directions_are_uniform_and_a_stretched_axis_is_seen(dimension):
    noise = _noise(dimension, 2.0, 200_000)
    for axis in np.random.default_rng(1).standard_normal((3, dimension)):
        assert directions_fit(noise, axis)
    if dimension == 1:
        assert not directions_fit(np.abs(noise), np.ones(1))
    else:
        noise[:, 0] *= 1.05
        assert not directions_fit(noise, np.eye(dimension)[0])


def test_norm_and_direction_and_positions_are_independent():
    noise = _noise(3, 1.0, 200_000)
    norms = np.linalg.norm(noise, axis=1)
    cosines = noise[:, 0] / norms
    assert independent(norms, np.abs(cosines))
    assert independent(norms[1:], norms[:-1])
    assert independent(cosines[1:], cosines[:-1])
    shared = np.repeat(noise[::2], 2, axis=0)  # the mutant: neighbours share their noise
    assert not independent(shared[1:, 0], shared[:-1, 0])


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("rate", [0.5, 4.0])
def test_density_adds_up_to_one(dimension, rate):
    noise = SphericalNoise(dimension, rate)

    def log_density(z):
        return noise.log_density(np.zeros_like(z), z)

    assert total_mass(log_density, dimension, 60 / rate) == pytest.approx(1.0, abs=1e-9)


def test_density_in_many_dimensions_agrees_with_the_norms():
    # The density of the norm is the density of the vector times the area of the sphere.
    noise, r = SphericalNoise(300, 10.0), 29.0
    area = math.log(2) + 150 * math.log(math.pi) - math.lgamma(150) + 299 * math.log(r)
    point = np.zeros((1, 300))
    point[0, 0] = r
    gamma = 300 * math.log(10) + 299 * math.log(r) - 10 * r - math.lgamma(300)
    assert noise.log_density(0 * point, point)[0] + area == pytest.approx(gamma, abs=1e-9)


numbers = st.floats(-50, 50)
triples = arrays.arrays(np.float64, (3, 4), elements=numbers)


def _excess(noise, epsilon, x, other, output):
    ratio = noise.log_density(x[None], output[None]) - noise.log_density(other[None], output[None])
    return float(ratio[0]) - epsilon * float(np.linalg.norm(x - other))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(triples, st.floats(0.01, 50))
def test_loss_is_at_most_epsilon_times_distance(triple, epsilon):
    noise = SphericalNoise(4, epsilon)
    assert _excess(noise, epsilon, *triple) <= 1e-9 * (1 + epsilon)


def test_noise_that_is_5_percent_too_small_is_caught():
    x, other = np.zeros(4), np.ones(4)
    assert _excess(SphericalNoise(4, 2.0), 2.0, x, other, x) == pytest.approx(0.0, abs=1e-12)
    assert _excess(SphericalNoise(4, 2.0 * 1.05), 2.0, x, other, x) > 0.19


def test_the_exact_law_on_a_line():
    mechanism = CMP(LINE, epsilon=2.0)
    law = law_on_a_line(LINE.vectors, 2.0)
    distances = all_distances(LINE)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(law[:, None, :]) - np.log(law[None, :, :])
    assert np.nanmax(ratios - 2.0 * distances[:, :, None]) <= 1e-9
    for word in range(len(LINE)):
        draws = mechanism.release(np.full(150_000, word), np.random.default_rng(word))
        assert fits(draws, law[word])
        assert not fits(draws, law_on_a_line(LINE.vectors, 2.0 * 1.05)[word])


def test_shared_noise_is_caught():
    mechanism = CMP(random_space(), epsilon=1.0)

    class Shared(SphericalNoise):
        def sample(self, count, rng):
            return np.repeat(super().sample(1, rng), count, axis=0)

    mechanism.noise = Shared(8, 1.0)
    with pytest.raises(AssertionError, match="share"):
        assert_fresh_noise(mechanism, np.random.default_rng(0))


def test_differences_of_two_noisy_copies_are_not_the_differences_of_the_words():
    mechanism = CMP(random_space(), epsilon=1.0)
    first, second = np.zeros(500, dtype=int), np.ones(500, dtype=int)
    rng = np.random.default_rng(0)
    gaps = mechanism.noisy(first, rng) - mechanism.noisy(second, rng)
    assert gaps.std(axis=0).min() > 1.0


def test_statement():
    space = random_space()
    statement = CMP(space, epsilon=3).statement
    assert (statement.notion, statement.unit, statement.epsilon) == (Notion.METRIC, Unit.WORD, 3.0)
    assert isinstance(statement.metric, Metric)
    assert "Euclidean" in statement.metric.name
    assert space.fingerprint[:12] in statement.metric.name


def test_huge_epsilon_keeps_every_word_and_tiny_epsilon_none_in_particular():
    space = clustered_space()
    ids = np.arange(len(space)).repeat(20)
    assert (CMP(space, epsilon=1e9).release(ids, np.random.default_rng(0)) == ids).all()
    out = CMP(space, epsilon=1e-200).release(ids, np.random.default_rng(0))
    assert (out == ids).mean() < 0.1


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "2", None, True])
def test_bad_epsilon(epsilon):
    with pytest.raises(InvalidValue, match="epsilon of CMP must be a finite number above 0"):
        CMP(random_space(), epsilon=epsilon)


def test_epsilon_so_small_that_noise_would_not_be_finite():
    with pytest.raises(InvalidValue, match="large enough"):
        CMP(random_space(), epsilon=1e-307)


def test_a_release_says_how_far_it_is_and_draws_the_same(monkeypatch):
    monkeypatch.setattr("discreet.mechanisms.word._noisy_nearest._BLOCK_NUMBERS", 80)
    space = random_space(30)
    mechanism, ids = CMP(space, epsilon=2.0), np.arange(30)
    quiet = mechanism.release(ids, np.random.default_rng(0))
    seen = []
    mechanism.progress = lambda done, total: seen.append((done, total))
    assert mechanism.release(ids, np.random.default_rng(0)).tolist() == quiet.tolist()
    assert seen == [(10, 30), (20, 30), (30, 30)]


@pytest.mark.parametrize(
    "noise",
    [
        SphericalNoise(3, 2.0),
        GaussianNoise(0.7),
        LaplaceNoise(0.5),
        LaplaceNoise(0.5, 1.2),
        EllipticalNoise(np.diag([1.0, 2.0, 0.5]), 2.0),
    ],
    ids=lambda noise: type(noise).__name__,
)
def test_the_density_of_all_pairs_is_that_of_each(noise):
    rng = np.random.default_rng(0)
    vectors, outputs = rng.standard_normal((7, 3)), rng.standard_normal((5, 3))
    table = noise.log_densities(vectors, outputs)
    for row, output in enumerate(outputs):
        slow = noise.log_density(vectors, np.broadcast_to(output, vectors.shape))
        assert table[row] == pytest.approx(slow, rel=1e-9)
