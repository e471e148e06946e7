"""A public index of each word's nearest neighbours, built once per space.

It depends on the space alone: not on epsilon and not on any text. It is built for the whole
vocabulary or not at all, because an index of just the words that occurred would give them away.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Progress, row_blocks
from discreet.files import SealedFiles, cache_directory
from discreet.parallel import ahead
from discreet.spaces.distances import Distances
from discreet.spaces.space import EmbeddingSpace

DEFAULT_NEIGHBORS = 128


@dataclass(frozen=True)
class NeighborIndex:
    """For each word the nearest words, with lower bounds of their distances in rising order."""

    neighbors: NDArray[np.int32]
    lower: NDArray[np.float32]
    """Every word that is not listed is at least as far as the last bound of the row."""

    @property
    def size(self) -> int:
        """How many neighbours are kept for each word, itself included."""
        return int(self.neighbors.shape[1])


def build_index(
    space: EmbeddingSpace, size: int = DEFAULT_NEIGHBORS, progress: Progress | None = None
) -> NeighborIndex:
    """Find the ``size`` nearest words of every word, exactly."""
    distances = Distances(space)
    count = len(space)
    size = min(size, count)
    neighbors = np.empty((count, size), dtype=np.int32)
    lower = np.empty((count, size), dtype=np.float32)

    def keep_nearest(rows: slice) -> int:
        table = distances.lower_squared(np.arange(rows.start, rows.stop))
        nearest = np.argpartition(table, size - 1, axis=1)[:, :size]
        squared = np.take_along_axis(table, nearest, axis=1)
        order = np.argsort(squared, axis=1)
        neighbors[rows] = np.take_along_axis(nearest, order, axis=1)
        lower[rows] = np.sqrt(np.maximum(np.take_along_axis(squared, order, axis=1), 0.0))
        return int(rows.stop)

    for done in ahead(keep_nearest, row_blocks(count, count // 8)):
        if progress:
            progress(done, count)
    return NeighborIndex(neighbors, lower)


def cached_index(space: EmbeddingSpace) -> NeighborIndex | None:
    """The index of this space if it was built before, mapped into memory."""
    files = _files(space)
    # A damaged index would change the law, so what cannot be verified is not used.
    if not files.intact:
        return None
    neighbors, lower = (np.load(path, mmap_mode="r") for path in files.paths)
    return NeighborIndex(neighbors, lower)


def store_index(space: EmbeddingSpace, index: NeighborIndex) -> None:
    """Keep an index for later runs."""
    write_arrays(_files(space), index.neighbors, index.lower)


def write_arrays(files: SealedFiles, *arrays: NDArray[Any]) -> None:
    """Keep an array in each of some files."""
    with files.written() as paths:
        for path, array in zip(paths, arrays, strict=True):
            with path.open("wb") as file:
                np.save(file, array)


def _files(space: EmbeddingSpace) -> SealedFiles:
    base = cache_directory() / "indices" / space.fingerprint
    return SealedFiles(base, (".neighbors.npy", ".lower.npy"))
