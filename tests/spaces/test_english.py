"""The larger space that ships: what is in it, and that near words can stand for each other.

Distances are of whole numbers (the vectors in steps of 1/256), so no rounding decides anything.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.spaces import load_space
from discreet.spaces.encoder_space import WEIGHTS_SHA256
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import WordTokenizer

FILE = Path(__file__).parent.parent.parent / "src" / "discreet" / "data" / "english.safetensors"

TICKET = (
    "I didn't get the invoice for 2024, so I'd like a refund. The driver's app crashed on the 21st "
    "and my iPhone doesn't sync; we're at $1,000 and 3.5 hours. It's John, not Mary: they've paid."
)
ENTRIES = (
    "don't didn't it's i'm n't 's 've u.s. mr. well-known refund login diabetes plaintiff checkout "
    "jennifer johnson london france google monday … € 1990s"
)
LIKE = {
    "doctor": {"physician", "surgeon", "dentist", "psychiatrist", "therapist"},
    "doctors": {"physicians", "surgeons", "dentists", "clinicians", "specialists"},
    "said": {"stated", "told", "explained", "remarked", "commented"},
    "terrible": {"horrible", "dreadful", "awful", "horrific"},
    "excellent": {"superb", "terrific", "impressive", "brilliant", "wonderful"},
    "invoice": {"receipt", "payment", "bill", "refund"},
    "london": {"glasgow", "edinburgh", "manchester", "birmingham", "dublin"},
    "germany": {"austria", "denmark", "belgium", "poland", "sweden"},
    "children": {"kids", "youngsters", "teenagers", "toddlers"},
    "film": {"movie", "cinema", "documentary", "comedy"},
    "john": {"james", "william", "george", "paul", "richard"},
    "mary": {"elizabeth", "sarah", "teresa", "joan", "helen", "margaret"},
    "but": {"though", "yet", "and", "nor"},
    "the": {"a", "this", "an"},
    "can": {"could", "might", "should"},
    ".": {"?", "!", "…"},
}
"""Of each at least two are among the 8 nearest."""
ENDINGS = {
    "running": "ing", "buying": "ing", "says": "s", "doctors": "s", "actors": "s", "taller": "er",
    "fastest": "est", "quickly": "ly", "angrily": "ly",
}  # fmt: skip
OPPOSITES = (
    "good bad", "best worst", "love hate", "happy sad", "excellent terrible", "beautiful ugly",
    "increased decreased", "hot cold", "rich poor", "strong weak", "win lose", "true false",
)  # fmt: skip
TWINS = (
    "doctor doctors", "child children", "buy bought", "buy buys", "say said", "film films",
    "week weeks", "write written", "running run", "phone phones", "story stories", "tall taller",
)  # fmt: skip


@pytest.fixture(scope="module")
def english() -> EmbeddingSpace:
    return load_space("english")


@cache
def steps(name: str) -> tuple[EmbeddingSpace, NDArray[np.float32]]:
    space = load_space(name)
    return space, np.rint(space.vectors * 256)


def squares(word: str, name: str = "english") -> NDArray[np.float32]:
    """Squared distances in steps: whole numbers below 2**24, which float32 adds exactly."""
    space, points = steps(name)
    here = points[space.id_of(word)]
    return np.einsum("ij,ij->i", points, points) - 2 * (points @ here) + here @ here


def near(word: str, count: int, name: str = "english") -> list[str]:
    """The nearest words without the word itself; the lower index first among equals."""
    space, _ = steps(name)
    distances = squares(word, name)
    assert distances[space.id_of(word)] == 0
    return [space.words[i] for i in np.argsort(distances, kind="stable")[1 : count + 1]]


def test_what_is_in_it(english: EmbeddingSpace) -> None:
    assert english.name == "english"
    assert len(english) >= 60_000
    assert FILE.stat().st_size < 8_000_000
    assert english.words[english.unknown or 0] == "[UNK]"
    assert english.unknown == len(english) - 1
    assert not english.subwords
    assert not english.vectors.flags.writeable
    assert WEIGHTS_SHA256 in english.provenance
    assert len(set(english.words)) == len(english)
    assert english.frequencies is not None
    assert (np.diff(english.frequencies) <= 0).all()
    assert english.words[0] == "the"
    wanted = [str(n) for n in (*range(101), *range(1900, 2031))]
    wanted += ENTRIES.split()
    assert [word for word in wanted if word not in english] == []
    assert all(word == word.lower() for word in english.words[:-1])


def test_vectors_are_exact_multiples_of_the_step_and_nearly_of_length_1(
    english: EmbeddingSpace,
) -> None:
    exact = english.vectors * 256
    np.testing.assert_array_equal(exact, np.rint(exact))
    assert np.abs(exact).max() <= 127
    different = {row.tobytes() for row in exact.astype(np.int8)}
    assert len(different) == len(english)  # no two words at one point
    lengths = np.linalg.norm(english.vectors, axis=1)
    assert lengths.min() > 0.95
    assert lengths.max() < 1.01


def test_it_knows_the_words_of_an_everyday_text(english: EmbeddingSpace) -> None:
    def unknown(space: EmbeddingSpace) -> int:
        ids = WordTokenizer(space.words, space.unknown).encode([TICKET]).ids
        return int((ids == space.unknown).sum())

    assert unknown(english) == 0
    assert unknown(load_space("starter")) >= 3  # why there is another


@pytest.mark.parametrize("word", LIKE)
def test_words_of_like_meaning_are_near(word: str) -> None:
    assert len(LIKE[word] & set(near(word, 8))) >= 2


@pytest.mark.parametrize("word", ENDINGS)
def test_near_words_have_the_same_form(word: str) -> None:
    assert sum(other.endswith(ENDINGS[word]) for other in near(word, 8)) >= 7


def test_near_words_are_of_the_same_kind() -> None:
    assert all(re.fullmatch("(19|20)[0-9]{2}", word) for word in near("2024", 8))
    assert {"2023", "2025"} <= set(near("2024", 3))
    assert all(word.isdigit() for word in near("42", 8))
    days = {"tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
    assert days == set(near("monday", 6))
    assert {"six", "eight"} <= set(near("seven", 4))
    assert {"i", "we", "he", "she"} == set(near("they", 4))
    assert {"am", "are"} <= set(near("is", 3))


@pytest.mark.parametrize("pair", OPPOSITES)
def test_opposites_are_not_near(pair: str) -> None:
    one, other = pair.split()
    assert other not in near(one, 16)
    assert one not in near(other, 16)


def test_forms_of_a_word_are_not_its_nearest_words() -> None:
    def met(name: str) -> int:
        return sum(other in near(one, 4, name) for one, other in map(str.split, TWINS))

    assert met("english") == 0
    assert met("starter") >= 6  # where they fill the lists


def test_the_unknown_token_is_an_ordinary_point(english: EmbeddingSpace) -> None:
    def normaliser(word: str) -> float:
        return float(np.exp(-6.0 * np.sqrt(squares(word).astype(np.float64)) / 256).sum())

    typical = np.median([normaliser(word) for word in english.words[:-1:4000]])
    assert normaliser("[UNK]") < 1.4 * typical
