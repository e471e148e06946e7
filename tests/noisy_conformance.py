"""What must hold for every mechanism that adds noise to a vector and releases the nearest word."""

import inspect

import numpy as np

from discreet.errors import InvalidValue
from discreet.mechanisms.word._noisy_nearest import NoisyNearest
from discreet.protocols import Mechanism
from discreet.spaces.neighbours import NearestWords
from discreet.statement import PrivacyStatement


def check_noisy(mechanism: NoisyNearest, seed: int) -> None:
    """Every promise that does not need the law of the released words; the space must be small."""
    space = mechanism.space
    count = len(space)
    rng = np.random.default_rng(seed)

    assert isinstance(mechanism, Mechanism)
    assert isinstance(mechanism.name, str)
    assert PrivacyStatement.from_json(mechanism.statement.to_json()) == mechanism.statement
    assert mechanism.points.shape[0] == count

    mixed = rng.integers(0, count, 3_000)
    out = mechanism.release(mixed, rng)
    assert out.shape == mixed.shape
    assert out.dtype == np.int64
    assert out.min() >= 0
    assert out.max() < count
    assert len(mechanism.release(mixed[:0], rng)) == 0
    assert len(mechanism.release([], rng)) == 0
    assert len(mechanism.release([count - 1], rng)) == 1

    again = [mechanism.release(mixed, np.random.default_rng(s)) for s in (7, 7, 8)]
    assert (again[0] == again[1]).all()
    assert (again[0] != again[2]).any() or (again[0] == mixed).mean() > 0.999

    assert_fresh_noise(mechanism, rng)
    assert_release_is_the_search_of_the_noisy_vectors(mechanism, mixed, seed)

    for bad in ([count], [-1], [0.5], [[0]], ["tea"]):
        try:
            mechanism.release(np.array(bad), rng)
        except InvalidValue:
            continue
        raise AssertionError(f"release took {bad}")


def assert_fresh_noise(mechanism: NoisyNearest, rng: np.random.Generator) -> None:
    """Every row its own noise, also the same word in one batch, and every batch new noise."""
    ids = np.arange(64) % len(mechanism.space)
    base = mechanism.points[ids].astype(np.float64)
    draws = np.concatenate([mechanism.noisy(ids, rng) - base for _ in range(2)])
    for column in draws.T:
        # One vector for all rows, or one number for all coordinates of a batch, would repeat.
        assert len(np.unique(column.round(12))) > 100, "rows share their noise"
    same = mechanism.noisy(np.zeros(64, dtype=np.int64), rng)
    assert len(np.unique(same, axis=0)) == 64, "the same word gets the same noise again"


def assert_release_is_the_search_of_the_noisy_vectors(
    mechanism: NoisyNearest, ids: np.ndarray, seed: int
) -> None:
    """The search is handed noisy vectors and nothing else, and it is the plain nearest point."""
    assert list(inspect.signature(NearestWords.search).parameters) == ["self", "vectors"]
    noisy = mechanism.noisy(ids, np.random.default_rng(seed))
    released = mechanism.release(ids, np.random.default_rng(seed))
    gaps = noisy[:, None, :] - mechanism.points[None, :, :].astype(np.float64)
    distances = np.linalg.norm(gaps, axis=2)
    chosen = distances[np.arange(len(ids)), released]
    assert (chosen <= distances.min(axis=1) * (1 + 1e-12)).all()
