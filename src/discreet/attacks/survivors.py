"""Identifiers that a release still shows as they were: the attacker who only reads."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.text.identifiers.finder import RuleFinder


def identifiers_in(texts: Sequence[str]) -> list[list[str]]:
    """The identifiers of each text that rules find, in plain letters and digits.

    >>> identifiers_in(["Write to Ann@b.example"])
    [['ann b example']]
    """
    plain = [
        [_plain(text[span.start : span.end]) for span in spans]
        for text, spans in zip(texts, RuleFinder().find(texts), strict=True)
    ]
    return [[part for part in parts if part] for parts in plain]


def survivors(
    originals: Sequence[str],
    released: Sequence[str],
    identifiers: Sequence[Sequence[str]] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each text how many identifiers stand in its release verbatim, and how many it had.

    Capitals, and spaces around marks, make no difference. What the rules miss is not counted.

    Args:
        originals: The texts.
        released: What became of each.
        identifiers: Of each text, as :func:`identifiers_in` finds them; found now unless given.

    >>> texts = ["call 555 123 4567 or write to ann@b.example", "nothing here"]
    >>> shown, had = survivors(texts, ["ring 555 123 4567 or go", "much there"])
    >>> shown.tolist(), had.tolist()
    ([1, 0], [2, 0])
    """
    if len(originals) != len(released):
        raise InvalidValue("identifiers are looked for in one release of each text")
    wanted = identifiers_in(originals) if identifiers is None else identifiers
    shown, had = [], []
    for parts, after in zip(wanted, released, strict=True):
        seen = f" {_plain(after)} " if parts else ""
        shown.append(sum(f" {part} " in seen for part in parts))
        had.append(len(parts))
    return np.array(shown, np.int64), np.array(had, np.int64)


def _plain(text: str) -> str:
    """Letters and digits only, in lower case, in single spaces."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
