"""The attackers on toy laws whose optimum is known by counting everything."""

import itertools

import numpy as np
import pytest

from discreet.attacks.attacker import ROOM, is_broken
from discreet.attacks.chain import Pairs, Reader, contextual_guesses
from discreet.attacks.inverted import likelihoods_at, originals
from discreet.attacks.outcome import Estimate, Rate
from discreet.attacks.survivors import survivors
from discreet.attacks.watching import Watcher
from discreet.attacks.word_attack import WordAttack
from discreet.errors import InvalidValue
from discreet.mechanisms.word import CMP, NearWords, SanText, Uniform
from discreet.protocols import release_texts
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch
from small_spaces import clustered_space
from toy_guide import ToyGuide

SPACE = clustered_space(40)
PRIOR = np.random.default_rng(0).dirichlet(np.ones(40))


def _guided(near=3, outputs=20):
    return NearWords(SPACE, 3.0, near=near, outputs=outputs, guide=ToyGuide(40), pool=9)


def _joint(mechanism, before=()):
    """prior(x) P(y|x) of all pairs, by the law that the mechanism states."""
    told = () if not before else (np.array(before),)
    return np.exp(mechanism.log_probabilities(np.arange(40), *told)) * PRIOR[:, None]


@pytest.mark.parametrize(
    "mechanism",
    [
        SanText(SPACE, epsilon=3.0),
        NearWords(SPACE, 3.0, near=2, outputs=40),
        NearWords(SPACE, 3.0, near=3, outputs=20),
        Uniform(SPACE),
    ],
    ids=["santext", "plain", "codebook", "uniform"],
)
def test_the_best_guess_is_that_of_brute_force_and_reaches_its_bound(mechanism):
    joint = _joint(mechanism)
    outputs = np.flatnonzero(joint.sum(axis=0) > 0)
    found = originals(mechanism, outputs, np.array([0, len(outputs)]), PRIOR, keep=7)
    best = joint[found.best(), outputs]
    assert np.allclose(best, joint.max(axis=0)[outputs], rtol=1e-4, atol=0)
    # All that is kept is as likely as it is said to be, in falling order, and no word twice.
    assert np.allclose(np.exp(found.logs), joint[found.words, outputs[:, None]], rtol=1e-4)
    assert (np.diff(found.logs, axis=1) <= 1e-6).all()
    assert all(len(set(row)) == len(row) for row in found.words.tolist())
    if isinstance(mechanism, NearWords):
        assert mechanism.guess_rate(PRIOR) == pytest.approx(best.sum(), rel=1e-6)


def test_nobody_who_looks_at_single_words_exceeds_the_bound():
    mechanism = SanText(SPACE, epsilon=3.0)
    joint = _joint(mechanism)
    bound, rng = joint.max(axis=0).sum(), np.random.default_rng(1)
    for _ in range(100):
        rule = rng.integers(0, 40, 40)
        assert joint[rule, np.arange(40)].sum() <= bound * (1 + 1e-12)
    drawn = rng.choice(40, 20_000, p=PRIOR)
    seen = mechanism.release(drawn, rng)
    hits = originals(mechanism, seen, np.array([0, len(seen)]), PRIOR).best() == drawn
    rate = Rate.of(hits, confidence=1 - 1e-9)
    assert rate.low <= bound <= rate.high


def test_a_law_that_depends_on_the_text_before_is_inverted_place_by_place():
    mechanism = _guided()
    rng = np.random.default_rng(2)
    words, offsets = rng.integers(0, 40, 90), np.array([0, 30, 31, 31, 90])
    seen = mechanism.release(words, rng, offsets)
    found = originals(mechanism, seen, offsets, PRIOR, keep=9)
    wrong = 0
    for start, end in itertools.pairwise(offsets):
        for place in range(start, end):
            joint = _joint(mechanism, seen[start:place].tolist())[:, seen[place]]
            assert joint[found.best()[place]] == pytest.approx(joint.max(), rel=1e-9)
            assert np.allclose(np.exp(found.logs[place]), np.sort(joint)[::-1][:9])
            wrong += (
                _joint(mechanism)[found.best()[place], seen[place]]
                != _joint(mechanism)[:, seen[place]].max()
            )
    assert wrong > 10  # the law of an empty text would have been the wrong one


