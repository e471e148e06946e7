"""How fluent text is: its cross-entropy under a language model of public text.

An interpolated Kneser-Ney model of three words, which needs seconds, no download and no training,
and whose probabilities are exact.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet import check
from discreet.arrays import Floats, Ids
from discreet.errors import InvalidValue
from discreet.text.tokens import TokenBatch, Tokenizer

_DISCOUNT = 0.75
_LARGEST_VOCABULARY = 2**20  # three of them in 63 bits


@dataclass(frozen=True)
class _Order:
    """Counts of the n-grams of one length, and of the contexts before their last word."""

    grams: Ids
    counts: Floats
    contexts: Ids
    totals: Floats
    """Sum of the counts after each context."""
    kinds: Floats
    """How many different words follow each context."""


@dataclass(frozen=True)
class NGramModel:
    """An interpolated Kneser-Ney model over the words of a tokeniser; :func:`fit_ngrams` makes one.

    ``P(w|uv) = (c(uvw) - D)+ / c(uv) + D kinds(uv) / c(uv) * P(w|v)``; the shorter orders count in
    how many different places a word stands, not how often (Kneser and Ney 1995), and the shortest
    is mixed with the uniform law, so that no word is impossible.

    Attributes:
        tokenizer: Cuts text into the words that are predicted.
        size: How many words can come: the vocabulary and the end of a text.
    """

    tokenizer: Tokenizer = field(repr=False)
    size: int
    _orders: tuple[_Order, ...] = field(repr=False)

    def log_probabilities(self, batch: TokenBatch) -> Floats:
        """``ln P`` of every word of some documents given the two before it, and of each end."""
        grams = _grams(batch, self.size - 1, len(self._orders))
        chances = np.full(len(grams), 1.0 / self.size)
        for length, order in enumerate(self._orders, 1):
            keys = _key(grams[:, -length:], self.size + 1)
            before = _key(grams[:, -length:-1], self.size + 1)
            counts = _looked_up(order.grams, order.counts, keys)
            totals = _looked_up(order.contexts, order.totals, before)
            kinds = _looked_up(order.contexts, order.kinds, before)
            seen = np.maximum(totals, 1.0)
            mixed = (np.maximum(counts - _DISCOUNT, 0.0) + _DISCOUNT * kinds * chances) / seen
            chances = np.where(totals > 0, mixed, chances)
        return np.asarray(np.log(chances))


def fit_ngrams(texts: Sequence[str], tokenizer: Tokenizer, *, order: int = 3) -> NGramModel:
    """Count the n-grams of PUBLIC text.

    Args:
        texts: Public documents.
        tokenizer: Cuts them into words.
        order: The longest n-gram, 1 to 3.

    >>> from discreet.text.tokens import WordTokenizer
    >>> words = WordTokenizer(["<unk>", "hot", "tea", "cup"], unknown=0)
    >>> model = fit_ngrams(["hot tea", "hot cup", "hot tea"], words)
    >>> perplexity(model, ["hot tea"]) < perplexity(model, ["tea hot"])
    True
    """
    order = check.whole(order, "order of a language model", at_least=1)
    if order > 3:
        raise check.fail("order of a language model", "1, 2 or 3", order)
    size = len(tokenizer.words) + 1
    if size >= _LARGEST_VOCABULARY:
        raise InvalidValue(f"a language model takes at most {_LARGEST_VOCABULARY:,} words")
    batch = tokenizer.encode(texts)
    if not batch.tokens:
        raise InvalidValue("a language model needs public text with at least 1 word")
    whole = _grams(batch, size - 1, order)
    base = size + 1
    distinct, counts = np.unique(_key(whole, base), return_counts=True)
    orders = [_counted(distinct, counts.astype(np.float64), base)]
    for _ in range(order - 1):
        # The next shorter order counts the different words in front of each n-gram.
        shorter, kinds = np.unique(distinct % base ** (order - len(orders)), return_counts=True)
        orders.insert(0, _counted(shorter, kinds.astype(np.float64), base))
        distinct = shorter
    return NGramModel(tokenizer, size, tuple(orders))


def cross_entropy(model: NGramModel, texts: Sequence[str]) -> float:
    """Nats per word of some texts, the end of each counted as a word."""
    if not len(texts):
        raise InvalidValue("cross_entropy needs at least 1 text")
    return float(-model.log_probabilities(model.tokenizer.encode(texts)).mean())


def perplexity(model: NGramModel, texts: Sequence[str]) -> float:
    """``exp`` of the cross-entropy: between how many equally likely words the model wavers."""
    return math.exp(cross_entropy(model, texts))


def _grams(batch: TokenBatch, end: int, order: int) -> Ids:
    """``(words and ends, order)``: each word with those before it; ``end + 1`` is before a text."""
    sizes = np.diff(batch.offsets) + order  # what stands before the text, the text, its end
    stream = np.full(int(sizes.sum()), end + 1)
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(sizes)), np.diff(batch.offsets))
    within = np.arange(batch.tokens) - batch.offsets[:-1][owner]
    stream[starts[owner] + order - 1 + within] = batch.ids
    stream[starts + sizes - 1] = end
    places = np.flatnonzero(stream != end + 1)
    return np.stack([stream[places - back] for back in range(order - 1, -1, -1)], axis=1)


def _key(grams: Ids, base: int) -> Ids:
    key = np.zeros(len(grams), dtype=np.int64)
    for column in grams.T:
        key = key * base + column
    return key


def _counted(grams: Ids, counts: Floats, base: int) -> _Order:
    contexts, place = np.unique(grams // base, return_inverse=True)
    totals = np.bincount(place, counts).astype(np.float64)
    return _Order(grams, counts, contexts, totals, np.bincount(place).astype(np.float64))


def _looked_up(keys: Ids, values: Floats, wanted: Ids) -> Floats:
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0.0)
