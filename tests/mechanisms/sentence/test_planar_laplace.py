"""Planar Laplace on the sphere: the inequality before, the law after normalising."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from angles import binned, in_bins, noisy_direction_shape, pole, random_units
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import PlanarLaplace
from discreet.mechanisms.sphere import angles_between
from discreet.protocols import DensityMechanism
from discreet.statement import Notion, PrivacyStatement, Unit
from goodness import fits

SEED = 20260303

EXAMPLES = {
    f"{dimension}-{epsilon}": (
        lambda dimension=dimension, epsilon=epsilon: PlanarLaplace(dimension, epsilon)
    )
    for dimension, epsilon in ((2, 0.5), (3, 4.0), (16, 30.0))
}


def excess(mechanism, log_density):
    x, other = (random_units(200, mechanism.dimension, seed) for seed in (1, 2))
    outputs = 5 * random_units(200, mechanism.dimension, 3)
    allowed = mechanism.statement.epsilon * np.linalg.norm(x - other, axis=1)
    return max(
        float((log_density(x, y) - log_density(other, y) - allowed).max()) for y in (outputs, x)
    )


@pytest.mark.parametrize("dimension", [2, 3, 16, 768])
def test_the_density_ratio_is_bounded_and_the_bound_is_tight(dimension):
    mechanism = PlanarLaplace(dimension, 4.0)
    assert abs(excess(mechanism, mechanism.log_density)) < 1e-9
    assert excess(mechanism, PlanarLaplace(dimension, 4.2).log_density) > 0.01


def test_the_density_integrates_to_one():
    mechanism = PlanarLaplace(2, 3.0)

    def ring(r):
        return 2 * math.pi * r * math.exp(mechanism.log_density([[1.0, 0]], [[1.0 + r, 0]])[0])

    assert quad(ring, 0, 40)[0] == pytest.approx(1)


@pytest.mark.parametrize(("dimension", "epsilon"), [(3, 4.0), (16, 30.0)])
def test_released_angles_follow_the_law_and_a_wrong_epsilon_does_not(dimension, epsilon):
    reach = 1 + 4 * dimension / epsilon + 30 / epsilon
    shape = noisy_direction_shape(dimension, lambda length: -epsilon * length, reach)
    edges, masses, _ = binned(shape, points=1_001)
    for factor, right in ((1.0, True), (0.93, False), (1.07, False)):
        mechanism = PlanarLaplace(dimension, epsilon * factor)
        x = pole(dimension, 120_000)
        y = mechanism.release(x, np.random.default_rng(SEED)).astype(np.float64)
        y /= np.linalg.norm(y, axis=1, keepdims=True)
        assert fits(in_bins(angles_between(x, y), edges), masses) == right, f"seed {SEED}"


def test_statement():
    mechanism = PlanarLaplace(16, 10.0)
    statement = mechanism.statement
    assert (statement.notion, statement.unit) == (Notion.METRIC, Unit.SENTENCE)
    assert statement.metric.farthest == 2.0
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert isinstance(mechanism, DensityMechanism)


@pytest.mark.parametrize(
    "arguments",
    [
        {"dimension": 1, "epsilon": 1.0},
        {"dimension": 4, "epsilon": 0.0},
        {"dimension": 4, "epsilon": -1.0},
        {"dimension": 4, "epsilon": math.nan},
        {"dimension": 4, "epsilon": 1e-305},
    ],
)
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(InvalidValue):
        PlanarLaplace(**arguments)


def test_huge_noise_still_gives_directions():
    out = PlanarLaplace(3, 1e-290).release(pole(3, 100), np.random.default_rng(0))
    assert np.allclose(np.linalg.norm(out, axis=1), 1, atol=1e-5)