@pytest.mark.parametrize("guided", [True, False])
def test_public_words_are_read_and_are_their_own_originals(guided):
    listed = np.zeros(40, bool)
    listed[[3, 8, 30]] = True
    guide = {"guide": ToyGuide(40), "pool": 9} if guided else {}
    mechanism = NearWords(SPACE, 3.0, near=3, outputs=20, spared=listed, **guide)
    rng, prior = np.random.default_rng(2), np.where(listed, 0.0, PRIOR)
    words, offsets = rng.integers(0, 40, 80), np.array([0, 30, 80])
    passed = listed[words]
    seen = release_texts(mechanism, words, rng, offsets, passed)
    found = originals(mechanism, seen, offsets, prior, passed=passed, keep=5)
    assert np.array_equal(found.best()[passed], words[passed])
    for start, end in itertools.pairwise(offsets):
        for place in range(start, end):
            law = np.exp(mechanism.log_probabilities(np.arange(40), seen[start:place]))
            joint = (law[:, seen[place]] * prior)[found.words[place]]
            assert passed[place] or joint[0] == pytest.approx((law[:, seen[place]] * prior).max())
    # Reading along, too, only that word is possible there.
    guess = contextual_guesses(found, offsets, PRIOR, _Known(PRIOR, np.tile(PRIOR, (40, 1))))
    assert np.array_equal(guess[passed], words[passed])
    # A law without near sets is inverted at the other places alone.
    other = originals(SanText(SPACE, 3.0), seen, offsets, prior, passed=passed, keep=5)
    assert np.array_equal(other.best()[passed], words[passed])
    assert not listed[other.words[~passed]].any()


def test_the_law_at_a_place_is_that_after_what_was_released():
    mechanism, rng = _guided(), np.random.default_rng(5)
    offsets, places = np.array([0, 12, 30]), np.array([17, 4, 0, 29])
    seen = mechanism.release(rng.integers(0, 40, 30), rng, offsets)
    row, logs = likelihoods_at(mechanism, seen, offsets, places, PRIOR)
    for place, given in zip(places, logs[row], strict=True):
        start = 0 if place < 12 else 12
        law = mechanism.log_probabilities(np.arange(40), seen[start:place])[:, seen[place]]
        assert np.allclose(given, law, rtol=1e-6)


def test_words_that_pass_are_not_counted():
    listed = np.zeros(40, bool)
    listed[:10] = True
    mechanism = NearWords(SPACE, 30.0, near=1, outputs=40, spared=listed)
    rng = np.random.default_rng(7)
    texts = [TokenBatch(rng.integers(0, 40, 300).astype(np.int32), np.arange(0, 301, 10))] * 2
    attack = WordAttack(SPACE, *texts, listed)
    assert attack.words == int((~listed[texts[0].ids]).sum())
    seen = release_texts(mechanism, attack.truth, rng, texts[0].offsets, attack.passed)
    for name, (hits, total) in attack.named(mechanism, seen):
        assert total.sum() == attack.words, name
        assert hits.sum() == attack.words, name  # all but certain to come out as they are
    hits, total = attack.watched(mechanism, seen)
    assert hits.sum() == total.sum() == attack.words
    nothing, _ = attack.columns(np.where(attack.passed, attack.truth, -1))
    assert nothing.sum() == 0


def test_near_inputs_are_those_of_the_stated_law():
    mechanism = NearWords(SPACE, 3.0, near=3, outputs=20)
    near, far = mechanism.log_chances
    law = mechanism.log_probabilities(np.arange(40))[:, mechanism.words]
    places, words = mechanism.near_inputs(mechanism.words, np.array([0, 20]))
    table = np.full((40, 20), far)
    table[words, places] = near
    assert np.array_equal(table, law)
    other = np.setdiff1d(np.arange(40), mechanism.words)[:1]
    with pytest.raises(InvalidValue, match="cannot come out"):
        mechanism.near_inputs(other, np.array([0, 1]))


