"""The angle's law against quadrature, for 2 to 4,096 dimensions and kappa from 0 to 10,000."""

import math

import numpy as np
import pytest
from scipy import stats

from angles import binned, in_bins, purkayastha_shape
from discreet.mechanisms.angle_law import AngleLaw, log_normaliser
from goodness import LEVEL, fits

SEED = 20260301
DIMENSIONS = (2, 3, 4, 5, 16, 129, 768, 4096)
KAPPAS = (0.0, 1e-9, 0.1, 1.0, 10.0, 50.0, 300.0, 1e3, 1e4)
SOME = [
    *((m, k) for m in (2, 3, 16, 4096) for k in (0.0, 1e-9, 1.0, 10.0, 1e4)),
    (4, 3.0),
    (128, 300.0),
    (768, 50.0),
    (768, 1e3),
]


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("kappa", KAPPAS)
def test_normaliser_agrees_with_quadrature(dimension, kappa):
    *_, expected = binned(purkayastha_shape(dimension, kappa))
    assert log_normaliser(dimension, kappa) == pytest.approx(expected, abs=1e-8)


def test_normaliser_at_extremes_agrees_with_known_integrals():
    for kappa in (1e-12, 0.3, 7.0, 1e4, 1e6):
        exact = math.log(-math.expm1(-math.pi * kappa) / kappa)
        assert log_normaliser(2, kappa) == pytest.approx(exact, abs=1e-9)
        exact = math.log1p(math.exp(-math.pi * kappa)) - math.log1p(kappa * kappa)
        assert log_normaliser(3, kappa) == pytest.approx(exact, abs=1e-9)
    # F(n) = n (n - 1) / (n^2 + kappa^2) F(n - 2), by parts twice.
    for n in (2, 3, 766, 4094):
        for kappa in (0.0, 10.0, 1e4):
            step = math.log(n) + math.log(n - 1) - math.log(n * n + kappa * kappa)
            gap = log_normaliser(n + 2, kappa) - log_normaliser(n, kappa)
            assert gap == pytest.approx(step, abs=1e-9)


@pytest.mark.parametrize(("dimension", "kappa"), SOME)
def test_sampler_follows_the_law(dimension, kappa):
    edges, masses, _ = binned(purkayastha_shape(dimension, kappa))
    angles = AngleLaw(dimension, kappa).sample(60_000, np.random.default_rng(SEED))
    assert angles.min() >= 0
    assert angles.max() <= math.pi
    assert fits(in_bins(angles, edges), masses), f"seed {SEED}"


@pytest.mark.parametrize(
    ("dimension", "kappa"),
    [(2, 1.0), (2, 1e4), (3, 1.0), (3, 1e4), (16, 10.0), (128, 300.0), (768, 50.0), (4096, 1e4)],
)
@pytest.mark.parametrize("factor", [0.93, 1.07])
def test_a_kappa_that_is_off_by_seven_per_cent_is_rejected(dimension, kappa, factor):
    edges, masses, _ = binned(purkayastha_shape(dimension, kappa))
    angles = AngleLaw(dimension, kappa * factor).sample(120_000, np.random.default_rng(SEED))
    assert not fits(in_bins(angles, edges), masses), f"seed {SEED}"


@pytest.mark.parametrize("drop", [0.2, 1.0, 3.0])
@pytest.mark.parametrize(("dimension", "kappa"), [(3, 1.0), (3, 30.0), (16, 10.0), (16, 60.0)])
def test_the_tails_follow_the_law_too(dimension, kappa, drop):
    edges, masses, _ = binned(purkayastha_shape(dimension, kappa))
    law = AngleLaw(dimension, kappa, drop=drop)
    assert law._log_in_tails > math.log(1e-3)
    angles = law.sample(60_000, np.random.default_rng(SEED))
    assert fits(in_bins(angles, edges), masses), f"seed {SEED}"


def test_forgetting_a_tail_is_noticed():
    edges, masses, _ = binned(purkayastha_shape(16, 10.0))
    law = AngleLaw(16, 10.0, drop=1.0)
    law._log_in_tails = -50.0
    angles = law.sample(60_000, np.random.default_rng(SEED))
    assert not fits(in_bins(angles, edges), masses)


@pytest.mark.parametrize("dimension", DIMENSIONS[1:])
@pytest.mark.parametrize("kappa", [*KAPPAS, 3.0, 30.0, 3e3, 1e5, 1e6])
def test_most_proposals_are_accepted(dimension, kappa):
    law = AngleLaw(dimension, kappa)
    assert law.acceptance > 0.55
    kept = len(law._accepted(4_000, np.random.default_rng(SEED)))
    tail = stats.binomtest(kept, 4_000, law.acceptance).pvalue
    assert tail > LEVEL, f"seed {SEED}"


def test_both_bodies_are_used():
    assert AngleLaw(768, 10.0)._normal
    assert not AngleLaw(3, 100.0)._normal


class _Unlucky:
    """Uniforms as large as they come, a number of times."""

    def __init__(self, rounds):
        self.left = rounds

    def random(self, count):
        self.left -= 1
        return np.full(count, 1 - 2**-53 if self.left >= 0 else 0.5)


def test_no_angle_is_out_of_reach():
    # A 53-bit uniform ends at exp(-37) and common exponential samplers at exp(-45).
    angles = AngleLaw(2, 100.0)._cut_exponential(1, _Unlucky(30))
    assert angles[0] > 2.4  # a probability of exp(-240)


def test_log_density_is_normalised():
    edges, masses, _ = binned(purkayastha_shape(16, 10.0))
    fine = np.linspace(edges[3], edges[4], 2001)
    density = np.exp(AngleLaw(16, 10.0).log_density(fine))
    assert np.trapezoid(density, fine) == pytest.approx(masses[4], rel=1e-5)
