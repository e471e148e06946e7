"""Which function words pass: what may be a name or an abbreviation in its place does not."""

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.word import SanText
from discreet.protocols import release_texts
from discreet.release.text import Sanitizer
from discreet.spaces.space import EmbeddingSpace
from discreet.text.function_words import FUNCTION_WORDS
from discreet.text.layout import PublicLayout, TokensLayout
from discreet.text.passing import Passing
from discreet.text.tokens import tokenizer_for

OTHERS = ["<unk>", "tea", "cup", "sea", "john", "came"]
WORDS = [*OTHERS, *sorted(FUNCTION_WORDS)]
SPACE = EmbeddingSpace.from_arrays(WORDS, np.arange(float(len(WORDS)))[:, None])
PASSING = Passing(WORDS)


def marked(text, layout=PublicLayout):
    """The words of a text, those in brackets that do not pass."""
    batch, template = layout(tokenizer_for(WORDS, 0, False)).divided([text])
    passed = PASSING.places(batch, template, batch.offsets[:-1])
    shown = (
        WORDS[i] if passes else f"[{WORDS[i]}]" for i, passes in zip(batch.ids, passed, strict=True)
    )
    return " ".join(shown)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cup of tea is not for you.", "the [cup] of [tea] is not for you"),
        # Letters and names, as in S.T.D., M.S., Don and Will.
        ("S.T.D. and M.S.", "[s] [t] [d] and [m] [s]"),
        ("Don Will came in May.", "[don] [will] [came] in [may]"),
        ("he will, if he may", "he will if he may"),
        # Parts of contractions beside their apostrophe, straight or curved.
        ("John's tea, John’s cup", "[john] s [tea] [john] s [cup]"),
        ("it don’t", "it don't"),
        ("they don '", "they [don]"),
        # He and So are names within a sentence, words where one begins.
        ("He came. So it is: he.", "he [came] so it is he"),
        ("John He came, and John So.", "[john] [he] [came] and [john] [so]"),
        ('"He came," John said. (It is.)', 'he [came] [john] [<unk>] it is'),
        ("\nWho came?\nIt did", "who [came] it did"),
        # In capitals short words are abbreviations: the WHO, the US, IT.
        ("the WHO and the US, IT", "the [who] and the [us] [it]"),
        ("it is NOT THE VERY same, I am", "it is not the very same i am"),
        ("ALL OR NOTHING", "[all] [or] nothing"),
        ("Vitamin A, a cup. A sea", "[<unk>] [a] a [cup] a [sea]"),
        # A dash may be typed as a hyphen with space around it, or as two; beside a word it is none.
        ("Tea - A cup -- He came", "[tea] a [cup] he [came]"),
        ("Tea -A cup, tea-A cup, tea- A", "[tea] [a] [cup] [tea] [a] [cup] [tea] [a]"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_may_be_a_name_does_not_pass(text, expected):
    assert marked(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Capitals are not public here, so they decide nothing.
        ("John He came in May", "[john] he [came] in may"),
        ("M.S. and S", "[m] . [s] . and [s]"),
        ("they don ' t", "they don ' t"),
        ("they don", "they [don]"),
    ],
)
def test_without_public_capitals_only_neighbours_decide(text, expected):
    assert marked(text, TokensLayout) == expected


def test_a_document_begins_where_it_begins_and_not_where_a_part_of_it_does():
    batch, template = PublicLayout(tokenizer_for(WORDS, 0, False)).divided(["tea ", "He came"])
    assert PASSING.places(batch, template, np.array([0, 1])).tolist() == [False, True, False]
    assert PASSING.places(batch, template, np.array([0])).tolist() == [False, False, False]


@pytest.mark.parametrize("layout", ["tokens", "public"])
def test_where_words_pass_does_not_depend_on_words_that_do_not(layout):
    """Of texts that differ in such words and are alike in what is public, the same places pass."""
    sanitizer = Sanitizer(SanText(SPACE, 1.0), layout=layout, public="function-words")
    text = "He and {} S. {} came, don't they? IT {} it's {}'s May. {}"
    rng = np.random.default_rng(1)
    some = [
        text.format(*(word.capitalize() for word in rng.choice(OTHERS[1:], 5))) for _ in range(50)
    ]
    draws = sanitizer.draws(some)
    assert len(set(draws.tolist())) == 1
    released = sanitizer.sanitize(some, np.random.default_rng(2))
    assert released.units == draws.sum()


def test_places_are_said_by_true_and_false_alone():
    mechanism = SanText(SPACE, 1.0)
    ids, starts = np.array([1, 2, 3]), np.array([0])
    with pytest.raises(InvalidValue, match="true or false"):
        release_texts(mechanism, ids, np.random.default_rng(1), starts, np.zeros(3, np.int64))
