"""Entities from a list: one a line, optionally followed by a tab and a category.

A mention is found whatever its case, spacing and possessive: wherever the key of some words of the
text is the key of an entry. The list is as sensitive as the text, so messages give its line numbers
and nothing of its content.
"""

import re
from collections.abc import Container, Sequence
from pathlib import Path

import numpy as np

from discreet.errors import InputError
from discreet.text.entities.found import Entity, entity_id, entity_key, is_category
from discreet.text.lines import numbered_lines

DEFAULT_CATEGORY = "misc"
_WORD = re.compile(r"\w+")
_LONGEST = 16
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Gazetteer:
    """A list of entities to look for.

    >>> listed = Gazetteer({"new york": "gpe", "o'brien": "person"})
    >>> [(e.start, e.end, e.category) for e in listed.find(["NEW  YORK's O'Brien"])[0]]
    [(0, 9, 'gpe'), (12, 19, 'person')]
    """

    name = "gazetteer"

    def __init__(self, entries: dict[str, str]) -> None:
        """Take entries: a key (see :func:`entity_key`) and its category."""
        self._entries = dict(entries)
        self.categories = frozenset(entries.values())
        self._numbers: dict[str, int] = {}  # of the words that occur in entries, from 1
        hashes: dict[int, set[int]] = {}
        for key in entries:
            words = _WORD.findall(key)
            numbers = [self._numbers.setdefault(word, len(self._numbers) + 1) for word in words]
            value = int(_rolled(np.array(numbers, np.uint64), len(numbers))[0])
            hashes.setdefault(len(numbers), set()).add(value)
        self._sorted = {
            size: np.sort(np.fromiter(values, np.uint64)) for size, values in hashes.items()
        }

    def __len__(self) -> int:
        """How many entities are listed."""
        return len(self._entries)

    def find(self, texts: Sequence[str]) -> list[list[Entity]]:
        """The entities of each text, by characters; overlapping ones all."""
        by_text: list[list[Entity]] = [[] for _ in texts]
        starts, ends, numbers, whose = self._words(texts)
        for size, listed in self._sorted.items():
            rolled = _rolled(numbers, size)
            places = np.minimum(np.searchsorted(listed, rolled), len(listed) - 1)
            # Equal hashes make a candidate, equal keys an entity: words alone say nothing of the
            # marks between them.
            for first in np.flatnonzero(listed[places] == rolled):
                text, last = int(whose[first]), first + size - 1
                if whose[last] != text:
                    continue
                start, end = int(starts[first]), int(ends[last])
                mention = texts[text][start:end]
                category = self._entries.get(entity_key(mention))
                if category is not None:
                    by_text[text].append(Entity(start, end, category, entity_id(mention)))
        return [sorted(entities) for entities in by_text]

    def _words(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Where the words of all texts are, which word of the list each is (0: none), whose."""
        matches = [list(_WORD.finditer(text)) for text in texts]
        flat = [match for text in matches for match in text]
        starts = np.fromiter((match.start() for match in flat), np.int64, len(flat))
        ends = np.fromiter((match.end() for match in flat), np.int64, len(flat))
        words = [match.group() for match in flat]
        number = {word: self._numbers.get(entity_key(word), 0) for word in set(words)}
        numbers = np.fromiter(map(number.__getitem__, words), np.uint64, len(flat))
        whose = np.repeat(np.arange(len(texts)), [len(text) for text in matches])
        return starts, ends, numbers, whose


def load_gazetteer(path: Path, categories: Container[str]) -> tuple[Gazetteer, int]:
    """A list from a file, and how many of its entries are of categories not chosen.

    Args:
        path: UTF-8 text, an entity a line; after a tab its category, else ``misc``. Blank lines are
            skipped.
        categories: those to look for.

    Raises:
        InputError: A line cannot be used; its number is named, never its content.
    """
    entries: dict[str, str] = {}
    left_out = 0
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        entry = _entry(line)
        if isinstance(entry, str):
            raise InputError(f"line {number} of {path} {entry}")
        key, category = entry
        if category not in categories:
            left_out += 1
        elif entries.setdefault(key, category) != category:
            raise InputError(
                f"line {number} of {path} gives an entity another category than a line before it; "
                "keep one of them"
            )
    if not entries:
        raise InputError(
            f"{path} lists no entity of the chosen categories; check the file and --categories"
        )
    return Gazetteer(entries), left_out


def _entry(line: str) -> tuple[str, str] | str:
    """The key and the category of a line, or what is wrong with it."""
    mention, *rest = line.split("\t")
    if len(rest) > 1:
        return "has more than one tab; write an entity, a tab and its category"
    words = _WORD.findall(entity_key(mention))
    if not any(character.isalnum() for word in words for character in word):
        return "names no entity; it needs a letter or a digit"
    if len(words) > _LONGEST:
        return f"has more than {_LONGEST} words; list the entity by a shorter name"
    category = rest[0].strip().lower() if rest else DEFAULT_CATEGORY
    if not is_category(category):
        return "has a category that is not a short name in lower case; correct it"
    return entity_key(mention), category


def _rolled(numbers: np.ndarray, size: int) -> np.ndarray:
    """A hash of every ``size`` neighbours; that of fewer words than that is none."""
    count = max(0, len(numbers) - size + 1)
    rolled = np.zeros(count, np.uint64)
    with np.errstate(over="ignore"):
        for offset in range(size):
            rolled = (rolled ^ numbers[offset : offset + count]) * _MIX
            rolled ^= rolled >> np.uint64(29)
    return rolled
