"""SanText+: what it protects, what it keeps, and its calibration."""

import itertools
import math

import numpy as np
import pytest

from conformance import excess_loss
from discreet.errors import InvalidValue
from discreet.mechanisms.word import SanTextPlus
from discreet.spaces.space import EmbeddingSpace
from small_spaces import all_distances, both_spaces, clustered_space, random_space

SENSITIVE = np.arange(0, 120, 3)

EXAMPLES = {
    f"{space}-{calibration}-{epsilon}": (
        lambda space=space, calibration=calibration, epsilon=epsilon: SanTextPlus(
            {"random": random_space, "clusters": clustered_space}[space](),
            epsilon=epsilon,
            sensitive=SENSITIVE,
            p=0.3,
            calibration=calibration,
        )
    )
    for space, calibration, epsilon in itertools.product(
        ("random", "clusters"), ("certified", "published"), (0.5, 6.0)
    )
}


@pytest.mark.parametrize("p", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("epsilon", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("space", both_spaces(240), ids=lambda s: s.name)
@pytest.mark.parametrize("calibration", ["certified", "published"])
def test_inequality_holds_for_all_pairs_and_outputs(space, calibration, epsilon, p):
    mechanism = SanTextPlus(
        space, epsilon=epsilon, sensitive=np.arange(0, 240, 5), p=p, calibration=calibration
    )
    assert excess_loss(mechanism, all_distances(space)) <= 1e-9
    assert mechanism.statement.slack == pytest.approx(math.log(1 / p))


def test_forgetting_the_half_is_caught():
    space = clustered_space(240)
    mutant = SanTextPlus(
        space, epsilon=3.0, sensitive=np.arange(240), p=0.99, calibration="published"
    )
    mutant._law.kappa = 3.0
    assert excess_loss(mutant, all_distances(space)) > 0.1


def test_a_sensitive_word_never_becomes_an_unsensitive_one_and_others_stay_at_the_stated_rate():
    space = random_space()
    mechanism = SanTextPlus(space, epsilon=2.0, sensitive=SENSITIVE, p=0.3)
    rng = np.random.default_rng(0)
    assert np.isin(mechanism.release(np.repeat(SENSITIVE, 500), rng), SENSITIVE).all()
    common = np.full(100_000, 1)
    out = mechanism.release(common, rng)
    assert (out == 1).mean() == pytest.approx(0.7, abs=0.01)
    assert np.isin(out[out != 1], SENSITIVE).all()


def test_far_words_do_not_underflow():
    # The sensitive words are 5,000 away from word 1: exp(-kappa d) is 0 in every float.
    vectors = [[0.0], [1.0], [5000.0], [5000.5]]
    space = EmbeddingSpace.from_arrays("abcd", vectors)
    mechanism = SanTextPlus(space, epsilon=4.0, sensitive=[2, 3], p=0.5)
    out = mechanism.release(np.full(20_000, 1), np.random.default_rng(0))
    expected = np.exp(mechanism.log_probabilities([1]))[0]
    assert np.abs(np.bincount(out, minlength=4) / 20_000 - expected).max() < 0.02
    assert expected.sum() == pytest.approx(1)
    assert expected[2] > expected[3] > 0


def test_the_unknown_token_is_always_sensitive():
    space = random_space()
    assert space.unknown == 0
    assert 0 in SanTextPlus(space, epsilon=1.0, sensitive=[5, 6]).sensitive


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon of SanText"),
        ({"p": 0}, "p of SanText"),
        ({"p": 1}, "p of SanText"),
        ({"p": "half"}, "p of SanText"),
        ({"sensitive": []}, "at least 2 sensitive words"),
        ({"sensitive": [10_000]}, "are outside"),
        ({"sensitive": ["ann"]}, "whole numbers"),
        ({"calibration": "x"}, "certified, published"),
    ],
)
def test_bad_parameters(arguments, message):
    good = {"epsilon": 1.0, "sensitive": [1, 2], "p": 0.3}
    with pytest.raises(InvalidValue, match=message):
        SanTextPlus(random_space(), **(good | arguments))
