"""Text to token ids and back: words for word vectors, WordPieces for an encoder's vocabulary.

Both tokenisers are fixed public functions of the text and the vocabulary. Every visible character
of the text either reaches the mechanism inside a token or is dropped: nothing is passed through.
A chunk (what stands between two spaces) is tokenised once and remembered, so that long texts cost
one look-up per chunk.
"""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Ids, ragged_places
from discreet.check import fail
from discreet.errors import InvalidValue
from discreet.text.chunk_table import ChunkTable, Ints, concatenate, string_array

CONTINUATION = "##"
INNER_MARKS = "'’‐‑-"
"""Apostrophes and hyphens, which may stand inside a word."""
ANY_NUMBER = ("20", "10", "100")
"""What a number is read as that a vocabulary does not have: the first of these that it has."""
_NUMBER = re.compile("[0-9]+(?:[.,][0-9]+)*")
SPECIAL = re.compile(r"[\[<]/?\w+[\]>]")
"""Entries that are no words, such as ``[UNK]``; text cannot reach them."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_PLAIN = str.maketrans("’‘ʼ‐‑–—“”„", "'''----\"\"\"")
_CONTRACTIONS = ("n't", "'s", "'re", "'ve", "'ll", "'d", "'m")
# Marks that make another letter or syllable rather than an accent: nukta, kana voicing, virama.
_NOT_ACCENTS = (0, 7, 8, 9)


@dataclass(frozen=True, eq=False, repr=False)
class TokenBatch:
    """The tokens of some documents, end to end; document ``i`` is ``ids[offsets[i]:offsets[i+1]]``.

    >>> TokenBatch(np.array([4, 1, 1], np.int32), np.array([0, 1, 1, 3]))
    TokenBatch(3 documents, 3 tokens)
    """

    ids: Ints
    offsets: Ids

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:  # ids are the protected text, so they are never shown
        return f"TokenBatch({len(self)} documents, {self.tokens} tokens)"

    @property
    def tokens(self) -> int:
        """Number of tokens of all documents together."""
        return int(self.offsets[-1])

    def places(self, documents: Ids) -> tuple[Ids, Ids]:
        """Where the tokens of some documents are, and for each the place of its document."""
        return ragged_places(self.offsets[documents], np.diff(self.offsets)[documents])

    def only(self, documents: Ids) -> "TokenBatch":
        """Some of the documents."""
        places, _ = self.places(documents)
        return TokenBatch(self.ids[places], np.r_[0, np.cumsum(np.diff(self.offsets)[documents])])

    def first(self, count: int) -> "TokenBatch":
        """The first documents."""
        return self.only(np.arange(min(count, len(self))))


@cache
def characters(*categories: str) -> tuple[str, ...]:
    """Characters of some Unicode categories, given by name or first letter.

    Planes 0 and 1 and the variation selectors only: whatever a later Unicode adds elsewhere counts
    as unknown, which is the safe side.
    """
    members = (of for name, of in _by_category().items() if name.startswith(categories))
    return tuple(sorted(chain.from_iterable(members)))


@cache
def _by_category() -> dict[str, list[str]]:
    """The characters of each category: looked at once, however many lists are made of them."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for c in map(chr, (*range(0x20000), *range(0xE0000, 0xE0200))):
        found[unicodedata.category(c)].append(c)
    return dict(found)


def character_class(members: Sequence[str]) -> str:
    """The inside of a regular expression's [...] for these characters, which must be sorted."""
    ranges: list[list[int]] = []
    for point in map(ord, members):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


@cache
def _invisible() -> re.Pattern[str]:
    hidden = [c for c in characters("Cc", "Cf") if not c.isspace()]
    return re.compile(f"[{character_class(hidden)}]")


@cache
def word_patterns() -> tuple[str, str]:
    """Regular expressions of a word and of a combining mark.

    A word is a run of letters, digits, combining marks and invisible characters (which the look-up
    ignores, so that a soft hyphen does not make two words of one). It may hold single apostrophes
    and hyphens, and points and commas between digits.
    """
    marks = character_class(characters("M"))
    run = rf"(?:[^\W_]|[{marks}]|{_invisible().pattern})++"
    inner = rf"(?:[{INNER_MARKS}]|(?<=\d)[.,](?=\d))"
    return rf"{run}(?:{inner}{run})*+", rf"[{marks}]"


@cache
def _signs() -> re.Pattern[str]:
    word, mark = word_patterns()
    return re.compile(rf"{word}|\S{mark}*")


def refuse_unknown(batch: TokenBatch) -> TokenBatch:
    """The batch, unless a token of it has no id; the error tells positions and counts only."""
    lost = np.flatnonzero(batch.ids < 0)
    if not len(lost):
        return batch
    document = int(np.searchsorted(batch.offsets, lost[0], side="right")) - 1
    number = int((lost < batch.offsets[document + 1]).sum())
    words = "1 word that is" if number == 1 else f"{number} words that are"
    raise InvalidValue(
        f"document {document} (counted from 0) holds {words} not in this space, which has no "
        "unknown token; make one with space.with_unknown()"
    )


