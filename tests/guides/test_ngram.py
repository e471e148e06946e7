"""The n-gram guide: its law, what it sees, and what it is asked."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.guides.ngram import START, STEP, NGramGuide, NGramModel
from discreet.spaces.loaders import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.tensors import save_tensors

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from build_guide import DISCOUNT, build, sentences

TEXTS = ["A cup of tea.", "A cup of coffee, a cup of tea!", "The tea is hot. The cup is hot."] * 3


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from discreet.guides.ngram import KIND

    arrays, words = build(TEXTS, "starter")
    path = tmp_path_factory.mktemp("guide") / "small.safetensors"
    save_tensors(path, KIND, arrays, {"words": words})
    return NGramModel.load(path)


def number(model, word):
    return model.words.index(word)


def test_every_law_adds_up(model):
    everything = np.arange(len(model.words))[None]
    for before in range(len(model.words)):
        rows = np.arange(len(model.words))
        logs = model.log_probabilities(
            np.full(len(rows), before), rows, np.repeat(everything, len(rows), axis=0)
        )
        # Kept in steps of 1/16, so each is right to 3 %.
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, atol=STEP)


def test_a_triple_is_discounted_and_interpolated(model):
    cup, of, tea = (number(model, w) for w in ("cup", "of", "tea"))
    logs = model.log_probabilities(np.array([cup]), np.array([of]), np.array([[tea]]))
    # "cup of" is followed by tea 6 times and by coffee 3 times; both are kept. Before "of tea" and
    # "of coffee" there is one word each: "cup".
    single = dict.fromkeys(model.words, 0.5) | {"<s>": 1e-9}
    for _, second in _pairs():
        single[second] += 1
    p_single = single["tea"] / sum(single.values())
    p_pair = (1 - DISCOUNT) / 2 + DISCOUNT * p_single
    p_triple = (6 - DISCOUNT) / 9 + 2 * DISCOUNT / 9 * p_pair
    assert np.exp(logs[0, 0]) == pytest.approx(p_triple, rel=STEP)


def _pairs():
    """The different pairs of words of the texts, where ``<s>`` begins a sentence."""
    pairs = set()
    for text in TEXTS:
        for sentence in text.lower().replace(",", " ,").replace("!", " !|").split("|"):
            for part in sentence.replace(".", " .|").split("|"):
                words = ["<s>", *part.split()]
                pairs |= set(pairwise(words))
    return pairs


def test_a_score_depends_on_the_released_text_and_the_candidate_alone():
    space = load_space("starter")
    guide, rng = NGramGuide(space), np.random.default_rng(1)
    released = rng.integers(0, len(space), (5, 7))
    together = guide.begin(7)
    for step in released:
        guide.extend(together, np.arange(7), step)
    candidates = rng.integers(0, len(space), (7, 12))
    all_at_once = guide.scores(together, np.arange(7), candidates)
    for row in range(7):
        alone = guide.begin(1)
        for step in released:
            guide.extend(alone, np.array([0]), step[row : row + 1])
        for column in range(12):
            score = guide.scores(alone, np.array([0]), candidates[row : row + 1, [column]])
            assert score[0, 0] == all_at_once[row, column]


def test_asking_changes_nothing():
    space = load_space("starter")
    guide, rng = NGramGuide(space), np.random.default_rng(2)
    state = guide.begin(3)
    guide.extend(state, np.arange(3), np.array([5, 6, 7]))
    candidates = rng.integers(0, len(space), (3, 4))
    before = guide.scores(state, np.arange(3), candidates)
    guide.scores(state, np.array([2, 2]), rng.integers(0, len(space), (2, 9)))
    np.testing.assert_array_equal(before, guide.scores(state, np.arange(3), candidates))


def test_a_sentence_begins_afresh():
    space = load_space("starter")
    guide = NGramGuide(space)
    state = guide.begin(1)
    for word in ("the", "end", "."):
        guide.extend(state, np.array([0]), np.array([space.words.index(word)]))
    assert (state.before[0], state.last[0]) == (START, START)


def test_it_knows_what_follows():
    space = load_space("starter")
    guide = NGramGuide(space)

    def after(text, *words):
        state = guide.begin(1)
        for word in text.split():
            guide.extend(state, np.array([0]), np.array([space.words.index(word)]))
        ids = np.array([[space.words.index(word) for word in words]])
        return guide.scores(state, np.array([0]), ids)[0]

    for text, likely, unlikely in [
        ("i would like to", "go", "gone"),
        ("a glass of", "water", "quickly"),
        ("they", "are", "is"),
        ("he", "is", "are"),
    ]:
        scores = after(text, likely, unlikely)
        assert scores[0] > scores[1] + 1, text


def test_a_space_of_other_words_is_refused():
    space = EmbeddingSpace.from_arrays(["<unk>", "xq", "zw"], [[0.0], [1.0], [2.0]])
    with pytest.raises(InvalidValue, match="few of the words"):
        NGramGuide(space)


def test_the_texts_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("Go.\tVe.\tCC-BY\nGo on.\tSigue.\tCC-BY\n", "utf-8")
    assert sentences(path) == ["Go.", "Go on."]


def test_a_whole_text_has_the_scores_of_its_words_one_by_one():
    space = load_space("starter")
    guide, rng = NGramGuide(space), np.random.default_rng(3)
    ids = rng.integers(95, 115, 40)  # words and marks: some end a sentence
    assert np.isin(ids, [space.words.index(mark) for mark in ".!?"]).any()
    offsets = np.array([0, 1, 1, 15, 40])
    found = guide.text_scores(ids, offsets)
    here = np.zeros(1, np.int64)
    for start, end in pairwise(offsets):
        state = guide.begin(1)
        for place in range(start, end):
            word = ids[place : place + 1]
            assert guide.scores(state, here, word[None])[0, 0] == found[place]
            guide.extend(state, here, word)
