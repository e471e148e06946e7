"""Words as numbers for a language model, from a public list only.

A vocabulary counted on the protected text would tell which words occur in it. So the list is
given: the words of a space, or a file.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from discreet.errors import InputError, InvalidValue, read_as

BOUNDARY, UNKNOWN = "<s>", "<unk>"


class Vocabulary:
    """A public list of words; the boundary of sentences is number 0, an unknown word is number 1.

    Args:
        words: each once; those that stand for unknown words in other lists are left out.

    >>> words = Vocabulary(["tea", "the"])
    >>> words.encode(["The", "tea", "Zanzibar"])
    [3, 2, 1]
    """

    boundary = 0
    unknown = 1

    def __init__(self, words: Iterable[str]) -> None:
        kept = [word for word in words if word not in (BOUNDARY, UNKNOWN, "[UNK]", "<UNK>")]
        self.words = (BOUNDARY, UNKNOWN, *kept)
        self._numbers = {word: number for number, word in enumerate(self.words)}
        if len(self._numbers) != len(self.words):
            raise InvalidValue("each word of a vocabulary must occur once")
        if not kept:
            raise InvalidValue("a vocabulary needs at least 1 word")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def fingerprint(self) -> str:
        """Of the words in their order."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()[:16]

    def encode(self, words: Sequence[str]) -> list[int]:
        """The number of each word, as it is or in lower case."""
        find, unknown = self._numbers.get, self.unknown
        return [find(word, find(word.lower(), unknown)) for word in words]


def read_vocabulary(path: Path) -> Vocabulary:
    """A vocabulary from a file: UTF-8, a word a line."""
    with read_as(f"{path} cannot be read as a list of words in UTF-8"):
        lines = path.read_text("utf-8").splitlines()
    words = [line.strip() for line in lines]
    for number, word in enumerate(words, 1):
        if not word or any(c.isspace() for c in word):
            raise InputError(f"line {number} of {path} must be one word")
    return Vocabulary(words)
