"""The attacker who knows the mechanism, against brute force and against every other rule tried."""

import numpy as np
import pytest

from discreet.attacks.bayes import (
    best_guesses,
    guesses_from,
    log_likelihoods,
    text_prior,
)
from discreet.attacks.outcome import Rate
from discreet.errors import InvalidValue
from discreet.mechanisms.word import (
    CMP,
    Gaussian,
    Laplace,
    Mahalanobis,
    SanText,
    SanTextPlus,
    TruncatedLaplace,
    Uniform,
)
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch
from small_spaces import all_distances, clustered_space, random_space


def _mechanisms(space):
    return [
        SanText(space, epsilon=3.0),
        SanText(space, epsilon=1.0, calibration="published"),
        SanTextPlus(space, epsilon=3.0, sensitive=np.arange(40, len(space)), p=0.3),
    ]


def _prior(count):
    weights = np.random.default_rng(1).exponential(size=count)
    weights[7:11] = 0.0
    return weights / weights.sum()


@pytest.mark.parametrize("space", [random_space(), clustered_space()], ids=["random", "clusters"])
def test_the_guesses_are_those_of_brute_force(space, monkeypatch):
    monkeypatch.setattr("discreet.attacks.bayes._NUMBERS", 7 * len(space))  # several blocks
    prior = _prior(len(space))
    released = np.random.default_rng(5).integers(0, len(space), 300)
    for mechanism in _mechanisms(space):
        joint = np.exp(mechanism.log_probabilities(np.arange(len(space)))) * prior[:, None]
        found = best_guesses(mechanism, released, prior)
        # Equal in value: two originals may be equally likely.
        assert np.allclose(joint[found, released], joint.max(axis=0)[released], rtol=1e-9, atol=0)
        place, logs = log_likelihoods(mechanism, released, prior)
        other = guesses_from(place, logs, prior)
        assert np.allclose(joint[other, released], joint.max(axis=0)[released], rtol=1e-4, atol=0)


def test_no_rule_that_was_tried_is_right_more_often():
    space = clustered_space()
    prior, every = _prior(len(space)), np.arange(len(space))
    distances = all_distances(space)
    rng = np.random.default_rng(2)
    for mechanism in _mechanisms(space):
        joint = np.exp(mechanism.log_probabilities(every)) * prior[:, None]
        best = joint[best_guesses(mechanism, every, prior), every].sum()
        rules = {
            "the released word": every,
            "its nearest neighbour": (distances + 99 * np.eye(len(space))).argmin(axis=1),
            "the commonest word": np.full(len(space), prior.argmax()),
            "without the prior": best_guesses(mechanism, every, np.ones(len(space))),
            **{f"random {i}": rng.permutation(len(space)) for i in range(50)},
        }
        for name, rule in rules.items():
            assert joint[rule, every].sum() <= best * (1 + 1e-12), name
        # The test has power: forgetting the prior is strictly worse here.
        assert joint[rules["without the prior"], every].sum() < best - 1e-6


def test_the_success_rate_is_the_one_the_law_predicts():
    space = random_space()
    mechanism, prior = SanText(space, epsilon=3.0), _prior(120)
    rng = np.random.default_rng(3)
    original = rng.choice(120, 40_000, p=prior)
    released = mechanism.release(original, rng)
    hits = best_guesses(mechanism, released, prior) == original
    joint = np.exp(mechanism.log_probabilities(np.arange(120))) * prior[:, None]
    rate = Rate.of(hits, confidence=1 - 1e-9)
    assert rate.low <= joint.max(axis=0).sum() <= rate.high
    assert not rate.low <= 1.1 * joint.max(axis=0).sum() <= rate.high


class Silent:
    """A mechanism that cannot say its law and shows no density: it can only be watched."""

    name = "silent"

    def __init__(self, inner):
        self.space, self.release = inner.space, inner.release


def _line_law(scale, points):
    """P(y|x) of Laplace noise in one dimension and the nearest point, by its integral."""
    edges = np.r_[-np.inf, (points[1:] + points[:-1]) / 2, np.inf]

    def below(z):
        return np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0)), 1 - 0.5 * np.exp(-np.maximum(z, 0)))

    return np.diff(below((edges - points[:, None]) / scale), axis=1)


