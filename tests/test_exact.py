"""Rows that count by themselves, whatever else is in the batch: products, lengths and tanh."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from discreet import exact
from discreet.exact import ExactProducts, lengths, squared_lengths, tanh
from discreet.mechanisms.document import (
    DeepCandidate,
    LearnedVotes,
    SentenceVotes,
    SoftVotes,
    VoteHistogram,
)
from discreet.mechanisms.document._depth import Depths
from naive_products import naive_products

SEED = 20261116
DIMENSION = 48


def some(rows, seed=SEED, dimension=DIMENSION):
    return np.random.default_rng(seed).normal(size=(rows, dimension)).astype(np.float32)


@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.integers(-40, 37))
def test_products_are_those_of_whole_numbers(seed, dimension, magnitude):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(5, dimension)) * 10.0**magnitude
    rows[1] *= rng.integers(0, 2, dimension)
    directions = rng.normal(size=(4, dimension)) ** 3
    assert (ExactProducts(directions).of(rows) == naive_products(rows, directions)).all()
    own = naive_products(rows, rows).diagonal()
    assert (squared_lengths(rows) == own).all()


def test_they_are_close_to_the_products_of_the_vectors():
    rows, directions = some(200), some(30, 1)
    true = rows.astype(np.float64) @ directions.T.astype(np.float64)
    error = np.abs(ExactProducts(directions).of(rows) - true)
    lengths = np.linalg.norm(rows, axis=1)[:, None] * np.linalg.norm(directions, axis=1)
    assert (error / lengths).max() < 2e-7


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000, 5000])
def test_a_row_has_the_same_bits_anywhere_in_any_batch(size, threads):
    products, row = ExactProducts(some(37, 1)), some(1, 2)
    alone = products.of(row)[0]
    with threadpool_limits(threads, user_api="blas"):
        assert (products.of(np.repeat(row, size, axis=0)) == alone).all()
        batch = some(size, 3)
        for place in {0, size // 2, size - 1}:
            batch[place] = row
            assert (products.of(batch)[place] == alone).all()
            assert (products.of(batch[::-1])[size - 1 - place] == alone).all()


@pytest.mark.parametrize("blas", ["any order", "column by column"])
def test_the_order_of_the_sum_does_not_matter(monkeypatch, blas):
    """What another library or processor would do: other orders and parts of the same sum."""
    rows, directions = some(50), some(9, 1)
    expected = ExactProducts(directions).of(rows)
    if blas == "any order":
        for seed in range(20):
            order = np.random.default_rng(seed).permutation(DIMENSION)
            assert (ExactProducts(directions[:, order]).of(rows[:, order]) == expected).all()
    else:

        def slowly(left, right, out):
            out[:] = 0
            for column in range(DIMENSION):
                out += left[:, column : column + 1] * right[column]
            return out

        monkeypatch.setattr(exact.np, "matmul", slowly)
        assert (ExactProducts(directions).of(rows) == expected).all()


def test_a_bit_more_than_fits_would_be_seen(monkeypatch):
    """The mutant with finer multiples, whose sums no longer fit, depends on their order."""
    monkeypatch.setattr(exact, "_EXACT", 53 + 20)
    rows, directions = some(50), some(9, 1)
    seen = [
        ExactProducts(directions[:, order]).of(rows[:, order])
        for order in (np.random.default_rng(seed).permutation(DIMENSION) for seed in range(20))
    ]
    assert any((other != seen[0]).any() for other in seen)


def test_huge_and_tiny_vectors_stay_numbers():
    rows = np.array([[1e308, -1e308], [3e38, 1e300], [1e-310, 0.0], [0.0, 0.0], [1e-45, 1e-40]])
    products = ExactProducts(np.array([[1.0, 1.0], [3e38, -3e38], [1e-44, 0.0], [0.0, 0.0]]))
    values = products.of(rows)
    assert np.isfinite(values).all()
    assert values[0, 0] == 0
    assert (values[3] == 0).all()
    assert (values[:, 3] == 0).all()
    assert (
        values == naive_products(rows, [[1.0, 1.0], [3e38, -3e38], [1e-44, 0.0], [0.0, 0.0]])
    ).all()


def test_whole_numbers_are_rows_too():
    assert ExactProducts(np.eye(3)).of(np.array([[1, 2, 3]])).tolist() == [[1.0, 2.0, 3.0]]


def test_lengths_and_tangents_against_the_library():
    numbers = np.concatenate([np.linspace(-25, 25, 4001), [0.0, 1e-9, -1e-300, 1e300, -50.0]])
    np.testing.assert_allclose(tanh(numbers), np.tanh(numbers), rtol=0, atol=3e-16)
    assert np.signbit(tanh(np.array([-0.0])))[0]
    rows = some(40).astype(np.float64)
    np.testing.assert_allclose(lengths(rows), np.linalg.norm(rows, axis=1), rtol=1e-14)


@pytest.mark.parametrize("function", [lengths, tanh])
def test_a_row_is_the_same_anywhere_in_any_layout(function):
    rows = some(37, dimension=13).astype(np.float64)
    alone = np.concatenate([function(row[None]) for row in rows])
    shifted = np.empty(rows.size + 1)[1:].reshape(rows.shape)
    shifted[:] = rows
    for other in (rows, np.asfortranarray(rows), shifted, rows[::-1][::-1]):
        assert function(other).tobytes() == alone.tobytes()
    assert function(rows[5:]).tobytes() == alone[5:].tobytes()


def mechanisms():
    choices, weights, biases = some(6, 5), some(6, 6), np.linspace(-0.1, 0.1, 6)
    return {
        "learned votes": LearnedVotes(choices, weights, biases, 1.0),
        "soft votes": SoftVotes(choices, weights, biases, 1.0),
        "vote histogram": VoteHistogram(choices, weights, biases, 1.0),
        "sentence votes": SentenceVotes(choices, 1.0),
    }


@pytest.mark.parametrize("name", mechanisms())
def test_one_sentence_replaced_leaves_the_votes_of_all_others(name):
    """Also where every sentence is as near to one choice as to another."""
    weights = np.concatenate([some(3, 6)] * 2)
    mechanism = mechanisms()[name]
    tied = type(mechanism)(
        *((weights,) if name == "sentence votes" else (weights, weights, np.zeros(6))), 1.0
    )
    sentences = some(300, 7)
    for each in (mechanism, tied):
        votes = each.votes(sentences[:20])
        doubled = each.votes(np.repeat(sentences[:20], 60, axis=0))
        assert (doubled == votes * 60).all()
        before = each.votes(sentences, np.arange(0, 301, 2))
        for place in (0, 41, 299):
            other = sentences.copy()
            other[place] = 1e30 * some(1, place)
            after = each.votes(other, np.arange(0, 301, 2))
            assert set(np.flatnonzero((after != before).any(axis=1))) <= {place // 2}
    if name != "soft votes":  # of equal choices the first has every vote
        assert not tied.votes(sentences)[0, 3:].any()
    else:
        assert (tied.votes(sentences)[0, 3:] == tied.votes(sentences)[0, :3]).all()


def test_one_sentence_replaced_leaves_the_heights_of_all_others():
    depths, sentences = Depths(some(40, 8), some(25, 9)), some(200, 10)
    before = depths._heights_of(sentences)
    for place in (0, 99, 199):
        other = sentences.copy()
        other[place] *= np.float32(1e20)
        same = np.delete(depths._heights_of(other), place, axis=0)
        assert same.tobytes() == np.delete(before, place, axis=0).tobytes()


@pytest.mark.parametrize("copies", [2, 9, 400])
@pytest.mark.parametrize("projections", [1, 8, 33])
def test_a_sentence_reaches_a_candidate_that_is_the_same_vector(copies, projections):
    """A tie on every projection: all k sentences count, so that no depth is above the lowest."""
    candidates = some(17, 11)
    mechanism = DeepCandidate(candidates, some(projections, 12), 1.0)
    for place in (0, 8, 16):
        document = np.repeat(candidates[place : place + 1], copies, axis=0)
        assert mechanism.scores(document)[0, place] == -copies / 2
        # One sentence beyond on one side, one on the other: all but one of the copies count.
        among = np.concatenate([document, document[:1] + 1, document[:1] - 1])
        heights = naive_products(among, mechanism.projections).astype(np.float32)
        reach = (heights >= heights[0]).sum(axis=0)
        assert mechanism.scores(among)[0, place] == -np.abs(reach - len(among) / 2).max()
