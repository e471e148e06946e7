"""What holds for a whole text: counts, statements and sentences; and words that are drawn once."""

import json
import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import PrivacyStatement, Receipt, Sanitizer
from discreet.errors import InputError, InvalidValue
from discreet.mechanisms.word import NearWords, SanText, SanTextPlus, Uniform
from discreet.release import _once
from discreet.release._once import distinct
from discreet.release.text_files import sanitize_file
from discreet.release.whole import MOST_OF_A_PERSON, SAME_PERSON, Wholes
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Notion, Unit
from goodness import fits
from small_spaces import random_space
from toy_guide import ToyGuide

SEED = 20261116
SPACE = random_space(60)
ROWS = [
    ("ottokar", "word1 word2 word1"),
    ("bob", "word3 word3 word3 word4"),
    ("ottokar", "word5 word6"),
]


def near_words(epsilon: float = 4.0) -> NearWords:
    return NearWords(SPACE, epsilon, near=3, outputs=30)


def released(tmp_path, sanitizer, rows=ROWS, output="out.jsonl", **settings) -> Receipt:
    source = tmp_path / "in.jsonl"
    lines = (json.dumps({"who": who, "text": text}) + "\n" for who, text in rows)
    source.write_text("".join(lines))
    return sanitize_file(source, tmp_path / output, sanitizer, others="keep", **settings)


# -- what a receipt says -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [near_words(), SanText(SPACE, 0.2), Uniform(SPACE)],
    ids=lambda mechanism: mechanism.name,
)
def test_the_longest_text_and_the_person_with_most_are_stated(mechanism, tmp_path):
    receipt = released(tmp_path, Sanitizer(mechanism), person_field="who")
    whole = receipt.about["whole"]
    assert Receipt.beside(tmp_path / "out.jsonl").about["whole"] == whole
    law = getattr(mechanism, "unit_loss", None)
    for key, unit, words in (("document", Unit.DOCUMENT, 4), ("person", Unit.USER, 5)):
        assert whole[key]["words"] == words
        stated = PrivacyStatement.from_dict(whole[key]["statement"])
        assert stated.unit is unit
        assert f"at most {words} drawn words" in stated.scope
        pure, less = (mechanism.statement.for_units(words, d, law=law) for d in (0.0, 1e-6))
        # A delta that buys next to nothing is not given away.
        best = less if less.epsilon < 0.99 * pure.epsilon else pure
        assert (stated.epsilon, stated.delta) == (best.epsilon, best.delta)
        assert set(receipt.statement.public) <= set(stated.public)
    assert SAME_PERSON in stated.public
    assert MOST_OF_A_PERSON in receipt.statement.public
    assert receipt.input["person_field"] == "who"
    assert "ottokar" not in receipt.to_json()


def test_delta_buys_a_smaller_epsilon_and_none_is_none(tmp_path):
    rows = [("ottokar", "word1 " * 60)]
    mechanism = near_words(2.0)
    with_delta = released(tmp_path, Sanitizer(mechanism), rows)
    assert "person" not in with_delta.about["whole"]
    assert MOST_OF_A_PERSON not in with_delta.statement.public
    pure = released(tmp_path, Sanitizer(mechanism), rows, "pure.jsonl", whole_delta=0)
    stated, without = (r.about["whole"]["document"]["statement"] for r in (with_delta, pure))
    assert (stated["notion"], stated["delta"]) == ("approximate", 1e-6)
    assert (without["notion"], without["delta"], without["epsilon"]) == ("pure", 0.0, 120.0)
    assert stated["epsilon"] < 90
    assert stated["epsilon"] == mechanism.unit_loss.of(60, 1e-6)


def test_people_are_told_what_a_large_number_means(tmp_path):
    said = released(tmp_path, Sanitizer(near_words()), person_field="who").about["whole"]
    longest, person, meaning = said["in_words"]
    assert "longest text (4 drawn words)" in longest
    assert "(epsilon = 16)" in longest
    assert "person with most text (5 drawn words)" in person
    assert "protects single words, not whole texts" in meaning
    small = released(tmp_path, Sanitizer(near_words(0.1)), output="small.jsonl").about["whole"]
    assert len(small["in_words"]) == 1
    assert "odds change by at most 1.4" in small["in_words"][0]


def test_what_has_no_statement_for_a_whole_says_so_in_a_sentence(tmp_path):
    plus = SanTextPlus(SPACE, epsilon=1.0, sensitive=np.arange(30, 60), p=0.25)
    whole = released(tmp_path, Sanitizer(plus), person_field="who").about["whole"]
    assert whole["document"] == {"words": 4, "statement": None}
    assert whole["person"] == {"words": 5, "statement": None}
    assert whole["in_words"] == [
        "There is no guarantee for a whole text: some of its words may come out as they were."
    ]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (PrivacyStatement(notion=Notion.NONE, unit=Unit.WORD), "none for a whole text"),
        (
            PrivacyStatement(notion="approximate", epsilon=1.0, delta=0.3, unit=Unit.WORD),
            "deltas add up to 1 or more",
        ),
    ],
)
def test_nothing_proven_is_nothing_stated(word, said):
    wholes = Wholes()
    wholes.add(np.array([4]))
    told = wholes.told(word, near_words(), 1e-6, "words")
    assert told["document"]["statement"] is None
    assert said in told["in_words"][0]


