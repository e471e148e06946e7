"""Layouts: what is copied, what is replaced, and that nothing protected is looked at in between."""

import pickle
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidValue
from discreet.text import chunk_table as chunks
from discreet.text.layout import Layout, PublicLayout, TokensLayout, public_characters
from discreet.text.tokens import Tokenizer, WordPieceTokenizer, WordTokenizer
from text import slow

WORDS = ["<unk>", "tea", "cup", "don't", "well", "made", "'s", "Paris", "zebra", "-", "qi", "ßy"]
PIECES = [
    "[UNK]",
    "walk",
    "##ing",
    "the",
    "dog",
    "##s",
    "don",
    "t",
    "'",
    "-",
    "a",
    "##b",
    "日",
    "1",
]

word_layout = PublicLayout(WordTokenizer(WORDS, 0))
piece_layout = PublicLayout(WordPieceTokenizer(PIECES, 0))
both = pytest.mark.parametrize("layout", [word_layout, piece_layout], ids=["word", "piece"])

AWKWARD = (
    "'’-‐‑.,_#[]<>()!? \t\n\r\v\f\x00\x1c\x85\xa0\u00ad\u200b\u200d\u2028\u3000\ufeff\ufffd\ufe0f"
    "\u20e3\u0301\u093f🏽👍❤5½٣$€+^é˥"
)
text_ = st.one_of(
    st.text(max_size=20),
    st.lists(
        st.one_of(
            st.sampled_from([*WORDS, *PIECES, "TEA", "Don’t", "McTea", "I", "2024", "1,000"]),
            st.sampled_from(AWKWARD),
        ),
        max_size=12,
    ).map("".join),
)
texts_ = st.lists(text_, max_size=4)


def written(layout: Layout, texts: list[str], word: int) -> list[str]:
    batch, template = layout.divided(texts)
    return layout.write(template, np.full(batch.tokens, word))


@pytest.mark.parametrize(
    ("text", "tokens", "zebras"),
    [
        ("", [], ""),
        (" \t\n", [], " \t\n"),
        ("tea,  cup!\n", ["tea", "cup"], "zebra,  zebra!\n"),
        ("Tea TEA tEA I", ["tea", "tea", "tea", "<unk>"], "Zebra ZEBRA zebra Zebra"),
        ("don't Don’t DON'T", ["don't"] * 3, "zebra Zebra ZEBRA"),
        ("tea's", ["tea", "<unk>"], "zebra'zebra"),
        ("Well-made WELL‑Made", ["well", "made"] * 2, "Zebra-zebra ZEBRA‑Zebra"),
        ("-tea-", ["tea"], "-zebra-"),
        ("$1,000.50 (in 2024)", ["<unk>"] * 4, "zebra zebra (zebra zebra)"),
        ("123-45-6789", ["<unk>"] * 3, "zebra-zebra-zebra"),
        ("tea👍🏽cup", ["tea", "<unk>", "<unk>", "cup"], "zebra zebra zebra zebra"),
        ("tea_cup@tea.cup", ["tea", "cup"] * 2, "zebra_zebra@zebra.zebra"),
        ("2+2=4 ≠ ^", ["<unk>"] * 3, "zebra+zebra=zebra ≠ ^"),
        ("wow‼ wow‼️ #️⃣", ["<unk>"] * 4, "zebra‼ zebra zebra zebra"),
        ("te\u00ada,\u200b \ufeffcup\x00", ["tea", "cup"], "zebra, zebra"),
        ("tea\u2028cup\xa0tea\x85", ["tea", "cup", "tea"], "zebra\u2028zebra\xa0zebra\x85"),
        ("[MASK] <unk>", ["<unk>", "<unk>"], "[ZEBRA] <zebra>"),
    ],
)
def test_words_in_the_public_layout(text: str, tokens: list[str], zebras: str) -> None:
    batch, _ = word_layout.divided([text])
    assert [WORDS[i] for i in batch.ids] == tokens
    assert written(word_layout, [text], WORDS.index("zebra")) == [zebras]


