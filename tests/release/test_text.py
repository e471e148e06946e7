"""Sanitizer: text in, text out, and a statement that says what holds."""

import json
import pickle
import re

import numpy as np
import pytest

from discreet import DiscreetError, Receipt, Sanitizer, secure_generator
from discreet.errors import InputError, InvalidValue, OutputError
from discreet.mechanisms.word import SanText, SanTextPlus
from discreet.randomness import SEEDED_CAVEAT
from discreet.release.text_files import sanitize_file
from discreet.spaces.space import EmbeddingSpace
from goodness import fits
from small_spaces import random_space

TEXTS = ["word1 word2 Word3", "", "word4, word5", "   ", "zanzibar word6"]
WORDS = [3, 0, 3, 0, 2]
SEED = 20260302


@pytest.fixture
def mechanism() -> SanText:
    return SanText(random_space(60), epsilon=1.0)


def test_every_word_is_released_and_counted(mechanism):
    release = Sanitizer(mechanism).sanitize(TEXTS)
    assert [len(text.split()) for text in release.values] == WORDS
    assert release.units == sum(WORDS)
    assert set(" ".join(release.values).split()) <= set(mechanism.space.words)


def test_the_statement_is_the_mechanisms_with_what_the_layout_shows(mechanism):
    plain, public = (Sanitizer(mechanism, layout=name).statement for name in ("tokens", "public"))
    assert plain == mechanism.statement
    assert set(public.public) - set(plain.public) == {
        "the number of tokens of each word",
        "the white space and punctuation between words",
        "whether each word begins with a capital letter, and whether all its letters are capitals",
    }
    # What shows more is the weaker statement.
    assert plain < public
    assert Sanitizer(mechanism).sanitize(TEXTS).statement == plain


def test_by_default_noise_is_fresh_and_fit_for_release(mechanism):
    sanitizer = Sanitizer(mechanism)
    text = ["word1 " * 100]
    first, second = sanitizer.sanitize(text), sanitizer.sanitize(text)
    assert first.values != second.values
    assert first.statement.caveats == second.statement.caveats == ()
    streamed = [release.values for release in sanitizer.stream([text, text])]
    assert streamed[0] != streamed[1]
    assert sanitizer.sanitize(text, secure_generator()).statement.caveats == ()


def test_a_seeded_generator_repeats_and_is_told(mechanism):
    sanitizer = Sanitizer(mechanism)
    first, second, other = (
        sanitizer.sanitize(["word1 " * 100], np.random.default_rng(seed)) for seed in (7, 7, 8)
    )
    assert first.values == second.values != other.values
    assert first.statement.caveats == (SEEDED_CAVEAT,)
    assert sanitizer.statement.caveats == ()  # the sanitiser itself is as good as before


def test_a_stream_is_the_same_as_one_batch_after_another(mechanism):
    sanitizer = Sanitizer(mechanism, layout="public")
    batches = [TEXTS, [], ["word7"], ["", "word8 word9"]]
    rng = np.random.default_rng(SEED)
    one_by_one = [sanitizer.sanitize(batch, rng) for batch in batches]
    streamed = list(sanitizer.stream(iter(batches), np.random.default_rng(SEED)))
    assert streamed == one_by_one
    assert [release.units for release in streamed] == [7, 0, 1, 2]
    assert all(release.statement.caveats == (SEEDED_CAVEAT,) for release in streamed)


def test_a_stream_reads_a_batch_only_when_it_is_asked_for(mechanism):
    taken = []

    def batches():
        for number in range(1000):
            taken.append(number)
            yield ["word1"]

    stream = Sanitizer(mechanism).stream(batches())
    assert taken == []
    next(stream)
    next(stream)
    assert taken == [0, 1]


@pytest.mark.parametrize("layout", ["tokens", "public"])
def test_nothing_in_nothing_out(mechanism, layout):
    sanitizer = Sanitizer(mechanism, layout=layout)
    empty = sanitizer.sanitize([])
    assert (empty.values, empty.units) == ([], 0)
    blank = sanitizer.sanitize(["", ""])
    assert (blank.values, blank.units) == (["", ""], 0)


@pytest.mark.parametrize("layout", ["tokens", "public"])
def test_a_lone_text_is_refused(mechanism, layout):
    with pytest.raises(InvalidValue, match="a list of texts"):
        Sanitizer(mechanism, layout=layout).sanitize("word1 word2")


def test_an_unknown_layout_is_refused(mechanism):
    with pytest.raises(InvalidValue, match="layout of Sanitizer must be one of tokens, public"):
        Sanitizer(mechanism, layout="fancy")


@pytest.mark.parametrize("layout", ["tokens", "public"])
def test_unknown_words_need_an_unknown_token(layout):
    space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [5.0]])
    sanitizer = Sanitizer(SanText(space, epsilon=1.0), layout=layout)
    assert sanitizer.sanitize(["tea cup"]).units == 2
    with pytest.raises(DiscreetError) as caught:
        sanitizer.sanitize(["tea cup", "tea zanzibar Quagga"])
    error = caught.value
    while error is not None:  # nor may a cause carry the text along
        assert "zanzibar" not in repr(error).lower()
        assert "quagga" not in repr(error).lower()
        error = error.__cause__ or error.__context__
    assert "document 1 (counted from 0) holds 2 words" in str(caught.value)
    with_token = Sanitizer(SanText(space.with_unknown(), epsilon=1.0), layout=layout)
    assert with_token.sanitize(["tea zanzibar"]).units == 2