def checked_ids(ids: ArrayLike, offsets: ArrayLike, words: int) -> tuple[Ints, Ids]:
    """Released ids and offsets as arrays, if they fit together and the vocabulary."""
    numbers, given = np.asarray(ids), np.asarray(offsets)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu":
        raise InvalidValue("offsets must be a flat array of whole numbers, at least one")
    bounds = given.astype(np.int64, copy=False)
    if bounds[0] != 0 or (np.diff(bounds) < 0).any():
        raise InvalidValue("offsets must begin with 0 and never fall")
    if numbers.ndim != 1 or len(numbers) != bounds[-1]:
        raise InvalidValue(
            f"offsets that end at {bounds[-1]} need that many ids; got {numbers.size}"
        )
    if not len(numbers):
        return np.empty(0, np.int32), bounds
    if numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= words:
        raise InvalidValue(f"ids must be whole numbers from 0 to {words - 1}")
    return numbers.astype(np.int32, copy=False), bounds


class Tokenizer(ABC):
    """Text to ids of a fixed public vocabulary, and ids to text: all but the rule for a chunk.

    Args:
        words: the vocabulary.
        unknown: id that stands for everything the vocabulary does not have.
    """

    subwords = False
    """True if words that begin with ``##`` continue the word before them."""

    def __init__(self, words: Sequence[str], unknown: int | None) -> None:
        if isinstance(words, str) or not len(words):
            raise InvalidValue("a tokeniser needs a list of at least 1 word")
        if unknown is not None and not 0 <= unknown < len(words):
            raise fail("unknown of a tokeniser", f"None or an id below {len(words)}", unknown)
        self.words = tuple(words)
        self.unknown = unknown
        self._missing = -1 if unknown is None else int(unknown)
        self._table = ChunkTable(self.pieces)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy in another process does not carry text along
        return type(self), (self.words, self.unknown)

    def pieces(self, chunks: Sequence[str]) -> tuple[Ints, Ids]:
        """Ids of all chunks end to end (-1: unknown, with no id for it), and how many each has."""
        rows = [self._row(chunk) for chunk in chunks]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        flat = (number for row in rows for number in row)
        return np.fromiter(flat, np.int32, int(lengths.sum())), lengths

    def forget(self) -> None:
        """Keep nothing in memory of the texts that were seen."""
        self._table.forget()

    @abstractmethod
    def _row(self, chunk: str) -> Sequence[int]:
        """The ids of one chunk."""

    def encode(self, texts: Sequence[str]) -> TokenBatch:
        """The tokens of each text."""
        return refuse_unknown(TokenBatch(*self._table.gather(texts)))

    def decode(self, ids: ArrayLike, offsets: ArrayLike) -> list[str]:
        """The text of each document: a space before every word that is not a continuation."""
        numbers, bounds = checked_ids(ids, offsets, len(self.words))
        codes = numbers.astype(np.int64)
        codes[bounds[:-1][np.diff(bounds) > 0]] += len(self.words)
        return concatenate(self._forms, codes, bounds)

    @cached_property
    def _forms(self) -> Any:
        """Each word as it is written inside a document, then each as it is written at the start."""
        bare = bare_words(self.words, self.subwords)
        within = [b if b is not w else " " + w for w, b in zip(self.words, bare, strict=True)]
        return string_array(within + bare)


def bare_words(words: Sequence[str], subwords: bool) -> list[str]:
    """The words without the ``##`` of continuations; other words are the same objects."""
    if not subwords:
        return list(words)
    width = len(CONTINUATION)
    return [w[width:] if w.startswith(CONTINUATION) and len(w) > width else w for w in words]


