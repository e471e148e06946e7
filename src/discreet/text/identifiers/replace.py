"""Identifiers cut out of texts, and surrogates written in their place.

A text becomes segments with an identifier between each two. The segments go through a layout and a
word mechanism like any text; the surrogates are made without them, and both are put together.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Generator, Ids, offsets_of
from discreet.errors import InvalidValue
from discreet.text.identifiers.consistency import Consistency
from discreet.text.identifiers.finder import Finder, finder_of
from discreet.text.identifiers.mapping import SurrogateMapping
from discreet.text.identifiers.surrogates import WORDS, Surrogates

_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Cut:
    """Texts without their identifiers.

    Attributes:
        segments: What stands before, between and after the identifiers of each text, one text
            after the other.
        bounds: Where the segments of each text begin, and the end.
        surrogates: What is written between the segments, in order.
        types: Of the identifiers, in order.
    """

    segments: list[str] = field(repr=False)
    bounds: Ids = field(repr=False)
    surrogates: list[str] = field(repr=False)
    types: list[str]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many identifiers of each type were found."""
        return Counter(self.types)

    def joined(self, segments: Sequence[str], separator: str) -> list[str]:
        """The texts from what became of their segments, with the surrogates between.

        Args:
            segments: One for each segment.
            separator: What stands around a surrogate that has text beside it. With none, a space
                comes in only where two words would merge into one.
        """
        made = iter(self.surrogates)
        texts = []
        for first, last in zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True):
            parts = [segments[first]]
            for segment in segments[first + 1 : last]:
                parts += [next(made), segment]
            if separator:
                texts.append(separator.join(filter(None, parts)))
            else:
                texts.append(side_by_side(parts) if len(parts) > 1 else parts[0])
        return texts


def side_by_side(parts: Sequence[str]) -> str:
    """Parts one after the other, with a space where two words would merge into one."""
    written = ""
    pieces = []
    for part in filter(None, parts):
        if written[-1:].isalnum() and part[0].isalnum():
            pieces.append(" ")
        pieces.append(part)
        written = part
    return "".join(pieces)