def test_unknown_words_are_released_by_the_law_of_the_unknown_token(mechanism):
    out = Sanitizer(mechanism).sanitize(["zanzibar " * 20_000], np.random.default_rng(SEED))
    draws = mechanism.space.ids_of(out.values[0].split())
    space = mechanism.space
    assert fits(draws, np.exp(mechanism.log_probabilities([space.unknown])[0])), f"seed {SEED}"
    assert not fits(draws, np.exp(mechanism.log_probabilities([1])[0]))


def test_the_public_layout_keeps_the_shape_of_the_text(mechanism):
    text = "Word1,  (WORD2)\tword3!"
    sanitizer = Sanitizer(mechanism, layout="public")
    released = sanitizer.sanitize([text] * 200).values
    assert len(set(released)) > 100
    shown = 0
    for out in released:
        found = re.fullmatch(r"(\S+),  \((\S+)\)\t(\S+)!", out)
        assert found
        if "unk" in out.lower():
            continue  # brackets have no capitals
        shown += 1
        assert found[1].istitle()
        assert found[2].isupper()
        assert found[3].islower()
    assert shown > 100


def test_a_sanitizer_can_be_sent_to_another_process(mechanism):
    sanitizer = Sanitizer(mechanism, layout="public")
    sanitizer.sanitize(["zanzibar word1"])  # fills the tables that remember chunks of text
    packed = pickle.dumps(sanitizer)
    assert b"zanzibar" not in packed
    copy = pickle.loads(packed)
    assert copy.statement == sanitizer.statement
    same = (s.sanitize(TEXTS, np.random.default_rng(3)).values for s in (sanitizer, copy))
    assert next(same) == next(same)


def test_neither_a_sanitizer_nor_its_errors_show_text(mechanism):
    sanitizer = Sanitizer(mechanism)
    sanitizer.sanitize(["zanzibar word1"])
    assert "zanzibar" not in repr(sanitizer)
    assert "zanzibar" not in repr(vars(sanitizer))


def test_santext_plus_may_keep_other_words_but_no_unknown_one():
    space = random_space(60)
    sensitive = np.arange(30, 60)
    mechanism = SanTextPlus(space, epsilon=1.0, sensitive=sensitive, p=0.25)
    release = Sanitizer(mechanism).sanitize(["word1 word40 zanzibar " * 6000])
    out = np.array(release.values[0].split()).reshape(-1, 3)
    allowed = {space.words[0], *(space.words[i] for i in sensitive)}
    assert set(out[:, 0]) <= {"word1", *allowed}
    assert 0.7 < (out[:, 0] == "word1").mean() < 0.8
    assert set(out[:, 1]) | set(out[:, 2]) <= allowed
    assert "the list of sensitive words" in release.statement.public


def test_wordpieces_are_released_and_counted_one_by_one():
    words = ["[UNK]", "walk", "##ing", "##ed", "dog", ","]
    space = EmbeddingSpace.from_arrays(words, np.arange(6.0)[:, None] * 100, subwords=True)
    # So far apart that every piece stays what it is.
    release = Sanitizer(SanText(space, epsilon=1.0)).sanitize(["Walking, walked dog cat"])
    assert release.units == 7
    assert release.values == ["walking , walked dog [UNK]"]


# -- from file to file ---------------------------------------------------------------------------


def test_a_file_comes_with_its_receipt(mechanism, tmp_path):
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("id,review\n1,word1 zanzibar\n2,\n3,word2\n")
    made, done = [], []

    def make():
        made.append(output.exists())
        return Sanitizer(mechanism)

    receipt = sanitize_file(
        source, output, make, text_field="review", keep=["id"], progress=lambda *at: done.append(at)
    )
    assert made == [False]
    rows = [line.split(",") for line in output.read_text().splitlines()]
    assert [row[0] for row in rows] == ["id", "1", "2", "3"]
    assert [len(row[1].split()) for row in rows[1:]] == [2, 0, 1]
    assert Receipt.beside(output).to_dict() == json.loads(receipt.to_json())
    assert receipt.counts == {"documents": 3, "words": 3}
    assert receipt.mechanism["name"] == "santext"
    assert receipt.about["space"]["fingerprint"] == mechanism.space.fingerprint
    assert "the columns that are written as they are: id" in receipt.statement.public
    assert receipt.about["columns"] == {"id": "keep", "review": "sanitise"}
    assert "zanzibar" not in receipt.to_json() + output.read_text()
    assert done[-1] == (source.stat().st_size,) * 2


def test_a_seeded_file_repeats_and_says_so(mechanism, tmp_path):
    (tmp_path / "in.txt").write_text("word1 word2 word3\n" * 50)
    for name in ("a.txt", "b.txt"):
        receipt = sanitize_file(
            tmp_path / "in.txt",
            tmp_path / name,
            Sanitizer(mechanism),
            rng=np.random.default_rng(1),
        )
        assert SEEDED_CAVEAT in receipt.statement.caveats
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text()


@pytest.mark.parametrize(
    ("source", "output", "error"),
    [
        ("nowhere.txt", "out.txt", InputError),
        ("in.txt", "in.txt", OutputError),
        ("in.txt", "no/out.txt", OutputError),
        ("in.txt", "out.csv", OutputError),
        ("bad.jsonl", "out.jsonl", InputError),
    ],
)
def test_a_mistake_in_a_file_leaves_nothing(mechanism, tmp_path, source, output, error):
    (tmp_path / "in.txt").write_text("word1\n")
    (tmp_path / "bad.jsonl").write_text('{"text": "word1"}\n{"text": 1}\n')
    before = sorted(tmp_path.iterdir())
    with pytest.raises(error):
        sanitize_file(tmp_path / source, tmp_path / output, Sanitizer(mechanism), force=True)
    assert sorted(tmp_path.iterdir()) == before
