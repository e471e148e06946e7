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
    batch = layout.split(texts)
    return layout.join(texts, batch.offsets, np.full(batch.tokens, word))


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
    batch = word_layout.split([text])
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
        ("[dog]", "dog", "[UNK]", "[[unk]]"),
        ("\u0301 a", "a", "dog", " dog"),
    ],
)
def test_pieces_in_the_public_layout(text: str, tokens: str, released: str, expected: str) -> None:
    batch = piece_layout.split([text])
    assert [PIECES[i] for i in batch.ids] == tokens.split()
    ids = [PIECES.index(piece) for piece in released.split()]
    assert piece_layout.join([text], batch.offsets, ids) == [expected]


def test_a_released_capital_follows_the_input() -> None:
    paris = WORDS.index("Paris")
    assert written(word_layout, ["tea Tea TEA tEa 7"], paris) == ["paris Paris PARIS Paris Paris"]


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
    batch = layout.split(texts)
    bounds = list(zip(batch.offsets, batch.offsets[1:], strict=False))
    assert [batch.ids[a:b].tolist() for a, b in bounds] == expected
    assert batch.offsets[-1] == len(batch.ids)

    size = len(tokenizer.words)
    released = data.draw(
        st.lists(st.integers(0, size - 1), min_size=batch.tokens, max_size=batch.tokens)
    )
    words = [[tokenizer.words[i] for i in released[a:b]] for a, b in bounds]
    assert layout.join(texts, batch.offsets, released) == [
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


LOWER, UPPER = ["tea", "cup", "zebra", "qi", "7up"], ["TEA", "CUP", "NATO", "QI"]
KINDS = [
    LOWER,
    [word.title() for word in LOWER[:4]] + ["I", "Nato"],
    UPPER,
    ["Well-Made", "Tea-Cup", "Qi-Zebra"],
    ["2024", "1,000", "7", "日本", "McTea", "👍", "$"],
    ["don't", "well", "ada"],
]
GAPS = [" ", "  ", ", ", ".\n", "! (", ") ", " - ", " “", "” ", "\t"]


@given(
    parts=st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(GAPS)), max_size=8),
    data=st.data(),
)
def test_writing_depends_on_public_parts_only(
    parts: list[tuple[list[str], str]], data: st.DataObject
) -> None:
    """Other words of the same capitals and number of tokens, same released ids: same output."""
    first, second = (
        "".join(data.draw(st.sampled_from(kind)) + gap for kind, gap in parts) for _ in range(2)
    )
    one, two = word_layout.split([first]), word_layout.split([second])
    assert one.tokens == two.tokens
    released = data.draw(
        st.lists(st.integers(0, len(WORDS) - 1), min_size=one.tokens, max_size=one.tokens)
    )
    outputs = [word_layout.join([text], one.offsets, released) for text in (first, second)]
    assert outputs[0] == outputs[1]


@given(left=st.lists(st.sampled_from(["walking", "dogs", "aing"]), min_size=1, max_size=6))
def test_pieces_of_other_words_write_the_same(left: list[str]) -> None:
    right = ["ab"] * len(left)
    texts = [" ".join(left).title(), ", ".join(left), " ".join(right).title(), ", ".join(right)]
    batch = piece_layout.split(texts)
    counts = np.diff(batch.offsets)
    assert (counts == 2 * len(left)).all()
    released = np.tile(np.arange(counts[0] * 2) % len(PIECES), 2)
    out = piece_layout.join(texts, batch.offsets, released)
    assert out[:2] == out[2:]


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
    batch = layout.split(texts)
    assert np.array_equal(batch.ids, tokenizer.encode(texts).ids)
    decoded = tokenizer.decode(batch.ids, batch.offsets)
    assert layout.join(texts, batch.offsets, batch.ids) == decoded
    assert layout.join([""] * len(texts), batch.offsets, batch.ids) == decoded


def test_layouts_say_what_is_public() -> None:
    tokens = TokensLayout(word_layout.tokenizer)
    assert tokens.public == (
        "the vocabulary and its vectors",
        "the number of tokens of each document",
    )
    assert set(tokens.public) < set(word_layout.public)
    assert "white space, punctuation and capitals of each document" in word_layout.public


@pytest.mark.parametrize(
    ("texts", "offsets", "released"),
    [
        (["tea cup"], [0, 1], [1]),
        (["tea cup", "tea"], [0, 1, 3], [1, 1, 1]),
        (["tea cup"], [0, 2], [1, len(WORDS)]),
        (["tea cup"], [0, 2], [1, -1]),
        (["tea cup", ""], [0, 2], [1, 1]),
        ([], [0, 1], [1]),
    ],
)
def test_releases_that_do_not_fit_are_refused(
    texts: list[str], offsets: list[int], released: list[int]
) -> None:
    with pytest.raises(InvalidValue):
        word_layout.join(texts, offsets, released)


def test_a_wrong_number_of_texts_is_refused_by_the_tokens_layout() -> None:
    with pytest.raises(InvalidValue, match="2 texts cannot take 1"):
        TokensLayout(word_layout.tokenizer).join(["a", "b"], [0, 1], [1])


def test_an_unknown_word_is_refused_by_position() -> None:
    strict = PublicLayout(WordTokenizer(WORDS, None))
    assert strict.split(["tea, cup!"]).tokens == 2
    with pytest.raises(InvalidValue, match=r"document 1 .*holds 2 words") as error:
        strict.split(["tea", "tea (okapi) 12", "okapi"])
    assert "okapi" not in str(error.value)


def test_slices_and_copies_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"Tea w{i}, well-made {'cup ' * (i % 5)}\n don't" for i in range(200)] + [""]
    expected = written(word_layout, texts, 2)
    monkeypatch.setattr(chunks, "SLICE", 64)
    monkeypatch.setattr(chunks, "MAX_CHUNKS", 10)
    stored = pickle.dumps(word_layout)
    assert b"w199" not in stored
    assert written(pickle.loads(stored), texts, 2) == expected
