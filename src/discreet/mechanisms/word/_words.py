"""What the word mechanisms share: checking ids, and the wording of their statements."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidValue
from discreet.spaces.space import EmbeddingSpace

CALIBRATIONS = ("certified", "published")
SCOPE = "every word is replaced by a draw from the vocabulary, independent of the others"
PUBLIC = ("the vocabulary and its vectors", "the number of tokens of each document")


def checked_ids(ids: ArrayLike, space: EmbeddingSpace) -> NDArray[np.int64]:
    """A flat array of word ids of this space; anything else is an error that repeats no id."""
    array = np.asarray(ids)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidValue(
            f"word ids must be a flat array of whole numbers; got {array.ndim} dimensions "
            f"of {array.dtype}"
        )
    outside = (array < 0) | (array >= len(space))
    if outside.any():
        raise InvalidValue(
            f"word ids of {space.name} run from 0 to {len(space) - 1}; "
            f"{int(outside.sum())} of {array.size} are outside"
        )
    return array.astype(np.int64, copy=False)
