"""How likely each word of a space is before anything is seen: public knowledge of the space."""

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.spaces.space import EmbeddingSpace

# Mandelbrot's shift: the frequency of the word of rank r is about 1 / (r + 2.7).
_SHIFT = 2.7


def rank_prior(space: EmbeddingSpace, spared: NDArray[np.bool_] | None = None) -> Floats:
    """Public knowledge of the space alone: Zipf's law on the ranks of its frequencies.

    Spaces list frequencies on any increasing scale, often ranks only; the order is all that is
    used. Without frequencies every word is equally likely.

    Args:
        space: public words.
        spared: which of them pass unchanged: what is replaced is none of these.

    >>> space = EmbeddingSpace.from_arrays(["a", "b"], [[0.0], [1.0]], frequencies=[1, 5])
    >>> rank_prior(space).round(3).tolist()
    [0.44, 0.56]
    """
    if spared is not None and not spared.all():
        shares = np.where(spared, 0.0, rank_prior(space))
        return np.asarray(shares / shares.sum())
    if space.frequencies is None:
        return np.full(len(space), 1 / len(space))
    _, group, counts = np.unique(-space.frequencies, return_inverse=True, return_counts=True)
    # Words of equal frequency share the middle of the ranks that they take up.
    middle = np.cumsum(counts) - (counts + 1) / 2
    weights = 1 / (middle[group] + 1 + _SHIFT)
    return np.asarray(weights / weights.sum())
