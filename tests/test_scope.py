"""What statements are about: programs add what is about the same, and refuse the rest."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import group_as, in_parallel
from discreet.accounting.receipts import add_receipts, add_statements
from discreet.errors import IncompatibleStatements, InvalidValue
from discreet.mechanisms.word import NearWords
from discreet.receipt import Receipt
from discreet.release.text import Sanitizer
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import PrivacyStatement, Scope, Unit

WORD = PrivacyStatement(notion="pure", epsilon=1.0, unit="word", scope="each word")
SENTENCE = PrivacyStatement(notion="pure", epsilon=2.0, unit="sentence")

BOUNDS = st.tuples(st.sampled_from(["word", "sentence"]), st.just(""), st.integers(0, 3))
SCOPES = st.builds(
    Scope,
    cut=st.sampled_from(["", "a"]),
    most=st.lists(BOUNDS, max_size=2),
    datasets=st.lists(st.sampled_from(["x", "y"]), max_size=1),
)


def near_words(seed):
    """A sanitizer in a vocabulary of its own."""
    vectors = np.random.default_rng(seed).normal(size=(12, 3))
    words = ["<unk>", *(f"w{seed}{letter}" for letter in "abcdefghijk")]
    space = EmbeddingSpace.from_arrays(words, vectors)
    return Sanitizer(NearWords(space, epsilon=2.0, near=1, outputs=4))


def test_words_of_two_vocabularies_are_not_added_though_they_are_said_in_the_same_words():
    one, other = near_words(1).statement, near_words(2).statement
    assert one.scope == other.scope
    assert (one + one).epsilon == 4.0
    with pytest.raises(IncompatibleStatements, match="cut in two ways"):
        one.compose(other)
    assert not one <= other
    assert [len(sum_.of) for sum_ in add_statements({"a": one, "b": other, "c": one})] == [2, 1]


def test_a_word_that_is_drawn_once_for_all_its_places_is_another_unit():
    each = near_words(1)
    once = Sanitizer(each.mechanism, repeat="once").statement
    assert once.over.cut != each.statement.over.cut
    with pytest.raises(IncompatibleStatements):
        each.statement.compose(once)


def test_wholes_of_any_size_are_added_and_the_sum_is_about_those_within_both():
    long, short = WORD.for_units(200), WORD.for_units(50)
    total = long + short
    assert total.epsilon == 250.0
    assert total.over.most == (("word", "", 50),)
    assert total.scope == "a whole document of at most 50 words, all of them replaced"
    assert total == short + long
    mixed = total + group_as(SENTENCE, 5, Unit.DOCUMENT)
    assert mixed.epsilon == 260.0
    assert mixed.over.most == (("sentence", "", 5), ("word", "", 50))
    assert "at most 5 sentences and at most 50 words" in mixed.scope


def test_what_holds_for_long_wholes_holds_for_short_ones_and_not_the_other_way():
    long, short = WORD.for_units(200), WORD.for_units(50)
    weak = short + long
    assert long <= weak
    assert not short <= long  # it says nothing of a document of 51 words
    assert not WORD.for_units(60) <= PrivacyStatement(notion="pure", epsilon=90.0, unit="document")


def test_a_whole_and_what_is_said_in_words_only_are_not_added():
    told = PrivacyStatement(notion="pure", epsilon=1.0, unit="document", scope="some documents")
    with pytest.raises(IncompatibleStatements, match="scope"):
        told.compose(WORD.for_units(3))


def test_data_sets_are_added_to_themselves_and_put_beside_others():
    user = PrivacyStatement(notion="pure", epsilon=1.0, unit="user")
    here, there = user.of_dataset("tickets"), user.repeated(3).of_dataset("mails")
    assert (here + here).epsilon == 2.0
    with pytest.raises(IncompatibleStatements, match="two data sets"):
        here.compose(there)
    with pytest.raises(IncompatibleStatements, match="two data sets"):
        here.compose(user)
    beside = in_parallel([here, there])
    assert (beside.epsilon, beside.over.datasets) == (3.0, ("mails", "tickets"))
    with pytest.raises(IncompatibleStatements, match="same data set are added"):
        in_parallel([here, here])
    with pytest.raises(IncompatibleStatements, match="same data set are added"):
        in_parallel([beside, there])
    sums = add_statements({"a": here, "b": there, "c": here})
    assert [(sum_.of, sum_.statement.epsilon) for sum_ in sums] == [
        (("a", "c"), 2.0),
        (("b",), 3.0),
    ]


def test_early_files_are_read_and_add_up_as_before():
    early = WORD.to_dict()
    assert "over" not in early
    assert PrivacyStatement.from_dict(early) == WORD
    # Of words an early receipt says the vocabulary beside the statement, a new one in it.
    about = {"space": {"fingerprint": "f"}}
    new = PrivacyStatement.from_dict({**early, "over": {"cut": "f"}})
    once = {**about, "repeat": "once"}
    of = {"a": Receipt(WORD, about), "b": Receipt(new), "c": Receipt(WORD, once)}
    sums = add_receipts({**of, "d": Receipt(WORD, {"space": {"fingerprint": "g"}})})
    assert [sum_.of for sum_ in sums] == [("a", "b"), ("c",), ("d",)]
    for bad in ({"cut": 3}, {"most": [["word", 3]]}, {"most": "x"}, {"size": 1}, "x", None, [1]):
        with pytest.raises(InvalidValue, match="not a privacy statement"):
            PrivacyStatement.from_dict({**early, "over": bad})


@given(SCOPES, SCOPES, SCOPES)
def test_joining_is_commutative_associative_and_covers_no_more(a, b, c):
    stated = PrivacyStatement(notion="pure", epsilon=1.0, unit="document", over=a)
    assert PrivacyStatement.from_json(stated.to_json()) == stated
    assert json.loads(stated.to_json()) == stated.to_dict()
    assert a.covers(a)
    if a.covers(b) and b.covers(a):
        assert a == b
    if a.covers(b) and b.covers(c):
        assert a.covers(c)
    try:
        joined = a.joined(b)
    except IncompatibleStatements:
        assert (a.cut, a.datasets) != (b.cut, b.datasets)
        return
    assert joined == b.joined(a)
    assert a.covers(joined)
    assert b.covers(joined)
    if (b.cut, b.datasets) == (c.cut, c.datasets):
        assert joined.joined(c) == a.joined(b.joined(c))