def test_deltas_of_words_add_up():
    word = PrivacyStatement(notion="approximate", epsilon=1.0, delta=1e-3, unit=Unit.WORD)
    wholes = Wholes()
    wholes.add(np.array([4]))
    stated = wholes.told(word, Uniform(SPACE), 1e-6, "words")["document"]["statement"]
    assert (stated["epsilon"], stated["delta"]) == (4.0, 4e-3)


def test_counts_run_over_batches():
    wholes = Wholes()
    for draws, persons in (([3, 5], ["a", "b"]), ([], []), ([4, 1], ["a", "b"])):
        wholes.add(np.array(draws, dtype=np.int64), persons)
    assert (wholes.document, wholes.person) == (5, 7)
    assert Wholes().person is None
    with pytest.raises(ValueError, match="zip"):
        wholes.add(np.array([1, 2]), ["a"])
    with pytest.raises(InvalidValue, match="how many draws"):
        wholes.add(None)
    assert "'a'" not in repr(wholes)


def test_texts_without_a_word_are_fine(tmp_path):
    rows = [("ottokar", ""), ("ottokar", " ")]
    whole = released(tmp_path, Sanitizer(near_words()), rows, person_field="who").about["whole"]
    for who in ("document", "person"):
        assert whole[who]["words"] == 0
        stated = PrivacyStatement.from_dict(whole[who]["statement"])
        assert (stated.notion, stated.epsilon, stated.delta) == (Notion.PURE, 0.0, 0.0)
    assert "(0 drawn words), all of it replaced: odds change by at most 1 " in whole["in_words"][0]


# -- whose text ----------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [{}, {"who": None}, {"who": ""}], ids=["no", "null", "empty"])
def test_a_row_of_nobody_is_refused_by_its_number(missing, tmp_path):
    rows = [{"who": "ottokar", "text": "word1"}, {"text": "word2", **missing}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"row 2 of .*in\.jsonl has no (field )?who") as caught:
        sanitize_file(
            tmp_path / "in.jsonl",
            tmp_path / "out.jsonl",
            Sanitizer(near_words()),
            others="keep",
            person_field="who",
        )
    assert "word2" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_numbers_are_persons_however_they_are_written_and_nan_is_nobody(tmp_path):
    def parquet(numbers):
        table = {"who": pa.array(numbers, pa.float64()), "text": ["word1 word2"] * len(numbers)}
        pq.write_table(pa.table(table), tmp_path / "in.parquet")
        return sanitize_file(
            tmp_path / "in.parquet",
            tmp_path / "out.parquet",
            Sanitizer(near_words()),
            others="keep",
            person_field="who",
            force=True,
        )

    assert parquet([7.0, 8.0, 7.0]).about["whole"]["person"]["words"] == 4
    with pytest.raises(InputError, match=r"row 2 of .* has no who"):
        parquet([7.0, math.nan])
    rows = [(1, "word1"), (1.0, "word1 word2"), ("1", "word3"), (2, "word4")]
    whole = released(tmp_path, Sanitizer(near_words()), rows, person_field="who").about["whole"]
    assert whole["person"]["words"] == 4


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"person_field": "text"}, InputError, "is the text itself"),
        ({"person_field": "author"}, InputError, "row 1 of .* has no field author"),
        ({"whole_delta": 1.0}, InvalidValue, "whole_delta must be .* below 1; got 1.0"),
        ({"whole_delta": -1e-9}, InvalidValue, "whole_delta must be"),
        ({"whole_delta": math.nan}, InvalidValue, "whole_delta must be"),
    ],
)
def test_bad_settings_leave_nothing(settings, error, match, tmp_path):
    with pytest.raises(error, match=match):
        released(tmp_path, Sanitizer(near_words()), **settings)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_plain_text_has_no_persons(tmp_path):
    (tmp_path / "in.txt").write_text("word1\n")
    with pytest.raises(InputError, match="is plain text and has no field who"):
        sanitize_file(
            tmp_path / "in.txt", tmp_path / "out.txt", Sanitizer(near_words()), person_field="who"
        )


# -- drawn once ----------------------------------------------------------------------------------