@pytest.mark.parametrize(
    ("text", "tokens", "released", "expected"),
    [
        ("Walking, dogs", "walk ##ing dog ##s", "the ##s a ##b", "Thes, ab"),
        ("Walking WALKING", "walk ##ing walk ##ing", "##s walk dog ##s", "S walk DOGS"),
        ("don't", "don t", "dog ##s", "dog's"),
        ("Ab-Ab", "a ##b a ##b", "walk ##ing the the", "Walking-The the"),
        ("日日", "日 日", "dog the", "dog the"),
        ("日👍", "日 [UNK]", "dog ##s", "dog s"),
        ("[dog]", "dog", "[UNK]", "[[UNK]]"),
        ("Dog 7 DOG", "dog [UNK] dog", "[UNK] [UNK] [UNK]", "[UNK] [UNK] [UNK]"),
        ("\u0301 a", "a", "dog", " dog"),
    ],
)
def test_pieces_in_the_public_layout(text: str, tokens: str, released: str, expected: str) -> None:
    batch, template = piece_layout.divided([text])
    assert [PIECES[i] for i in batch.ids] == tokens.split()
    ids = [PIECES.index(piece) for piece in released.split()]
    assert piece_layout.write(template, ids) == [expected]


def test_a_released_capital_follows_the_input() -> None:
    paris = WORDS.index("Paris")
    assert written(word_layout, ["tea Tea TEA tEa 7"], paris) == ["paris Paris PARIS paris paris"]


def test_public_characters_are_these_and_no_others() -> None:
    public = set(public_characters())
    assert len(public) == len(public_characters())
    for point in range(sys.maxunicode + 1):
        c = chr(point)
        if c in public:
            assert slow.is_public(c)
        elif slow.is_public(c):
            pytest.fail(f"U+{point:04X} {unicodedata.name(c, '')} is public by the rule, not by us")
    protected = "a1é²Ⅷ٣日\u0301$€£👍❤™°№🏽\x00\u00ad\u200b\ue000\ud800\U000e0041ª𝟏⠓"
    assert public.isdisjoint(protected)
    assert public.issuperset(" \t\n.,;:!?'\"()[]{}-–—…«»/\\@#%&*_+=<>|~^`")


@both
@given(texts=texts_, data=st.data())
def test_public_layout_equals_its_slow_twin(
    layout: PublicLayout, texts: list[str], data: st.DataObject
) -> None:
    tokenizer = layout.tokenizer

    def tokens(text: str) -> list[int]:
        return tokenizer.encode([text]).ids.tolist()

    units = [[u for p, u in slow.public_units(text, tokens) if p] for text in texts]
    expected = [[i for unit in document for i in tokens(unit)] for document in units]
    batch, template = layout.divided(texts)
    bounds = list(zip(batch.offsets, batch.offsets[1:], strict=False))
    assert [batch.ids[a:b].tolist() for a, b in bounds] == expected
    assert batch.offsets[-1] == len(batch.ids)

    size = len(tokenizer.words)
    released = data.draw(
        st.lists(st.integers(0, size - 1), min_size=batch.tokens, max_size=batch.tokens)
    )
    words = [[tokenizer.words[i] for i in released[a:b]] for a, b in bounds]
    assert layout.write(template, released) == [
        slow.public_join(text, tokens, document)
        for text, document in zip(texts, words, strict=True)
    ]


@both
@given(texts=texts_)
def test_public_characters_survive_in_order(layout: PublicLayout, texts: list[str]) -> None:
    """What is left of the output without the released word is what is public of the input."""
    word = 3  # "don't" or "the"
    marker = layout.tokenizer.words[word]

    def tokens(text: str) -> list[int]:
        return layout.tokenizer.encode([text]).ids.tolist()

    for text, output in zip(texts, written(layout, texts, word), strict=True):
        kept = [u for protected, u in slow.public_units(text, tokens) if not protected]
        rest = output.lower().replace(marker, "")
        # A space may have been added between two neighbours, never anything else.
        assert [c for c in rest if c != " "] == [c for c in kept if c != " "]
        assert rest.count(" ") >= kept.count(" ")
        assert all(map(slow.is_public, rest))


