"""The checks of densities: ratios, divergences, mass, and samplers against them."""

import math

import numpy as np
import pytest

from audit.gallery import (
    Laplace,
    Normal,
    PlanarLaplace,
    Truncated,
    gaussian_delta,
    metric_statement,
    pure_statement,
)
from discreet.audit.density import divergence, on_sphere, worst_ratio
from discreet.audit.exchange import misfits
from discreet.audit.mass import total_mass
from discreet.audit.sampler import worst_misfit
from discreet.audit.subject import VectorStage
from discreet.spaces.space import EmbeddingSpace

LEVEL = 1e-9


def stage_of(noise, dimension, count=8, seed=0):
    points = np.random.default_rng(seed).standard_normal((count, dimension))
    return VectorStage(points, noise.add_noise, noise.log_density)


def all_pairs_of(stage):
    return np.array([(i, j) for i in range(len(stage.points)) for j in range(i)])


def test_the_ratio_of_planar_laplace_noise_is_tight_in_its_metric():
    stage = stage_of(PlanarLaplace(5, 2.0), 5)
    pairs = all_pairs_of(stage)
    gaps = np.linalg.norm(stage.points[pairs[:, 0]] - stage.points[pairs[:, 1]], axis=1)
    space = EmbeddingSpace.from_arrays([str(i) for i in range(8)], stage.points)
    rng = np.random.default_rng(0)
    worst = worst_ratio(metric_statement(space, 2.0), stage, pairs, gaps, rng)
    assert worst.needed == pytest.approx(2.0, rel=1e-6)
    assert not worst.broken
    assert worst_ratio(metric_statement(space, 1.99), stage, pairs, gaps, rng).broken


def test_the_ratio_of_laplace_noise_is_its_l1_sensitivity():
    mechanism = Laplace(6, 0.5, 3.0)
    stage = VectorStage(mechanism.inputs, mechanism.release, mechanism.log_density)
    worst = worst_ratio(
        pure_statement(3.0), stage, all_pairs_of(stage), None, np.random.default_rng(0)
    )
    assert worst.needed == pytest.approx(3.0)
    assert not worst.broken


def test_outputs_that_only_one_input_reaches_are_an_infinite_loss():
    stage = stage_of(Truncated(1.0, 0.5), 3)
    worst = worst_ratio(
        pure_statement(100.0), stage, all_pairs_of(stage), None, np.random.default_rng(0)
    )
    assert worst.needed == math.inf


@pytest.mark.parametrize("dimension", [1, 60])
@pytest.mark.parametrize(("sigma", "epsilon"), [(1.0, 1.0), (3.7, 1.0), (2.0, 0.1), (0.7, 6.0)])
def test_divergence_of_gaussian_noise_is_the_closed_form_however_small(dimension, sigma, epsilon):
    points = np.zeros((2, dimension))
    points[1] = 1 / math.sqrt(dimension)
    noise = Normal(sigma)
    stage = VectorStage(points, noise.add_noise, noise.log_density)
    expected = gaussian_delta(sigma, 1.0, epsilon)
    found = divergence(
        stage, 0, 1, epsilon, draws=20_000, level=LEVEL, rng=np.random.default_rng(0)
    )
    assert found.low <= expected <= found.high
    assert found.estimate == pytest.approx(expected, rel=0.1)
    assert found.low > 0.7 * expected, "too wide to see a delta that is twice what is claimed"


NOISES = {
    "planar": lambda d: PlanarLaplace(d, 2.0),
    "normal": lambda _: Normal(0.7),
    "wide box": lambda _: Truncated(0.3, 1.0),
}


@pytest.mark.parametrize("dimension", [1, 8, 80])
@pytest.mark.parametrize("name", NOISES)
def test_mass_is_one_in_few_and_in_many_dimensions(name, dimension):
    stage = stage_of(NOISES[name](dimension), dimension)
    mass = total_mass(stage, 0, 8000, np.random.default_rng(0))
    assert mass.conclusive
    assert mass.estimate == pytest.approx(1.0, abs=max(0.02, 5 * mass.error))
    assert mass.error < 0.05


def test_mass_of_laplace_coordinates_and_of_a_wrong_constant():
    for constant in (0.0, 0.1, -5.0):
        mechanism = Laplace(40, 0.5, 30.0, constant=constant)
        stage = VectorStage(mechanism.inputs, mechanism.release, mechanism.log_density)
        mass = total_mass(stage, 0, 4000, np.random.default_rng(0))
        assert mass.conclusive
        assert mass.estimate == pytest.approx(math.exp(constant), rel=0.05)


