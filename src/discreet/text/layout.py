"""How released tokens become text again: plain tokens, or in the shape of the input.

A layout divides texts into what is protected, their tokens, and what it names as public, a
:class:`Template`. It writes from the template and the released ids; the texts are not at hand then.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Ids
from discreet.errors import InvalidValue
from discreet.text.chunk_table import ChunkTable, Ints, concatenate, string_array
from discreet.text.tokens import (
    INNER_MARKS,
    SPECIAL,
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

LOWER, TITLE, UPPER = range(3)
_PATTERNS = 3
_NOTHING = 0
_GLUE = -1  # between two tokens of one word: nothing before a continuation, else a space
_WORD = -2  # a token to be written in capitals pattern p is _WORD - p


@dataclass(frozen=True, eq=False, repr=False)
class Template:
    """What is public of some texts: all that a layout knows of them when it writes.

    Two lists of texts with equal templates are written alike, for equal released ids: bit for bit.

    Attributes:
        offsets: Where the tokens of each text begin, and their number at the end.
        codes: Of the public layout, what stands where: a public character, a token with its
            capitals, or the joint of two tokens of one word.
        ends: Where the codes of each text begin, and their number at the end.
    """

    offsets: Ids
    codes: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    ends: Ids = field(default_factory=lambda: np.zeros(1, np.int64))

    def __repr__(self) -> str:
        return f"Template({len(self.offsets) - 1} documents, {self.offsets[-1]} tokens)"

    @property
    def patterns(self) -> Ints | None:
        """The capitals of each token, if they are public: LOWER, TITLE or UPPER."""
        return _WORD - self.codes[self.codes <= _WORD] if len(self.codes) else None

    @property
    def capitals(self) -> NDArray[np.bool_] | None:
        """Which tokens begin with a capital, if that is public."""
        return None if self.patterns is None else self.patterns > LOWER

    def beside(self, marks: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which tokens have one of these public characters right before them, and right behind."""
        among, places = self._among(marks), np.flatnonzero(self.codes <= _WORD)
        # A text ends in a code that is no character, so that its neighbour is never looked at.
        return among[places - 1] & (places > 0), among[places + 1]

    def since(self, marks: str, apart: str = "") -> NDArray[np.bool_]:
        """Before which tokens one of these stands, with no other token in between.

        Args:
            marks: Public characters.
            apart: More of them, which count only with no token right beside them.
        """
        tokens = self.codes <= _WORD
        touched = np.append(tokens[1:], False) | np.append(False, tokens[:-1])
        counts = np.cumsum(self._among(marks) | self._among(apart) & ~touched)[tokens]
        return np.diff(counts, prepend=0) > 0

    def _among(self, marks: str) -> NDArray[np.bool_]:
        return np.isin(self.codes, [_public_index()[mark] for mark in marks])


