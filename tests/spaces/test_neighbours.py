"""The nearest word: exact, whatever the float32 product says."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from discreet.errors import InvalidValue
from discreet.spaces import neighbours
from discreet.spaces.neighbours import NearestWords, first_equal, nearest, nearest_words
from small_spaces import clustered_space, random_space


def naive(points: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Slow and obvious, in float64."""
    points, vectors = points.astype(np.float64), vectors.astype(np.float64)
    return np.array([((points - v) ** 2).sum(axis=1).argmin() for v in vectors])


def exact(points: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Very slow: rational arithmetic, the lowest index of equals."""

    def fractions(rows):
        return [[Fraction(float(number)) for number in row] for row in rows]

    def squared(p, v):
        return sum((a - b) ** 2 for a, b in zip(p, v, strict=True))

    rows = fractions(points)
    wanted = [min(range(len(rows)), key=lambda i: squared(rows[i], v)) for v in fractions(vectors)]
    return np.array(wanted)


@pytest.fixture(params=[(1024, 4096), (7, 5)], ids=["one block", "many blocks"], autouse=True)
def _block_sizes(request, monkeypatch):
    monkeypatch.setattr(neighbours, "_ROWS", request.param[0])
    monkeypatch.setattr(neighbours, "_COLUMNS", request.param[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("space", [random_space(300), clustered_space(300)], ids=lambda s: s.name)
def test_same_as_a_naive_search(space, scale, dtype):
    points = space.vectors.astype(dtype)
    rng = np.random.default_rng(1)
    vectors = points[rng.integers(0, 300, 400)] + scale * rng.standard_normal((400, 8))
    assert (nearest_words(points, vectors) == naive(points, vectors)).all()


def test_vectors_so_long_that_naive_distances_no_longer_differ():
    points = random_space(100, dimension=3).vectors
    rng = np.random.default_rng(2)
    for scale in (1e9, 1e17, 1e40, 1e150, 1e300):
        vectors = scale * rng.standard_normal((40, 3))
        # So far away only the direction counts.
        assert (nearest_words(points, vectors) == (vectors / scale @ points.T).argmax(axis=1)).all()
    assert (naive(points, 1e17 * rng.standard_normal((40, 3))) == 0).any()


def test_points_far_from_the_origin_and_one_outlier():
    points = clustered_space(200).vectors.copy()
    points[7] = 1e9
    points += 1e4
    rng = np.random.default_rng(3)
    vectors = points[rng.integers(0, 200, 300)] + 0.3 * rng.standard_normal((300, 8))
    assert (nearest_words(points, vectors) == naive(points, vectors)).all()


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12, 2.0**-48])
def test_near_ties_closer_than_float32_can_tell(gap):
    rng = np.random.default_rng(4)
    centre = rng.standard_normal((6, 5))
    points = np.concatenate([centre, centre + gap * rng.standard_normal((6, 5)), centre - gap])
    middle = (points[:6] + points[6:12]) / 2
    vectors = np.concatenate([points, middle, middle + gap / 16 * rng.standard_normal((6, 5))])
    assert (nearest_words(points, vectors) == exact(points, vectors)).all()
    assert (nearest_words(points, 1e3 * vectors) == exact(points, 1e3 * vectors)).all()


def test_the_near_ties_mean_something():
    """Without the float64 decision the answers above would be wrong."""
    rng = np.random.default_rng(4)
    points = rng.standard_normal((1, 5)) + 1e-9 * rng.standard_normal((20, 5))
    points = np.concatenate([points, rng.standard_normal((20, 5))])
    single = points.astype(np.float32)
    scores = single @ single.T - (single**2).sum(axis=1) / 2
    assert (scores[:20].argmax(axis=1) != np.arange(20)).any()
    assert (nearest_words(points, points) == np.arange(40)).all()


def test_duplicates_and_exact_ties_go_to_the_lower_index():
    points = np.array([[2.0, 0], [0, 2], [2, 0], [-2, 0], [0, 2], [-0.0, -2]])
    assert (nearest_words(points, points) == [0, 1, 0, 3, 1, 5]).all()
    assert (
        nearest_words(points, np.array([[0.0, 0], [1, 1], [-1, -1], [-5, 5]])) == [0, 0, 3, 1]
    ).all()
    same = np.ones((50, 4), dtype=np.float32)
    assert (nearest_words(same, np.random.default_rng(0).standard_normal((9, 4))) == 0).all()
    assert (first_equal(np.array([[0.0], [-0.0], [1.0]])) == [0, 0, 2]).all()


numbers = st.floats(-8, 8, width=32) | st.sampled_from([0.0, 1.0, 1 + 2**-20, 1e-30, -3.0])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    arrays.arrays(np.float64, (9, 3), elements=numbers),
    arrays.arrays(np.float64, (4, 3), elements=numbers),
    st.sampled_from([1.0, 1e-6, 1e8]),
)
def test_same_as_rational_arithmetic(points, vectors, scale):
    found = nearest_words(points, scale * vectors)
    wanted = exact(points, scale * vectors)
    for row in np.flatnonzero(found != wanted):
        # Only where float64 cannot tell the two apart.
        v = scale * vectors[row]
        gap = [np.abs(points[i] - v).max() ** 2 for i in (found[row], wanted[row])]
        p, r = points[found[row]], points[wanted[row]]
        difference = ((p - r) * ((p - v) + (r - v))).sum()
        # A processor may take what is below every normal number of 32 bits for nothing.
        lost = float(np.finfo(np.float32).tiny) ** 2
        assert abs(difference) <= 1e-14 * max(gap) + lost


@pytest.mark.parametrize("dimension", [1, 2, 300])
def test_the_product_is_never_below_the_score_and_never_far_above(dimension):
    rng = np.random.default_rng(5)
    points = rng.standard_normal((500, dimension)) * rng.lognormal(sigma=2, size=(500, 1))
    search = NearestWords(points)
    vectors = rng.standard_normal((50, dimension)) * 10.0 ** rng.integers(-9, 9, (50, 1))
    product = (search._rows(vectors) @ search._columns.T).astype(np.float64)
    u, q = vectors - search._centre, search._points - search._centre
    scale = search._radius * (np.linalg.norm(u, axis=1) + search._radius)
    score = (u @ q.T - (q**2).sum(axis=1) / 2) / scale[:, None]
    error = search._error.astype(np.float64)
    assert (product >= score - 1e-14).all()
    assert (product - 2 * error <= score + 1e-14).all()


def test_memory_is_a_block_and_any_number_of_rows_goes():
    points = random_space(30).vectors
    rng = np.random.default_rng(6)
    for count in (0, 1, 2, 2500):
        vectors = rng.standard_normal((count, 8))
        assert (nearest_words(points, vectors) == naive(points, vectors)).all()
    assert nearest_words(points, vectors).dtype == np.int64


def test_the_k_nearest_in_order():
    points = np.concatenate([random_space(100).vectors, random_space(20).vectors])
    vectors = np.random.default_rng(7).standard_normal((10, 8))
    found = nearest(points, vectors, 12)
    distances = np.linalg.norm(points[None] - vectors[:, None], axis=2)
    assert (found == np.argsort(distances, axis=1, kind="stable")[:, :12]).all()
    assert (nearest(points, vectors, 1)[:, 0] == nearest_words(points, vectors)).all()
    assert nearest(points, vectors, len(points)).shape == (10, 120)


BAD = {
    "other width": lambda p: nearest_words(p, np.zeros((2, 7))),
    "flat": lambda p: nearest_words(p, np.zeros(8)),
    "whole numbers": lambda p: nearest_words(p, np.zeros((2, 8), dtype=int)),
    "nan": lambda p: nearest_words(p, np.full((1, 8), np.nan)),
    "infinite": lambda p: nearest_words(p, np.full((1, 8), np.inf)),
    "no points": lambda p: NearestWords(p[:0]),
    "points not finite": lambda p: NearestWords(p * np.nan),
    "k 0": lambda p: nearest(p, p, 0),
    "k too large": lambda p: nearest(p, p, 31),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("call", BAD.values(), ids=BAD)
def test_bad_input(call):
    with pytest.raises(InvalidValue):
        call(random_space(30).vectors)