class Identifiers:
    """Finds identifiers and replaces each by a surrogate of its type.

    Args:
        finder: ``rules``, ``spacy`` or ``presidio`` (the last two, after a colon, with the name or
            path of a pipeline), or a finder of your own.
        consistent: ``none``: a draw for each identifier. ``document``: equal values of a document
            get one surrogate. ``key:`` and a path: equal values get one surrogate wherever that key
            is used.
        surrogates: what is written in their place; public formats and lists unless given.
        mapping: where to keep what was replaced, if it is to be put back; it is then as sensitive
            as the texts.

    >>> cut = Identifiers().cut(["Call 020 7946 0018 now"], np.random.default_rng(0))
    >>> cut.segments, dict(cut.counts)
    (['Call ', ' now'], {'phone': 1})
    """

    def __init__(
        self,
        finder: str | Finder = "rules",
        *,
        consistent: str = "none",
        surrogates: Surrogates | None = None,
        mapping: SurrogateMapping | None = None,
    ) -> None:
        # The key comes first: a mistake in a small file must not show only after a model is read.
        self._consistency = Consistency(consistent)
        self._finder = finder_of(finder) if isinstance(finder, str) else finder
        self._surrogates = surrogates or Surrogates()
        self._mapping = mapping
        self.made_with: tuple[str, str, Path | None] | None = None
        """Finder and consistency by name and a file of surrogates, if that is all it was made with.
        """
        listed = None if surrogates is None else surrogates.source
        if isinstance(finder, str) and (surrogates is None or listed) and mapping is None:
            self.made_with = finder, consistent, listed

    @property
    def is_secret(self) -> bool:
        """Whether it holds a key, or a mapping back."""
        return self._mapping is not None or self._consistency.name == "key"

    @property
    def public(self) -> tuple[str, ...]:
        """What is treated as public."""
        return (
            f"the number, types and places of the identifiers that {self._finder.name} found, "
            "which may depend on the words around them",
            "the lists and formats that surrogates are drawn from",
            *self._consistency.public,
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader of the statement must know."""
        return self._consistency.caveats

    @property
    def about(self) -> dict[str, Any]:
        """What a receipt says of it."""
        return {
            "finder": self._finder.name,
            "consistent": self._consistency.name,
            "lists": {kind: len(entries) for kind, entries in self._surrogates.listed.items()},
            "mapping_kept": self._mapping is not None,
        }

    def segments(self, texts: Sequence[str]) -> tuple[list[str], Ids]:
        """What is left without the identifiers, and where each text begins; nothing is drawn."""
        segments, _, _, documents = self._parts(texts)
        return segments, _bounds(documents, len(texts))

    def cut(self, texts: Sequence[str], rng: Generator) -> Cut:
        """Cut out what is found, and make the surrogates."""
        segments, kinds, values, documents = self._parts(texts)
        made = self._made(kinds, values, documents, rng)
        if self._mapping is not None:
            self._mapping.add(len(texts), zip(documents, made, values, strict=True))
        return Cut(segments, _bounds(documents, len(texts)), made, kinds)

    def _parts(self, texts: Sequence[str]) -> tuple[list[str], list[str], list[str], list[int]]:
        """Segments; and of each identifier the type, the value and the text it stands in."""
        if isinstance(texts, str):
            raise InvalidValue("texts must be a list of texts; got a single text")
        segments, kinds, values, documents = list[str](), list[str](), list[str](), list[int]()
        for document, (text, spans) in enumerate(zip(texts, self._finder.find(texts), strict=True)):
            end = 0
            for start, last, kind in spans:
                segments.append(text[end:start])
                kinds.append(kind)
                values.append(text[start:last])
                documents.append(document)
                end = last
            segments.append(text[end:])
        return segments, kinds, values, documents

    def _made(
        self, kinds: list[str], values: list[str], documents: list[int], rng: Generator
    ) -> list[str]:
        """A surrogate for each identifier; equal ones where they are to be consistent."""
        if not kinds:
            return []
        same = self._consistency.group
        keys = [same(i, *each) for i, each in enumerate(zip(documents, kinds, values, strict=True))]
        first: dict[tuple[object, ...], int] = {}
        for position, key in enumerate(keys):
            first.setdefault(key, position)
        members = list(first.values())
        kinds = [kinds[i] for i in members]
        if self._consistency.keyed:
            keyed = self._consistency.keyed_words
            rows = [keyed(k, values[i]) for k, i in zip(kinds, members, strict=True)]
            made = self._of_words(kinds, np.array(rows, np.uint64).reshape(-1, WORDS))
        else:
            made = self._drawn(kinds, [documents[i] for i in members], rng)
        by_key = dict(zip(first, made, strict=True))
        return [by_key[key] for key in keys]

    def _drawn(self, kinds: list[str], documents: list[int], rng: Generator) -> list[str]:
        """Random surrogates, different ones within a document as far as its types have enough.

        No value comes in here: whether a draw is repeated depends on the other draws alone.
        """
        made, taken, open_ = [""] * len(kinds), set[tuple[int, str]](), list(range(len(kinds)))
        for _ in range(_ROUNDS):
            words = rng.integers(0, 2**64, (len(open_), WORDS), np.uint64)
            drawn = self._of_words([kinds[i] for i in open_], words)
            again = []
            for i, surrogate in zip(open_, drawn, strict=True):
                made[i] = surrogate
                if (documents[i], surrogate) in taken:
                    again.append(i)
                taken.add((documents[i], surrogate))
            open_ = again
            if not open_:
                break
        return made

    def _of_words(self, kinds: list[str], words: Any) -> list[str]:
        made = [""] * len(kinds)
        places: dict[str, list[int]] = {}
        for place, kind in enumerate(kinds):
            places.setdefault(kind, []).append(place)
        for kind, some in places.items():
            drawn = self._surrogates.made(kind, words[some])
            for place, surrogate in zip(some, drawn, strict=True):
                made[place] = surrogate
        return made


def _bounds(documents: list[int], texts: int) -> Ids:
    """Where the segments of each text begin: one more than it has identifiers."""
    return offsets_of(np.bincount(np.array(documents, np.int64), minlength=texts) + 1)
