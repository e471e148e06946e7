"""Arithmetic on rows of protected numbers in which each row counts by itself, to the last bit.

A floating-point product of matrices adds up in an order that depends on the shape of the batch, on
where a row stands in it, on threads, library and processor. Equal rows then get results that differ
in the last bit, a tie turns, and what replaces one sentence of a document moves others too. So does
a function of a library that rounds differently inside a register and at the end of an array.

For products a row (of 32-bit numbers) is first rounded to whole multiples of a power of two of its
own, so that its largest entry has b bits: the multiples are at most 2^b. Two such rows of d entries
with ``d * 2^(2b) <= 2^53`` have products whose absolute values add up to 2^53 at most. So have
those of any part of the entries: every partial sum, in whatever order, fused or not, is a whole
number that a 64-bit float holds exactly. Nothing is rounded, so the order cannot matter. Powers of
two are multiplied back exactly, as the exponents of 32-bit numbers leave 64-bit ones far from their
limits.

What remains is that vectors are seen at b bits of their largest entry, 22 for 384 dimensions, about
as finely as 32-bit arithmetic would. Each row is rounded by itself, so the rounding is as public as
the directions, and no vector is too large: beyond 32 bits an entry counts as the largest there is.

All else is made of sums, products, quotients and roots, in an order written down here. IEEE 754
rounds each of these by itself and in one way only, so that there is no room for a difference.
"""

import math

import numpy as np

from discreet.arrays import Floats, Rows, row_blocks

_EXACT = 53
_LARGEST = np.finfo(np.float32).max
# So many entries at a time stay in a processor's cache.
_ENTRIES = 2**17
# The series of the exponential up to here has no error that 64 bits would show.
_TERMS = 14


class ExactProducts:
    """The products of any rows with fixed public directions.

    Args:
        directions: ``(p, d)``, finite.

    >>> products = ExactProducts(np.array([[1.0, 2.0], [0.5, -1.0]]))
    >>> products.of(np.array([[3.0, 4.0], [1e300, 0.0]])).tolist()[0]
    [11.0, -2.5]
    """

    def __init__(self, directions: Rows) -> None:
        whole, self._scales = rounded(directions)
        self._directions = np.ascontiguousarray(whole.T)

    def of(self, rows: Rows) -> Floats:
        """``(n, p)``: finite, and bit for bit the same for a row in any batch anywhere."""
        out = np.empty((len(rows), len(self._scales)))
        for block in row_blocks(len(rows), len(self._directions), numbers=_ENTRIES):
            whole, scales = rounded(rows[block])
            part = np.matmul(whole, self._directions, out=out[block])
            part *= scales[:, None]
        out *= self._scales
        return out


def squared_lengths(rows: Rows) -> Floats:
    """``(n,)``: what the product of each row with itself is, as exactly."""
    whole, scales = rounded(rows)
    return np.asarray((whole * whole).sum(axis=1) * scales * scales)


def lengths(rows: Floats) -> Floats:
    """``(n,)``: Euclidean lengths; squares are folded in the middle until one is left."""
    squares = rows * rows
    while (width := squares.shape[1]) > 1:
        half = width // 2
        folded = squares[:, :half] + squares[:, half : 2 * half]
        if width % 2:
            folded[:, 0] += squares[:, -1]
        squares = folded
    return np.sqrt(squares[:, 0])


def tanh(numbers: Rows) -> Floats:
    """Hyperbolic tangents, right to about 1e-16.

    >>> tanh(np.array([-0.5, 0.0, 1e300])).round(6).tolist()
    [-0.462117, 0.0, 1.0]
    """
    exponent = np.minimum(np.abs(numbers.astype(np.float64)), 40.0) * -2.0
    halvings = np.rint(exponent / math.log(2))
    rest = exponent - halvings * math.log(2)
    series = np.ones_like(rest)
    for term in range(_TERMS, 0, -1):
        series *= rest
        series /= term
        series += 1.0
    power = np.ldexp(series, halvings.astype(np.int32))
    return np.copysign((1.0 - power) / (1.0 + power), numbers)


def rounded(rows: Rows) -> tuple[Floats, Floats]:
    """Whole numbers ``(n, d)``, at most 2^b, and the power of two ``(n,)`` each row counts in."""
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)
    np.clip(single, -_LARGEST, _LARGEST, out=single)
    bits = (_EXACT - single.shape[1].bit_length()) // 2
    _, exponents = np.frexp(np.maximum(single.max(axis=1), -single.min(axis=1)))
    whole = single * np.ldexp(1.0, bits - exponents)[:, None]
    return np.rint(whole, out=whole), np.ldexp(1.0, exponents - bits)
