"""Purkayastha: the inequality for any three directions, and the sampler against the law."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import dblquad, quad

from angles import binned, in_bins, pole, purkayastha_shape, random_units
from discreet.errors import InvalidValue
from discreet.mechanisms import sphere
from discreet.mechanisms.sentence import Purkayastha
from discreet.mechanisms.sphere import angles_between, tangents
from discreet.protocols import DensityMechanism
from discreet.statement import Notion, PrivacyStatement, Unit
from goodness import LEVEL, fits

SEED = 20260302

EXAMPLES = {
    f"{dimension}-{epsilon}": (
        lambda dimension=dimension, epsilon=epsilon: Purkayastha(dimension, epsilon)
    )
    for dimension, epsilon in ((2, 0.0), (2, 3.0), (3, 4.0), (16, 30.0))
}


def excess(mechanism, log_density, seed):
    """Largest log-ratio minus what is allowed, over random, close and opposite triples."""
    m = mechanism.dimension
    x, other, y = (random_units(60, m, seed + i) for i in range(3))
    near = x + 1e-3 * other
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    worst = -math.inf
    for second in (other, near, -x):
        for output in (y, x, second):
            ratio = log_density(x, output) - log_density(second, output)
            allowed = mechanism.statement.epsilon * angles_between(x, second)
            worst = max(worst, float((ratio - allowed).max()))
    return worst


@settings(deadline=None, max_examples=60)
@given(
    st.integers(2, 96),
    st.floats(0, 1e4),
    st.integers(0, 2**32 - 10),
)
def test_the_density_ratio_is_bounded(dimension, epsilon, seed):
    mechanism = Purkayastha(dimension, epsilon)
    assert excess(mechanism, mechanism.log_density, seed) <= 1e-11 * (1 + epsilon)


def test_the_bound_is_tight_so_a_sharper_law_breaks_it():
    mechanism = Purkayastha(8, 5.0)
    assert abs(excess(mechanism, mechanism.log_density, 0)) < 1e-10
    sharper = Purkayastha(8, 5.1)
    assert excess(mechanism, sharper.log_density, 0) > 0.05


def test_the_density_integrates_to_one_over_the_surface():
    flat = Purkayastha(2, 3.0)
    x = np.array([[1.0, 0.0]])

    def circle(t):
        return math.exp(flat.log_density(x, [[math.cos(t), math.sin(t)]])[0])

    assert quad(circle, 0, math.pi)[0] + quad(circle, math.pi, 2 * math.pi)[0] == pytest.approx(1)
    solid = Purkayastha(3, 2.0)
    up = np.array([[0.0, 0.6, 0.8]])

    def sphere(theta, phi):
        y = [[math.sin(theta) * math.cos(phi), math.sin(theta) * math.sin(phi), math.cos(theta)]]
        return math.exp(solid.log_density(up, y)[0]) * math.sin(theta)

    assert dblquad(sphere, 0, 2 * math.pi, 0, math.pi, epsabs=1e-4)[0] == pytest.approx(1, abs=1e-3)
    # In eight dimensions: the mean over uniform directions, times the surface.
    wide = Purkayastha(8, 1.5)
    area = 2 * math.pi**4 / math.gamma(4)
    values = area * np.exp(wide.log_density(pole(8, 200_000), random_units(200_000, 8, 4)))
    error = values.std() / math.sqrt(len(values))
    assert abs(values.mean() - 1) < stats.norm.isf(LEVEL / 2) * error


@pytest.mark.parametrize(
    ("dimension", "epsilon"), [(2, 2.0), (3, 0.5), (3, 20.0), (16, 10.0), (768, 50.0)]
)
def test_released_angles_follow_the_law(dimension, epsilon):
    edges, masses, _ = binned(purkayastha_shape(dimension, epsilon))
    count = 40_000 if dimension < 100 else 6_000
    x = np.tile(random_units(1, dimension, 9), (count, 1))
    y = Purkayastha(dimension, epsilon).release(x, np.random.default_rng(SEED)).astype(np.float64)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    assert fits(in_bins(angles_between(x, y), edges), masses), f"seed {SEED}"


@pytest.mark.parametrize("dimension", [3, 4, 16])
def test_tangent_directions_are_uniform(dimension):
    count = 40_000
    rng = np.random.default_rng(SEED)
    x = np.tile(random_units(1, dimension, 9), (count, 1))
    drawn = tangents(x, rng)
    assert np.abs((drawn * x).sum(axis=1)).max() < 1e-9
    assert np.allclose(np.linalg.norm(drawn, axis=1), 1)
    basis = np.linalg.svd(x[:1])[2][1:]
    half = (dimension - 2) / 2
    law = stats.beta(half, half)
    for axis in basis[:3]:
        cells = np.floor(law.cdf(np.clip((drawn @ axis + 1) / 2, 0, 1)) * 20).clip(0, 19)
        assert fits(cells.astype(int), np.full(20, 0.05)), f"seed {SEED}"
    skewed = np.clip((drawn @ basis[0] + 1) / 2, 0, 1) ** 1.1
    cells = np.floor(law.cdf(skewed) * 20).clip(0, 19)
    assert not fits(cells.astype(int), np.full(20, 0.05))


def test_in_two_dimensions_both_sides_are_equally_likely():
    y = Purkayastha(2, 3.0).release(pole(2, 40_000), np.random.default_rng(SEED))
    assert stats.binomtest(int((y[:, 1] > 0).sum()), 40_000).pvalue > LEVEL


@pytest.mark.parametrize("dimension", [2, 3, 40])
def test_no_epsilon_means_a_uniform_direction(dimension):
    y = Purkayastha(dimension, 0.0).release(pole(dimension, 30_000), np.random.default_rng(SEED))
    half = (dimension - 1) / 2
    shares = stats.beta(half, half).cdf(np.clip((y[:, 0].astype(np.float64) + 1) / 2, 0, 1))
    assert fits(np.floor(shares * 20).clip(0, 19).astype(int), np.full(20, 0.05)), f"seed {SEED}"


def test_a_tangent_that_is_not_at_right_angles_is_noticed(monkeypatch):
    def careless(units, rng):
        drawn = rng.standard_normal(units.shape)
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    monkeypatch.setattr(sphere, "tangents", careless)
    edges, masses, _ = binned(purkayastha_shape(16, 10.0))
    y = Purkayastha(16, 10.0).release(pole(16, 40_000), np.random.default_rng(SEED))
    y = y / np.linalg.norm(y, axis=1, keepdims=True)
    assert not fits(in_bins(angles_between(pole(16, 40_000), y), edges), masses)


def test_statement():
    statement = Purkayastha(16, 10.0).statement
    assert (statement.notion, statement.unit, statement.epsilon) == (
        Notion.METRIC,
        Unit.SENTENCE,
        10.0,
    )
    assert statement.metric.farthest == math.pi
    assert "grid of 2^-20" in str(statement)
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert isinstance(Purkayastha(16, 10.0), DensityMechanism)
    assert Purkayastha(16, 10.0).statement == statement
    assert statement.metric != Purkayastha(17, 10.0).statement.metric


@pytest.mark.parametrize(
    "arguments",
    [
        {"dimension": 1, "epsilon": 1.0},
        {"dimension": 2.5, "epsilon": 1.0},
        {"dimension": True, "epsilon": 1.0},
        {"dimension": 4, "epsilon": -1.0},
        {"dimension": 4, "epsilon": math.nan},
        {"dimension": 4, "epsilon": math.inf},
        {"dimension": 4, "epsilon": 1e7},
        {"dimension": 4, "epsilon": "1"},
    ],
)
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(InvalidValue, match="of Purkayastha must be"):
        Purkayastha(**arguments)


@pytest.mark.parametrize(
    "outputs", [[[1.0, 0, 0]] * 2, [[2.0, 0, 0]], [[1.0, 0]], [[math.nan, 0, 0]]]
)
def test_bad_outputs_are_refused(outputs):
    with pytest.raises(InvalidValue):
        Purkayastha(3, 1.0).log_density([[1.0, 0, 0]], outputs)