def test_the_different_words_of_each_document_against_a_plain_loop():
    rng = np.random.default_rng(SEED)
    lengths = np.array([0, 7, 1, 0, 30, 12, 0])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = rng.integers(0, 9, starts[-1]).astype(np.int32)
    words, places, counts = distinct(ids, starts)
    assert words[places].tolist() == ids.tolist()
    expected = [sorted(set(ids[first:last].tolist())) for first, last in pairwise(starts)]
    assert words.tolist() == [word for document in expected for word in document]
    assert counts.tolist() == [len(document) for document in expected]
    # Places of two documents never share a draw.
    owner = np.repeat(np.arange(len(lengths)), lengths)
    assert len(set(zip(owner.tolist(), places.tolist(), strict=True))) == len(words)


def follows_its_law(mechanism: NearWords, documents: int = 20_000) -> bool:
    """Equal words of a document come out equal; all else is independent, by the law of a word."""
    out = Sanitizer(mechanism, repeat="once").sanitize(
        ["word1 word2 word1"] * documents, np.random.default_rng(SEED)
    )
    first, other, second = (
        mechanism.space.ids_of(column) for column in zip(*map(str.split, out.values), strict=True)
    )
    law, second_law = np.exp(mechanism.log_probabilities([1, 2]))
    size = len(law)
    within = np.asarray(first) * size + other
    across = np.asarray(first)[0::2] * size + np.asarray(first)[1::2]
    return (
        np.array_equal(first, second)
        and fits(within, np.outer(law, second_law).ravel())
        and fits(across, np.outer(law, law).ravel())
    )


def test_once_is_one_draw_for_each_word_of_a_document():
    mechanism = NearWords(random_space(8), 1.5, near=2, outputs=8)
    assert follows_its_law(mechanism), f"seed {SEED}"


def test_a_draw_that_is_used_in_another_document_too_is_found(monkeypatch):
    def across(ids, starts):
        words, places, _ = distinct(ids, starts[[0, -1]])
        return words, places, np.diff(starts)

    monkeypatch.setattr(_once, "distinct", across)
    assert not follows_its_law(NearWords(random_space(8), 1.5, near=2, outputs=8), 2_000)


def test_a_draw_for_each_place_is_found(monkeypatch):
    def each(ids, starts):
        return ids, np.arange(len(ids)), np.diff(starts)

    monkeypatch.setattr(_once, "distinct", each)
    assert not follows_its_law(NearWords(random_space(8), 1.5, near=2, outputs=8), 2_000)


@pytest.mark.parametrize("layout", ["tokens", "public"])
def test_once_charges_different_words_and_says_what_is_seen(layout, tmp_path):
    mechanism = near_words()
    sanitizer = Sanitizer(mechanism, repeat="once", layout=layout)
    receipt = released(tmp_path, sanitizer, person_field="who", whole_delta=0)
    whole = receipt.about["whole"]
    assert receipt.about["repeat"] == "once"
    assert receipt.counts["words"] == 9
    assert (whole["document"]["words"], whole["person"]["words"]) == (2, 4)
    assert whole["document"]["statement"]["epsilon"] == 8.0
    assert "repetitions not counted" in whole["in_words"][0]
    statement = receipt.statement
    assert any("hold the same word" in part for part in statement.public)
    assert "equal words of a document are drawn once" in statement.scope
    assert not statement <= mechanism.statement


def test_once_holds_across_the_identifiers_of_a_document():
    texts = ["word1 ann@example.org word1 bob@example.org word1"] * 50
    sanitizer = Sanitizer(near_words(), repeat="once", identifiers="rules", layout="public")
    out = sanitizer.sanitize(texts)
    assert out.draws.tolist() == [1] * 50
    assert all(len(set(text.lower().split()[::2])) == 1 for text in out.values)


@pytest.mark.parametrize(("repeat", "draws"), [("each", [3, 0, 1]), ("once", [2, 0, 1])])
def test_words_that_pass_take_no_draw(repeat, draws):
    space = EmbeddingSpace.from_arrays(["<unk>", "the", "tea", "cup"], [[0.0], [1.0], [2.0], [3.0]])
    sanitizer = Sanitizer(Uniform(space), public="function-words", repeat=repeat)
    out = sanitizer.sanitize(["the tea the cup tea", "the the", "tea the"])
    assert out.draws.tolist() == draws
    assert out.units == 4
    first, second, third = (text.split() for text in out.values)
    assert first[0::2][:2] == second == ["the", "the"]
    assert third[1] == "the"
    assert repeat == "each" or first[1] == first[4]


def test_once_is_refused_where_the_law_reads_what_came_before():
    guided = NearWords(SPACE, 3.0, near=3, outputs=30, guide=ToyGuide(60), pool=12)
    with pytest.raises(InvalidValue, match="repeat of Sanitizer must be each with this near-words"):
        Sanitizer(guided, repeat="once")
    assert Sanitizer(guided).sanitize(["word1 word2"]).draws.tolist() == [2]
    with pytest.raises(InvalidValue, match="repeat of Sanitizer must be one of each, once"):
        Sanitizer(near_words(), repeat="twice")
