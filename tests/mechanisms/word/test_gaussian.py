"""Gaussian: the noise, its calibration, the inequality."""

import math

import numpy as np
import pytest
from dp_accounting import get_sigma_gaussian
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from scipy import integrate, stats

from discreet.errors import InvalidValue
from discreet.mechanisms.word.gaussian import (
    Gaussian,
    GaussianNoise,
    gaussian_delta,
    gaussian_multiplier,
)
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Adjacency, Notion, Unit
from goodness import follows
from small_spaces import clustered_space, random_space

EXAMPLES = {
    f"{name}-{calibration}-{epsilon}": (
        lambda make=make, calibration=calibration, epsilon=epsilon: Gaussian(
            make(60, dimension=3), epsilon=epsilon, delta=1e-3, clip=1.0, calibration=calibration
        )
    )
    for name, make in (("random", random_space), ("clusters", clustered_space))
    for calibration, epsilon in (("certified", 1.0), ("certified", 20.0), ("published", 0.8))
}

EPSILONS = [1e-3, 0.1, 1.0, 5.0, 50.0]
DELTAS = [1e-12, 1e-5, 0.01, 0.5, 0.95]
# Epsilon, multiplier and delta, the last computed with 60 digits (mpmath).
REFERENCES = [
    (1e-09, 500.0, 0.000797883928221),
    (1e-09, 1000000000.0, 8.33154706293e-11),
    (0.0001, 20000.0, 4.24556358024e-7),
    (0.0001, 3.0, 0.132324287338),
    (1.0, 3.75, 9.17264955331e-6),
    (1.0, 25.0, 8.03622414152e-141),
    (8.0, 0.6, 1.00967991908e-5),
    (100.0, 0.1, 1.87971700205e-7),
    (10000.0, 0.0075, 3.69547686979e-17),
    (0.01, 0.3, 0.903940494068),
]


def hockey_stick(gap: float, deviation: float, epsilon: float) -> float:
    """The integral of (p - e^epsilon q)+ on a line, by quadrature."""
    p, q = stats.norm(0, deviation), stats.norm(gap, deviation)
    # The densities cross once: the integrand is positive to the left.
    edge = gap / 2 - epsilon * deviation**2 / gap
    low = min(edge, 0.0) - 12 * deviation
    return integrate.quad(
        lambda x: p.pdf(x) - math.exp(epsilon) * q.pdf(x), low, edge, limit=500, epsabs=1e-13
    )[0]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-4, 0.05, 0.6])
def test_delta_is_the_hockey_stick_divergence(epsilon, delta):
    multiplier = gaussian_multiplier(epsilon, delta)
    assert gaussian_delta(epsilon, multiplier) == pytest.approx(
        hockey_stick(1.0, multiplier, epsilon), rel=1e-6
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_smallest_noise_that_keeps_delta_by_another_implementation(epsilon, delta):
    multiplier = gaussian_multiplier(epsilon, delta)

    def other(deviation):
        return GaussianPrivacyLoss(deviation, sensitivity=1).get_delta_for_epsilon(epsilon)

    assert other(multiplier) <= delta
    assert other(multiplier * (1 - 1e-6)) > delta, "one part in a million less must violate"
    assert gaussian_delta(epsilon, multiplier) == pytest.approx(other(multiplier), rel=1e-6)
    assert gaussian_delta(epsilon, multiplier) <= delta


def test_agrees_with_dp_accounting_on_the_figure_of_the_literature():
    assert gaussian_multiplier(1.0, 1e-5) == pytest.approx(get_sigma_gaussian(1.0, 1e-5), rel=1e-5)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 1e-6, 1e6, 1e15, 1e300])
@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-20, 0.5, 1 - 1e-12])
def test_extreme_parameters_give_a_finite_noise(epsilon, delta):
    multiplier = gaussian_multiplier(epsilon, delta)
    assert 0 < multiplier < math.inf
    assert gaussian_delta(epsilon, multiplier) <= delta


def test_tiny_epsilon_is_the_total_variation_distance():
    # At epsilon 0 delta is 2 Phi(1 / (2 m)) - 1; subtracting would lose every digit of it.
    multiplier = gaussian_multiplier(1e-200, 1e-9)
    assert math.erf(0.5 / multiplier / math.sqrt(2)) == pytest.approx(1e-9, rel=1e-6)


def test_delta_never_rounds_down():
    for epsilon, multiplier, delta in REFERENCES:
        found = gaussian_delta(epsilon, multiplier)
        assert delta * (1 - 1e-11) <= found <= delta * (1 + 1e-5)


def test_published_needs_more_noise_and_ends_at_one():
    space = random_space()
    for epsilon in (0.05, 0.5, 1.0):
        certified = Gaussian(space, epsilon, 1e-5, 1.0)
        published = Gaussian(space, epsilon, 1e-5, 1.0, calibration="published")
        expected = certified.sensitivity.value * math.sqrt(2 * math.log(1.25e5)) / epsilon
        assert published.noise.standard_deviation == pytest.approx(expected)
        assert certified.noise.standard_deviation < published.noise.standard_deviation
    with pytest.raises(InvalidValue, match="at most 1 with calibration published, because"):
        Gaussian(space, 1.01, 1e-5, 1.0, calibration="published")
    # Why it must end somewhere: for delta 1e-5 the rule is broken from 8.5 on.
    for epsilon, least in ((8.5, 1.04e-5), (10.0, 2.2e-5), (20.0, 1.5e-3)):
        assert gaussian_delta(epsilon, math.sqrt(2 * math.log(1.25e5)) / epsilon) > least


