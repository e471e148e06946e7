"""Identifiers that a release still shows as they were: the attacker who only reads."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.text.identifiers.finder import Finder, RuleFinder


def survivors(
    originals: Sequence[str], released: Sequence[str], finder: Finder | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each text how many identifiers stand in its release verbatim, and how many it had.

    Capitals, and spaces around marks, make no difference. What the finder misses is not counted.

    >>> texts = ["call 555 123 4567 or write to ann@b.example", "nothing here"]
    >>> shown, had = survivors(texts, ["ring 555 123 4567 or go", "much there"])
    >>> shown.tolist(), had.tolist()
    ([1, 0], [2, 0])
    """
    if len(originals) != len(released):
        raise InvalidValue("identifiers are looked for in one release of each text")
    spans = (finder or RuleFinder()).find(originals)
    shown, had = [], []
    for text, after, found in zip(originals, released, spans, strict=True):
        seen = f" {_plain(after)} "
        parts = [_plain(text[span.start : span.end]) for span in found]
        parts = [part for part in parts if part]
        shown.append(sum(f" {part} " in seen for part in parts))
        had.append(len(parts))
    return np.array(shown, np.int64), np.array(had, np.int64)


def _plain(text: str) -> str:
    """Letters and digits only, in lower case, in single spaces."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
