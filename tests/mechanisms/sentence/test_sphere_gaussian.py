"""Gaussian noise on the sphere: the calibration against dp-accounting, the law by quadrature."""

import math

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

from angles import binned, in_bins, noisy_direction_shape, pole
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import SphereGaussian
from discreet.mechanisms.sphere import angles_between
from discreet.protocols import DensityMechanism
from discreet.statement import Notion, PrivacyStatement, Unit
from goodness import fits

SEED = 20260304

EXAMPLES = {
    f"{dimension}-{epsilon}": (
        lambda dimension=dimension, epsilon=epsilon: SphereGaussian(dimension, epsilon, 1e-2)
    )
    for dimension, epsilon in ((2, 0.5), (3, 1.0), (16, 20.0))
}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_the_noise_is_just_enough_for_opposite_vectors(epsilon, delta):
    deviation = SphereGaussian(16, epsilon, delta).noise.standard_deviation
    right = GaussianPrivacyLoss(deviation, sensitivity=2.0).get_delta_for_epsilon(epsilon)
    assert delta * 0.9999 < right <= delta
    # A sensitivity of 1, which is what a careless reading of "unit vectors" gives, is not enough.
    half = GaussianPrivacyLoss(deviation / 2, sensitivity=2.0).get_delta_for_epsilon(epsilon)
    assert half > 2 * delta


@pytest.mark.parametrize(("dimension", "epsilon"), [(3, 10.0), (16, 30.0)])
def test_released_angles_follow_the_law_and_a_wrong_deviation_does_not(dimension, epsilon):
    mechanism = SphereGaussian(dimension, epsilon, 1e-5)
    sigma = mechanism.noise.standard_deviation
    shape = noisy_direction_shape(
        dimension,
        lambda length: -0.5 * (length / sigma) ** 2,
        1 + sigma * (math.sqrt(dimension) + 8),
    )
    edges, masses, _ = binned(shape, points=1_001)
    x = pole(dimension, 120_000)
    for factor, right in ((1.0, True), (0.93, False), (1.07, False)):
        mechanism.noise.standard_deviation = sigma * factor
        y = mechanism.release(x, np.random.default_rng(SEED)).astype(np.float64)
        y /= np.linalg.norm(y, axis=1, keepdims=True)
        assert fits(in_bins(angles_between(x, y), edges), masses) == right, f"seed {SEED}"


def test_the_density_is_that_of_the_noisy_vector():
    mechanism = SphereGaussian(3, 10.0, 1e-5)
    sigma = mechanism.noise.standard_deviation
    x, y = np.array([[1.0, 0, 0]]), np.array([[0.3, -0.2, 2.0]])
    expected = -((y - x) ** 2).sum() / (2 * sigma**2) - 1.5 * math.log(2 * math.pi * sigma**2)
    assert mechanism.log_density(x, y) == pytest.approx([expected])


def test_statement():
    mechanism = SphereGaussian(16, 10.0, 1e-6)
    statement = mechanism.statement
    assert (statement.notion, statement.unit) == (Notion.APPROXIMATE, Unit.SENTENCE)
    assert (statement.epsilon, statement.delta, statement.metric) == (10.0, 1e-6, None)
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    assert isinstance(mechanism, DensityMechanism)


@pytest.mark.parametrize(
    "arguments",
    [
        {"dimension": 1, "epsilon": 1.0, "delta": 1e-5},
        {"dimension": 4, "epsilon": 0.0, "delta": 1e-5},
        {"dimension": 4, "epsilon": -1.0, "delta": 1e-5},
        {"dimension": 4, "epsilon": 1.0, "delta": 0.0},
        {"dimension": 4, "epsilon": 1.0, "delta": 1.0},
        {"dimension": 4, "epsilon": 1.0, "delta": math.nan},
    ],
)
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(InvalidValue, match="of SphereGaussian must be"):
        SphereGaussian(**arguments)
