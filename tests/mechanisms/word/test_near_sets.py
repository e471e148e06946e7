"""Words outside the vocabulary: what stands in for them, and that it says nothing of them."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.word import NearWords
from discreet.mechanisms.word import _near_sets as near_sets
from discreet.mechanisms.word._two_weights import exp_from_below
from discreet.release.text import Sanitizer
from discreet.spaces.space import EmbeddingSpace
from discreet.text import layout as layout_module
from discreet.text.layout import TITLE
from discreet.text.stand_ins import NAMES, NOUNS
from small_spaces import all_distances, everyday_space, random_space
from toy_guide import ToyGuide

UNKNOWN = 0
SETTINGS = {
    "plain": {"near": 1, "outputs": 60},
    "codebook": {"near": 3, "outputs": 25},
    "guided": {"near": 2, "outputs": 30, "guide": ToyGuide(60), "pool": 6},
}


def made(name: str, epsilon: float = 2.0) -> NearWords:
    return NearWords(everyday_space(), epsilon, **SETTINGS[name])


def near_words(mechanism, capital: bool, released=()) -> list[str]:
    law = mechanism.log_probabilities([UNKNOWN], released, np.array([capital]))[0]
    return [mechanism.space.words[i] for i in np.flatnonzero(law == law.max())]


def test_nouns_stand_in_and_names_for_words_with_a_capital():
    mechanism = made("plain")
    assert near_words(mechanism, capital=False) == [NOUNS[0]]
    assert near_words(mechanism, capital=True) == [NAMES[0]]
    assert mechanism.near_outputs(UNKNOWN).tolist() == [mechanism.space.id_of(NOUNS[0])]


@pytest.mark.parametrize("capital", [False, True])
def test_of_a_short_alphabet_the_outputs_nearest_to_them_stand_in(capital):
    mechanism = made("codebook")
    space, distances = mechanism.space, all_distances(mechanism.space)[:, mechanism.words]
    wanted = []
    for word in (NAMES if capital else NOUNS)[:5]:
        nearest = space.words[mechanism.words[distances[space.id_of(word)].argmin()]]
        wanted += [nearest] if nearest not in wanted else []
    assert sorted(near_words(mechanism, capital)) == sorted(wanted[:3])


def test_a_guide_chooses_among_them():
    mechanism = made("guided")
    pools = {
        capital: set().union(*(near_words(mechanism, capital, [i]) for i in range(60)))
        for capital in (False, True)
    }
    for capital, pool in pools.items():
        assert 2 < len(pool) <= 6
        assert len({tuple(near_words(mechanism, capital, [i])) for i in range(60)}) > 3
    assert pools[False] != pools[True]


def test_a_guide_that_does_not_mind_takes_turns():
    flat = ToyGuide(60, spread=0.0)
    mechanism = NearWords(everyday_space(), 2.0, near=1, outputs=60, guide=flat, pool=5)
    for last in range(60):
        turn = (-last) % 5  # the place in the list that is first after this word
        assert near_words(mechanism, False, [3, last]) == [NOUNS[turn]]
        assert near_words(mechanism, True, [last]) == [NAMES[turn]]
    assert near_words(mechanism, capital=False) == [NOUNS[1]]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("capital", [False, True])
def test_no_output_tells_an_unknown_word_from_another_by_more_than_epsilon(name, capital):
    mechanism, most = made(name), exp_from_below(2.0)
    law = mechanism._law
    for released in ((), (3,), (UNKNOWN, 59)):
        rows = mechanism._sets.rows(np.arange(60), np.full(60, capital))
        sets = mechanism._sets.after(rows, released)
        laws = [
            [
                Fraction(law.heavy if place in near else law.light, law.total)
                for place in range(mechanism.outputs)
            ]
            for near in sets.tolist()
        ]
        assert {sum(each) for each in laws} == {1}
        for first, second in itertools.product((laws[UNKNOWN],), laws):
            for one, other in ((first, second), (second, first)):
                assert max(p / q for p, q in zip(one, other, strict=True)) <= most


def test_a_space_without_the_listed_words_has_the_neighbours_of_its_token():
    space = random_space(40)
    mechanism = NearWords(space, 2.0, near=3, outputs=20)
    nearest = all_distances(space)[UNKNOWN, mechanism.words].argsort(kind="stable")[:3]
    for capital in (False, True):
        law = mechanism.log_probabilities([UNKNOWN], (), np.array([capital]))[0]
        assert set(np.flatnonzero(law == law.max())) == set(mechanism.words[nearest])


def test_known_words_are_the_same_with_a_capital():
    for name in SETTINGS:
        mechanism, ids = made(name), np.arange(1, 60)
        plain = mechanism.log_probabilities(ids)
        assert (mechanism.log_probabilities(ids, (), np.ones(59, bool)) == plain).all()


@pytest.mark.parametrize("capitals", [[True], [1, 0], np.ones((2, 1), bool)])
def test_bad_capitals(capitals):
    with pytest.raises(InvalidValue, match="capitals of NearWords must say true or false"):
        made("plain").release([1, 2], np.random.default_rng(0), capitals=capitals)


# -- nothing of the word itself --------------------------------------------------------------------

SMALL = ("zebra", "qz", "954.3", "26,000", "ñandú", "日本")
CAPITAL = ("Zebra", "Qz", "Ñandú", "McTea", "A340")


def told_apart(name: str, words, layout: str = "public") -> set[str]:
    """What comes out for each word, ten times by the same numbers; one thing if all are one."""
    mechanism = made(name, epsilon=3.0)
    outcomes = set()
    for word in words:
        sanitizer = Sanitizer(mechanism, layout=layout)
        texts = [f"thing {word} and {word}, thing"] * 10
        outcomes.add("\n".join(sanitizer.sanitize(texts, np.random.default_rng(5)).values))
    return outcomes


@pytest.mark.parametrize("name", SETTINGS)
def test_whatever_an_unknown_word_was_the_same_comes_out(name):
    assert len(told_apart(name, SMALL)) == 1
    assert len(told_apart(name, CAPITAL)) == 1
    assert len(told_apart(name, SMALL + CAPITAL, layout="tokens")) == 1


@pytest.mark.parametrize("name", SETTINGS)
def test_a_set_that_depends_on_the_unknown_word_is_seen(name, monkeypatch):
    plain = layout_module.capitals
    telling = lambda word: TITLE if word[0].isdigit() else plain(word)  # noqa: E731
    monkeypatch.setattr(layout_module, "capitals", telling)
    # What is written in capitals is made small: the set alone must give it away.
    assert len({text.lower() for text in told_apart(name, SMALL)}) == 2


def test_without_public_capitals_a_name_is_any_word():
    mechanism = NearWords(everyday_space(), 40.0, near=1, outputs=60)
    small, public = (
        Sanitizer(mechanism, layout=layout).sanitize(["Zebra zebra"]).values[0]
        for layout in ("tokens", "public")
    )
    assert small == f"{NOUNS[0]} {NOUNS[0]}"
    assert public == f"{NAMES[0].capitalize()} {NOUNS[0]}"


def test_drawn_once_a_name_stands_in_where_most_places_have_a_capital():
    mechanism = NearWords(everyday_space(), 40.0, near=1, outputs=60)
    once = Sanitizer(mechanism, layout="public", repeat="once")
    often, seldom = once.sanitize(["Zebra Okapi, zebra", "zebra okapi, Zebra"]).values
    name, noun = NAMES[0], NOUNS[0]
    assert often == f"{name.capitalize()} {name.capitalize()}, {name}"
    assert seldom == f"{noun} {noun}, {noun.capitalize()}"
    tokens = Sanitizer(mechanism, repeat="once").sanitize(["Zebra Okapi"])
    assert tokens.values == [f"{noun} {noun}"]
    assert tokens.draws.tolist() == [1]


# -- what outputs are written as -------------------------------------------------------------------

FREQUENT = EmbeddingSpace.from_arrays(
    ["<unk>", "the", *(f"word{number}" for number in range(58))],
    np.random.default_rng(8).standard_normal((60, 3)),
    frequencies=np.random.default_rng(9).permutation(60),
)
SPARED = np.array(FREQUENT.words) == "the"


def named(name: str, far: float, monkeypatch) -> NearWords:
    """One whose outputs have common names; a large ``far``: their own."""
    monkeypatch.setattr(near_sets, "_FAR_NAME", far)
    mechanism = NearWords(FREQUENT, 2.0, spared=SPARED, **SETTINGS[name])
    assert len(mechanism.words) == mechanism.outputs  # found while the number above holds
    return mechanism


@pytest.mark.parametrize("name", ["codebook", "guided"])
def test_an_output_is_written_as_a_common_word_that_it_stands_for(name, monkeypatch):
    own, common = (named(name, far, monkeypatch) for far in (1e9, 0.1))
    assert own.words.tolist() == own.exemplars.tolist() == common.exemplars.tolist()
    changed = np.flatnonzero(common.words != common.exemplars)
    assert len(changed) > 2
    assert len(set(common.words.tolist())) == common.outputs
    assert not set(common.words.tolist()) & {UNKNOWN, FREQUENT.id_of("the")}
    nearest = all_distances(FREQUENT)[:, common.exemplars].argmin(axis=1)
    assert nearest[common.words].tolist() == list(range(common.outputs))
    frequent = FREQUENT.frequencies
    assert (frequent[common.words] >= frequent[common.exemplars]).all()


@pytest.mark.parametrize("name", ["codebook", "guided"])
def test_names_change_nothing_else(name, monkeypatch):
    own, common = (named(name, far, monkeypatch) for far in (1e9, 0.1))
    written = np.arange(60)
    written[own.exemplars] = common.words
    ids = np.random.default_rng(1).integers(2, 60, 300)
    offsets = np.arange(0, 301, 10)
    one, other = (each.release(ids, np.random.default_rng(2), offsets) for each in (own, common))
    assert written[one].tolist() == other.tolist()
    before, after = one[:3], other[:3]
    law = own.log_probabilities(ids, before)[:, own.words]
    assert (law == common.log_probabilities(ids, after)[:, common.words]).all()
    for mine, theirs in zip(
        own.near_inputs(one, offsets), common.near_inputs(other, offsets), strict=True
    ):
        assert mine.tolist() == theirs.tolist()


def test_two_outputs_that_are_written_alike_would_be_seen(monkeypatch):
    mechanism = named("codebook", 0.1, monkeypatch)
    assert np.exp(mechanism.log_probabilities(range(60))).sum(axis=1) == pytest.approx(1.0)
    mechanism._sets.written[1] = mechanism._sets.written[0]
    assert np.exp(mechanism.log_probabilities(range(60))).sum(axis=1).max() < 0.999


def test_where_all_words_are_replaced_outputs_keep_their_names():
    mechanism = NearWords(FREQUENT, 2.0, near=1, outputs=20)
    assert mechanism.words.tolist() == mechanism.exemplars.tolist()