# -- reading along ---------------------------------------------------------------------------------


class _Known:
    """A reader whose pairs are the truth."""

    def __init__(self, first, table):
        self.table = np.log(np.vstack([table, first]))
        self.beginning = len(table)

    def logs(self, before, words):
        return self.table[before, words]


def _markov():
    rng = np.random.default_rng(3)
    table = rng.dirichlet(np.full(5, 0.2), 5) * 0.98 + 0.004
    return np.full(5, 0.2), table


def test_the_contextual_attacker_is_the_best_there_is_on_a_chain():
    # All texts of 3 words and all releases: the posterior of every word, by counting.
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(5)], np.arange(5.0)[:, None])
    mechanism, prior = SanText(space, epsilon=2.0), np.full(5, 0.2)
    first, table = _markov()
    law = np.exp(mechanism.log_probabilities(np.arange(5)))
    texts = np.array(list(itertools.product(range(5), repeat=3)))
    chance = first[texts[:, 0]] * table[texts[:, 0], texts[:, 1]] * table[texts[:, 1], texts[:, 2]]
    offsets = np.array([0, 3])
    best_possible = reached = single = 0.0
    for seen in texts:
        joint = chance * law[texts, seen].prod(axis=1)
        posterior = np.stack([np.bincount(texts[:, i], joint, 5) for i in range(3)])
        found = originals(mechanism, seen, offsets, prior)
        guess = contextual_guesses(found, offsets, prior, _Known(first, table))
        best_possible += posterior.max(axis=1).sum()
        reached += posterior[np.arange(3), guess].sum()
        single += posterior[np.arange(3), found.best()].sum()
    assert reached == pytest.approx(best_possible, rel=1e-9)
    assert reached > 1.1 * single  # and reading along is worth something


def test_texts_of_every_length_are_read_each_on_its_own():
    mechanism, prior = SanText(SPACE, epsilon=3.0), PRIOR
    rng = np.random.default_rng(4)
    batch = TokenBatch(rng.integers(0, 40, 400).astype(np.int32), np.arange(0, 401, 10))
    reader = Reader.of(batch, prior)
    offsets = np.array([0, 4, 4, 5, 15])
    seen = rng.integers(0, 40, 15)
    together = contextual_guesses(
        originals(mechanism, seen, offsets, prior), offsets, prior, reader
    )
    for start, end in itertools.pairwise(offsets):
        if end > start:
            own = np.array([0, end - start])
            found = originals(mechanism, seen[start:end], own, prior)
            alone = contextual_guesses(found, own, prior, reader)
            assert np.array_equal(together[start:end], alone)


def test_a_word_that_is_not_to_be_guessed_never_is():
    mechanism = SanText(SPACE, epsilon=8.0)
    seen, offsets = np.zeros(6, np.int64), np.array([0, 6])
    batch = TokenBatch(np.arange(40, dtype=np.int32).repeat(20), np.arange(0, 801, 20))
    found = originals(mechanism, seen, offsets, PRIOR)
    guess = contextual_guesses(found, offsets, PRIOR, Reader.of(batch, PRIOR), never=0)
    assert not (guess == 0).any()
    assert not (found.best(0) == 0).any()


def test_pairs_add_up_to_1_and_prefer_what_followed():
    batch = TokenBatch(np.array([1, 2, 1, 2, 3, 1], np.int32), np.array([0, 3, 3, 6]))
    prior = np.full(5, 0.2)
    pairs = Pairs.of(batch, prior)
    for before in range(6):
        law = pairs.chances(np.full(5, before), np.arange(5))
        assert law.sum() == pytest.approx(1.0)
    assert pairs.chances(np.array(1), np.array(2)) == pytest.approx((1 + 0.2) / (1 + 1))
    assert pairs.chances(np.array(5), np.array(1)) == pytest.approx((1 + 2 * 0.2) / (2 + 2))
    assert pairs.chances(np.array(4), np.array(0)) == pytest.approx(0.2)


