"""How released tokens become text again: plain tokens, or in the shape of the input.

A layout decides what of a text is protected, so it names what it treats as public. When it writes,
it sees only those public parts and the released ids.
"""

import re
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Ids, offsets_of
from discreet.errors import InvalidValue
from discreet.text.chunk_table import ChunkTable, Ints, concatenate, string_array
from discreet.text.tokens import (
    INNER_MARKS,
    TokenBatch,
    Tokenizer,
    bare_words,
    character_class,
    characters,
    checked_ids,
    refuse_unknown,
    word_patterns,
)

ALWAYS_PUBLIC = ("the vocabulary and its vectors", "the number of tokens of each document")

AS_RELEASED, LOWER, TITLE, UPPER = range(4)
_GLUE = -1  # between two tokens of one word: nothing before a continuation, else a space
_WORD = -2  # a word in capitals pattern p is written _WORD - p


class Layout(Protocol):
    """Text to tokens, and released tokens to text."""

    public: tuple[str, ...]
    """What the layout treats as public, in plain words."""

    def split(self, texts: Sequence[str]) -> TokenBatch:
        """The protected tokens of each text."""
        ...

    def join(self, texts: Sequence[str], offsets: ArrayLike, released: ArrayLike) -> list[str]:
        """The text of each document from its released ids and the public parts of its input."""
        ...


class TokensLayout:
    """Every visible character is protected; what comes out is tokens with single spaces."""

    public: tuple[str, ...] = ALWAYS_PUBLIC

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def split(self, texts: Sequence[str]) -> TokenBatch:
        """All tokens of each text."""
        return self.tokenizer.encode(texts)

    def join(self, texts: Sequence[str], offsets: ArrayLike, released: ArrayLike) -> list[str]:
        """The released tokens; of ``texts`` only their number is looked at."""
        documents = self.tokenizer.decode(released, offsets)
        if len(documents) != len(texts):
            raise InvalidValue(f"{len(texts)} texts cannot take {len(documents)} documents")
        return documents


@cache
def public_characters() -> tuple[str, ...]:
    """The characters that the public layout copies; everything else is protected.

    White space and separators (Z), punctuation (P), mathematical symbols (Sm) and the modifier
    symbols of Latin-1 (``^ ` ¨ ¯ ´ ¸``). Letters, marks, digits, currency signs (Sc), emoji and
    other pictures (So), skin tones (Sk), control, format and unassigned characters are protected.
    """
    latin_modifiers = [c for c in characters("Sk") if ord(c) < 0x100]
    space_controls = [c for c in characters("Cc") if c.isspace()]
    return tuple(sorted({*characters("Z", "P", "Sm"), *latin_modifiers, *space_controls}))


@cache
def _protected() -> re.Pattern[str]:
    """A word, or one other character that is not public, with the marks it carries.

    A punctuation mark with combining marks or a variation selector is a sign of its own (an emoji
    such as the keycap #), hence protected as well.
    """
    word, mark = word_patterns()
    public = character_class(public_characters())
    return re.compile(rf"({word}|[^{public}]{mark}*|(?!\s)[{public}]{mark}+)")


_MARKED = re.compile(f"[^{INNER_MARKS}]+[{INNER_MARKS}]")
_AT_MARKS = re.compile(f"([{INNER_MARKS}])")


