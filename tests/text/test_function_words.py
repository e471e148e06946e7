"""Words that pass unchanged, and agreement that is mended afterwards."""

import re
from importlib import resources

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.word import NearWords, SanText
from discreet.release.text import Sanitizer
from discreet.spaces import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.text import stand_ins
from discreet.text.function_words import CAVEAT, FUNCTION_WORDS, PUBLIC, on_the_list
from discreet.text.polish import as_sentences, mended
from toy_guide import ToyGuide

WORDS = ["<unk>", "the", "of", ".", "tea", "cup", "sea", "ship"]
SPACE = EmbeddingSpace.from_arrays(WORDS, np.arange(8.0)[:, None])
TEXTS = ["The cup of tea . the sea", "tea", "", "of the ."] * 50


MECHANISMS = {
    "santext": SanText(SPACE, epsilon=0.1),
    "near-words": NearWords(SPACE, epsilon=0.1, near=2, outputs=8),
    "guided": NearWords(SPACE, epsilon=0.1, near=2, outputs=8, guide=ToyGuide(8), pool=4),
}


def test_the_list_holds_no_word_that_says_what_a_text_is_about():
    assert on_the_list(["The", "OF", ".", "doctor", "good", "not"]).tolist() == [1, 1, 1, 0, 0, 1]
    assert all(word == word.lower() for word in FUNCTION_WORDS)


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("layout", ["tokens", "public"])
def test_words_of_the_list_pass_and_no_others(mechanism, layout):
    sanitizer = Sanitizer(mechanism, layout=layout, public="function-words")
    release = sanitizer.sanitize(TEXTS, np.random.default_rng(3))
    words = [[word.lower() for word in text.split()] for text in release.values]
    assert all(
        text[0] == "the" and text[2] == "of" and text[4:6] == [".", "the"] for text in words[::4]
    )
    # At this epsilon every other word is nearly uniform over all words.
    for place in (1, 3, 6):
        assert len({text[place] for text in words[::4]}) >= 5
    assert release.units == 50 * 4  # cup, tea and sea of the first text; the second
    assert PUBLIC in release.statement.public
    assert CAVEAT in release.statement.caveats


def test_a_guide_reads_the_words_that_pass():
    read = []

    class Reader(ToyGuide):
        def extend(self, state, rows, released):
            read.append((rows.tolist(), released.tolist()))
            super().extend(state, rows, released)

    mechanism = NearWords(SPACE, epsilon=1.0, near=2, outputs=8, guide=Reader(8), pool=4)
    ids, passed = np.array([1, 4, 2, 5]), np.array([True, False, True, False])
    out = mechanism.release(ids, np.random.default_rng(1), [0, 4], passed)
    assert [released for _, released in read] == [[word] for word in out.tolist()]
    assert out[0] == 1
    assert out[2] == 2


def test_a_piece_of_a_word_never_passes():
    """The first piece of "insulin" is a function word; the word is not."""
    pieces = ["[UNK]", "in", "##su", "##lin", "tea"]
    space = EmbeddingSpace.from_arrays(pieces, np.arange(5.0)[:, None], subwords=True)
    with pytest.raises(InvalidValue, match="pieces of words"):
        Sanitizer(SanText(space, epsilon=1.0), public="function-words")


def test_another_list_is_refused():
    with pytest.raises(InvalidValue, match="function-words"):
        Sanitizer(SanText(SPACE, epsilon=1.0), public="names")


ARTICLES = {
    "a apple": "an apple",
    "an doctor": "a doctor",
    "An unit": "A unit",
    "A hour": "An hour",
    "a  umbrella": "an  umbrella",
    "an euro": "a euro",
    "a one": "a one",
    "an unimportant": "an unimportant",
    "plan a": "plan a",
    "data apple": "data apple",
    "a, apple": "a, apple",
    "by a HTML page of a MPs": "by an HTML page of an MPs",
    "So. A apple": "So. An apple",
}


