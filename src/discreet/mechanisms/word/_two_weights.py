"""Two weights and nothing between: one draw of a whole number, exact to the last bit.

A word has ``near`` outputs of weight A, and every other output has weight B. All words have the
same number of near outputs, so they have the same total, and the odds of an output for two words
are A / B at most. Both are whole numbers, and ``A <= exp(epsilon) * B`` is shown in exact
arithmetic: no floating-point number has a part in what is drawn.
"""

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Generator, Ids

Places = NDArray[np.integer[Any]]
"""Rows of near places, each in rising order."""
MOST = 2**63 - 1
"""Weights add up to at most this: what one draw of a 64-bit whole number can tell apart."""
_DIGITS = 60
# exp(64) is more than any ratio of whole numbers up to MOST.
_LARGEST = 64.0


@lru_cache(maxsize=64)  # one epsilon is asked for with many numbers of near words
def exp_from_below(exponent: float) -> Fraction:
    """A number from 1 to ``exp(exponent)``, less than that by one part in 10**58 at most.

    Decimal arithmetic rounds the exponential correctly; one step down is below it for certain. The
    exponent is not negative, so 1 is never too much.

    >>> 0 <= math.e - float(exp_from_below(1.0)) < 1e-15
    True
    """
    context = Context(prec=_DIGITS)
    return max(Fraction(1), Fraction(context.next_minus(context.exp(Decimal(exponent)))))


def weights(epsilon: float, near: int, outputs: int) -> tuple[int, int]:
    """The weight of a near output and of any other: ``A <= exp(epsilon) * B``, as close as fits.

    Beyond ``ln(2**63 / near)`` or so the ratio is the largest that fits; the claim still holds, and
    every output keeps a chance.

    >>> near, far = weights(math.log(3), 2, 5)
    >>> round(near / far, 9)
    3.0
    """
    # In whole numbers, which are as exact as fractions and far faster.
    above, below = exp_from_below(min(epsilon, _LARGEST)).as_integer_ratio()
    other = max(1, MOST * below // (near * above + (outputs - near) * below))
    largest = (MOST - (outputs - near) * other) // near
    return min(above * other // below, largest), other


class TwoWeights:
    """The law over ``outputs`` places, ``near`` of which are near.

    Args:
        epsilon: loss allowed between any two words, above 0.
        near: how many places are near, at most ``outputs``.
        outputs: how many places there are.
    """

    def __init__(self, epsilon: float, near: int, outputs: int) -> None:
        self.near, self.outputs = near, outputs
        self.heavy, self.light = weights(epsilon, near, outputs)
        self.total = near * self.heavy + (outputs - near) * self.light

    @property
    def near_chance(self) -> float:
        """The probability that one of the near places comes out."""
        return self.near * self.heavy / self.total

    @property
    def log_chances(self) -> tuple[float, float]:
        """The logarithm of the probability of a near place, and of any other."""
        total = math.log(self.total)
        return math.log(self.heavy) - total, math.log(self.light) - total

    def draw(self, sets: Places, which: Ids, rng: Generator) -> Ids:
        """A place for each entry of ``which``, which says whose near places it has.

        Args:
            sets: ``(n, near)``, different places in rising order.
            which: rows of ``sets``.
            rng: where one whole number per draw comes from.
        """
        drawn = rng.integers(0, self.total, len(which), dtype=np.int64)
        rest = self.near * self.heavy
        out = sets[which, np.minimum(drawn // self.heavy, self.near - 1)].astype(np.int64)
        far = np.flatnonzero(drawn >= rest)
        places = (drawn[far] - rest) // self.light
        # The j-th place that is not near: each near place at or below pushes it on by one.
        for column in sets[which[far]].T:
            places += column <= places
        out[far] = places
        return out

    def log_probabilities(self, sets: Places) -> Floats:
        """``(n, outputs)``: the law of each row of near places."""
        high, low = self.log_chances
        table = np.full((len(sets), self.outputs), low)
        np.put_along_axis(table, sets.astype(np.int64), high, axis=1)
        return table
