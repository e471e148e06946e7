"""Whatever a layout copies is a function of what its statement names as public: exactly.

``slow.public_part`` says once more, a character at a time, what the statement of the public layout
names. Texts that agree in it are written alike, whatever is released: equal templates, equal bytes.
"""

from functools import cache
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.text.layout import Layout, PublicLayout, TokensLayout
from discreet.text.tokens import Tokenizer, WordPieceTokenizer, WordTokenizer
from text import slow
from text.old_layout import OldLayout, with_the_old_rule

WORDS = ["<unk>", "tea", "Cup", "don't", "well", "made", "'s", "Paris", "McTea", "-", "ßy", "[UNK]"]
PIECES = [
    "[UNK]",
    "walk",
    "##ing",
    "The",
    "dog",
    "##S",
    "don",
    "t",
    "'",
    "-",
    "a",
    "##b",
    "日",
    "1",
]
word, piece = WordTokenizer(WORDS, 0), WordPieceTokenizer(PIECES, 0)
layouts = {word: PublicLayout(word), piece: PublicLayout(piece)}

PAIRS = [
    ("call 4711337 now", "call zqxword now"),
    ("2024", "tea"),
    ("1,000.50", "well"),
    ("٣", "tea"),
    ("½", "tea"),
    ("$", "tea"),
    ("👍", "tea"),
    ("👍🏽", "zq👍"),
    ("#️⃣", "zq"),
    ("日本", "tea"),
    ("ªº", "tea"),
    ("tEA", "tea"),
    ("iPhone", "7"),
    ("McTea", "Tea"),
    ("ǅungla", "Tea"),
    ("ẞ", "I"),
    ("İ", "I"),
    ("Ⅷ", "I"),
    ("Ⓐ", "I"),
    ("ẞA", "TEA"),
    ("7UP", "TEA"),
    ("ß", "tea"),
    ("ŉ", "tea"),
    ("ﬁ", "tea"),
    ("te\u0301a", "tea"),
    ("te\u00ada", "zq"),
    ("\u200b", ""),
    ("tea \u200b tea", "tea  tea"),
    ("don't", "tea"),
    ("Don’t", "Zq"),
    ("okapi-zq", "123-45"),
    ("Okapi-ZQ", "I-THE"),
    ("zq", "zqzqzqzqzqzqzqzqzqzq"),
]
PIECE_PAIRS = [
    ("walking", "ab"),
    ("Walking", "Ab"),
    ("WALKING", "AB"),
    ("日日", "ab"),
    ("👍", "dog"),
    ("McTea", "Dog"),
    ("2024", "zq"),
    ("don't", "dog't"),
    ("walking-日", "ab-dog"),
    ("\u200b a", " a"),
]


def slow_part(tokenizer: Tokenizer, text: str) -> list[object]:
    return slow.public_part(text, lambda unit: tokenizer.encode([unit]).ids.tolist())


def alike(layout: Layout, first: str, second: str) -> bool:
    """Whether two texts are written alike for any released ids (each alone, and many at random)."""
    (batch, one), (_, two) = layout.divided([first, "Tea"]), layout.divided([second, "Tea"])
    for field in ("offsets", "codes", "ends"):
        if not np.array_equal(getattr(one, field), getattr(two, field)):
            return False
    size = len(layout.tokenizer.words)
    random = np.random.default_rng(0).integers(0, size, (5, batch.tokens))
    released = [*np.repeat(np.arange(size)[:, None], batch.tokens, axis=1), *random]
    return all(layout.write(one, ids) == layout.write(two, ids) for ids in released)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_words_that_agree_in_what_is_named_are_written_alike(first: str, second: str) -> None:
    assert slow_part(word, first) == slow_part(word, second)
    assert alike(layouts[word], first, second)
    assert alike(TokensLayout(word), first, second)


@pytest.mark.parametrize(("first", "second"), PIECE_PAIRS)
def test_pieces_that_agree_in_what_is_named_are_written_alike(first: str, second: str) -> None:
    assert slow_part(piece, first) == slow_part(piece, second)
    assert alike(layouts[piece], first, second)


