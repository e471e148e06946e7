"""One draw for all places of a document that hold the same word."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Ids


def distinct(ids: NDArray[np.integer[Any]], starts: Ids) -> tuple[Ids, Ids, Ids]:
    """The different words of each document.

    Args:
        ids: Of the words of some documents, one after the other.
        starts: Where each document begins, and the end.

    Returns:
        the words, document by document; for each place, which of them it holds; and how many each
        document has.

    >>> [part.tolist() for part in distinct(np.array([7, 5, 7, 7]), np.array([0, 3, 4]))]
    [[5, 7, 7], [1, 0, 1, 2], [2, 1]]
    """
    documents = len(starts) - 1
    size = int(ids.max(initial=0)) + 1
    document = np.repeat(np.arange(documents), np.diff(starts))
    pairs, places = np.unique(document * size + ids, return_inverse=True)
    owner, words = np.divmod(pairs, size)
    return words, places.reshape(-1), np.bincount(owner, minlength=documents)
