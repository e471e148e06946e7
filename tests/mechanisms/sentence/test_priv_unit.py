"""PrivUnit: the inequality for any two directions, the best cap, the sampler against the law."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from angles import pole, random_units
from discreet.errors import InvalidValue
from discreet.mechanisms.angle_law import AngleLaw
from discreet.mechanisms.sentence import PrivUnit
from discreet.mechanisms.sentence import priv_unit as module
from discreet.mechanisms.sphere import angles_between
from discreet.statement import Notion, Unit
from goodness import fits

SEED = 20261116

EXAMPLES = {
    f"{dimension}-{epsilon}": (
        lambda dimension=dimension, epsilon=epsilon: PrivUnit(dimension, epsilon)
    )
    for dimension, epsilon in ((2, 0.0), (2, 3.0), (3, 4.0), (16, 12.0))
}


def turned(x, angle, seed):
    """Each row turned by an angle, in a direction of its own."""
    other = random_units(len(x), x.shape[1], seed)
    across = other - (other * x).sum(axis=1, keepdims=True) * x
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return math.cos(angle) * x + math.sin(angle) * across


def largest_ratio(mechanism, seed=0):
    """Over outputs in the cap, beside it, and just on either side of its edge."""
    m = mechanism.dimension
    x, other = random_units(80, m, seed), random_units(80, m, seed + 1)
    outputs = [x, -x, other, turned(x, 0.999 * mechanism.cap, seed + 2)]
    outputs += [turned(x, min(1.001 * mechanism.cap, math.pi), seed + 3)]
    worst = -math.inf
    for y in outputs:
        for second in (other, -x, turned(x, 1e-3, seed + 4)):
            ratio = mechanism.log_density(x, y) - mechanism.log_density(second, y)
            worst = max(worst, float(np.abs(ratio).max()))
    return worst


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 96), st.floats(0, 500), st.integers(0, 2**32 - 10))
@example(2, 1e-11, 0)
def test_the_density_ratio_is_bounded(dimension, epsilon, seed):
    # Two logarithms of up to some hundreds are subtracted: each is rounded in its last bit.
    assert largest_ratio(PrivUnit(dimension, epsilon), seed) <= epsilon + 1e-12


def test_all_but_a_billionth_of_epsilon_is_used():
    for dimension, epsilon in ((2, 0.5), (8, 5.0), (384, 40.0)):
        used = largest_ratio(PrivUnit(dimension, epsilon))
        assert epsilon * (1 - 2e-9) < used <= epsilon


def test_a_cap_that_depends_on_the_vector_would_break_the_bound(monkeypatch):
    """The mutant: a narrower cap for vectors that point upwards, with the weight it should have."""
    wide, narrow = PrivUnit(4, 2.0), PrivUnit(4, 2.0)
    monkeypatch.setattr(module, "_best_cap", lambda *_: 0.2)
    narrow.__init__(4, 2.0)
    up, down = np.eye(1, 4), -np.eye(1, 4)
    gap = narrow.log_density(up, up) - wide.log_density(down, up)
    assert gap[0] > 2.0


@pytest.mark.parametrize(("dimension", "epsilon"), [(2, 1.0), (3, 4.0), (16, 10.0), (384, 30.0)])
def test_the_density_integrates_to_one_and_has_the_stated_mean(dimension, epsilon):
    mechanism = PrivUnit(dimension, epsilon)
    n, x = dimension - 2, pole(dimension, 1)
    log_scale = math.lgamma((n + 1) / 2) - math.log(2) - (n + 1) / 2 * math.log(math.pi)

    def mass(t):
        y = np.zeros((1, dimension))
        y[0, :2] = math.cos(t), math.sin(t)
        around = n * math.log(math.sin(t)) if n else 0.0
        return math.exp(float(mechanism.log_density(x, y)[0]) - log_scale + around)

    parts = [(0, mechanism.cap), (mechanism.cap, math.pi)]
    assert sum(quad(mass, *part)[0] for part in parts) == pytest.approx(1, abs=1e-6)
    mean = sum(quad(lambda t: math.cos(t) * mass(t), *part)[0] for part in parts)
    assert mechanism.mean_cosine == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("dimension", [2, 3, 16, 384, 4096])
def test_no_other_cap_is_better(dimension):
    for epsilon in (0.1, 1.0, 8.0, 40.0):
        mechanism = PrivUnit(dimension, epsilon)
        angles = np.linspace(0.02, math.pi / 2, 400)
        shares = np.array([module._share(angle, dimension) for angle in angles])
        others = [
            module._log_mean_cosine(angle, dimension, epsilon) for angle in angles[shares > 1e-300]
        ]
        assert math.log(mechanism.mean_cosine) > max(others) - 1e-6


@pytest.mark.parametrize(("dimension", "epsilon"), [(2, 2.0), (16, 10.0), (384, 10.0)])
def test_it_is_closer_than_purkayastha_at_the_same_loss(dimension, epsilon):
    """Between any two vectors: pi times what Purkayastha allows per radian."""
    law = AngleLaw(dimension, epsilon / math.pi)
    angles = law.sample(20_000, np.random.default_rng(SEED))
    assert PrivUnit(dimension, epsilon).mean_cosine > np.cos(angles).mean() + 0.05


@pytest.mark.parametrize(
    ("dimension", "epsilon"), [(2, 2.0), (3, 0.5), (3, 20.0), (16, 10.0), (384, 50.0)]
)
def test_released_angles_follow_the_law(dimension, epsilon):
    count = 40_000 if dimension < 100 else 8_000
    mechanism = PrivUnit(dimension, epsilon)
    x = np.tile(random_units(1, dimension, 9), (count, 1))
    y = mechanism.release(x, np.random.default_rng(SEED)).astype(np.float64)
    angles = angles_between(x, y / np.linalg.norm(y, axis=1, keepdims=True))
    assert fits(*binned(mechanism, angles)), f"seed {SEED}"
    # One in twenty put into the middle of the cap is noticed.
    pushed = np.where(np.arange(count) % 20 == 0, 0.5 * mechanism.cap, angles)
    assert not fits(*binned(mechanism, pushed))


@pytest.mark.parametrize(("dimension", "epsilon"), [(2, 100.0), (3, 200.0), (16, 500.0)])
def test_beside_the_cap_is_never_out_of_reach(dimension, epsilon, monkeypatch):
    """However rare it is there: a vector that another one's release reaches would tell the two."""
    asked = []

    def rare(exponent, _rng):
        asked.append(exponent[0])
        return exponent > 30.0  # what is that rare happens

    monkeypatch.setattr(module, "bernoulli_exp", rare)
    mechanism = PrivUnit(dimension, epsilon)
    angles = mechanism._angles(5, np.random.default_rng(SEED))
    assert (angles > mechanism.cap).all()
    share = module._share(mechanism.cap, dimension)
    expected = np.logaddexp(0.0, epsilon + math.log(share) - math.log1p(-share))
    assert asked[0] == pytest.approx(expected, abs=1e-6)


