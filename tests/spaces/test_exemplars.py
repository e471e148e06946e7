"""Exemplars: the greedy choice, the lists of nearest outputs, and where they are kept."""

import numpy as np
import pytest

from discreet.files import sealed_json
from discreet.spaces import exemplars as module
from discreet.spaces import load_space
from discreet.spaces.exemplars import (
    exemplars,
    kept_nearest,
    measured,
    memo_of,
    nearest_of,
    replaced,
)
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace
from discreet.text.function_words import FUNCTION_WORDS
from discreet.text.unsaid import are_unsaid
from small_spaces import all_distances, both_spaces, random_space


def _with_frequencies(space: EmbeddingSpace, seed: int = 1) -> EmbeddingSpace:
    counts = np.random.default_rng(seed).permutation(len(space)).astype(float)
    return EmbeddingSpace.from_arrays(
        space.words, space.vectors, name=space.name, frequencies=counts
    )


def _slow_order(space: EmbeddingSpace, count: int, factors=1.0) -> list[int]:
    """Try every word at every step."""
    words = [i for i in range(len(space)) if i != space.unknown]
    weights = np.sqrt(rank_prior(space)[words]) * factors
    squared = all_distances(space)[np.ix_(words, words)] ** 2
    left = np.full(len(words), squared.mean())
    chosen: list[int] = []
    for _ in range(count):
        gains = weights @ np.maximum(left[:, None] - squared, 0.0)
        gains[chosen] = -1.0
        chosen.append(int(gains.argmax()))
        left = np.minimum(left, squared[:, chosen[-1]])
    return [words[i] for i in chosen]


@pytest.mark.parametrize("space", both_spaces(), ids=lambda space: space.name)
def test_each_exemplar_is_the_one_that_brings_most(space):
    space = _with_frequencies(space)
    assert exemplars(space).order[:25].tolist() == _slow_order(space, 25)


@pytest.mark.parametrize("space", both_spaces(), ids=lambda space: space.name)
def test_every_word_has_its_place_and_the_unknown_token_the_last(space):
    order = exemplars(_with_frequencies(space)).order
    assert sorted(order.tolist()) == list(range(len(space)))
    assert order[-1] == space.unknown


@pytest.mark.parametrize("count", [3, 40])
def test_words_at_one_point_are_each_chosen_once(count):
    vectors = np.ones((count, 2))
    vectors[0] = 1 + 1e-12
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(count)], vectors)
    assert sorted(exemplars(space).order.tolist()) == list(range(count))


def test_more_exemplars_than_are_looked_for_come_by_frequency(monkeypatch):
    monkeypatch.setattr(module, "_CHOSEN", 10)
    space = _with_frequencies(random_space(60))
    values = measured(space)
    rest = np.concatenate([values["chosen"], module._others(space, np.array(values["chosen"]))])
    assert len(values["chosen"]) == 10
    assert (np.diff(space.frequencies[rest[10:-1]]) < 0).all()


def test_ten_function_words_are_enough():
    listed = sorted(FUNCTION_WORDS)[:25]
    words = ["[UNK]", *listed, *(f"word{i}" for i in range(40))]
    vectors = np.random.default_rng(2).standard_normal((len(words), 4))
    counts = np.random.default_rng(3).permutation(len(words)).astype(float)
    space = EmbeddingSpace.from_arrays(words, vectors, frequencies=counts)
    found = exemplars(space)
    are_listed = np.isin(found.order, range(1, 26))
    assert are_listed[:50].sum() == 10
    left_out = found.order[50:65]
    assert are_listed[50:65].all()
    assert (np.diff(counts[left_out]) < 0).all()
    # The ten are the first that would be chosen, and the others keep their order.
    wanted = _slow_order(space, 65, np.where(np.arange(1, 66) <= 25, 0.1, 1.0))
    ten = [word for word in wanted if word <= 25][:10]
    assert found.order[:50].tolist() == [word for word in wanted if word > 25 or word in ten]