class Layout(ABC):
    """Text to tokens, and released tokens to text."""

    public: tuple[str, ...]
    """What the layout treats as public, in plain words: what its templates hold."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    @abstractmethod
    def divided(self, texts: Sequence[str]) -> tuple[TokenBatch, Template]:
        """The protected tokens of the texts, and what is public of them."""

    @abstractmethod
    def write(self, template: Template, released: ArrayLike) -> list[str]:
        """The texts of a template with the released ids in the places of the protected ones."""

    def forget(self) -> None:
        """Keep nothing in memory of the texts that were seen."""
        self.tokenizer.forget()


class TokensLayout(Layout):
    """Every visible character is protected; what comes out is tokens with single spaces."""

    public = ALWAYS_PUBLIC

    def divided(self, texts: Sequence[str]) -> tuple[TokenBatch, Template]:
        """All tokens of each text, and their number."""
        batch = self.split(texts)
        return batch, Template(batch.offsets)

    def write(self, template: Template, released: ArrayLike) -> list[str]:
        """The released tokens with single spaces."""
        return self.tokenizer.decode(released, template.offsets)

    def split(self, texts: Sequence[str]) -> TokenBatch:
        """All tokens of each text."""
        return self.tokenizer.encode(texts)

    def join(self, texts: Sequence[str], offsets: ArrayLike, released: ArrayLike) -> list[str]:
        """Tokens as text, where they need not be as many as there were; texts are only counted."""
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


class PublicLayout(Layout):
    """Keeps white space, punctuation and capitals of the input; only words are replaced.

    The public characters (:func:`public_characters`) are copied, not passed to the mechanism;
    whatever else there is belongs to a word. A word that is one token with its apostrophe or hyphen
    ("don't") is replaced whole; otherwise its parts are words, and the mark between them is copied.
    Points and commas inside a number belong to it. Each replacement takes the capitals of the input
    word (:func:`capitals`), but for bracketed entries such as ``[UNK]``, which are written as they
    are. Several tokens of one word are joined by the ``##`` rule, else by a space.

    >>> from discreet.text.tokens import WordTokenizer
    >>> layout = PublicLayout(WordTokenizer(["<unk>", "tea", "cup"], unknown=0))
    >>> batch, template = layout.divided(["Tea,  please!", "(TEA 1,000)"])
    >>> batch.ids.tolist()
    [1, 0, 1, 0]
    >>> layout.write(template, [2, 1, 2, 2])
    ['Cup,  tea!', '(CUP cup)']
    """

    public = (
        *ALWAYS_PUBLIC,
        "the number of tokens of each word",
        "the white space and punctuation between words",
        "whether each word begins with a capital letter, and whether all its letters are capitals",
    )

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        self._table = ChunkTable(self._rows)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy in another process does not carry text along
        return type(self), (self.tokenizer,)

    def divided(self, texts: Sequence[str]) -> tuple[TokenBatch, Template]:
        """The tokens of the words of each text, and what is public around them."""
        codes, ends = self._table.gather(texts)
        places = np.flatnonzero(codes <= _WORD)
        tokens, patterns = np.divmod(_WORD - codes[places], _PATTERNS)
        offsets = np.searchsorted(places, ends)
        codes[places] = _WORD - patterns  # the protected half leaves the template here
        codes[ends[1:] - 1] = _NOTHING  # every chunk ends in a space, a text does not
        batch = refuse_unknown(TokenBatch(tokens - 1, offsets))
        return batch, Template(offsets, codes, ends)

    def write(self, template: Template, released: ArrayLike) -> list[str]:
        """Each text with its protected words replaced by the released tokens."""
        size = len(self.tokenizer.words)
        numbers, _ = checked_ids(released, template.offsets, size)
        codes = template.codes.astype(np.int64)
        places, glue = np.flatnonzero(codes <= _WORD), np.flatnonzero(codes == _GLUE)
        following = numbers[np.searchsorted(places, glue)]
        codes[glue] = np.where(self._continues[following], _NOTHING, _space())
        first = len(self._strings) - _PATTERNS * size
        codes[places] = first + (_WORD - codes[places]) * size + numbers
        return concatenate(self._strings, codes, template.ends)

    def forget(self) -> None:
        self._table.forget()

    def _units(self, chunks: Sequence[str]) -> list[list[str]]:
        """Each chunk as public, protected, public, ..., public; the public ones may be empty."""
        rows = [_protected().split(chunk) for chunk in chunks]
        marked = [unit for row in rows for unit in row[1::2] if _MARKED.match(unit)]
        _, counts = self.tokenizer.pieces(marked)
        divided = {unit for unit, n in zip(marked, counts.tolist(), strict=True) if n != 1}
        if not divided:
            return rows
        return [_divide(row, divided) for row in rows]

    def _rows(self, chunks: Sequence[str]) -> tuple[Ints, Ids]:
        """For each chunk the codes of a template, with the tokens still in them."""
        units = self._units(chunks)
        ids, counts = self.tokenizer.pieces([word for parts in units for word in parts[1::2]])
        tokens, sizes = iter(ids.tolist()), iter(counts.tolist())
        codes, lengths, index = [], [], _public_index()
        for parts in units:
            row: list[int] = []
            for position, part in enumerate(parts):
                if position % 2 == 0:
                    row += map(index.__getitem__, part)
                elif word := list(islice(tokens, next(sizes))):
                    if row and row[-1] <= _WORD:
                        row.append(_space())  # two words with nothing between them, such as emoji
                    row += _places(capitals(part), word)
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
        """What codes stand for: nothing, the public characters, every word in each pattern."""
        bare = bare_words(self.tokenizer.words, self.tokenizer.subwords)
        fixed = [SPECIAL.fullmatch(word) is not None for word in bare]
        forms = [
            word if as_it_is else written(word)
            for written in (str.lower, str.capitalize, str.upper)
            for word, as_it_is in zip(bare, fixed, strict=True)
        ]
        return string_array(["", *public_characters(), *forms])


@cache
def _public_index() -> dict[str, int]:
    return {c: i for i, c in enumerate(public_characters(), start=1)}


def _space() -> int:
    return _public_index()[" "]


def _divide(row: list[str], divided: set[str]) -> list[str]:
    """The same alternation, with some words split at their inner marks, which become public."""
    parts: list[str] = []
    for position, part in enumerate(row):
        parts += _AT_MARKS.split(part) if position % 2 and part in divided else [part]
    return parts


def _places(pattern: int, tokens: Sequence[int]) -> list[int]:
    """The codes of one word, each with its token; -1, the token of no id, is the first of all."""
    later = LOWER if pattern == TITLE else pattern
    row = [_WORD - pattern - _PATTERNS * (tokens[0] + 1)]
    for token in tokens[1:]:
        row += (_GLUE, _WORD - later - _PATTERNS * (token + 1))
    return row


def capitals(word: str) -> int:
    """The pattern of capitals of a word, by its letters that are either capital or small.

    Upper if there are at least two and all are capitals, Title if the first is one, Lower for all
    others. So numbers, emoji and scripts without capitals are as lower as any word of small
    letters: were they a class of their own, the output would tell a number from a word.

    >>> [capitals(word) for word in ("tea", "Tea", "TEA", "I", "McTea", "iTea", "2024")]
    [0, 1, 2, 1, 1, 0, 0]
    """
    letters = [c.istitle() for c in word if c.istitle() or c.islower()]
    if not any(letters[:1]):
        return LOWER
    return UPPER if len(letters) > 1 and all(letters) else TITLE