RIGHT = [
    "Blood group A is rare, and so is a of b",
    "He had Hepatitis A infection.",
    "Mr. An Do and J. An Oh came",
    "an MRI, an HIV test and an X-ray, or a U-turn",
    "a NASA engineer, a NATO ally and an NHS nurse",
    "A LONG DAY. AN HOUR.",
    "an EU rule, a UK one and an ICU",
    "It was (an hour) ago. “A year!” A unit.",
]


@pytest.mark.parametrize("text", RIGHT)
def test_right_articles_stay(text):
    assert mended(text) == text


@pytest.mark.parametrize(("released", "expected"), ARTICLES.items(), ids=ARTICLES)
def test_articles(released, expected):
    assert mended(released) == expected
    assert mended(expected) == expected


MENDED = {
    "paid by SCIENCE since monday": "paid by Science since Monday",
    "EXECUTIVE said": "Executive said",
    "so BAD, ABOUT him": "so BAD, ABOUT him",
    "NEW YORK (Media)": "NEW YORK (Media)",
    "GREAT": "GREAT",
    "THIS IS GREAT": "THIS IS GREAT",
    "Digital Company. said so": "Digital Company said so",
    "Digital Company. It said": "Digital Company. It said",
    "we live in Boston. it rains. it does": "we live in Boston. it rains. it does",
    "mr.. Smith, Corp.. and so on...": "Mr. Smith, Corp. and so on...",
    "well.. then": "well.. then",
    "the game game Game is on, on 3 3": "the game is on, on 3 3",
    "he had had a long, long game": "he had had a long, long game",
    "a $ 20 note in the u.s. in june": "a $20 note in the U.S. in June",
    "zhou and john's uncle in texas": "Zhou and John's uncle in Texas",
    "a Nbc show, the CIA, Pc or pc": "an NBC show, the CIA, PC or PC",
    "the pro-american NASDAQ of mumbai-london": "the pro-American NASDAQ of Mumbai-London",
    "on mondays we like texas.": "on Mondays we like Texas.",
    "he may mark the bill, and so will us": "he may mark the bill, and so will us",
    "JOHN SAW TEXAS": "JOHN SAW TEXAS",
    "www.texas.com, john@texas.org, /usr/john": "www.texas.com, john@texas.org, /usr/john",
    "don't, john'll, ma'am, 'tis, ca n't": "don't, john'll, ma'am, 'tis, ca n't",
}


@pytest.mark.parametrize(("released", "expected"), MENDED.items(), ids=MENDED)
def test_capitals_points_and_sums(released, expected):
    assert mended(released) == expected
    assert mended(expected) == expected


def test_a_name_that_gets_its_capital_keeps_the_point_after_it():
    assert mended("we like texas. it is warm") == "we like Texas. it is warm"


def test_the_list_of_capitals_holds_what_is_surely_a_name():
    """As scripts/build_capitals.py writes it: no function word, nothing that may be either."""
    listed = (resources.files("discreet") / "data" / "capitals.txt").read_text("utf-8")
    words = listed.splitlines()
    small = [word.lower() for word in words]
    assert len(listed) < 150_000
    assert small == sorted(set(small))
    assert not set(small) & set(words)
    assert all(re.fullmatch("[A-Za-z]{2,}", word) for word in words)
    assert set(small) <= {*load_space("starter").words, *load_space("english").words}
    assert not set(small) & FUNCTION_WORDS
    either = (
        "may will mark bill march rose turkey bush drew us it who am pm co un street university"
    )
    assert not set(small) & set(either.split())
    assert {"Zhou", "John", "Texas", "NBC", "PC", "CIA", "Mr", "McDonald"} <= set(words)
    names = {name.capitalize() for name in stand_ins.NAMES}
    assert names - set(words) == {"Miller"}  # who may grind corn, too


def test_tokens_become_sentences():
    assert mended(as_sentences("i said so , did n't i ? yes .")) == "I said so, didn't I? Yes."
    assert as_sentences("") == ""


def test_polish_looks_at_what_was_released_alone():
    mechanism = NearWords(SPACE, epsilon=0.1, near=2, outputs=8)
    plain, polished = (
        Sanitizer(mechanism, polish=polish).sanitize(TEXTS, np.random.default_rng(5)).values
        for polish in (False, True)
    )
    assert polished == [mended(as_sentences(text)) for text in plain]
