"""One draw for all places of a document that hold the same word."""

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Generator, Ids
from discreet.protocols import IntArray, WordMechanism, release_texts


def release_once(
    mechanism: WordMechanism,
    ids: IntArray,
    rng: Generator,
    starts: Ids,
    passed: NDArray[np.bool_] | None = None,
    capitals: NDArray[np.bool_] | None = None,
) -> tuple[Ids, Ids]:
    """Release the words of some documents, equal ones of a document as one.

    Args:
        mechanism: one that draws each word for itself.
        ids: of all documents, end to end.
        rng: where the noise comes from.
        starts: where each document begins, and the end.
        passed: words that are public and come out as they are.
        capitals: words that begin with a capital, where that is public: one word for all its places
            does where it does in most of them.

    Returns:
        what is released, and how many draws each document took.
    """
    drawn = np.ones(len(ids), np.bool_) if passed is None else ~passed
    words, places, counts = distinct(ids[drawn], starts_among(drawn, starts))
    often = None
    if capitals is not None:
        often = np.bincount(places, capitals[drawn] - 0.5, len(words)) > 0
    out = ids.astype(np.int64)
    alone = np.arange(len(words) + 1)
    out[drawn] = release_texts(mechanism, words, rng, alone, capitals=often)[places]
    return out, counts


def draws_of(starts: Ids, passed: NDArray[np.bool_] | None) -> Ids:
    """Draws of each document where every word that is not public is one."""
    return np.diff(starts if passed is None else starts_among(~passed, starts))


def starts_among(chosen: NDArray[np.bool_], starts: Ids) -> Ids:
    """Where documents begin among the chosen ones of their words.

    >>> starts_among(np.array([True, False, True]), np.array([0, 2, 3])).tolist()
    [0, 1, 2]
    """
    before: Ids = np.append(0, np.cumsum(chosen))
    return before[starts]


def distinct(ids: IntArray, starts: Ids) -> tuple[Ids, Ids, Ids]:
    """The different words of each document.

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
