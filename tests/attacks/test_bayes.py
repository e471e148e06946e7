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
from discreet.mechanisms.word import CMP, SanText, SanTextPlus, Uniform
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch
from small_spaces import all_distances, clustered_space, random_space

RNG = np.random.default_rng(5)


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
    released = RNG.integers(0, len(space), 300)
    for mechanism in _mechanisms(space):
        joint = np.exp(mechanism.log_probabilities(np.arange(len(space)))) * prior[:, None]
        found = best_guesses(mechanism, released, prior)
        # Equal in value: two originals may be equally likely.
        assert np.allclose(joint[found, released], joint.max(axis=0)[released], rtol=1e-9, atol=0)
        place, logs = log_likelihoods(mechanism, released)
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


def test_a_mechanism_without_a_law_is_met_by_the_released_word():
    space = random_space()
    mechanism = CMP(space, epsilon=5.0)
    assert best_guesses(mechanism, [3, 5, 3], np.ones(120)).tolist() == [3, 5, 3]
    with pytest.raises(InvalidValue, match="cannot say its law"):
        log_likelihoods(mechanism, [3])


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
