"""The noise layer follows the mechanism's law, and the gradient passes through it.

Points that keep away from each other do so as well as the best known arrangements.
"""

import math

import numpy as np
import pytest
from scipy import stats

from angles import binned, in_bins, pole, purkayastha_shape, random_units
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import PlanarLaplace
from discreet.models.sphere_noise import spread, through_noise, trainable
from goodness import LEVEL, fits

torch = pytest.importorskip("torch")


def _angles(name: str, dimension: int, epsilon: float, count: int = 40_000) -> np.ndarray:
    units = torch.from_numpy(pole(dimension, count).astype(np.float32))
    mechanism = trainable(name, dimension, epsilon)
    drawn = through_noise(mechanism, units, np.random.default_rng(3)).numpy().astype(np.float64)
    assert np.allclose(np.linalg.norm(drawn, axis=1), 1.0, atol=1e-5)
    return np.arctan2(np.linalg.norm(drawn[:, 1:], axis=1), drawn[:, 0])


@pytest.mark.parametrize(("dimension", "epsilon"), [(2, 4.0), (3, 2.0), (16, 10.0)])
def test_angles_follow_the_law_and_not_another(dimension, epsilon):
    edges, probabilities, _ = binned(purkayastha_shape(dimension, epsilon), 2001)
    cells = in_bins(_angles("purkayastha", dimension, epsilon), edges)
    assert fits(cells, probabilities)
    wrong = in_bins(_angles("purkayastha", dimension, 1.15 * epsilon), edges)
    assert not fits(wrong, probabilities)


def test_directions_are_uniform_around_the_vector():
    units = torch.from_numpy(pole(3, 40_000).astype(np.float32))
    drawn = through_noise(trainable("purkayastha", 3, 5.0), units, np.random.default_rng(4))
    turn = np.arctan2(drawn[:, 2].numpy(), drawn[:, 1].numpy()) / (2 * math.pi) + 0.5
    assert fits(np.minimum((turn * 20).astype(int), 19), np.full(20, 0.05))


def test_planar_laplace_is_that_of_the_mechanism():
    rows = pole(4, 40_000)
    released = PlanarLaplace(4, 3.0).release(rows, np.random.default_rng(5))
    exact = np.arctan2(np.linalg.norm(released[:, 1:], axis=1), released[:, 0])
    assert stats.ks_2samp(_angles("planar-laplace", 4, 3.0), exact, method="asymp").pvalue > LEVEL
    assert stats.ks_2samp(_angles("planar-laplace", 4, 3.6), exact, method="asymp").pvalue < LEVEL


@pytest.mark.parametrize("name", ["purkayastha", "planar-laplace"])
def test_the_gradient_is_that_of_finite_differences(name):
    # With the noise held fixed the draw is a smooth function of the unit vector.
    units = torch.from_numpy(random_units(3, 5, 1)).double().requires_grad_()
    mechanism = trainable(name, 5, 8.0)

    def drawn(rows):
        return through_noise(mechanism, rows, np.random.default_rng(6)).pow(3).sum()

    (found,) = torch.autograd.grad(drawn(units), units)
    step = torch.zeros_like(units)
    step[1, 2] = 1e-5
    slope = (drawn(units + step) - drawn(units - step)).item() / 2e-5
    assert found[1, 2].item() == pytest.approx(slope, rel=1e-4)
    assert found.abs().min() > 0


def test_other_mechanisms_are_refused():
    with pytest.raises(InvalidValue, match="one of planar-laplace, priv-unit, purkayastha"):
        trainable("gaussian", 2, 1.0)


@pytest.mark.parametrize(
    ("points", "dimension", "largest"),
    [
        (2, 2, -1.0),
        (2, 16, -1.0),
        (3, 2, -0.5),
        (5, 2, np.cos(2 * np.pi / 5)),
        (4, 3, -1 / 3),
        (6, 3, 0.0),
        (8, 4, 0.0),
    ],
)
def test_the_closest_pair_is_as_far_apart_as_can_be(points, dimension, largest):
    found = spread(points, dimension)
    cosines = found @ found.T - 2 * np.eye(points)
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-6)
    assert cosines.max() == pytest.approx(largest, abs=0.02)
    assert (spread(points, dimension) == found).all()
