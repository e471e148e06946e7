"""Distances: exact where asked, proven lower bounds where fast."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.arrays import row_blocks
from discreet.spaces.distances import Distances, euclidean_metric
from discreet.spaces.index import build_index, cached_index, store_index
from discreet.spaces.space import EmbeddingSpace
from small_spaces import all_distances, both_spaces, clustered_space


def _space(vectors):
    return EmbeddingSpace.from_arrays([f"w{i}" for i in range(len(vectors))], vectors)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_block_and_exact_equal_the_naive_ones(dtype, offset):
    for plain in both_spaces():
        space = _space((plain.vectors + offset).astype(dtype))
        naive = all_distances(space)
        distances = Distances(space)
        ids = np.arange(len(space))
        found = distances.block(ids)
        assert np.abs(found - naive).max() <= 1e-11 * naive.max()
        rows, columns = np.divmod(np.arange(naive.size), len(space))
        assert distances.exact(rows, columns) == pytest.approx(naive.ravel(), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(0, 10_000),
    st.sampled_from([1e-6, 1.0, 1e5]),
    st.sampled_from([0.0, 1.0, 1e4]),
    st.sampled_from(["f4", "f8"]),
)
def test_fast_distances_are_lower_bounds_within_their_band(dimension, seed, scale, offset, dtype):
    rng = np.random.default_rng(seed)
    vectors = scale * (rng.standard_normal((37, dimension)) + offset)
    vectors[5:9] = vectors[4] * (1 + 1e-6 * rng.standard_normal((4, dimension)))
    vectors[9] *= 100
    space = _space(vectors.astype(dtype))
    squared = all_distances(space) ** 2
    distances = Distances(space)
    ids = np.arange(len(space))
    lower = distances.lower_squared(ids)[:, : len(space)].astype(np.float64)
    band = distances.band(np.repeat(ids, 37), np.tile(ids, 37)).reshape(37, 37)
    assert (lower <= squared * (1 + 1e-12)).all()
    assert (squared * (1 - 1e-12) <= lower + band).all()
    exact = np.sqrt(squared).ravel()
    least, most = distances.bounds(np.repeat(ids, 37), np.tile(ids, 37))
    assert (least <= exact * (1 + 1e-12)).all()
    assert (most >= exact * (1 - 1e-12)).all()
    assert (most - least <= 1e-4 * exact + 1e-15).all()


def test_distances_whose_squares_are_lost_stay_within_their_bounds():
    space = _space(np.array([[0.0, 0.0], [1e-25, -1e-25], [1.0, 0.0]], np.float32))
    first, second = np.array([0, 0]), np.array([1, 2])
    least, most = Distances(space).bounds(first, second)
    exact = Distances(space).exact(first, second)
    assert (least <= exact).all()
    assert (exact <= most).all()


def test_padding_columns_are_out_of_reach():
    space = both_spaces(50)[0]
    table = Distances(space).lower_squared(np.arange(3))
    assert table.shape == (3, 64)
    assert (table[:, 50:] > 1e20).all()


def test_targets_are_columns():
    space = both_spaces()[0]
    targets = np.array([3, 50, 7])
    some = Distances(space, targets)
    assert np.allclose(some.block(np.arange(9)), all_distances(space)[:9][:, targets])


def test_metric_figures():
    for space in both_spaces():
        naive = all_distances(space)
        metric = euclidean_metric(space)
        assert metric.farthest == pytest.approx(naive.max())
        others = naive[~np.eye(len(space), dtype=bool)].reshape(len(space), -1)
        assert metric.nearest == pytest.approx(np.median(others.min(axis=1)))
        assert metric.median == pytest.approx(np.median(np.median(others, axis=1)))
        assert space.fingerprint[:12] in metric.name


def test_metric_of_a_large_space_bounds_the_diameter(monkeypatch):
    monkeypatch.setattr("discreet.spaces.distances._EXACT_DIAMETER", 10)
    for space in both_spaces():
        assert euclidean_metric(space).farthest >= all_distances(space).max()


@pytest.mark.parametrize("size", [1, 7, 120, 500])
def test_index_holds_the_nearest_words_and_nothing_nearer_is_left_out(size):
    for space in both_spaces():
        naive = all_distances(space)
        index = build_index(space, size=size)
        assert index.size == min(size, len(space))
        assert (np.diff(index.lower, axis=1) >= 0).all()
        for x in range(len(space)):
            listed = index.neighbors[x]
            assert len(set(listed.tolist())) == index.size
            assert (index.lower[x] <= naive[x, listed] * (1 + 1e-6)).all()
            others = np.setdiff1d(np.arange(len(space)), listed)
            assert (naive[x, others] >= index.lower[x, -1] * (1 - 1e-6)).all()


def test_index_is_kept_by_space(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    space, other = both_spaces()
    assert cached_index(space) is None
    index = build_index(space, size=9)
    store_index(space, index)
    found = cached_index(space)
    assert (found.neighbors == index.neighbors).all()
    assert (found.lower == index.lower).all()
    assert isinstance(found.neighbors, np.memmap)
    assert cached_index(other) is None
    path = next(tmp_path.rglob("*.lower.npy"))
    whole = path.read_bytes()
    for damaged in (b"not an array", whole[:-4] + b"\0\0\0\0", whole[:-8]):
        path.write_bytes(damaged)
        assert cached_index(space) is None


def test_blocks_cover_everything_once():
    for count, width in ((0, 5), (1, 10**9), (10, 1), (100_000, 384)):
        covered = [i for part in row_blocks(count, width) for i in range(part.start, part.stop)]
        assert covered == list(range(count))


def test_progress_reaches_the_end():
    calls = []
    build_index(clustered_space(), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (120, 120)