def test_a_law_without_a_formula_is_integrated_by_simulation():
    # In one dimension spherical noise is Laplace noise, whose integral over a cell is known.
    points = np.array([0.0, 0.3, 1.0, 1.2, 4.0, 9.0])
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(6)], points[:, None])
    truth, prior = np.log(_line_law(0.5, points)), np.array([1, 2, 1, 5, 1, 0.0]) / 10
    rng = np.random.default_rng(0)
    _, logs = log_likelihoods(CMP(space, epsilon=2.0), np.arange(6), prior, rng=rng)

    def posterior(table, weights):
        joint = np.exp(table - table.max(axis=1, keepdims=True)) * weights
        return joint / joint.sum(axis=1, keepdims=True)

    for weights in (prior, np.full(6, 1 / 6)):
        exact = posterior(truth.T, weights)
        assert np.abs(posterior(logs, weights) - exact).max() < 0.05
        # Forgetting the density of what was drawn from would be seen.
        assert np.abs(posterior(logs, weights * (prior + 0.01)) - exact).max() > 0.1
    best = best_guesses(CMP(space, epsilon=2.0), np.arange(6), prior, rng=rng)
    assert best.tolist() == (truth.T + np.log(prior + 1e-12)).argmax(axis=1).tolist()


@pytest.mark.parametrize("kind", ["cmp", "mahalanobis", "laplace", "gaussian", "truncated", "seen"])
def test_inverting_by_simulation_beats_the_released_word_and_the_commonest(kind):
    space = clustered_space()
    mechanism = {
        "cmp": lambda: CMP(space, epsilon=6.0),
        "mahalanobis": lambda: Mahalanobis(space, epsilon=6.0),
        "laplace": lambda: Laplace(space, epsilon=20.0, clip=9.0),
        "gaussian": lambda: Gaussian(space, epsilon=9.0, delta=1e-5, clip=9.0),
        "truncated": lambda: TruncatedLaplace(space, epsilon=9.0, delta=0.05, clip=9.0),
        "seen": lambda: Silent(CMP(space, epsilon=6.0)),
    }[kind]()
    prior = (1.0 / np.arange(1, 121)) / (1.0 / np.arange(1, 121)).sum()
    rng = np.random.default_rng(3)
    original = rng.choice(120, 4000, p=prior)
    released = mechanism.release(original, rng)
    hits = best_guesses(mechanism, released, prior, rng=rng) == original
    constant = (original == 0).mean()
    assert hits.mean() >= max(constant - 0.02, (released == original).mean() - 0.02)
    if kind in ("cmp", "seen"):
        assert hits.mean() > constant + 0.03
        assert hits.mean() > (released == original).mean() + 0.03


def test_uniform_noise_leaves_only_the_prior():
    space, prior = random_space(), _prior(120)
    assert set(best_guesses(Uniform(space), [0, 1, 2], prior)) == {int(prior.argmax())}


def test_priors():
    space = EmbeddingSpace.from_arrays(
        ["<unk>", "the", "tea", "cup"], np.eye(4), frequencies=[0, 9, 5, 5]
    )
    prior = rank_prior(space)
    assert prior.argmax() == 1
    assert prior[2] == prior[3] > prior[0] > 0
    assert prior.sum() == pytest.approx(1)
    counted = text_prior(space, TokenBatch(np.array([2, 2, 3], np.int32), np.array([0, 3])))
    assert counted.argmax() == 2
    assert (counted > 0).all()
    assert np.ptp(rank_prior(random_space())) == 0
    for bad in (np.zeros(120), np.ones(119), -np.ones(120), np.full(120, np.nan)):
        with pytest.raises(InvalidValue, match="prior"):
            best_guesses(SanText(random_space(), epsilon=1.0), [1], bad)


def test_rates_cover():
    rate = Rate.of(np.array([True] * 3 + [False] * 17))
    assert rate.low == pytest.approx(0.03207094)  # Clopper-Pearson, as in any table
    assert rate.high == pytest.approx(0.37892683)
    assert rate.other.low == pytest.approx(1 - rate.high)
    assert Rate.of(np.zeros(5, dtype=bool)).low == 0
    with pytest.raises(InvalidValue, match="at least 1 trial"):
        Rate.of(np.zeros(0, dtype=bool))