def test_published_rule_holds_wherever_it_is_accepted():
    for epsilon in (1e-6, 0.01, 0.3, 0.7, 1.0):
        for delta in (1e-300, 1e-30, 1e-6, 0.1, 0.9, 1 - 1e-9):
            multiplier = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
            assert gaussian_delta(epsilon, multiplier) <= delta


@pytest.mark.parametrize("calibration", ["certified", "published"])
@pytest.mark.parametrize("make", [random_space, clustered_space])
def test_inequality_holds_over_all_pairs_and_less_noise_breaks_it(make, calibration):
    space = make(80)
    mechanism = Gaussian(space, 0.9, 1e-4, 1.0, calibration=calibration)
    points = mechanism.points
    gaps = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
    # Along the line between two words the noise is that of one dimension.
    deltas = [
        hockey_stick(gap, mechanism.noise.standard_deviation, 0.9)
        for gap in np.sort(gaps.ravel())[[-1, -300, -2000]]
    ]
    assert max(deltas) <= 1e-4
    less = 0.99 if calibration == "certified" else 0.7
    assert hockey_stick(gaps.max(), less * mechanism.noise.standard_deviation, 0.9) > 1e-4


def test_general_sensitivity_and_the_figure_of_the_page():
    space = random_space(50, dimension=300)
    general = Gaussian(space, 1.0, 1e-5, clip=2.0, sensitivity="general")
    assert general.noise.standard_deviation / 2.0 == pytest.approx(7.46, abs=0.005)
    assert Gaussian(space, 1.0, 1e-5, clip=2.0).noise.standard_deviation < 14.9


@pytest.mark.parametrize("deviation", [1e-3, 30.0])
def test_noise_follows_the_law_and_a_5_percent_error_is_seen(deviation):
    vectors = np.tile([0.3, -2.0, 5.0, 0.0], (100_000, 1))
    draws = GaussianNoise(deviation).add_noise(vectors, np.random.default_rng(2)) - vectors
    for column in draws.T:
        assert follows(column, stats.norm(scale=deviation).cdf)
    assert not follows(draws.ravel(), stats.norm(scale=1.05 * deviation).cdf)
    assert not follows(draws.ravel(), stats.norm(scale=deviation / 1.05).cdf)


def test_every_number_gets_its_own_noise():
    draws = GaussianNoise(1.0).add_noise(np.zeros((50_000, 3)), np.random.default_rng(3))
    correlation = np.corrcoef(np.column_stack([draws[:-1], draws[1:]]).T)
    assert np.abs(correlation - np.eye(6)).max() < 6.2 / math.sqrt(50_000)


def test_density_is_that_of_scipy():
    rng = np.random.default_rng(4)
    vectors, outputs = rng.standard_normal((2, 30, 5))
    expected = stats.norm(scale=0.7).logpdf(outputs - vectors).sum(axis=1)
    assert np.allclose(GaussianNoise(0.7).log_density(vectors, outputs), expected, rtol=1e-12)


def test_statement():
    statement = Gaussian(random_space(), epsilon=3, delta=1e-6, clip=1).statement
    assert statement.notion is Notion.APPROXIMATE
    assert (statement.epsilon, statement.delta) == (3.0, 1e-6)
    assert (statement.unit, statement.adjacency) == (Unit.WORD, Adjacency.REPLACE)
    assert "any two words of the vocabulary" in statement.scope
    assert "the clipping norm" in statement.public


def test_one_dimension_and_duplicates_are_fine():
    space = EmbeddingSpace.from_arrays("abcd", [[1.0], [1.0], [3.0], [9.0]])
    mechanism = Gaussian(space, epsilon=2.0, delta=1e-3, clip=5.0)
    assert mechanism.sensitivity.value == pytest.approx(4.0)
    assert mechanism.release(np.arange(4), np.random.default_rng(0)).shape == (4,)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "2", None, True])
@pytest.mark.parametrize("name", ["epsilon", "clip"])
def test_bad_numbers(name, value):
    arguments = {"epsilon": 1.0, "delta": 1e-5, "clip": 1.0, name: value}
    with pytest.raises(
        InvalidValue, match=f"{name} of Gaussian must be a finite number above 0; got"
    ):
        Gaussian(random_space(), **arguments)


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5, float("nan"), float("inf"), "0.1", None])
def test_bad_delta(value):
    with pytest.raises(InvalidValue, match="delta of Gaussian must be a number between 0 and 1"):
        Gaussian(random_space(), epsilon=1, delta=value, clip=1)


def test_other_bad_input():
    with pytest.raises(InvalidValue, match="sensitivity of Gaussian must be one of"):
        Gaussian(random_space(), 1, 1e-5, clip=1, sensitivity="best")
    with pytest.raises(InvalidValue, match="calibration of Gaussian must be one of"):
        Gaussian(random_space(), 1, 1e-5, clip=1, calibration="best")
    with pytest.raises(InvalidValue, match="noise of Gaussian is too large"):
        Gaussian(random_space(), 1e-308, 1e-300, clip=1e10, sensitivity="general")
    same = EmbeddingSpace.from_arrays("ab", [[3.0, 4.0], [3.0, 4.0]])
    with pytest.raises(InvalidValue, match="have the same vector after clipping"):
        Gaussian(same, 1, 1e-5, clip=1)
