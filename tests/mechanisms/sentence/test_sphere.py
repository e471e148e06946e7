"""Rows of unit vectors and the grid they are released on."""

import math

import numpy as np
import pytest

from angles import random_units
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import PlanarLaplace, Purkayastha, SphereGaussian, unit_rows
from discreet.mechanisms.sphere import GRID, angles_between, on_grid, on_sphere

MECHANISMS = [
    Purkayastha(dimension=4, epsilon=2.0),
    PlanarLaplace(dimension=4, epsilon=2.0),
    SphereGaussian(dimension=4, epsilon=2.0, delta=1e-5),
]
GOOD = [0.5, 0.5, 0.5, 0.5]
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)


@each
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([0.0, 0.0, 0.0, 0.0], "other than zero; row 1 "),
        ([math.nan, 0.5, 0.5, 0.5], "finite; row 1 "),
        ([math.inf, 0.5, 0.5, 0.5], "finite; row 1 "),
        ([3.0, 4.0, 0.0, 0.0], "of length 1 (use unit_rows); row 1 "),
        ([1e300, 1e300, 0.0, 0.0], "of length 1 (use unit_rows); row 1 "),
        ([1e-300, 0.0, 0.0, 0.0], "of length 1 (use unit_rows); row 1 "),
    ],
)
def test_bad_rows_are_refused_by_number_without_their_values(mechanism, row, words):
    with pytest.raises(InvalidValue) as error:
        mechanism.release([GOOD, row], np.random.default_rng(0))
    assert words in str(error.value)
    assert not any(f"{x:g}" in str(error.value).split("row")[0] for x in row if x > 2)


@each
@pytest.mark.parametrize(
    "vectors",
    [GOOD, [[1.0, 0.0, 0.0]], [[GOOD]], [["a", "b", "c", "d"]], [[1j, 0, 0, 0]], [[True] * 4]],
    ids=["flat", "narrow", "deep", "text", "complex", "boolean"],
)
def test_bad_shapes_are_refused(mechanism, vectors):
    with pytest.raises(InvalidValue):
        mechanism.release(vectors, np.random.default_rng(0))


@each
def test_row_numbers_count_through_blocks(mechanism):
    rows = np.tile(GOOD, (2**18 + 10, 1)).astype(np.float32)
    rows[2**18 + 5] = 0.0
    with pytest.raises(InvalidValue, match=f"row {2**18 + 5} "):
        mechanism.release(rows, np.random.default_rng(0))


@each
def test_rounded_inputs_and_no_inputs_are_taken(mechanism):
    rng = np.random.default_rng(0)
    for kind in (np.float64, np.float32, np.float16):
        assert mechanism.release(random_units(50, 4, 1).astype(kind), rng).shape == (50, 4)
    assert mechanism.release([[1, 0, 0, 0]], rng).shape == (1, 4)
    for nothing in ([], np.empty((0, 4))):
        assert mechanism.release(nothing, rng).shape == (0, 4)


@each
def test_released_rows_are_on_the_grid_and_nearly_of_length_one(mechanism):
    out = mechanism.release(random_units(5_000, 4, 2), np.random.default_rng(3))
    assert out.dtype == np.float32
    steps = out.astype(np.float64) / GRID
    assert (steps == np.rint(steps)).all()
    assert np.abs(np.linalg.norm(out.astype(np.float64), axis=1) - 1).max() < 2 * GRID


def test_zeros_carry_no_sign():
    rows = Purkayastha(dimension=4, epsilon=1e6).release(
        np.tile([1.0, 0, 0, 0], (2_000, 1)), np.random.default_rng(0)
    )
    zeros = rows[rows == 0]
    assert len(zeros) > 100
    assert not np.signbit(zeros).any()
    assert np.signbit(np.rint(np.array([-1e-9]) / GRID)).all()  # without the care, it would


@each
def test_every_row_and_every_batch_has_its_own_noise(mechanism):
    rng = np.random.default_rng(5)
    rows = np.tile(GOOD, (500, 1))
    both = np.concatenate([mechanism.release(rows, rng), mechanism.release(rows, rng)])
    assert len(np.unique(both, axis=0)) == 1_000
    # Noise shared by rows, with only its size fresh, would leave them in one plane.
    assert np.linalg.matrix_rank(both - both[0]) == 4


@each
def test_the_same_seed_repeats_and_another_does_not(mechanism):
    rows = random_units(20, 4, 6)
    first, again, other = (mechanism.release(rows, np.random.default_rng(s)) for s in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any(axis=1).all()


def test_unit_rows():
    rows = unit_rows([[3, 4], [1e-300, 0], [1e300, 1e300]])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    for bad in ([[0.0, 0.0]], [[math.nan, 1.0]], [1.0, 2.0], "text"):
        with pytest.raises(InvalidValue):
            unit_rows(bad)


def test_angles_are_precise_at_both_ends():
    start = np.array([[1.0, 0.0]] * 3)
    for angle in (1e-12, 1.0, math.pi - 1e-9):
        turned = np.array([[math.cos(angle), math.sin(angle)]] * 3)
        assert angles_between(start, turned) == pytest.approx([angle] * 3, rel=1e-12)


def test_scaling_back_to_the_sphere():
    rows = on_sphere(np.array([[3.0, 4.0], [0.0, 0.0], [1e200, 0.0], [1e-200, 0.0]]))
    assert np.allclose(rows, [[0.6, 0.8], [1, 0], [1, 0], [1, 0]])
    assert on_grid(np.array([1.0, 0.3])).tolist() == [1.0, round(0.3 / GRID) * GRID]
