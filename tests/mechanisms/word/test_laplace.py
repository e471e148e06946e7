"""Laplace: the noise, its scale, the inequality."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet import randomness
from discreet.errors import InvalidValue
from discreet.mechanisms.word.laplace import Laplace, LaplaceNoise
from discreet.randomness import exponential
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Adjacency, Notion, Unit
from goodness import follows
from small_spaces import both_spaces, clustered_space, random_space

EXAMPLES = {
    f"{name}-{sensitivity}-{epsilon}": (
        lambda make=make, sensitivity=sensitivity, epsilon=epsilon: Laplace(
            make(60, dimension=3), epsilon=epsilon, clip=1.0, sensitivity=sensitivity
        )
    )
    for name, make in (("random", random_space), ("clusters", clustered_space))
    for sensitivity, epsilon in (("exact", 1.0), ("exact", 20.0), ("general", 5.0))
}


def worst_log_ratio(mechanism: Laplace, seed: int = 0) -> float:
    """Largest log-ratio over all pairs of words, at noisy outputs and at the words themselves."""
    points = mechanism.points.astype(np.float64)
    rng = np.random.default_rng(seed)
    outputs = np.vstack([points, mechanism.noisy(rng.integers(0, len(points), 200), rng)])
    logs = np.array(
        [mechanism.noise.log_density(np.tile(p, (len(outputs), 1)), outputs) for p in points]
    )
    return float((logs.max(axis=0) - logs.min(axis=0)).max())


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("space", both_spaces(80), ids=lambda s: s.name)
def test_inequality_holds_and_is_met_by_the_farthest_pair(space, epsilon):
    mechanism = Laplace(space, epsilon=epsilon, clip=1.0)
    worst = worst_log_ratio(mechanism)
    assert worst <= epsilon * (1 + 1e-12)
    assert worst >= epsilon * (1 - 1e-9), "the exact sensitivity leaves nothing on the table"
    mechanism.noise.scale *= 0.99  # the mutant: 1 % less noise
    assert worst_log_ratio(mechanism) > epsilon


def test_l2_sensitivity_in_place_of_l1_is_caught():
    mechanism = Laplace(random_space(80), epsilon=1.0, clip=1.0)
    mechanism.noise.scale = 2.0
    assert worst_log_ratio(mechanism) > 1.5


def test_general_sensitivity_is_the_textbook_one():
    space = random_space(50, dimension=300)
    mechanism = Laplace(space, epsilon=1.0, clip=2.0, sensitivity="general")
    assert mechanism.noise.scale == pytest.approx(2 * math.sqrt(300) * 2.0)
    assert mechanism.noise.standard_deviation / 2.0 == pytest.approx(48.99, abs=0.005)
    assert Laplace(space, epsilon=1.0, clip=2.0).noise.scale < mechanism.noise.scale


@pytest.mark.parametrize("stretch", [8.0, 0.5])
@pytest.mark.parametrize("longest", [1e-6, 0.7, 7.9, 8.3, 20.0, math.inf])
def test_exponential_draws_follow_their_law(longest, stretch, monkeypatch):
    # A short stretch sends most draws through several rounds, which is otherwise rare.
    monkeypatch.setattr(randomness, "_STRETCH", stretch)
    draws = exponential((300_000,), np.random.default_rng(1), longest)
    assert draws.min() >= 0
    assert draws.max() <= longest
    law = stats.truncexpon(b=longest) if math.isfinite(longest) else stats.expon()
    assert follows(draws, law.cdf)
    wrong = law.cdf if longest < 1e-3 else (lambda x: law.cdf(1.06 * x))
    assert longest < 1e-3 or not follows(draws, wrong)


class _Unlucky(np.random.Generator):
    """Uniforms as large as they come, for a few rounds."""

    def __init__(self, rounds: int):
        super().__init__(np.random.PCG64(0))
        self.rounds = rounds

    def random(self, size=None):
        self.rounds -= 1
        return np.full(size, 1 - 2**-53 if self.rounds >= 0 else 0.5)


def test_the_tail_has_no_end_of_its_own():
    # One 53-bit uniform stops at 36.7.
    assert exponential((1,), _Unlucky(0))[0] == pytest.approx(math.log(2))
    assert exponential((1,), _Unlucky(9))[0] == pytest.approx(72 + math.log(2))
    assert exponential((1,), _Unlucky(50), longest=100.0)[0] == pytest.approx(100.0, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 40.0])
def test_noise_follows_the_law_and_a_5_percent_error_is_seen(scale):
    noise = LaplaceNoise(scale)
    vectors = np.tile([0.3, -2.0, 5.0, 0.0], (100_000, 1))
    draws = noise.add_noise(vectors, np.random.default_rng(2)) - vectors
    for column in draws.T:
        assert follows(column, stats.laplace(scale=scale).cdf)
    assert not follows(draws.ravel(), stats.laplace(scale=1.05 * scale).cdf)
    assert not follows(draws.ravel(), stats.laplace(scale=scale / 1.05).cdf)
    assert np.std(draws) == pytest.approx(noise.standard_deviation, rel=0.02)


def test_every_number_gets_its_own_noise():
    draws = LaplaceNoise(1.0).add_noise(np.zeros((50_000, 3)), np.random.default_rng(3))
    assert len(np.unique(draws)) > 0.999 * draws.size
    size, sign = np.abs(draws), np.sign(draws)
    for table in (draws, size, sign):
        correlation = np.corrcoef(np.column_stack([table[:-1], table[1:]]).T)
        assert np.abs(correlation - np.eye(6)).max() < 6.2 / math.sqrt(50_000)
    assert np.abs(np.corrcoef(size.ravel(), sign.ravel())[0, 1]) < 6.2 / math.sqrt(150_000)


def test_density_is_that_of_scipy():
    rng = np.random.default_rng(4)
    vectors, outputs = rng.standard_normal((2, 30, 5))
    expected = stats.laplace(scale=0.7).logpdf(outputs - vectors).sum(axis=1)
    assert np.allclose(LaplaceNoise(0.7).log_density(vectors, outputs), expected, rtol=1e-12)


def test_statement():
    statement = Laplace(random_space(), epsilon=3, clip=1).statement
    assert statement.notion is Notion.PURE
    assert (statement.epsilon, statement.delta) == (3.0, 0.0)
    assert (statement.unit, statement.adjacency) == (Unit.WORD, Adjacency.REPLACE)
    assert "any two words of the vocabulary" in statement.scope
    assert "the clipping norm" in statement.public


def test_one_dimension_and_duplicates_are_fine():
    space = EmbeddingSpace.from_arrays("abcd", [[1.0], [1.0], [3.0], [9.0]])
    mechanism = Laplace(space, epsilon=2.0, clip=5.0)
    assert mechanism.noise.scale == pytest.approx(2.0)
    out = mechanism.release(np.arange(4), np.random.default_rng(0))
    assert out.shape == (4,)


NUMBERS = [0, -1, float("nan"), float("inf"), "2", None, True]


@pytest.mark.parametrize("value", NUMBERS)
@pytest.mark.parametrize("name", ["epsilon", "clip"])
def test_bad_numbers(name, value):
    arguments = {"epsilon": 1.0, "clip": 1.0, name: value}
    with pytest.raises(
        InvalidValue, match=f"{name} of Laplace must be a finite number above 0; got"
    ):
        Laplace(random_space(), **arguments)


def test_other_bad_input():
    with pytest.raises(InvalidValue, match="sensitivity of Laplace must be one of"):
        Laplace(random_space(), epsilon=1, clip=1, sensitivity="published")
    with pytest.raises(InvalidValue, match="noise of Laplace is too large"):
        Laplace(random_space(), epsilon=1e-308, clip=1e10, sensitivity="general")
    same = EmbeddingSpace.from_arrays("ab", [[3.0, 4.0], [6.0, 8.0]])
    with pytest.raises(InvalidValue, match="have the same vector after clipping"):
        Laplace(same, epsilon=1, clip=5)
