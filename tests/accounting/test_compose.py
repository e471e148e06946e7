"""Repeated releases of a sentence: the loss against draws, the composition against convolution."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from angles import pole
from discreet.accounting import RepeatedRelease, joint_statement
from discreet.accounting.compose import loss_cdf, upper_tail
from discreet.errors import IncompatibleStatements, InvalidValue
from discreet.mechanisms.label import RandomizedResponse
from discreet.mechanisms.sentence import PlanarLaplace, Purkayastha, SphereGaussian
from discreet.mechanisms.sphere import angles_between, turned
from discreet.statement import Notion, Unit
from goodness import fits

SEED = 20260309
CASES = [(m, kappa) for m in (2, 3, 4, 16, 768) for kappa in (0.5, 10.0, 100.0)]


def drawn_losses(dimension, kappa, theta, count, rng):
    x = pole(dimension, count)
    other = np.zeros_like(x)
    other[:, 0], other[:, 1] = math.cos(theta), math.sin(theta)
    y = turned(x, Purkayastha(dimension, kappa)._angles(count, rng), rng)
    return angles_between(other, y) - angles_between(x, y)


@pytest.mark.parametrize(("dimension", "kappa"), CASES)
def test_upper_tail_agrees_with_quadrature(dimension, kappa):
    law = Purkayastha(dimension, kappa).law
    low, high = law.support(20.0)
    for angle in np.linspace(low, high, 7)[1:-1]:
        pieces = np.linspace(angle, law.support(45.0)[1], 12)
        expected = sum(
            quad(lambda t: math.exp(law.log_density(np.array(t))), a, b, epsabs=0)[0]
            for a, b in pairwise(pieces)
        )
        assert upper_tail(law, np.array([angle]))[0] == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("dimension", "kappa"), CASES)
@pytest.mark.parametrize("theta", [0.01, 1.0, 2.5, math.pi])
def test_the_loss_is_that_of_drawn_vectors(dimension, kappa, theta):
    rng = np.random.default_rng(SEED)
    count = 20_000 if dimension < 100 else 3_000
    losses = drawn_losses(dimension, kappa, theta, count, rng)
    # Off the ends, where two dimensions have atoms, and a little off the grid, for rounding.
    cuts = np.linspace(-theta, theta, 12)[1:-1]
    masses = np.diff(loss_cdf(Purkayastha(dimension, kappa).law, theta, cuts), prepend=0, append=1)
    assert fits(np.searchsorted(cuts, losses), masses), f"seed {SEED}"


def test_the_loss_of_another_kappa_is_rejected():
    rng = np.random.default_rng(SEED)
    losses = drawn_losses(16, 10.0, 2.0, 60_000, rng)
    cuts = np.linspace(-2.0, 2.0, 12)[1:-1]
    for wrong in (9.3, 10.7):
        masses = np.diff(loss_cdf(Purkayastha(16, wrong).law, 2.0, cuts), prepend=0, append=1)
        assert not fits(np.searchsorted(cuts, losses), masses)


@pytest.mark.parametrize(("dimension", "kappa"), CASES)
@pytest.mark.parametrize("theta", [0.01, 1.0, 2.5, 3.1, math.pi])
def test_mirrored_losses_are_the_likelihood_ratio(dimension, kappa, theta):
    """The mass of -L in a cell is that of L times exp(-L), somewhere in the cell."""
    grid = np.linspace(-theta, theta, 401)
    masses = np.diff(loss_cdf(Purkayastha(dimension, kappa).law, theta, grid))
    if dimension == 2:  # atoms at both ends
        grid, masses = grid[1:-1], masses[1:-1]
    mirrored = masses[::-1]
    with np.errstate(under="ignore"):
        low, high = masses * np.exp(-kappa * grid[1:]), masses * np.exp(-kappa * grid[:-1])
    seen = masses > 1e-10
    assert seen.any()
    assert (mirrored >= low * (1 - 1e-5) - 1e-13)[seen].all()
    assert (mirrored <= high * (1 + 1e-5) + 1e-13)[seen].all()


@pytest.mark.parametrize(("dimension", "kappa"), [(3, 1.0), (16, 2.0), (768, 20.0)])
def test_one_release_of_opposite_vectors_has_the_exact_delta(dimension, kappa):
    mechanism = Purkayastha(dimension, kappa)
    once = RepeatedRelease(mechanism, times=1)
    for share in (0.0, 0.05, 0.3, 0.8):
        epsilon = share * once.basic
        # Loss above epsilon means an angle below this; seen from the other side, above its mirror.
        angle = (math.pi - epsilon / kappa) / 2
        below = 1 - upper_tail(mechanism.law, np.array([angle]))[0]
        above = upper_tail(mechanism.law, np.array([math.pi - angle]))[0]
        exact = below - math.exp(epsilon) * above
        found = once.delta(epsilon)
        assert found >= exact * (1 - 1e-9)
        assert found <= max(exact + 2e-3 * kappa, 1e-9)


def test_composition_agrees_with_a_plain_convolution():
    mechanism, times = Purkayastha(16, 1.0), 3
    cells = 200
    grid = np.linspace(-math.pi, math.pi, 2 * cells + 1)
    lower = np.diff(loss_cdf(mechanism.law, math.pi, grid), prepend=0)
    total = np.array([1.0])
    for _ in range(times):
        total = np.convolve(total, lower)
    repeated = RepeatedRelease(mechanism, times)
    for epsilon in (0.5, 2.0, 5.0):
        # The same masses, moved down by a whole cell each time and left where they are.
        bounds = []
        for shift in (times, 0):
            losses = (np.arange(len(total)) - times * cells - shift) * math.pi / cells
            bounds.append(float((np.maximum(-np.expm1(epsilon - losses), 0) * total).sum()))
        assert bounds[0] <= repeated.delta(epsilon) <= bounds[1]


def test_sums_of_drawn_losses_respect_delta():
    """P(loss > epsilon) - exp(epsilon) P'(loss > epsilon), both from draws."""
    rng = np.random.default_rng(SEED)
    times, count = 4, 100_000
    losses = sum(drawn_losses(16, 2.0, math.pi, count, rng) for _ in range(times)) * 2.0
    repeated = RepeatedRelease(Purkayastha(16, 2.0), times)
    for epsilon in (0.0, 2.0, 6.0):
        observed = np.maximum(-np.expm1(epsilon - losses), 0)
        error = 6.5 * observed.std() / math.sqrt(count)
        assert abs(observed.mean() - repeated.delta(epsilon)) < error + 2e-3, f"seed {SEED}"