class WordTokenizer(Tokenizer):
    """Words, numbers, and every other visible character on its own.

    A form is looked up as it is written, then without invisible characters and typographic
    quotes, in lower case, and without accents; if none of these is in the vocabulary it is
    unknown. What stands between white space is one token if it is an entry as a whole ("u.s.",
    "'s", ":)"). A word with inner marks that is not an entry is split: at a contraction if both
    halves are entries ("do" + "n't"), else at its apostrophes and hyphens, which become tokens
    only if they are entries. A number is not split at its points and commas; one that is not an
    entry is read as the same public number whatever its value (:data:`ANY_NUMBER`). Bracketed
    entries ("<unk>", "[MASK]") cannot be reached from text.

    Scripts written without spaces are not segmented: a run of letters is one word.

    >>> words = WordTokenizer(["<unk>", "tea", "don't", ".", "well", "made"], unknown=0)
    >>> batch = words.encode(["Don't! Tea.", "well-made coffee"])
    >>> words.decode(batch.ids, batch.offsets)
    ["don't <unk> tea .", 'well made <unk>']
    """

    def __init__(self, words: Sequence[str], unknown: int | None) -> None:
        super().__init__(words, unknown)
        self._ids = {w: i for i, w in enumerate(self.words) if not SPECIAL.fullmatch(w)}

    @cached_property
    def _any_number(self) -> int | None:
        return next((self._ids[number] for number in ANY_NUMBER if number in self._ids), None)

    def _row(self, chunk: str) -> list[int]:
        numbers: list[int] = []
        for part in chunk.split():  # a chunk may hold line ends and other white space
            number = self._find(part)
            if number is not None:
                numbers.append(number)
            else:
                numbers += [n for sign in _signs().findall(part) for n in self._sign(sign)]
        return numbers

    def _sign(self, sign: str) -> list[int]:
        number = self._find(sign)
        if number is None and _NUMBER.fullmatch(sign):
            number = self._any_number
        if number is not None:
            return [number]
        parts = re.split(f"([{INNER_MARKS}])", sign)
        if len(parts) == 1 or len(sign) == 1:
            return [self._missing] if _invisible().sub("", sign) else []
        contraction = self._contraction(sign)
        if contraction:
            return contraction
        numbers: list[int] = []
        for position, part in enumerate(parts):
            if position % 2 == 0:
                numbers += self._sign(part)
            elif (mark := self._find(part)) is not None:
                numbers.append(mark)
        return numbers

    def _contraction(self, word: str) -> list[int]:
        plain = word.translate(_PLAIN)
        for tail in _CONTRACTIONS:
            if plain.lower().endswith(tail):
                first, second = self._find(plain[: -len(tail)]), self._find(tail)
                return [] if first is None or second is None else [first, second]
        return []

    def _find(self, form: str) -> int | None:
        number = self._ids.get(form)
        if number is not None:
            return number
        known = (self._ids[variant] for variant in _variants(form) if variant in self._ids)
        return next(known, None)


def _variants(form: str) -> Iterator[str]:
    """Other spellings of a form, in the order in which they are tried."""
    visible = _invisible().sub("", form)
    if visible.isascii():
        yield visible
        yield visible.lower()
        return
    composed = unicodedata.normalize("NFC", visible)
    yield composed
    plain = composed.translate(_PLAIN)
    yield plain
    yield plain.lower()
    yield plain.casefold()
    apart = unicodedata.normalize("NFKD", plain)
    bare = unicodedata.normalize("NFC", "".join(filter(_not_accent, apart)))
    yield bare
    yield bare.casefold()


def _not_accent(character: str) -> bool:
    variation = "\ufe00" <= character <= "\ufe0f"
    return unicodedata.combining(character) in _NOT_ACCENTS and not variation


class WordPieceTokenizer(Tokenizer):
    """BERT's rules: clean, lower-case if the vocabulary is, split at punctuation, longest pieces.

    Text such as "[MASK]" is ordinary text: it becomes the pieces of "[", "mask" and "]", never the
    special token, because a document must not be able to speak to the model that reads it.

    >>> pieces = WordPieceTokenizer(["[UNK]", "walk", "##ing", "the", "dog"], unknown=0)
    >>> batch = pieces.encode(["Walking the dog", "cats"])
    >>> pieces.decode(batch.ids, batch.offsets)
    ['walking the dog', '[UNK]']
    """

    subwords = True

    def __init__(self, words: Sequence[str], unknown: int | None) -> None:
        super().__init__(words, unknown)
        # Only needed here: word spaces start faster without it.
        from tokenizers import Tokenizer as Pipeline
        from tokenizers.models import WordPiece
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer

        vocabulary = {word: number for number, word in enumerate(self.words)}
        nothing = "\0unknown\0"  # BERT's cleaning removes control characters: text cannot reach it
        vocabulary[nothing] = len(self.words)
        self._pipeline = Pipeline(
            WordPiece(vocabulary, unk_token=nothing, max_input_chars_per_word=100)
        )
        self._pipeline.normalizer = BertNormalizer(lowercase=self.uncased)
        self._pipeline.pre_tokenizer = BertPreTokenizer()

    @property
    def uncased(self) -> bool:
        """True if no whole word of the vocabulary, special tokens apart, has a capital."""
        return not any(
            word != word.lower()
            for word in self.words
            if not word.startswith(CONTINUATION) and not SPECIAL.fullmatch(word)
        )

    def _row(self, chunk: str) -> list[int]:
        # One at a time on purpose: a batch would start threads that do not survive a fork.
        text = _SURROGATES.sub("\ufffd", chunk)
        numbers: list[int] = self._pipeline.encode(text, add_special_tokens=False).ids
        nothing = len(self.words)
        return [self._missing if number == nothing else number for number in numbers]


def tokenizer_for(words: Sequence[str], unknown: int | None, subwords: bool) -> Tokenizer:
    """The tokeniser that a vocabulary needs."""
    return WordPieceTokenizer(words, unknown) if subwords else WordTokenizer(words, unknown)
