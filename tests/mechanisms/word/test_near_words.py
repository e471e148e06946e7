"""Near words: the theorem in exact arithmetic, the sampler, the choice of settings, the guide."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import audit
from discreet.audit.subject import subject_of
from discreet.errors import InvalidValue, NotFound
from discreet.mechanisms.word import NearWords
from discreet.mechanisms.word._alphabet import Wanted, choose, most_guessed
from discreet.mechanisms.word._two_weights import exp_from_below
from discreet.protocols import ContextualMechanism, FiniteMechanism, release_texts
from discreet.release.text import Sanitizer
from discreet.spaces import exemplars as exemplars_module
from discreet.spaces import load_space
from discreet.spaces.exemplars import exemplars
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion, Unit
from goodness import fits
from small_spaces import (
    all_distances,
    both_spaces,
    clustered_space,
    everyday_space,
    random_space,
)
from toy_guide import ToyGuide

EXAMPLES = {
    "plain": lambda: NearWords(random_space(), 3.0, near=4, outputs=120),
    "clusters": lambda: NearWords(clustered_space(), 1.0, near=4, outputs=120),
    "codebook": lambda: NearWords(random_space(), 2.0, near=2, outputs=20),
    "chosen": lambda: NearWords(random_space(), 4.0),
    "one of two": lambda: NearWords(random_space(), 1.0, near=1, outputs=2),
    "all near": lambda: NearWords(random_space(40), 5.0, near=40, outputs=40),
    "large epsilon": lambda: NearWords(random_space(), 80.0, near=3, outputs=50),
    "sparing": lambda: NearWords(random_space(), 2.0, spared=np.arange(120) < 30),
    "guided": lambda: NearWords(
        random_space(), 3.0, near=3, outputs=30, guide=ToyGuide(120), pool=12
    ),
    "guided by likelihood alone": lambda: NearWords(
        clustered_space(40), 2.0, near=2, outputs=40, guide=ToyGuide(40), pool=40, weight=0.0
    ),
    "stand-ins": lambda: NearWords(everyday_space(), 3.0, near=2, outputs=30),
    "guided stand-ins": lambda: NearWords(
        everyday_space(), 3.0, near=2, outputs=30, guide=ToyGuide(60), pool=8
    ),
}


# -- the theorem, in exact arithmetic --------------------------------------------------------------


def exact_law(mechanism: NearWords, word: int, released=()) -> list[Fraction]:
    """The law over outputs as fractions, from whole weights and the sets of the mechanism."""
    law = mechanism._law
    sets = mechanism._sets.after(np.array([word]), released)[0]
    assert len(set(sets.tolist())) == mechanism.near == law.near
    weights = [law.light] * mechanism.outputs
    for place in sets:
        weights[place] = law.heavy
    assert sum(weights) == law.total
    return [Fraction(weight, law.total) for weight in weights]


def worst_ratio(first, second) -> Fraction:
    return max(p / q for p, q in zip(first, second, strict=True))


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_output_tells_two_words_apart_by_more_than_epsilon(name):
    mechanism = EXAMPLES[name]()
    most = exp_from_below(min(mechanism.epsilon, 64.0))
    laws = [exact_law(mechanism, word) for word in range(len(mechanism.space))]
    assert {sum(law) for law in laws} == {1}
    # Two values and one total: the worst ratio is that of the largest to the least probability.
    assert max(map(max, laws)) / min(map(min, laws)) <= most
    for first, second in itertools.product(laws[:2], laws[::5]):
        assert worst_ratio(first, second) <= most


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_law_that_is_said_is_that_of_the_whole_weights(name):
    mechanism = EXAMPLES[name]()
    said = np.exp(mechanism.log_probabilities(np.arange(10)))
    for word in range(10):
        exact = [float(p) for p in exact_law(mechanism, word)]
        assert said[word, mechanism.words] == pytest.approx(exact, rel=1e-12)
    outside = np.setdiff1d(np.arange(len(mechanism.space)), mechanism.words)
    assert not said[:, outside].any()


def small_guided(epsilon=1.5, **settings) -> NearWords:
    given = {"near": 2, "outputs": 4, "guide": ToyGuide(5, spread=9.0), "pool": 3, "weight": 1.0}
    return NearWords(random_space(5, dimension=2), epsilon, **given | settings)


def test_the_guided_law_keeps_its_promise_after_every_short_text():
    mechanism = small_guided()
    most, differ = exp_from_below(1.5), 0
    for length in range(3):
        for released in itertools.product(mechanism.words, repeat=length):
            laws = [exact_law(mechanism, word, released) for word in range(5)]
            for first, second in itertools.product(laws, repeat=2):
                assert worst_ratio(first, second) <= most
            differ += laws != [exact_law(mechanism, word) for word in range(5)]
    assert differ > 5, "the guide must matter for the test to mean something"


def text_law(mechanism, text, context) -> dict[tuple, Fraction]:
    """The law of the two words released for a text; ``context`` is what the guide is shown."""
    first = exact_law(mechanism, text[0])
    return {
        (i, j): p * q
        for i, p in enumerate(first)
        for j, q in enumerate(exact_law(mechanism, text[1], [context(text[0], mechanism.words[i])]))
    }


def largest_losses(mechanism, context) -> dict[int, Fraction]:
    """The worst ratio of two texts of two words, by the number of words in which they differ."""
    texts = list(itertools.product(range(5), repeat=2))
    laws = {text: text_law(mechanism, text, context) for text in texts}
    worst = {0: Fraction(0), 1: Fraction(0), 2: Fraction(0)}
    for one, other in itertools.product(texts, repeat=2):
        apart = sum(a != b for a, b in zip(one, other, strict=True))
        ratio = max(p / laws[other][pair] for pair, p in laws[one].items())
        worst[apart] = max(worst[apart], ratio)
    return worst


def test_losses_add_up_over_the_words_of_a_text_and_a_guide_that_sees_the_text_breaks_it():
    mechanism = small_guided()
    law = mechanism._law
    single = Fraction(law.heavy, law.light)
    worst = largest_losses(mechanism, lambda _word, released: released)
    assert worst[0] == 1
    assert worst[1] == single <= exp_from_below(1.5)
    assert worst[2] == single**2
    leaking = largest_losses(mechanism, lambda word, _released: word)
    assert leaking[1] == single**2, "the mutant must be caught"


def test_a_set_of_another_size_breaks_it():
    mechanism = NearWords(random_space(12), 1.0, near=3, outputs=12)
    first = exact_law(mechanism, 0)
    heavy, light = mechanism._law.heavy, mechanism._law.light
    weights = [light] * 7 + [heavy] * 5
    second = [Fraction(weight, sum(weights)) for weight in weights]
    assert worst_ratio(first, second) > exp_from_below(1.0)


@pytest.mark.parametrize("name", ["plain", "codebook", "guided"])
def test_the_loss_of_a_word_is_epsilon_as_often_as_a_near_output_comes_out(name):
    mechanism = EXAMPLES[name]()
    known = mechanism.unit_loss
    logs = mechanism.log_probabilities(np.arange(120))[:, mechanism.words]
    most = 0.0
    for row in logs:
        losses = row - logs
        assert losses.max() <= known.epsilon + 1e-9
        # Nothing between epsilon, 0 and -epsilon.
        steps = losses / known.epsilon
        assert np.abs(steps - np.rint(steps)).max() < 1e-6
        most = max(most, float((np.exp(row) * (steps > 0.5)).sum(axis=1).max()))
    law = mechanism._law
    assert Fraction(known.top) >= Fraction(law.near * law.heavy, law.total)
    assert most == pytest.approx(known.top, rel=1e-9), "some words have no near output in common"


# -- near sets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", both_spaces(), ids=lambda space: space.name)
def test_the_near_outputs_are_the_nearest_of_the_alphabet(space):
    mechanism = NearWords(space, 2.0, near=5, outputs=30)
    distances = all_distances(space)[:, mechanism.words]
    law = mechanism.log_probabilities(np.arange(len(space)))[:, mechanism.words]
    for word in range(len(space)):
        near = law[word] == law[word].max()
        assert near.sum() == 5
        assert distances[word, near].max() <= distances[word, ~near].min() + 1e-6


def test_of_equal_distances_the_first_word_is_near():
    space = EmbeddingSpace.from_arrays("abcde", [[0.0], [1.0], [1.0], [-1.0], [9.0]])
    mechanism = NearWords(space, 1.0, near=2, outputs=5)
    assert mechanism._sets.fixed[0].tolist() == [0, 1]


def test_the_unknown_token_comes_out_only_if_everything_may():
    space = random_space(40)
    for outputs in (2, 10, 39):
        assert space.unknown not in NearWords(space, 1.0, near=1, outputs=outputs).words
    assert space.unknown not in NearWords(space, 30.0).words
    assert space.unknown in NearWords(space, 1.0, near=1, outputs=40).words


# -- settings for an epsilon -----------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0, 9.0])
def test_what_is_chosen_is_where_words_stay_nearest_and_are_not_guessed(epsilon):
    space = random_space(120)
    prior, allowed = rank_prior(space), most_guessed(epsilon)
    squared = all_distances(space) ** 2
    known = np.arange(120)
    expected = {}
    for outputs, near in itertools.product(exemplars(space).sizes, (1, 2, 3, 5, 8, 13, 21, 32)):
        if near <= outputs:
            mechanism = NearWords(space, epsilon, near=near, outputs=outputs)
            # What is chosen keeps to a bound on the best guess, which is a little above it.
            if mechanism.guess_rate(prior) <= allowed - 0.05:
                law = mechanism.log_probabilities(known)
                expected[outputs, near] = float((np.exp(law) * squared[known]).sum(axis=1).mean())
    assert NearWords(space, epsilon).guess_rate(prior) <= allowed
    chosen = choose(space, Wanted(epsilon))
    law = NearWords(space, epsilon).log_probabilities(known)
    found = float((np.exp(law) * squared[known]).sum(axis=1).mean())
    assert found <= min(expected.values()) * (1 + 1e-5)
    assert (len(chosen.words), chosen.near) == (
        NearWords(space, epsilon).outputs,
        NearWords(space, epsilon).near,
    )


def test_one_setting_may_be_given_and_the_other_is_chosen():
    space = random_space(120)
    assert NearWords(space, 3.0, outputs=17).outputs == 17
    assert NearWords(space, 3.0, near=7).near == 7
    assert NearWords(space, 0.1, outputs=17).near > NearWords(space, 9.0, outputs=17).near


def test_the_starter_space_ships_its_exemplars(monkeypatch):
    monkeypatch.setattr(exemplars_module, "measured", None)
    space = load_space("starter")
    chosen = {epsilon: NearWords(space, epsilon) for epsilon in (6.0, 8.0, 10.0, 12.0)}
    for epsilon, mechanism in chosen.items():
        assert mechanism.guess_rate(rank_prior(space)) <= most_guessed(epsilon)
    doctor = chosen[10.0].log_probabilities([space.id_of("doctor")])[0]
    assert space.words[int(doctor.argmax())] in ("doctor", "physician", "medical", "doctors")


@pytest.mark.parametrize("epsilon", [2.0, 9.0])
def test_what_passes_unchanged_does_not_come_out(epsilon):
    space, spared = random_space(120), np.arange(120) % 3 == 0
    plain = NearWords(space, epsilon)
    mechanism = plain.sparing(spared)
    assert not spared[mechanism.words].any()
    assert spared[plain.words].any()
    assert mechanism.prior[spared].sum() == 0
    assert mechanism.prior.sum() == pytest.approx(1)
    assert mechanism.guess_rate(mechanism.prior) <= most_guessed(epsilon)
    assert mechanism.sparing(spared) is mechanism
    # Whatever passes and whatever does not, a word that comes in has a law.
    law = np.exp(mechanism.log_probabilities(np.arange(120)))
    assert law.sum(axis=1) == pytest.approx(np.ones(120))


def test_what_was_given_stays_when_words_pass():
    guide, spared = ToyGuide(120), np.arange(120) < 20
    given = NearWords(random_space(), 3.0, near=3, outputs=30, guide=guide, pool=12, weight=2.0)
    made = given.sparing(spared)
    assert (made.near, made.outputs, made.pool, made.weight) == (3, 30, 12, 2.0)
    assert made.guide is guide
    assert not spared[made.words].any()


def test_slurs_come_in_and_do_not_come_out():
    words = [f"w{i}" for i in range(30)]
    words[3], words[7] = "bastards", "Bitch"
    vectors = np.random.default_rng(0).standard_normal((30, 3))
    space = EmbeddingSpace.from_arrays(words, vectors)
    for outputs in (2, 10, 28):
        mechanism = NearWords(space, 2.0, near=1, outputs=outputs)
        assert not {3, 7} & set(mechanism.words.tolist())
        assert np.isfinite(mechanism.log_probabilities([3, 7])[:, mechanism.words]).all()
    assert not {3, 7} & set(NearWords(space, 8.0).words.tolist())
    assert {3, 7} <= set(NearWords(space, 2.0, near=1, outputs=30).words.tolist())


@pytest.mark.parametrize("spared", [np.ones(120, bool), np.zeros(119, bool), np.zeros(120)])
def test_a_list_of_what_passes_must_fit_the_space(spared):
    with pytest.raises(InvalidValue, match="spared of NearWords must say true or false"):
        NearWords(random_space(), 2.0, spared=spared)


# -- the guide -------------------------------------------------------------------------------------


def test_it_reads_on_only_with_a_guide():
    plain, guided = EXAMPLES["plain"](), EXAMPLES["guided"]()
    for mechanism in (plain, guided):
        assert isinstance(mechanism, FiniteMechanism)
        assert isinstance(mechanism, ContextualMechanism)
    assert (plain.contextual, guided.contextual) == (False, True)


def test_the_near_words_are_the_likeliest_of_the_nearest():
    guide = ToyGuide(120)
    mechanism = NearWords(random_space(), 3.0, near=3, outputs=120, guide=guide, pool=9, weight=0.0)
    nearest = all_distances(random_space()).argsort(axis=1, kind="stable")[:, :9]
    for released in ((), (7,), (7, 99)):
        row = guide.table[released[-1] if released else -1]
        sets = mechanism._sets.after(np.arange(120), released)
        for word in range(1, 120):
            best = nearest[word][np.argsort(-row[nearest[word]])][:3]
            assert set(mechanism.words[sets[word]]) == set(best)


def test_equal_scores_leave_the_nearest():
    flat = ToyGuide(120, spread=0.0)
    for weight in (0.0, 5.0):
        guided = NearWords(
            random_space(), 3.0, near=4, outputs=50, guide=flat, pool=20, weight=weight
        )
        plain = NearWords(random_space(), 3.0, near=4, outputs=50)
        known = np.arange(1, 120)
        assert (guided.log_probabilities(known, [3]) == plain.log_probabilities(known)).all()


def test_texts_follow_the_law_after_what_was_released_and_a_guide_that_peeks_is_seen():
    mechanism = small_guided()
    texts = 120_000
    ids, offsets = np.tile([4, 1], texts), np.arange(texts + 1) * 2
    place = np.full(5, -1)
    place[mechanism.words] = np.arange(4)
    out = place[mechanism.release(ids, np.random.default_rng(3), offsets)]
    pairs = out[0::2] * 4 + out[1::2]

    def as_array(context):
        law = text_law(mechanism, (4, 1), context)
        return np.array([float(law[pair]) for pair in itertools.product(range(4), repeat=2)])

    assert fits(pairs, as_array(lambda _word, released: released))
    assert not fits(pairs, as_array(lambda word, _released: word))


class _Least:
    """Draws the smallest number: the first near word always comes out."""

    def integers(self, _low, _high, size, dtype):
        return np.zeros(size, dtype)


def test_a_text_is_the_same_alone_and_among_others():
    mechanism = EXAMPLES["guided"]()
    mechanism.guide.documents = 3
    rng = np.random.default_rng(0)
    lengths = [3, 0, 7, 1, 0, 12, 5, 5]
    offsets = np.append(0, np.cumsum(lengths))
    ids = rng.integers(0, 120, offsets[-1])
    together = mechanism.release(ids, _Least(), offsets)
    for start, end in itertools.pairwise(offsets):
        alone = mechanism.release(ids[start:end], _Least(), [0, end - start])
        assert (together[start:end] == alone).all()
    single = mechanism.release(ids, _Least())
    assert (single != together).any(), "what was released before must matter"
    assert (single == mechanism.release(ids, _Least(), np.arange(len(ids) + 1))).all()


class _Recording(ToyGuide):
    """Keeps what it is handed."""

    def begin(self, documents):
        self.seen = []
        return super().begin(documents)

    def scores(self, state, rows, candidates):
        self.seen.append(("asked", rows.copy(), candidates.copy()))
        return super().scores(state, rows, candidates)

    def extend(self, state, rows, released):
        self.seen.append(("told", rows.copy(), released.copy()))
        super().extend(state, rows, released)


def test_a_guided_release_says_how_far_it_is():
    space = random_space(40)
    mechanism = NearWords(space, 2.0, near=2, outputs=20, guide=ToyGuide(40))
    seen = []
    mechanism.progress = lambda done, total: seen.append((done, total))
    mechanism.release(np.arange(6), np.random.default_rng(0), [0, 1, 4, 6])
    assert seen == [(3, 6), (5, 6), (6, 6)]  # the first words of three texts, then two, then one


def test_a_guide_is_told_what_was_released_and_nothing_else():
    guide = _Recording(120)
    mechanism = NearWords(random_space(), 3.0, near=2, outputs=60, guide=guide, pool=8)
    ids, offsets = np.arange(40, 50), np.array([0, 4, 4, 10])
    out = mechanism.release(ids, np.random.default_rng(1), offsets)
    told = [event[1:] for event in guide.seen if event[0] == "told"]
    for document, (start, end) in enumerate(itertools.pairwise(offsets)):
        words = [released[rows == document] for rows, released in told]
        assert np.concatenate(words).tolist() == out[start:end].tolist()
    for _, _, candidates in (event for event in guide.seen if event[0] == "asked"):
        assert np.isin(candidates, mechanism.words).all()


def test_whatever_a_guide_says_the_number_of_near_words_stays():
    class Wild(ToyGuide):
        def scores(self, state, rows, candidates):
            out = super().scores(state, rows, candidates)
            out[:, ::2] = np.nan
            out[:, 1] = np.inf
            return out

    mechanism = small_guided(guide=Wild(5))
    for word, released in itertools.product(range(5), [(), (1,), (2, 3)]):
        exact_law(mechanism, word, released)


def test_a_guide_of_the_wrong_shape_is_refused():
    class Short(ToyGuide):
        def scores(self, state, rows, candidates):
            return super().scores(state, rows, candidates)[:, :-1]

    with pytest.raises(InvalidValue, match="a score for each of 3 candidates"):
        small_guided(guide=Short(5)).release([1, 2], np.random.default_rng(0))


def test_sanitised_texts_are_read_from_left_to_right():
    mechanism = EXAMPLES["guided"]()
    texts = ["word5 word9 word70", "", "word9"]
    release = Sanitizer(mechanism).sanitize(texts, np.random.default_rng(4))
    ids = np.array([5, 9, 70, 9])
    out = mechanism.release(ids, np.random.default_rng(4), [0, 3, 3, 4])
    words = [mechanism.space.words[i] for i in out]
    assert release.values == [" ".join(words[:3]), "", words[3]]
    rng = np.random.default_rng(4)
    assert (release_texts(mechanism, ids, rng, [0, 3, 3, 4]) == out).all()


# -- the attacker ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "codebook", "guided", "one of two"])
def test_the_best_guess_is_right_as_often_as_brute_force_says(name):
    mechanism = EXAMPLES[name]()
    prior = np.random.default_rng(8).dirichlet(np.full(120, 0.2))
    joint = np.exp(mechanism.log_probabilities(np.arange(120))) * prior[:, None]
    assert mechanism.guess_rate(prior) == pytest.approx(joint.max(axis=0).sum(), rel=1e-12)


# -- statement and refusals ------------------------------------------------------------------------


def test_statement():
    plain, guided = EXAMPLES["codebook"]().statement, EXAMPLES["guided"]().statement
    assert (plain.notion, plain.epsilon, plain.unit) == (Notion.PURE, 2.0, Unit.WORD)
    assert "20 public words" in plain.scope
    assert "released before" not in plain.scope
    assert "released before it in its text" in guided.scope
    assert any(line.startswith("the guide toy (toy-120") for line in guided.public)


BAD = [
    ({"epsilon": 0}, "epsilon of NearWords must be a finite number above 0"),
    ({"epsilon": math.nan}, "epsilon of NearWords must be a finite number above 0"),
    ({"epsilon": -1.0}, "epsilon of NearWords must be a finite number above 0"),
    ({"near": 0}, "near of NearWords must be a whole number of at least 1"),
    ({"near": 2.5}, "near of NearWords must be a whole number"),
    ({"near": 21, "outputs": 20}, "near of NearWords must be at most the number of outputs, 20"),
    ({"near": 121}, "near of NearWords must be at most the number of outputs, 120"),
    ({"near": 40}, "near of NearWords must be at most 32 unless outputs is given"),
    ({"outputs": 1}, "outputs of NearWords must be a whole number of at least 2"),
    ({"outputs": 121}, "outputs of NearWords must be at most 120"),
    ({"pool": 9}, "pool of NearWords is for a guide"),
    ({"weight": 2.0}, "weight of NearWords is for a guide"),
    ({"pool": 9, "guide": "none"}, "pool of NearWords is for a guide"),
    (
        {"near": 3, "pool": 2, "guide": ToyGuide(120)},
        "pool of NearWords must be a whole number of at",
    ),
    ({"outputs": 20, "pool": 21, "guide": ToyGuide(120)}, "pool of NearWords must be at most 20"),
    ({"weight": -1, "guide": ToyGuide(120)}, "weight of NearWords must be a finite number of at"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_settings(given, message):
    with pytest.raises(InvalidValue, match=message):
        NearWords(random_space(), **{"epsilon": 2.0} | given)


def test_an_unknown_guide_is_not_found():
    with pytest.raises(NotFound):
        NearWords(random_space(), 2.0, guide="no such guide")


@pytest.mark.parametrize("offsets", [[0, 2], [1, 3], [0, 2, 1, 3], [0.0, 3.0], [[0, 3]], []])
def test_bad_offsets(offsets):
    with pytest.raises(InvalidValue, match="offsets of NearWords"):
        EXAMPLES["guided"]().release([1, 2, 3], np.random.default_rng(0), offsets)


# -- the audit -------------------------------------------------------------------------------------


class _Peeking(NearWords):
    """Tells the guide the word itself instead of what came out for it."""

    def _release_on(self, guide, public, starts, rows, out, rng):
        plain, words, told = guide.extend, out.copy(), np.zeros(len(starts) - 1, int)

        def extend(state, texts, _released):
            plain(state, texts, words[starts[texts] + told[texts]])
            told[texts] += 1

        guide.extend = extend
        try:
            super()._release_on(guide, public, starts, rows, out, rng)
        finally:
            guide.extend = plain


def _audited(kind, **given):
    mechanism = kind(random_space(10, dimension=3), 2.0, near=2, outputs=8, **given)
    return audit(mechanism, seed=20260103, samples=2000)


def test_the_audit_looks_at_texts_and_sees_a_guide_that_peeks():
    report = _audited(NearWords, guide=ToyGuide(10), pool=5, weight=1.0)
    assert report.passed, "\n".join(report.lines())
    assert any("64 inputs at all 64 outputs" in (each.scope or "") for each in report.findings)
    peeking = _audited(_Peeking, guide=ToyGuide(10), pool=5, weight=1.0)
    assert "sampler.law" in {each.check for each in peeking.failures}


def test_the_audit_of_a_large_alphabet_looks_at_words():
    space = random_space(2100, dimension=3)
    mechanism = NearWords(space, 2.0, near=2, outputs=2100, guide=ToyGuide(2100), pool=4)
    assert subject_of(mechanism).count == 2100
