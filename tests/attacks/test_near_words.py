"""The best guess at what near-words released, without a pass over its law, against the law."""

import numpy as np
import pytest

from discreet.attacks.bayes import best_guesses
from discreet.attacks.inverted import originals
from discreet.errors import InvalidValue
from discreet.mechanisms.word import NearWords
from small_spaces import clustered_space, random_space
from toy_guide import ToyGuide

WORDS = 60


def _guesses(mechanism, text, prior, passed=None):
    text = np.asarray(text)
    return originals(mechanism, text, np.array([0, len(text)]), prior, passed=passed, keep=1).best()


def _prior(seed):
    return np.random.default_rng(seed).dirichlet(np.full(WORDS, 0.3))


def _posteriors(mechanism, text, prior):
    """``prior(x) P(y|x, before)`` of every word x, place by place: slow and obvious."""
    every = np.arange(WORDS)
    rows = []
    for place, word in enumerate(text):
        before = text[:place] if mechanism.contextual else ()
        rows.append(prior * np.exp(mechanism.log_probabilities(every, before)[:, word]))
    return np.array(rows)


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("make", [random_space, clustered_space])
@pytest.mark.parametrize(("epsilon", "near", "outputs"), [(0.3, 3, 20), (3.0, 2, 40), (8.0, 1, 60)])
def test_no_word_is_likelier_than_the_guess(make, guided, epsilon, near, outputs):
    space = make(WORDS)
    guide = {"guide": ToyGuide(WORDS), "pool": 3 * near} if guided else {}
    mechanism = NearWords(space, epsilon, near=near, outputs=outputs, **guide)
    prior = _prior(3)
    text = mechanism.release(
        np.random.default_rng(1).integers(0, WORDS, 40), np.random.default_rng(2), [0, 40]
    )
    guess = _guesses(mechanism, text, prior)
    scores = _posteriors(mechanism, text, prior)
    found = scores[np.arange(len(text)), guess]
    np.testing.assert_allclose(found, scores.max(axis=1), rtol=1e-9)
    # A guess that ignores the mechanism is not as good: the check above can fail.
    assert (scores[:, prior.argmax()] < scores.max(axis=1)).any() or epsilon < 1


def test_a_guide_that_is_not_read_along_would_show():
    space = random_space(WORDS)
    mechanism = NearWords(
        space, 8.0, near=2, outputs=WORDS, guide=ToyGuide(WORDS, spread=50.0), pool=20
    )
    prior = _prior(4)
    text = mechanism.release(np.arange(WORDS), np.random.default_rng(2), [0, WORDS])
    alone = np.concatenate([_guesses(mechanism, [word], prior) for word in text])
    assert (_guesses(mechanism, text, prior) != alone).any()


def test_it_agrees_with_the_pass_over_the_whole_law():
    mechanism = NearWords(clustered_space(WORDS), 2.0, near=4, outputs=WORDS)
    released, prior = np.arange(WORDS), _prior(5)
    quick = _guesses(mechanism, released, prior)
    assert quick.tolist() == best_guesses(mechanism, released, prior).tolist()


def test_public_words_are_their_own_guess_and_words_without_a_share_are_none():
    mechanism = NearWords(random_space(WORDS), 3.0, near=2, outputs=WORDS)
    prior = np.where(np.arange(WORDS) < 30, 0.0, 1.0)
    passed = np.arange(40) % 2 == 0
    guess = _guesses(mechanism, np.arange(40), prior, passed)
    assert (guess[passed] == np.arange(40)[passed]).all()
    assert (guess[~passed] >= 30).all()


@pytest.mark.parametrize("passed", [[True], [0, 1], [[True, False]]])
def test_what_passed_must_fit_the_text(passed):
    mechanism = NearWords(random_space(WORDS), 3.0, near=2, outputs=WORDS)
    with pytest.raises(InvalidValue, match="passed of NearWords must say true or false of each"):
        mechanism.near_inputs([1, 2], [0, 2], passed)
    with pytest.raises(InvalidValue, match="passed of NearWords must say true or false of each"):
        mechanism.release([1, 2], np.random.default_rng(0), passed=passed)
