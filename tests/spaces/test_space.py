"""What a space accepts, refuses, and says of itself."""

import numpy as np
import pytest

from discreet.errors import InvalidValue, NotFound
from discreet.spaces.space import EmbeddingSpace
from small_spaces import random_space


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a"], [[1.0]], "at least 2 words"),
        (["a", "a"], [[1.0], [2.0]], "entry 0 occurs again at entry 1"),
        (["a", ""], [[1.0], [2.0]], "non-empty strings; entry 1"),
        (["a", 3], [[1.0], [2.0]], "non-empty strings; entry 1"),
        (["a", "b"], [[1.0], [np.nan]], "entry 1"),
        (["a", "b"], [[1.0], [np.inf]], "entry 1"),
        (["a", "b"], [[0.0], [1e13]], "at most 1e\\+12 in size.*entry 1 .*divide all vectors"),
        (["a", "b"], np.float32([[-1e20], [0.0]]), "at most 1e\\+12 in size.*entry 0 "),
        (["a", "b"], [[1.0]], "2 words need 2 vectors; got 1"),
        (["a", "b"], [1.0, 2.0], "must be a matrix"),
        (["a", "b"], np.zeros((2, 0)), "must be a matrix"),
        (["a", "b"], [[1.0], [2.0, 3.0]], "rows of equal length"),
        (["a", "b"], [["x"], ["y"]], "must be numbers"),
    ],
)
def test_bad_spaces(words, vectors, message):
    with pytest.raises(InvalidValue, match=message):
        EmbeddingSpace.from_arrays(words, vectors)


def test_vectors_are_a_private_read_only_copy():
    mine = np.eye(3)
    space = EmbeddingSpace.from_arrays("abc", mine)
    mine[0, 0] = 5
    assert space.vectors[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        space.vectors[0, 0] = 2


def test_types_are_kept_or_widened():
    for given, kept in (("f4", "f4"), ("f8", "f8"), ("f2", "f4"), ("i4", "f8")):
        assert EmbeddingSpace.from_arrays("ab", np.eye(2, dtype=given)).vectors.dtype == kept


def test_fingerprint_depends_on_words_and_vectors_only():
    space = random_space()
    same = EmbeddingSpace.from_arrays(space.words, space.vectors, "elsewhere", name="x")
    assert same.fingerprint == space.fingerprint
    renamed = EmbeddingSpace.from_arrays([*space.words[:-1], "other"], space.vectors)
    moved = EmbeddingSpace.from_arrays(space.words, np.nextafter(space.vectors, np.inf))
    rejoined = EmbeddingSpace.from_arrays(["ab", "c"], np.eye(2))
    split = EmbeddingSpace.from_arrays(["a", "bc"], np.eye(2))
    prints = {s.fingerprint for s in (space, renamed, moved, rejoined, split)}
    assert len(prints) == 5


def test_look_ups_do_not_repeat_an_unknown_word():
    space = random_space()
    assert space.id_of("word7") == 7
    assert space.ids_of(["word2", "word1"]).tolist() == [2, 1]
    for look_up in (lambda: space.id_of("zanzibar"), lambda: space.ids_of(["word1", "zanzibar"])):
        with pytest.raises(NotFound) as caught:
            look_up()
        assert "zanzibar" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_unknown_token():
    plain = EmbeddingSpace.from_arrays(["a", "b"], [[0.0, 0.0], [2.0, 4.0]], frequencies=[5, 3])
    assert plain.unknown is None
    more = plain.with_unknown()
    assert more.words[more.unknown] == "<unk>"
    assert more.vectors[more.unknown].tolist() == [1.0, 2.0]
    assert more.with_unknown() is more
    assert 2 in more.least_frequent(0.4)
    named = EmbeddingSpace.from_arrays(["a", "?"], np.eye(2), unknown="?")
    assert named.unknown == 1
    with pytest.raises(InvalidValue):
        EmbeddingSpace.from_arrays(["a", "b"], np.eye(2), unknown="?")


def test_least_frequent_words():
    space = EmbeddingSpace.from_arrays("abcd", np.eye(4), frequencies=[9, 1, 5, 1])
    assert space.least_frequent(0.5).tolist() == [1, 3]
    assert space.least_frequent(0.25).tolist() == [3]
    assert space.least_frequent(1.0).tolist() == [0, 1, 2, 3]
    with pytest.raises(InvalidValue, match="no public word frequencies"):
        random_space().least_frequent(0.5)
    with pytest.raises(InvalidValue, match="one finite number per word"):
        EmbeddingSpace.from_arrays("ab", np.eye(2), frequencies=[1])
