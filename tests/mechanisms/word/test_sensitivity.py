"""Clipping, and the largest distance of two words: exact or above, never below."""

import json

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.files import sealed_json
from discreet.mechanisms.word import _sensitivity
from discreet.mechanisms.word._sensitivity import (
    clipped,
    general,
    largest_distance,
    noise_scale,
    sensitivity_of,
)
from discreet.spaces.space import EmbeddingSpace
from small_spaces import clustered_space, random_space

NORMS = ("l1", "l2", "linf")


def slow(points: np.ndarray, norm: str) -> float:
    """All pairs, in extended precision."""
    v = points.astype(np.longdouble)
    gaps = np.abs(v[:, None, :] - v[None, :, :])
    table = {
        "l1": lambda: gaps.sum(axis=2),
        "l2": lambda: np.sqrt((gaps**2).sum(axis=2)),
        "linf": lambda: gaps.max(axis=2),
    }[norm]()
    return table.max()


def _points():
    rng = np.random.default_rng(3)
    yield "random", random_space(150).vectors
    yield "random, one dimension", random_space(100, dimension=1).vectors
    yield "clusters", clustered_space(150).vectors
    yield "clusters far from the origin", clustered_space(150).vectors + 1e6
    yield "clipped", clipped(random_space(150), 1.0)
    yield "32 bits", clipped(clustered_space(150), 0.7).astype(np.float32)
    yield "duplicates", np.repeat(random_space(40).vectors, 3, axis=0)
    yield "corners of a cube", rng.choice([-1.0, 1.0], (90, 6))
    yield "almost one point", 1.0 + 1e-15 * rng.integers(0, 4, (60, 5))
    yield "tiny", random_space(60).vectors * 1e-200
    yield "huge", random_space(60).vectors * 1e300


POINTS = dict(_points())


@pytest.mark.parametrize("numbers", [2**21, 700])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", POINTS)
def test_exact_is_the_slow_maximum_rounded_upwards(name, norm, numbers, monkeypatch):
    monkeypatch.setattr(_sensitivity, "_BLOCK_NUMBERS", numbers)  # many blocks, hence pruning
    found = largest_distance(POINTS[name], 1e308, norm)
    truth = slow(POINTS[name], norm)
    assert found.reason == "exact"
    if np.isfinite(found.value):
        assert truth <= found.value
        assert found.value <= truth * (1 + 1e-10) if name != "almost one point" else True
    else:
        assert truth > 1e308


def test_one_word_makes_the_difference():
    # The outlier of the clustered space is its last word: missing it would be seen.
    points = clustered_space(150).vectors
    for norm in NORMS:
        assert largest_distance(points[:-1], 1e9, norm).value < 0.9 * slow(points, norm)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", [n for n in POINTS if n != "huge"])
def test_bound_is_proven(name, norm, monkeypatch):
    monkeypatch.setattr(_sensitivity, "_MOST_WORK", {"l1": 0.0, "l2": 0.0})
    found = largest_distance(POINTS[name], 1e308, norm)
    truth = slow(POINTS[name], norm)
    assert found.reason == "bound"
    assert truth <= found.value <= 2.01 * np.sqrt(POINTS[name].shape[1]) * truth


