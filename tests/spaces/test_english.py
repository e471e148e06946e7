"""The larger space that ships: what is in it, and that near words can stand for each other.

Distances are of whole numbers (the vectors in steps of 1/256), so no rounding decides anything.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from discreet.spaces import load_space
from discreet.spaces.space import EmbeddingSpace

FILE = Path(__file__).parent.parent.parent / "src" / "discreet" / "data" / "english.safetensors"


@pytest.fixture(scope="module")
def english() -> EmbeddingSpace:
    return load_space("english")


@cache
def steps() -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    return np.rint(load_space("english").vectors * 256).astype(np.int64)


def near(space: EmbeddingSpace, word: str, count: int) -> list[str]:
    """The nearest words, the word itself and [UNK] left out; the lower index first among equals."""
    gaps = steps() - steps()[space.id_of(word)]
    distances = (gaps * gaps).sum(axis=1)
    distances[[space.id_of(word), space.id_of("[UNK]")]] = distances.max() + 1
    return [space.words[i] for i in np.argsort(distances, kind="stable")[:count]]