class PublicLayout:
    """Keeps white space, punctuation and capitals of the input; only words are replaced.

    The public characters (:func:`public_characters`) are copied, not passed to the mechanism. A
    word that is one token with its apostrophe or hyphen ("don't") is replaced whole; otherwise the
    mark is copied and the parts are replaced. Points and commas inside a number are protected with
    it. Each replacement takes the capitals of the input word (lower, Title or UPPER; mixed and
    caseless words are written as released). Several tokens of one word are joined by the ``##``
    rule, else by a space.

    >>> from discreet.text.tokens import WordTokenizer
    >>> layout = PublicLayout(WordTokenizer(["<unk>", "tea", "cup"], unknown=0))
    >>> texts = ["Tea,  please!", "(TEA 1,000)"]
    >>> batch = layout.split(texts)
    >>> batch.ids.tolist()
    [1, 0, 1, 0]
    >>> layout.join(texts, batch.offsets, [2, 1, 2, 2])
    ['Cup,  tea!', '(CUP cup)']
    """

    public: tuple[str, ...] = (
        *ALWAYS_PUBLIC,
        "the number of tokens of each word",
        "white space, punctuation and capitals of each document",
    )

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._ids = ChunkTable(self._protected_ids)
        self._templates = ChunkTable(self._public_parts)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy in another process does not carry text along
        return type(self), (self.tokenizer,)

    def split(self, texts: Sequence[str]) -> TokenBatch:
        """The tokens of the protected words of each text."""
        return refuse_unknown(TokenBatch(*self._ids.gather(texts)))

    def join(self, texts: Sequence[str], offsets: ArrayLike, released: ArrayLike) -> list[str]:
        """Each text with its protected words replaced by the released tokens.

        Args:
            texts: what was given to :meth:`split`; only its public parts are used.
            offsets: those of the batch that :meth:`split` made.
            released: ids from the mechanism, one for each id of that batch.
        """
        size = len(self.tokenizer.words)
        numbers, bounds = checked_ids(released, offsets, size)
        template, ends = self._templates.gather(texts)
        places = np.flatnonzero(template <= _WORD)
        if not np.array_equal(np.searchsorted(places, ends), bounds):
            raise InvalidValue("offsets are not those that this layout gave for these texts")
        codes = template.astype(np.int64)
        codes[template >= 0] += 4 * size
        codes[places] = (_WORD - codes[places]) * size + numbers
        glue = np.flatnonzero(template == _GLUE)
        following = numbers[np.searchsorted(places, glue)]
        codes[glue] = 4 * size + np.where(self._continues[following], _NOTHING, _space())
        codes[ends[1:] - 1] = 4 * size + _NOTHING  # every chunk ends in a space, a text does not
        return concatenate(self._strings, codes, ends)

    def _units(self, chunks: Sequence[str]) -> list[list[str]]:
        """Each chunk as public, protected, public, ..., public; the public ones may be empty."""
        fields = [_protected().split(chunk) for chunk in chunks]
        marked = [unit for field in fields for unit in field[1::2] if _MARKED.match(unit)]
        _, counts = self.tokenizer.pieces(marked)
        divided = {unit for unit, n in zip(marked, counts.tolist(), strict=True) if n != 1}
        if not divided:
            return fields
        return [_divide(field, divided) for field in fields]

    def _protected_ids(self, chunks: Sequence[str]) -> tuple[Ints, Ids]:
        fields = self._units(chunks)
        numbers, counts = self.tokenizer.pieces([unit for field in fields for unit in field[1::2]])
        ends = offsets_of(counts)
        last_units = list(accumulate((len(field) // 2 for field in fields), initial=0))
        return numbers, np.diff(ends[last_units])

    def _public_parts(self, chunks: Sequence[str]) -> tuple[Ints, Ids]:
        """For each chunk the characters to copy and the places and capitals of its tokens."""
        fields = self._units(chunks)
        _, counts = self.tokenizer.pieces([unit for field in fields for unit in field[1::2]])
        remaining = iter(counts.tolist())
        codes, lengths, index = [], [], _public_index()
        for field in fields:
            row: list[int] = []
            for position, part in enumerate(field):
                if position % 2 == 0:
                    row += map(index.__getitem__, part)
                    continue
                tokens = next(remaining)
                if tokens and row and row[-1] <= _WORD:
                    row.append(_space())  # two words with nothing between them, such as emoji
                row += _places(capitals(part), tokens)
            row.append(_space())
            codes += row
            lengths.append(len(row))
        return np.array(codes, np.int32), np.array(lengths, np.int64)

    @cached_property
    def _continues(self) -> Any:
        bare = bare_words(self.tokenizer.words, self.tokenizer.subwords)
        pairs = zip(self.tokenizer.words, bare, strict=True)
        return np.fromiter((word is not other for word, other in pairs), np.bool_, len(bare))

    @cached_property
    def _strings(self) -> Any:
        """Every word in each pattern of capitals, then "" and the public characters."""
        bare = bare_words(self.tokenizer.words, self.tokenizer.subwords)
        lower, upper = [w.lower() for w in bare], [w.upper() for w in bare]
        title = [w[:1].upper() + w[1:] for w in lower]
        return string_array([*bare, *lower, *title, *upper, "", *public_characters()])


_NOTHING = 0


@cache
def _public_index() -> dict[str, int]:
    return {c: i for i, c in enumerate(public_characters(), start=1)}


def _space() -> int:
    return _public_index()[" "]


def _divide(field: list[str], divided: set[str]) -> list[str]:
    """The same alternation, with some words split at their inner marks, which become public."""
    parts: list[str] = []
    for position, part in enumerate(field):
        parts += _AT_MARKS.split(part) if position % 2 and part in divided else [part]
    return parts


def _places(pattern: int, tokens: int) -> list[int]:
    if not tokens:
        return []
    later = LOWER if pattern == TITLE else pattern
    return [_WORD - pattern] + [_GLUE, _WORD - later] * (tokens - 1)


def capitals(word: str) -> int:
    """The pattern of capitals of a word; a single capital letter ("I") counts as Title.

    >>> [capitals(word) for word in ("tea", "Tea", "TEA", "I", "McTea", "2024")]
    [1, 2, 3, 2, 0, 0]
    """
    if word.islower():
        return LOWER
    letters = "".join(filter(str.isalpha, word))
    if letters[:1].isupper() and (len(letters) == 1 or letters[1:].islower()):
        return TITLE
    return UPPER if word.isupper() else AS_RELEASED
