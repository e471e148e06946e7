"""A small trigram model that ships with the package: fluent text without a neural network.

Interpolated Kneser-Ney over pairs and triples of words, with rare ones left out and their mass
given to the shorter context, so that every law still adds up to 1. A sentence begins afresh after
each mark that ends one.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats32, Ids
from discreet.errors import InvalidValue
from discreet.files import file_sha256
from discreet.spaces.space import EmbeddingSpace
from discreet.tensors import load_tensors

KIND = "n-gram guide"
START = 0
"""The number of the beginning of a sentence; that of a word of which nothing is known is 1."""
UNSEEN = 1
SENTENCE_ENDS = (".", "!", "?")
SHIPPED = Path(__file__).parent.parent / "data" / "ngram.safetensors"
STEP = 1 / 16
"""Logarithms are kept as whole multiples of this, in one byte."""
# A word of the space that the model has never seen is as likely as its rarest ones.
_FEWEST_KNOWN = 0.3


@dataclass
class Prefixes:
    """The last two released words of each document, as numbers of the model."""

    before: Ids
    last: Ids


@dataclass(frozen=True)
class NGramModel:
    """Logarithms of the probabilities of words after none, one or two words.

    ``single[w]`` is ln P(w). Pairs that are kept have a key, ``v * words + w``, in rising order,
    with ln P(w | v); a pair that is not costs ``back[v]`` and P(w). Triples have keys
    ``place of the pair (u, v) * words + w``, and a triple that is not kept costs ``pair_back`` of
    its first pair.
    """

    words: tuple[str, ...]
    single: Floats32
    back: Floats32
    pairs: NDArray[np.int64]
    pair: Floats32
    pair_back: Floats32
    triples: NDArray[np.int64]
    triple: Floats32
    fingerprint: str

    @classmethod
    def load(cls, path: Path = SHIPPED) -> "NGramModel":
        """Read what scripts/build_guide.py wrote."""
        arrays, about = load_tensors(path, KIND)
        parts: dict[str, Any] = {
            name: arrays[name].astype(np.float32) * np.float32(-STEP)
            for name in ("single", "back", "pair", "pair_back", "triple")
        }
        size = len(about["words"])
        for name, of in (("pairs", size), ("triples", len(arrays["pair"]))):
            # Which words follow is kept for each context; how many, beside it.
            contexts = np.repeat(np.arange(of, dtype=np.int64), arrays[f"{name}_counts"])
            parts[name] = contexts * size + arrays[f"{name}_words"]
        return cls(tuple(about["words"]), **parts, fingerprint=file_sha256(path))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word, once for all the spaces that it is asked about."""
        return {word: number for number, word in enumerate(self.words)}

    def places(self, keys: NDArray[np.int64], among: NDArray[np.int64]) -> Ids:
        """Where each key stands among sorted ones; -1 where it does not."""
        place = np.searchsorted(among, keys)
        place[place == len(among)] = 0
        return np.where(among[place] == keys, place, -1)

    def log_probabilities(self, before: Ids, last: Ids, words: Ids) -> Floats32:
        """``(rows, n)``: ln P(words[i, j] | before[i], last[i])."""
        size = len(self.words)
        pair = self.places(last[:, None] * size + words, self.pairs)
        scores = np.where(pair >= 0, self.pair[pair], self.back[last][:, None] + self.single[words])
        context = self.places(before * size + last, self.pairs)
        known = np.flatnonzero(context >= 0)
        if known.size:
            first = context[known]
            triple = self.places(first[:, None] * size + words[known], self.triples)
            shorter = self.pair_back[first][:, None] + scores[known]
            scores[known] = np.where(triple >= 0, self.triple[triple], shorter)
        return scores


class NGramGuide:
    """The model on the words of a space.

    >>> from discreet.spaces.loaders import load_space
    >>> space = load_space("starter")
    >>> guide = NGramGuide(space)
    >>> state, text = guide.begin(1), [space.words.index(w) for w in ("a", "cup", "of")]
    >>> for word in text:
    ...     guide.extend(state, np.array([0]), np.array([word]))
    >>> tea, runs = (space.words.index(w) for w in ("tea", "runs"))
    >>> scores = guide.scores(state, np.array([0]), np.array([[tea, runs]]))
    >>> bool(scores[0, 0] > scores[0, 1])
    True
    """

    name = "ngram"
    documents = 4096

    def __init__(self, space: EmbeddingSpace, model: NGramModel | None = None) -> None:
        self._model = model or _shipped()
        self.fingerprint = self._model.fingerprint
        numbers = self._model.numbers
        self._numbers = np.array([numbers.get(w.lower(), UNSEEN) for w in space.words], np.int64)
        if (self._numbers != UNSEEN).mean() < _FEWEST_KNOWN:
            raise InvalidValue(
                f"the n-gram guide knows few of the words of {space.name}; it is for spaces of "
                "whole English words"
            )
        self._ends = np.array([word in SENTENCE_ENDS for word in self._model.words])

    def on(self, space: EmbeddingSpace) -> "NGramGuide":
        """The same model on the words of another space."""
        return NGramGuide(space, self._model)

    def begin(self, documents: int) -> Prefixes:
        """So many documents at the beginning of a sentence."""
        return Prefixes(np.full(documents, START), np.full(documents, START))

    def scores(self, state: Prefixes, rows: Ids, candidates: Ids) -> Floats32:
        """ln P of each candidate after the last two released words."""
        words = self._numbers[candidates]
        return self._model.log_probabilities(state.before[rows], state.last[rows], words)

    def extend(self, state: Prefixes, rows: Ids, released: Ids) -> None:
        """One more released word each; a mark that ends a sentence begins the next one."""
        words = self._numbers[released]
        ended = self._ends[words]
        state.before[rows] = np.where(ended, START, state.last[rows])
        state.last[rows] = np.where(ended, START, words)

    def text_scores(self, ids: Ids, offsets: Ids) -> Floats32:
        """ln P of every word of some texts after the words before it."""
        words = self._numbers[ids]
        first = np.zeros(len(words) + 1, np.bool_)
        first[offsets] = True
        last, before = np.roll(words, 1), np.roll(words, 2)
        fresh = first[:-1] | np.roll(self._ends[words], 1)  # a sentence begins here
        second = np.roll(fresh, 1)
        last[fresh] = START
        before[fresh | second] = START
        return self._model.log_probabilities(before, last, words[:, None])[:, 0]


@cache
def _shipped() -> NGramModel:
    return NGramModel.load()
