"""Small public worlds for relational tests: a space, an encoder of letters, deaf mechanisms."""

from copy import copy
from inspect import signature

import numpy as np

from discreet.encoders.encoder import Encoder
from discreet.spaces.space import EmbeddingSpace

WORDS = (
    "[UNK]", "tea", "cup", "Paris", "London", "call", "now", "don't", "7", "NATO", "McTea", "qi"
)  # fmt: skip


def cased_space() -> EmbeddingSpace:
    """Twelve words, some with capitals, one with an apostrophe, one number."""
    vectors = np.random.default_rng(5).standard_normal((len(WORDS), 3))
    return EmbeddingSpace.from_arrays(WORDS, vectors, "test: cased", name="cased")


_LISTED = 1009


class _Letters:
    """How often five letters occur, and 1: texts of the same letters have the same vector."""

    def encode(self, texts):
        return np.array([[t.count(c) for c in "aeion"] + [1.0] for t in texts], dtype=np.float32)


LETTERS = Encoder("letters", "ab" * 32, 6, "a test", _Letters())


def deaf(mechanism, values, rows=_LISTED):
    """A copy of a mechanism that releases the same rows in the same order for whatever it is given.

    They come from a list made beforehand, so that it does not matter in how many calls they are
    asked for.

    Args:
        mechanism: of any family.
        values: an input of it, from which the list is made.
        rows: how long the list is; one row is the same whatever is drawn first.
    """
    copied = copy(mechanism)
    for name in ("release", "select"):
        if hasattr(mechanism, name):
            object.__setattr__(copied, name, _listed(getattr(mechanism, name), values, rows))
    return copied


def _listed(release, values, rows):
    some, rng = np.repeat(np.asarray(values), 2 * rows, axis=0), np.random.default_rng(0)
    listed = release(some, rng, *_offsets(release, rows))
    place = 0

    def same(values, _rng, offsets=None):
        nonlocal place
        count = len(values) if offsets is None else len(offsets) - 1
        place += count
        return listed[np.arange(place - count, place) % rows]

    return same


def _offsets(release, rows):
    """Documents of two sentences, if it is of documents."""
    documents = "offsets" in signature(release).parameters
    return [np.arange(rows + 1) * 2] if documents else []
