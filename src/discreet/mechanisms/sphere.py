"""Rows of unit vectors, the angles between them, and the public grid that vectors come out on."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Floats, Rows, row_blocks
from discreet.errors import InvalidValue
from discreet.exact import lengths

GRID = 2.0**-20
# Covers vectors that were normalised in 16 bits; the direction is what is protected.
_TOLERANCE = 1e-3
_BLOCK_NUMBERS = 2**20


def unit_rows(vectors: ArrayLike) -> Floats:
    """Each row divided by its Euclidean norm; a row without a direction is an error.

    >>> unit_rows([[3.0, 4.0], [0.0, 1e-200]]).tolist()
    [[0.6, 0.8], [0.0, 1.0]]
    """
    return _normalised(_matrix(vectors, None, "vectors"), "vectors", 0)


def units_or_zeros(vectors: ArrayLike) -> Floats:
    """The same of rows that may be zero: those stay."""
    rows = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1.0))


def checked_units(vectors: ArrayLike, dimension: int, owner: str) -> Floats:
    """Unit rows of the right width, with their rounding removed; anything else is an error."""
    return _units(_matrix(vectors, dimension, f"vectors of {owner}"), owner, 0)


def checked_outputs(outputs: ArrayLike, units: Floats, owner: str) -> Floats:
    """A row of finite numbers for each unit row, of any length."""
    name = f"outputs of {owner}"
    rows: Floats = _matrix(outputs, units.shape[1], name).astype(np.float64)
    if len(rows) != len(units):
        raise InvalidValue(f"{name} must be as many as vectors, {len(units)}; got {len(rows)}")
    refuse(~np.isfinite(np.abs(rows).max(axis=1, initial=0.0)), name, "finite")
    return rows


def angles_released(vectors: ArrayLike, outputs: ArrayLike, dimension: int, owner: str) -> Floats:
    """The angle between each unit row and what was released for it; anything else is an error."""
    first = checked_units(vectors, dimension, owner)
    second = checked_units(checked_outputs(outputs, first, owner), dimension, owner)
    return angles_between(first, second)


def in_blocks(
    vectors: ArrayLike, dimension: int, owner: str, noisy: Callable[[Floats], Floats]
) -> NDArray[np.float32]:
    """``noisy`` of every block of unit rows, rounded to the public grid; memory is a block."""
    rows = _matrix(vectors, dimension, f"vectors of {owner}")
    out = np.empty(rows.shape, dtype=np.float32)
    for part in row_blocks(len(rows), dimension, _BLOCK_NUMBERS):
        out[part] = on_grid(noisy(_units(rows[part], owner, part.start)))
    return out


def on_grid(vectors: Floats) -> NDArray[np.float32]:
    """The nearest multiples of 2^-20, which 32 bits hold exactly.

    The low bits of a floating-point sum depend on both of its terms and can give the input away
    (Mironov 2012); so can the sign of a zero, which is why zero is added.

    >>> on_grid(np.array([0.5, -1e-9])).tolist()
    [0.5, 0.0]
    """
    return ((np.rint(vectors / GRID) + 0.0) * GRID).astype(np.float32)


def on_sphere(noisy: Floats) -> Floats:
    """Noisy rows scaled back to the unit sphere: a function of the noisy rows alone."""
    largest = np.abs(noisy).max(axis=1, initial=0.0)
    scaled = noisy / np.where(largest > 0, largest, 1.0)[:, None]
    scaled[largest == 0, 0] = 1.0  # has probability 0, and some direction must come out
    scaled /= np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    return scaled


def angles_between(first: Floats, second: Floats) -> Floats:
    """The angle of each pair of unit rows; precise also where the cosine is flat (0 and pi)."""
    apart = np.linalg.norm(first - second, axis=1)
    together = np.linalg.norm(first + second, axis=1)
    return np.asarray(2.0 * np.arctan2(apart, together))


def tangents(units: Floats, rng: np.random.Generator) -> Floats:
    """For each unit row a uniform unit vector at right angles to it."""
    if units.shape[1] == 2:
        sign = 1.0 - 2.0 * rng.integers(0, 2, len(units))
        return np.stack([-sign * units[:, 1], sign * units[:, 0]], axis=1)
    out = rng.standard_normal(units.shape)
    out -= np.einsum("ij,ij->i", out, units)[:, None] * units
    out /= np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
    return out


def turned(units: Floats, angles: Floats, rng: np.random.Generator) -> Floats:
    """Each unit row turned by its angle, in a uniform direction."""
    out = tangents(units, rng)
    out *= np.sin(angles)[:, None]
    out += np.cos(angles)[:, None] * units
    return out


def _matrix(vectors: ArrayLike, dimension: int | None, name: str) -> Rows:
    array = np.asarray(vectors)
    if array.size == 0 and array.ndim <= 2:
        width = array.shape[1] if array.ndim == 2 else dimension or 0
        array = np.empty((0, width))
    return number_rows(array, dimension, name)


def number_rows(vectors: ArrayLike, dimension: int | None, name: str) -> Rows:
    """Rows of numbers, of the right width if one is given; anything else is an error."""
    array = np.asarray(vectors)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise InvalidValue(
            f"{name} must be rows of numbers; got {array.ndim} dimensions of {array.dtype}"
        )
    if dimension is not None and array.shape[1] != dimension:
        raise InvalidValue(f"{name} must have {dimension} columns; got {array.shape[1]}")
    return array


def refuse(
    bad: NDArray[np.bool_], name: str, rule: str, *, first: int = 0, what: str = "row"
) -> None:
    """An error that names the place of the first that breaks a rule, if any does."""
    if bad.any():
        place = first + int(bad.argmax())
        raise InvalidValue(f"{name} must be {rule}; {what} {place} (counted from 0) is not")


def _units(rows: Rows, owner: str, first: int) -> Floats:
    name = f"vectors of {owner}"
    units = _normalised(rows, name, first)
    with np.errstate(over="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    refuse(np.abs(norms - 1.0) > _TOLERANCE, name, "of length 1 (use unit_rows)", first=first)
    return units


def _normalised(rows: Rows, name: str, first: int) -> Floats:
    units: Floats = rows.astype(np.float64)
    largest = np.abs(units).max(axis=1, initial=0.0)
    refuse(~np.isfinite(largest), name, "finite", first=first)
    refuse(largest == 0, name, "other than zero", first=first)
    # Dividing by the largest entry first keeps the squares in range.
    units /= largest[:, None]
    units /= lengths(units)[:, None]
    return units