AWKWARD = (
    *(text for pair in (*PAIRS, *PIECE_PAIRS) for text in pair),
    *("\u0301", "\ufe0f", "\u200d", "Ａ", "ſ", "K", "ǆ", "ᾈ", "ﬀ", "𝐀", "𐐀", "𐐨", "ʰ", "№"),
    *("a\u200db", "a’b’c", "a--b", "3.a", "3.1", "a.3", "1'1", "<unk>", "[MASK]", "\x00", "⠓"),
)
GAPS = [" ", "  ", ", ", ".\n", "! (", ") ", " - ", " “", "” ", "\t", "", "'", ".", "-", "_"]


@cache
def same_public_part(tokenizer: Tokenizer) -> list[list[str]]:
    """Words, and pieces of words, in groups that agree in what is named."""
    ordered = sorted(set(AWKWARD), key=lambda text: repr(slow_part(tokenizer, text)))
    groups = groupby(ordered, lambda text: repr(slow_part(tokenizer, text)))
    return [list(group) for _, group in groups]


@pytest.mark.parametrize("tokenizer", [word, piece], ids=["word", "piece"])
@given(data=st.data())
def test_texts_that_agree_in_what_is_named_are_written_alike(
    tokenizer: Tokenizer, data: st.DataObject
) -> None:
    groups = st.sampled_from(same_public_part(tokenizer))
    parts = data.draw(st.lists(st.tuples(groups, st.sampled_from(GAPS)), max_size=6))
    first, second = (
        "".join(data.draw(st.sampled_from(group)) + gap for group, gap in parts) for _ in range(2)
    )
    # Without a space between them, parts may grow together into other words: then nothing is said.
    if slow_part(tokenizer, first) == slow_part(tokenizer, second):
        assert alike(layouts[tokenizer], first, second)


@given(texts=st.lists(st.text(max_size=12), min_size=2, max_size=2))
def test_tokens_are_written_alike_if_there_are_as_many(texts: list[str]) -> None:
    layout = TokensLayout(word)
    batch, _ = layout.divided(texts)
    fewest = min(np.diff(batch.offsets))
    first, second = (
        word.decode(batch.ids[start : start + fewest], [0, fewest])[0]
        for start in batch.offsets[:-1]
    )
    if len(word.encode([first]).ids) == len(word.encode([second]).ids):
        assert alike(layout, first, second)


def test_what_is_named_is_copied() -> None:
    """All of the above would hold for a layout that writes nothing of its input."""
    layout = layouts[word]
    texts = ["tea", "Tea", "TEA", "tea.", "tea ", "tea tea", "tea-tea", "tea\ttea"]
    outputs = {
        layout.write(layout.divided([text])[1], [2] * text.lower().count("tea"))[0]
        for text in texts
    }
    assert len(outputs) == len(texts)


# -- Rules that say more than is named ------------------------------------------------------------


class LongShown(PublicLayout):
    """Long words are told from short ones."""

    def divided(self, texts):  # type: ignore[no-untyped-def]
        return super().divided([t.upper() if len(t) > 15 else t for t in texts])


class InvisibleShown(PublicLayout):
    """A word without tokens leaves a space behind."""

    def divided(self, texts):  # type: ignore[no-untyped-def]
        return super().divided([text.replace("\u200b", " ") for text in texts])


class NumbersWhole(PublicLayout):
    """Marks are copied by what stands around them: between digits they are not."""

    def _units(self, chunks):  # type: ignore[no-untyped-def]
        digits = [c if not any(map(str.isdigit, c)) else c.replace("-", "") for c in chunks]
        return super()._units(digits)


@pytest.mark.parametrize("mutant", [OldLayout, LongShown, InvisibleShown, NumbersWhole])
def test_a_rule_that_says_more_is_caught(
    mutant: type[PublicLayout], monkeypatch: pytest.MonkeyPatch
) -> None:
    if mutant is OldLayout:
        with_the_old_rule(monkeypatch)
    caught = [pair for pair in PAIRS if not alike(mutant(word), *pair)]
    assert caught
    if mutant is OldLayout:
        assert {("call 4711337 now", "call zqxword now"), ("2024", "tea"), ("McTea", "Tea")} <= {
            *caught
        }