class _Cap:
    """Density proportional to exp(kappa cos t) on the sphere in three dimensions."""

    kappa = 4.0

    def add_noise(self, vectors, rng, kappa=None):
        kappa = kappa or self.kappa
        u = rng.random(len(vectors))
        cosine = 1 + np.log(u + (1 - u) * math.exp(-2 * kappa)) / kappa
        tangent = rng.standard_normal(vectors.shape)
        tangent -= (tangent * vectors).sum(axis=1, keepdims=True) * vectors
        tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
        return cosine[:, None] * vectors + np.sqrt(1 - cosine**2)[:, None] * tangent

    def log_density(self, vectors, outputs):
        constant = math.log(self.kappa / (2 * math.pi * -math.expm1(-2 * self.kappa)))
        return constant + self.kappa * ((vectors * outputs).sum(axis=1) - 1)


def _sphere(wrong=1.0):
    cap = _Cap()
    points = np.random.default_rng(0).standard_normal((6, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return VectorStage(
        points, lambda v, rng: cap.add_noise(v, rng, wrong * cap.kappa), cap.log_density
    )


def test_densities_on_a_sphere_are_understood():
    stage, rng = _sphere(), np.random.default_rng(0)
    assert on_sphere(stage.add_noise(stage.points, rng))
    assert total_mass(stage, 0, 8000, rng).estimate == pytest.approx(1.0, abs=0.05)
    inputs = rng.integers(0, 6, 150_000)
    assert worst_misfit(misfits(stage, inputs, rng)).p_value > LEVEL
    assert worst_misfit(misfits(_sphere(1.1), inputs, rng)).p_value < LEVEL


@pytest.mark.parametrize("dimension", [1, 8, 80])
def test_a_sampler_with_a_10_percent_wrong_scale_is_seen_and_the_right_one_passes(dimension):
    rng = np.random.default_rng(0)
    draws = 100_000 if dimension < 10 else 20_000
    for scale, right in ((1.0, True), (0.9, False), (1.1, False)):
        stage = stage_of(PlanarLaplace(dimension, 2.0, wrong_scale=scale), dimension)
        p = worst_misfit(misfits(stage, rng.integers(0, 8, draws), rng)).p_value
        assert (p > LEVEL) == right, f"scale {scale}: p-value {p}"


@pytest.mark.parametrize("fault", [{}, {"one_sided": True}, {"one_number": True}, {"scale": 0.9}])
def test_other_ways_to_miss_a_density_are_seen(fault):
    mechanism = Laplace(5, 0.5, 3.0, **fault)
    stage = VectorStage(mechanism.inputs, mechanism.release, mechanism.log_density)
    rng = np.random.default_rng(0)
    p = worst_misfit(misfits(stage, rng.integers(0, 8, 50_000), rng)).p_value
    assert (p > LEVEL) == (not fault)


def test_one_wrong_coordinate_among_many_is_seen():
    class OneOff(Normal):
        def add_noise(self, vectors, rng):
            noise = rng.standard_normal(vectors.shape)
            noise[:, 3] *= 1.5
            return vectors + self.sigma * noise

    rng = np.random.default_rng(0)
    stage = stage_of(OneOff(1.0), 40)
    assert worst_misfit(misfits(stage, rng.integers(0, 8, 40_000), rng)).p_value < LEVEL


def test_a_draw_outside_the_support_is_seen_at_once():
    noise = Truncated(1.0, 1.0)
    wide = Truncated(1.0, 1.01)
    stage = VectorStage(np.zeros((2, 4)), wide.add_noise, noise.log_density)
    found = misfits(stage, np.zeros(5000, dtype=int), np.random.default_rng(0))
    assert found[0].p_value == 0


def test_a_delta_that_hangs_on_a_few_draws_is_said_to_be_inconclusive():
    """The mass beyond the edge of a wide box in many dimensions hardly ever comes up."""
    wide = stage_of(Truncated(rate=1.0, reach=12.0), dimension=60)
    rng = np.random.default_rng(4)
    rare = divergence(wide, 0, 1, 200.0, draws=4_000, level=1e-6, rng=rng)
    assert not rare.conclusive
    plain = stage_of(Normal(1.0), dimension=3)
    common = divergence(plain, 0, 1, 0.5, draws=4_000, level=1e-6, rng=rng)
    assert common.conclusive
