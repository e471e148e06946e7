"""Slurs and vulgar words: read like any other, and never chosen to be said.

A public list; see the notice beside it for where it comes from.
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from discreet.text.function_words import are_among


@cache
def _listed() -> frozenset[str]:
    place = resources.files("discreet") / "data" / "unsaid.txt"
    return frozenset(place.read_text("utf-8").split())


def are_unsaid(words: Sequence[str]) -> NDArray[np.bool_]:
    """Which words of a vocabulary are on the list.

    >>> are_unsaid(["Tea", "bastards"]).tolist()
    [False, True]
    """
    return are_among(_listed(), words)
