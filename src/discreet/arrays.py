"""Names for the arrays that pass between rooms, and ways to go through long or ragged ones."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ids = NDArray[np.int64]
"""Numbers of words, rows, classes or places."""
Rows = NDArray[np.floating[Any]]
"""Rows of numbers in whatever precision they came."""
Generator = np.random.Generator
Progress = Callable[[int, int], None]
"""Called with (done, total) while something long is under way."""


def ragged_places(starts: Ids, counts: Ids) -> tuple[Ids, Ids]:
    """Places of several runs end to end, and for each the number of its run.

    >>> places, run = ragged_places(np.array([5, 0]), np.array([2, 1]))
    >>> places.tolist(), run.tolist()
    ([5, 6, 0], [0, 0, 1])
    """
    run = np.repeat(np.arange(len(counts)), counts)
    return np.arange(len(run)) + (starts - np.cumsum(counts) + counts)[run], run


def row_blocks(
    count: int, width: int = 1, numbers: int = 2**19, progress: Progress | None = None
) -> Iterator[slice]:
    """Slices that cover ``count`` rows of ``width`` numbers, about so many numbers each.

    >>> list(row_blocks(5, 10, numbers=20))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, numbers // max(1, width))
    for start in range(0, count, step):
        part = slice(start, min(start + step, count))
        yield part
        if progress is not None:
            progress(part.stop, count)


def row_norms(rows: Floats) -> Floats:
    """The Euclidean norm of each row.

    >>> row_norms(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [5.0, 0.0]
    """
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def offsets_of(lengths: Any) -> Ids:
    """Where each ragged row starts, and where the last one ends.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.append(0, np.cumsum(lengths, dtype=np.int64))


def ragged_blocks(offsets: Ids, size: int, most: int | None = None) -> Iterator[tuple[int, int]]:
    """Ranges of ragged rows of about ``size`` entries in all, at least one row and at most some.

    >>> list(ragged_blocks(np.array([0, 2, 4, 9, 10]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    first, rows = 0, len(offsets) - 1
    while first < rows:
        last = int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1
        last = min(max(last, first + 1), first + (most or rows), rows)
        yield first, last
        first = last