def test_a_reader_needs_something_to_read():
    with pytest.raises(InvalidValue, match="at least 20 public texts"):
        Reader.of(TokenBatch(np.zeros(3, np.int32), np.arange(4)), np.full(5, 0.2))


# -- the others ------------------------------------------------------------------------------------


def test_watching_comes_near_the_best_guess_and_not_above_it():
    mechanism, rng = NearWords(SPACE, 3.0, near=1, outputs=10), np.random.default_rng(5)
    own = rng.choice(40, 40_000, p=PRIOR)
    watcher = Watcher.of(
        [own.astype(str).tolist()], [mechanism.release(own, rng).astype(str).tolist()]
    )
    bound, joint = mechanism.guess_rate(PRIOR), _joint(mechanism)
    guess = np.array([int(watcher.guesses([str(y)])[0]) for y in range(40)])
    success = joint[guess, np.arange(40)].sum()
    assert 0.97 * bound <= success <= bound * (1 + 1e-12)


def test_watching_skips_what_cannot_be_laid_side_by_side():
    watcher = Watcher.of([["a", "b"], ["c"]], [["x"], ["y"]])
    assert watcher.guesses(["x", "y"]) == ["x", "c"]
    named, total = watcher.hits([["c"], ["d", "e"]], [["y"], ["y"]])
    assert (named.tolist(), total.tolist()) == ([1], [1])
    with pytest.raises(InvalidValue, match="each of its own texts"):
        Watcher.of([["a"]], [])


def test_identifiers_that_survive_are_counted_whole():
    texts = ["mail ann@shop.example or call 555 123 4567"]
    shown, had = survivors(texts, ["mail Ann @ shop . example or 555 123 456 7"])
    assert (shown.tolist(), had.tolist()) == ([1], [2])
    with pytest.raises(InvalidValue, match="one release of each text"):
        survivors(texts, [])


def test_who_fails_where_nothing_is_protected_is_broken():
    assert is_broken(Estimate(0.10, 0.02, 0.18), 0.05)
    assert not is_broken(Estimate(0.10, 0.06, 0.14), 0.05)
    assert len({each.name for each in ROOM}) == len(ROOM)
    assert all(each.knows and each.guesses and each.bound for each in ROOM)


def test_a_guide_without_a_stated_inverse_is_refused():
    class Secretive:
        name, space, contextual = "secretive", SPACE, True

        def release(self, ids, *_):
            return ids

        def log_probabilities(self, ids, *_):
            return np.zeros((len(ids), 40))

        statement = None

    with pytest.raises(InvalidValue, match="cannot be inverted"):
        originals(Secretive(), np.zeros(2, np.int64), np.array([0, 2]), PRIOR)


def test_a_law_that_is_simulated_is_inverted_too():
    mechanism = CMP(SPACE, epsilon=30.0)
    rng = np.random.default_rng(6)
    words = rng.choice(40, 500, p=PRIOR)
    seen = mechanism.release(words, rng)
    found = originals(mechanism, seen, np.array([0, 500]), PRIOR, rng=rng)
    assert (found.best() == words).mean() > max(PRIOR.max(), 0.3)


def test_the_bound_is_that_of_a_law_of_single_words():
    words = np.random.default_rng(7).choice(40, 500, p=PRIOR)
    batch = TokenBatch(words.astype(np.int32), np.array([0, 500]))
    attack, mechanism = WordAttack(SPACE, batch, batch), NearWords(SPACE, 3.0, near=2, outputs=40)
    counted = words[words != SPACE.unknown]
    joint = np.exp(mechanism.log_probabilities(np.arange(40)))
    joint *= np.bincount(counted, minlength=40)[:, None] / len(counted)
    assert attack.bound(mechanism) == pytest.approx(joint.max(axis=0).sum(), rel=1e-9)
    assert attack.bound(_guided()) is attack.bound(CMP(SPACE, epsilon=30.0)) is None