def binned(mechanism, angles):
    """Ten equal parts of the cap and ten of the rest, by their share of the sphere."""
    half = (mechanism.dimension - 1) / 2
    share = stats.beta(half, half).sf
    edge = module._share(mechanism.cap, mechanism.dimension)
    shares = share(np.clip((1 + np.cos(angles)) / 2, 0, 1))
    inside = angles <= mechanism.cap
    cells = np.where(inside, shares / edge * 10, 10 + (shares - edge) / (1 - edge) * 10)
    within = -math.expm1(mechanism._log_outside)
    masses = np.concatenate([np.full(10, within / 10), np.full(10, (1 - within) / 10)])
    return np.where(inside, cells.clip(0, 9), cells.clip(10, 19)).astype(int), masses


def test_statement():
    statement = PrivUnit(16, 10.0).statement
    assert (statement.notion, statement.unit, statement.epsilon) == (
        Notion.PURE,
        Unit.SENTENCE,
        10.0,
    )


@pytest.mark.parametrize(
    ("dimension", "epsilon"), [(1, 1.0), (2, -1.0), (2, 500.1), (2, math.nan), (2.5, 1.0)]
)
def test_bad_settings(dimension, epsilon):
    with pytest.raises(InvalidValue):
        PrivUnit(dimension, epsilon)