def test_what_clipping_promises_is_never_exceeded():
    # A centre off the middle can give a bound above 2 * clip; then clipping is the better proof.
    space = random_space(80, dimension=40)
    for clip in (0.5, 2.0):
        points = clipped(space, clip)
        for norm in NORMS:
            found = largest_distance(points, clip, norm)
            assert slow(points, norm) <= found.value <= general(40, clip, norm).value
    assert general(9, 2.0, "l1").value == pytest.approx(12.0)
    assert general(9, 2.0, "l2").value == pytest.approx(4.0)
    assert general(9, 2.0, "linf").value == pytest.approx(4.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("clip", [1e-3, 1.0, 2.5, 1e30, 1e-35])
def test_no_clipped_norm_is_above_the_clip_and_short_vectors_stay(dtype, clip):
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((500, 7)) * 10.0 ** rng.integers(-6, 7, (500, 1))
    vectors[0] = 0.0
    vectors[1] = np.array(1.0 / np.sqrt(7.0)) * clip if clip < 1e20 else 0.0
    space = EmbeddingSpace.from_arrays(map(str, range(500)), vectors.astype(dtype))
    points = clipped(space, clip).astype(np.longdouble)
    before = space.vectors.astype(np.longdouble)
    norms = np.sqrt((before**2).sum(axis=1))
    assert (np.sqrt((points**2).sum(axis=1)) <= clip).all()
    short = norms < 0.999 * clip
    assert (points[short] == before[short]).all()
    expected = before[~short] * (clip / norms[~short])[:, None]
    assert np.abs(points[~short] - expected).max(initial=0.0) <= 4e-6 * clip


def test_clipping_survives_the_ends_of_the_range():
    vectors = np.array([[1e308, -1e308], [1e-320, 0.0], [0.0, 0.0], [3e-162, 4e-162]])
    # Not from_arrays, which refuses numbers as large as these.
    points = clipped(EmbeddingSpace(tuple("abcd"), vectors, "given"), 1.0)
    assert np.allclose(points[0], [np.sqrt(0.5), -np.sqrt(0.5)])
    assert (points[1:] == vectors[1:]).all()


def _ask(space, clip=1.0, norm="l1", choice="exact"):
    return sensitivity_of(space, clipped(space, clip), clip, norm, choice=choice, owner="Laplace")


def test_words_at_one_point_are_an_error():
    space = EmbeddingSpace.from_arrays(["a", "b"], [[3.0, 4.0], [6.0, 8.0]])
    assert _ask(space, clip=20.0).value == pytest.approx(7.0)
    same = EmbeddingSpace.from_arrays(["a", "b"], [[3.0, 4.0], [3.0, 4.0]])
    for norm in NORMS:
        with pytest.raises(InvalidValue, match="all words of custom have the same vector"):
            _ask(same, norm=norm)


def test_bad_choice_and_overflow():
    with pytest.raises(InvalidValue, match="sensitivity of Laplace must be one of exact, general"):
        _ask(random_space(), choice="best")
    with pytest.raises(InvalidValue, match="clip of Laplace is too large"):
        _ask(random_space(), clip=1.7e308, choice="general")
    with pytest.raises(InvalidValue, match="noise of Laplace is too large"):
        noise_scale(float("inf"), "Laplace")
    assert noise_scale(1.0, "Laplace") > 1.0


def test_large_spaces_are_remembered_by_their_fingerprint_and_clip(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    space = random_space(2048, dimension=3)
    calls = []
    search = largest_distance

    def counted(*arguments):
        calls.append(1)
        return search(*arguments)

    monkeypatch.setattr(_sensitivity, "largest_distance", counted)
    first = _ask(space)
    assert _ask(space) == first
    assert len(calls) == 1
    assert _ask(space, clip=2.0).value > first.value
    assert _ask(space, norm="l2").value < first.value
    assert len(calls) == 3
    moved = EmbeddingSpace.from_arrays(space.words, space.vectors * 0.1)
    assert _ask(moved).value < first.value
    assert len(calls) == 4

    files = sorted(tmp_path.rglob("*.json"))
    assert len(files) == 4
    for damage in ("", "[]", '{"space": 1}'):
        for path in files:
            path.write_text(damage)
        assert _ask(space) == first
    for path in files:
        values = json.loads(path.read_text())
        values.pop("sha256", None)
        path.write_text(sealed_json({**values, "space": "other"}))
    assert _ask(space) == first
    assert len(calls) == 8


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    space = random_space(2048, dimension=3)
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "kept"))
    kept = _ask(space)
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "taken"))
    assert _ask(space) == kept


def test_progress_ends_at_its_total_or_stops_early():
    seen = []
    points = random_space(3000, dimension=4).vectors
    for norm in ("l1", "l2"):
        largest_distance(points, 1e9, norm, lambda done, total: seen.append((done, total)))
    assert seen
    assert all(0 < done <= total for done, total in seen)