@given(texts=texts_)
def test_no_protected_character_comes_out(texts: list[str]) -> None:
    """Released "qi" everywhere: no other letter, digit or picture is in the output."""
    tokenizer = word_layout.tokenizer
    qi = WORDS.index("qi")
    for layout in (word_layout, TokensLayout(tokenizer)):
        for output in written(layout, texts, qi):
            assert not {c for c in output if not slow.is_public(c)} - set("qiQI")


def test_changed_capitals_do_change_the_output() -> None:
    """The tests above could pass on a layout that ignores its input altogether."""
    qi = WORDS.index("qi")
    outputs = {
        written(word_layout, [text], qi)[0] for text in ("tea", "Tea", "TEA", "tea.", "tea ")
    }
    assert outputs == {"qi", "Qi", "QI", "qi.", "qi "}


@given(texts=texts_)
def test_tokens_layout_is_the_tokenizer(texts: list[str]) -> None:
    tokenizer: Tokenizer = word_layout.tokenizer
    layout = TokensLayout(tokenizer)
    batch, template = layout.divided(texts)
    assert np.array_equal(batch.ids, tokenizer.encode(texts).ids)
    decoded = tokenizer.decode(batch.ids, batch.offsets)
    assert layout.write(template, batch.ids) == decoded
    assert layout.join(texts, batch.offsets, batch.ids) == decoded
    assert layout.join([""] * len(texts), batch.offsets, batch.ids) == decoded


def test_layouts_say_what_is_public() -> None:
    tokens = TokensLayout(word_layout.tokenizer)
    assert tokens.public == (
        "the vocabulary and its vectors",
        "the number of tokens of each document",
    )
    assert word_layout.public == (
        *tokens.public,
        "the number of tokens of each word",
        "the white space and punctuation between words",
        "whether each word begins with a capital letter, and whether all its letters are capitals",
    )


@pytest.mark.parametrize(
    ("texts", "released"),
    [
        (["tea cup"], [1]),
        (["tea cup", "tea"], [1, 1, 1, 1]),
        (["tea cup"], [1, len(WORDS)]),
        (["tea cup"], [1, -1]),
        (["tea cup", ""], [1.0, 1.0]),
        ([], [1]),
    ],
)
@pytest.mark.parametrize("kind", [PublicLayout, TokensLayout])
def test_releases_that_do_not_fit_are_refused(
    kind: type[PublicLayout], texts: list[str], released: list[int]
) -> None:
    layout = kind(word_layout.tokenizer)
    _, template = layout.divided(texts)
    with pytest.raises(InvalidValue):
        layout.write(template, released)


def test_a_template_is_not_shown_by_accident() -> None:
    _, template = word_layout.divided(["tea (okapi)", "cup"])
    assert repr(template) == "Template(2 documents, 3 tokens)"


def test_a_wrong_number_of_texts_is_refused_by_the_tokens_layout() -> None:
    with pytest.raises(InvalidValue, match="2 texts cannot take 1"):
        TokensLayout(word_layout.tokenizer).join(["a", "b"], [0, 1], [1])


def test_an_unknown_word_is_refused_by_position() -> None:
    strict = PublicLayout(WordTokenizer(WORDS, None))
    assert strict.divided(["tea, cup!"])[0].tokens == 2
    with pytest.raises(InvalidValue, match=r"document 1 .*holds 2 words") as error:
        strict.divided(["tea", "tea (okapi) 12", "okapi"])
    assert "okapi" not in str(error.value)


def test_slices_and_copies_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"Tea w{i}, well-made {'cup ' * (i % 5)}\n don't" for i in range(200)] + [""]
    expected = written(word_layout, texts, 2)
    monkeypatch.setattr(chunks, "SLICE", 64)
    monkeypatch.setattr(chunks, "MAX_CHUNKS", 10)
    stored = pickle.dumps(word_layout)
    assert b"w199" not in stored
    assert written(pickle.loads(stored), texts, 2) == expected
