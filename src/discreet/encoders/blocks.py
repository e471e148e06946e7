"""Rows of many texts in blocks of one shape, each row where a product treats it as it always does.

A product of matrices adds up in an order that depends on its shape and on where a row stands (see
:mod:`discreet.encoders.encoder`), so rows of several texts cannot simply go through it together: a
vector would depend on its company. But the order depends on nothing else. In blocks of one fixed
shape there are therefore a few *kinds* of places, and two places of one kind give equal rows equal
results, to the last bit. Which places are of one kind is looked up on this machine, with numbers
made for it. Row r of a text then always goes to a place of the same kind, whoever stands beside it.

A block is as fast as the largest product, and a text that comes alone is not much slower for it.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats32, Ids, ragged_places

SIZE = 48
"""Rows of a block: a multiple of the tiles that matrix libraries cut a product into."""
_MOST_KINDS = 6
_TRIALS = 8


@dataclass(frozen=True)
class BlockPlaces:
    """The kinds of places in a block.

    Attributes:
        kinds: For each place of a block the number of its kind.

    >>> BlockPlaces(np.array([0, 0, 1, 1])).of_texts(np.array([3, 1])).tolist()
    [0, 2, 1, 4]
    """

    kinds: Ids

    def of_texts(self, lengths: Ids) -> Ids:
        """For every row of some texts, end to end, its place among all places of all blocks."""
        number, _ = ragged_places(np.zeros_like(lengths), lengths)
        wanted = self._cycle()[number % len(self.kinds)]
        places = np.empty(len(wanted), dtype=np.int64)
        for kind in range(int(self.kinds.max()) + 1):
            rows = np.flatnonzero(wanted == kind)
            there = np.flatnonzero(self.kinds == kind)
            block, within = np.divmod(np.arange(len(rows)), len(there))
            places[rows] = block * len(self.kinds) + there[within]
        return places

    def _cycle(self) -> Ids:
        """The kinds of the rows of a text: all of them by turns, so that blocks fill evenly."""
        counts = np.bincount(self.kinds)
        order = np.argsort(self.kinds, kind="stable")
        turn = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.kinds[order][
            np.argsort((turn + 0.5) / counts[self.kinds[order]], kind="stable")
        ]


@lru_cache(maxsize=8)
def block_places(
    shapes: frozenset[tuple[int, int]],
    product: Callable[[Floats32, Floats32], Floats32] = operator.matmul,
) -> BlockPlaces | None:
    """The kinds of places in products with matrices of these shapes, in a single thread.

    None where a block has so many kinds that nothing is gained: rows then stay with their text.
    ``product`` is what multiplies them.

    Equal rows go through products whose numbers have widely different sizes and cancel, so that any
    other order of adding them up shows in the result. The model's own numbers are not asked: they
    might be made to hide it.
    """
    rng = np.random.default_rng(0)
    numbers = _uneven(rng, max(inputs * outputs for inputs, outputs in shapes))
    results: list[list[bytes]] = [[] for _ in range(SIZE)]
    for inputs, outputs in sorted(shapes):
        matrix = numbers[: inputs * outputs].reshape(inputs, outputs)
        for _ in range(_TRIALS):
            rows = np.repeat(_uneven(rng, inputs)[None], SIZE, axis=0)
            for place, row in zip(results, product(rows, matrix), strict=True):
                place.append(row.tobytes())
    known: dict[bytes, int] = {}
    kinds = [known.setdefault(b"".join(place), len(known)) for place in results]
    return BlockPlaces(np.array(kinds)) if len(known) <= _MOST_KINDS else None


def _uneven(rng: np.random.Generator, count: int) -> Floats32:
    """Numbers of both signs and of sizes between 2^-8 and 2^8."""
    exponents = rng.integers(-8, 9, count, dtype=np.int32)
    return np.ldexp(rng.standard_normal(count, dtype=np.float32), exponents)