def test_the_means_are_those_of_frequent_words():
    space = _with_frequencies(random_space(60))
    found = exemplars(space)
    known = replaced(space)
    shares = rank_prior(space)[known] / rank_prior(space)[known].sum()
    assert found.sizes[-1] == 59
    for size, near, far in zip(found.sizes, found.near, found.far, strict=True):
        squared = np.sort(all_distances(space)[np.ix_(known, found.order[:size])] ** 2, axis=1)
        assert far == pytest.approx(shares @ squared.mean(axis=1), rel=1e-5)
        for count in (1, 2, min(32, size)):
            expected = shares @ squared[:, :count].mean(axis=1)
            assert near[count - 1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("numbers", [7, 2**20])
@pytest.mark.parametrize("space", both_spaces(), ids=lambda space: space.name)
def test_lists_are_the_nearest_in_order(space, numbers, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_NUMBERS", numbers)
    outputs = np.arange(3, 90, 2)
    places, distances = nearest_of(space, np.arange(len(space)), outputs, 9)
    table = all_distances(space)[:, outputs]
    for word in range(len(space)):
        assert distances[word] == pytest.approx(np.sort(table[word])[:9], abs=1e-5)
        assert table[word, places[word]] == pytest.approx(distances[word], abs=1e-5)
        assert len(set(places[word].tolist())) == 9


def test_ties_go_by_place():
    space = EmbeddingSpace.from_arrays("abcdef", [[0.0], [1.0], [1.0], [-1.0], [1.0], [2.0]])
    places, distances = nearest_of(space, np.array([0]), np.array([5, 4, 3, 2, 1]), 3)
    assert places.tolist() == [[1, 2, 3]]
    assert distances.tolist() == [[1.0, 1.0, 1.0]]


def test_they_are_kept_and_depend_on_vectors_and_frequencies(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    space = _with_frequencies(random_space(50))
    first = exemplars(space)
    monkeypatch.setattr(module, "measured", None)
    again = exemplars(space)
    assert (again.order == first.order).all()
    assert again.near == first.near
    assert memo_of(space).path != memo_of(_with_frequencies(random_space(50), seed=2)).path
    assert memo_of(space).path != memo_of(random_space(50)).path


def test_long_lists_are_kept_and_what_was_altered_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    space, outputs = random_space(50), np.arange(0, 50, 3)
    right = nearest_of(space, np.arange(50), outputs, 4)
    kept_nearest(space, outputs, 4)
    assert not list(tmp_path.iterdir()), "what is short is found anew"
    monkeypatch.setattr(module, "_WORTH_KEEPING", 1)
    for _ in range(2):
        found = kept_nearest(space, outputs, 4)
        assert all((one == other).all() for one, other in zip(found, right, strict=True))
    files = sorted((tmp_path / "nearest").iterdir())
    assert len(files) == 3
    np.save(next(path for path in files if path.name.endswith("places.npy")), right[0][::-1])
    assert (kept_nearest(space, outputs, 4)[0] == right[0]).all()
    assert (kept_nearest(space, outputs + 1, 4)[0] != right[0]).any()
    assert kept_nearest(space, outputs, 5)[0].shape == (50, 5)


def test_what_was_altered_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    space = random_space(50)
    right = exemplars(space).order
    memo = memo_of(space)
    memo.path.write_text(memo.path.read_text().replace("near", "neat"))
    assert (exemplars(space).order == right).all()
    other = {**memo.key, **measured(space)}
    for changed in ({"space": "another", "chosen": [1, 2]}, {"chosen": [1, 1, 2]}):
        memo.path.write_text(sealed_json(other | changed))
        assert (exemplars(space).order == right).all()


def test_the_starter_space_ships_them(monkeypatch):
    monkeypatch.setattr(module, "measured", None)
    space = load_space("starter")
    found = exemplars(space)
    assert len(found.order) == 20_000
    assert found.sizes[-1] == 19_999 - are_unsaid(space.words).sum()
