"""Cutting documents into sentences: offsets, limits, and refusals that name rows only."""

import sys

import numpy as np
import pytest

from discreet.errors import InvalidValue, MissingExtra
from discreet.text.sentences import (
    AT_LEAST,
    kept_documents,
    long_enough,
    refuse_short,
    split_sentences,
)

SECRET = "zanzibar"


def test_abbreviations_decimals_and_paragraphs():
    text = "Dr. Lee paid $3.50 at 5 p.m. on Monday. It rained!\n\nA heading\n\nWas it so? Yes."
    sentences, offsets = split_sentences([text])
    assert sentences == [
        "Dr. Lee paid $3.50 at 5 p.m. on Monday.",
        "It rained!",
        "A heading",
        "Was it so?",
        "Yes.",
    ]
    assert offsets.tolist() == [0, 5]


def test_a_batch_is_the_documents_one_after_the_other():
    texts = ["One here. Two here.", "", "Three here.", " \n\t ", "Four here. Five here. Six here."]
    sentences, offsets = split_sentences(texts)
    assert offsets.tolist() == [0, 2, 2, 3, 3, 6]
    alone = [split_sentences([text])[0] for text in texts]
    assert sentences == [sentence for some in alone for sentence in some]


@pytest.mark.parametrize("text", ["*****\n\n---\n\n^^^^ !!", "... ... ...", "> \n>\n>"])
def test_what_has_no_word_is_no_sentence(text):
    assert split_sentences([text])[0] == []


def test_white_space_inside_a_sentence_is_one_space():
    assert split_sentences(["The  long\n\tway home."])[0] == ["The long way home."]


def test_the_first_sentences_of_a_long_document_are_kept():
    text = " ".join(f"Sentence number {i} stands here." for i in range(50))
    sentences, offsets = split_sentences([text, "Short one. Ends here."], max_sentences=7)
    assert offsets.tolist() == [0, 7, 9]
    assert sentences[6] == "Sentence number 6 stands here."


def test_a_long_sentence_is_cut_and_stays_one():
    text = "word " * 10_000 + ". Another one."
    sentences, _ = split_sentences([text], max_characters=100)
    assert [len(sentence) for sentence in sentences] == [100, 12]


def test_another_language_has_its_own_marks():
    assert split_sentences(["यह एक है। यह दो है।"], language="hi")[1].tolist() == [0, 2]


def test_half_a_surrogate_pair_is_no_reason_to_fail():
    assert split_sentences(["A bad \ud800 mark. Next one."])[1].tolist() == [0, 2]


def test_no_documents():
    sentences, offsets = split_sentences([])
    assert sentences == []
    assert offsets.tolist() == [0]


@pytest.mark.parametrize(
    ("texts", "row", "words"),
    [
        (["", "One. Two is."], 1, "no sentences"),
        (["One is. Two is.", "***"], 2, "no sentences"),
        (["One is. Two is.", f"Only {SECRET}"], 2, "1 sentence;"),
    ],
)
def test_short_documents_are_refused_by_row(texts, row, words):
    _, offsets = split_sentences(texts)
    with pytest.raises(InvalidValue, match=f"row {row} has {words}") as refused:
        refuse_short(offsets)
    assert SECRET not in str(refused.value)
    with pytest.raises(InvalidValue, match=f"row {row + 100} has"):
        refuse_short(offsets, first_row=101)


def test_long_enough_documents_pass_and_others_are_left_out():
    sentences, offsets = split_sentences(["One is. Two is.", "Three.", "Four is. Five is."])
    keep = long_enough(offsets, AT_LEAST)
    assert keep.tolist() == [True, False, True]
    left, starts = kept_documents(sentences, offsets, keep)
    assert left == ["One is.", "Two is.", "Four is.", "Five is."]
    assert starts.tolist() == [0, 2, 4]
    refuse_short(starts)
    refuse_short(offsets, 1)


def test_leaving_everything_out_leaves_nothing():
    assert kept_documents(["a"], np.array([0, 1]), np.array([False]))[1].tolist() == [0]


@pytest.mark.parametrize(
    ("options", "name"),
    [({"max_sentences": 0}, "max_sentences"), ({"max_characters": 0}, "max_characters")],
)
def test_limits_are_checked(options, name):
    with pytest.raises(InvalidValue, match=name):
        split_sentences(["One."], **options)


def test_what_is_no_text_is_named_by_number():
    with pytest.raises(InvalidValue, match="document 2 of 2 is not text"):
        split_sentences(["One.", None])


def test_a_missing_splitter_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(MissingExtra, match=r"discreet\[encoder\]"):
        split_sentences(["One."])