@pytest.mark.parametrize("times", [1, 3, 30, 1_000])
@pytest.mark.parametrize(("dimension", "kappa"), [(2, 1.0), (3, 0.1), (16, 10.0), (768, 50.0)])
def test_never_above_basic_composition(times, dimension, kappa):
    repeated = RepeatedRelease(Purkayastha(dimension, kappa), times)
    assert repeated.basic == pytest.approx(times * kappa * math.pi)
    previous = 0.0
    for delta in (1e-3, 1e-6, 1e-8, 0.0):
        epsilon = repeated.epsilon(delta)
        assert previous <= epsilon <= repeated.basic
        if delta and epsilon < repeated.basic:
            assert repeated.delta(epsilon) <= delta * (1 + 1e-6)
        previous = epsilon
    assert repeated.delta(repeated.basic) == 0


def test_it_is_worth_it():
    assert RepeatedRelease(Purkayastha(16, 10.0), 3).epsilon(1e-6) < 70 < 94.2
    assert RepeatedRelease(Purkayastha(768, 10.0), 3).epsilon(1e-6) < 7


def test_farther_pairs_are_worse():
    """So the pair at the stated angle stands for all nearer ones, and opposite ones for all."""
    for dimension, kappa in ((2, 1.0), (3, 2.0), (16, 4.0), (200, 10.0)):
        law = Purkayastha(dimension, kappa).law
        deltas = []
        for theta in np.linspace(0.2, math.pi, 12):
            grid = np.linspace(-theta, theta, 401)
            masses = np.diff(loss_cdf(law, theta, grid), prepend=0)
            losses = kappa * (grid - theta / 400)
            deltas.append(
                [(np.maximum(-np.expm1(e - losses), 0) * masses).sum() for e in (0.0, 0.5, 2.0)]
            )
        assert (np.diff(deltas, axis=0) > -1e-3).all()


def test_statement_of_repeated_releases():
    mechanism = Purkayastha(16, 1.0)
    repeated = RepeatedRelease(mechanism, 10)
    statement = repeated.statement(1e-6)
    assert (statement.notion, statement.unit) == (Notion.APPROXIMATE, Unit.SENTENCE)
    assert (statement.epsilon, statement.delta) == (repeated.epsilon(1e-6), 1e-6)
    with pytest.raises(InvalidValue, match="angle pi"):
        RepeatedRelease(mechanism, 10, angle=1.0).statement(1e-6)
    assert statement.epsilon < repeated.basic


@pytest.mark.parametrize("arguments", [(0,), (2.5,), (1, 0.0), (1, -1.0), (1, 3.2), (1, math.nan)])
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(InvalidValue, match="of RepeatedRelease must be"):
        RepeatedRelease(Purkayastha(3, 1.0), *arguments)


def test_no_epsilon_costs_nothing():
    assert RepeatedRelease(Purkayastha(3, 0.0), 5).epsilon(1e-6) == 0


# -- vector and label together -------------------------------------------------------------------


def test_joint_statement_of_a_metric_vector_and_a_label():
    vector, label = Purkayastha(16, 2.0), RandomizedResponse(3, 0.5)
    joint = joint_statement(vector.statement, label.statement)
    assert (joint.notion, joint.unit) == (Notion.METRIC, Unit.SENTENCE)
    assert (joint.epsilon, joint.slack) == (2.0, 0.5)
    assert joint.to_pure(diameter=math.pi).epsilon == pytest.approx(2 * math.pi + 0.5)
    # The bound holds, and is met, for the product of the two laws.
    x, other = np.array([[1.0] + [0.0] * 15]), np.array([[0.6, 0.8] + [0.0] * 14])
    worst = (vector.log_density(x, x) - vector.log_density(other, x))[0] + (
        label.log_probabilities([0]) - label.log_probabilities([1])
    ).max()
    allowed = joint.epsilon * angles_between(x, other)[0] + joint.slack
    assert worst == pytest.approx(allowed)


def test_joint_statement_of_other_notions():
    label = RandomizedResponse(3, 0.5).statement
    gaussian = joint_statement(SphereGaussian(16, 2.0, 1e-6).statement, label)
    assert (gaussian.epsilon, gaussian.delta, gaussian.slack) == (2.5, 1e-6, 0.0)
    chord = joint_statement(PlanarLaplace(16, 2.0).statement, label)
    assert (chord.epsilon, chord.slack) == (2.0, 0.5)
    assert set(label.public) <= set(chord.public)


def test_joint_statements_that_make_no_sense_are_refused():
    vector, label = Purkayastha(16, 2.0).statement, RandomizedResponse(3, 0.5).statement
    for pair in ((label, vector), (vector, vector), (label, label)):
        with pytest.raises(IncompatibleStatements):
            joint_statement(*pair)
