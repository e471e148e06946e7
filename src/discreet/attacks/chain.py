"""The attacker who reads: which words follow each other, together with the mechanism's law.

A released word says something of its original, and so do the originals before and after it, of
which their releases say something in turn. With a model of pairs of words that is a hidden Markov
chain: the forward and the backward pass give for each place how likely each original is given the
*whole* released text, and the likeliest is the guess. Where words do follow each other as the
model says, nothing names more words.

The pairs are counted on public text of the same kind, and mixed with the pairs of general English
that ship with the package, by how well each predicts public text that was held out.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Ids, ragged_blocks
from discreet.attacks.inverted import Originals
from discreet.errors import InvalidValue
from discreet.guides.ngram import START, UNSEEN, NGramModel
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch

_HELD_OUT = 10  # one text in so many says how much English counts
_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)
_FEWEST_TEXTS = 20
_PLACES = 4096


@dataclass(frozen=True)
class Pairs:
    """How likely each word is after another: Witten and Bell's estimate.

    ``P(w|v) = (c(v, w) + t(v) p(w)) / (c(v) + t(v))``, where t(v) different words followed v.

    Attributes:
        prior: p, a share for every word of the space.
        keys: ``v * n + w`` of the pairs that were seen, rising; v = n stands for the beginning.
        counts: How often each was.
        after: c, how often a word followed v.
        kinds: t, how many different ones did.
    """

    prior: Floats = field(repr=False)
    keys: NDArray[np.int64] = field(repr=False)
    counts: Floats = field(repr=False)
    after: Floats = field(repr=False)
    kinds: Floats = field(repr=False)

    @classmethod
    def of(cls, batch: TokenBatch, prior: Floats) -> "Pairs":
        """Count them in PUBLIC texts."""
        size = len(prior)
        ids = batch.ids.astype(np.int64)
        before = np.r_[size, ids[:-1]] if len(ids) else ids
        starts = batch.offsets[:-1][np.diff(batch.offsets) > 0]
        before[starts] = size
        keys, counts = np.unique(before * size + ids, return_counts=True)
        first = keys // size
        return cls(
            prior,
            keys,
            counts.astype(np.float64),
            np.bincount(first, counts, size + 1).astype(np.float64),
            np.bincount(first, minlength=size + 1).astype(np.float64),
        )

    def chances(self, before: Ids, words: Ids) -> Floats:
        """``P(word | word before)`` of arrays that broadcast; the number of words: no word yet."""
        keys = before * len(self.prior) + words
        place = np.minimum(np.searchsorted(self.keys, keys), max(0, len(self.keys) - 1))
        seen: Any = self.counts[place] * (self.keys[place] == keys) if len(self.keys) else 0.0
        kinds = np.maximum(self.kinds[before], 1e-9)  # after what was never seen: the prior
        return np.asarray((seen + kinds * self.prior[words]) / (self.after[before] + kinds))


@dataclass(frozen=True)
class English:
    """Pairs of words of general English: the n-grams that ship with the package."""

    space: EmbeddingSpace = field(repr=False)

    @cached_property
    def _model(self) -> NGramModel:
        return NGramModel.load()

    @cached_property
    def _numbers(self) -> Ids:
        numbers = {word: number for number, word in enumerate(self._model.words)}
        model_numbers = [numbers.get(word.lower(), UNSEEN) for word in self.space.words]
        return np.array([*model_numbers, START], np.int64)

    def chances(self, before: Ids, words: Ids) -> Floats:
        """As those of :class:`Pairs`."""
        model, size = self._model, len(self._model.words)
        last, word = np.broadcast_arrays(self._numbers[before], self._numbers[words])
        pair = model.places((last * size + word).ravel(), model.pairs).reshape(last.shape)
        shorter = model.back[last] + model.single[word]
        return np.exp(np.where(pair >= 0, model.pair[pair], shorter).astype(np.float64))


@dataclass(frozen=True)
class Reader:
    """A model of pairs of words, from public text and from general English.

    Attributes:
        pairs: Counted on public text.
        english: General English; None for a space whose words it does not know.
        share: How much of each probability is general English.
    """

    pairs: Pairs
    english: English | None = None
    share: float = 0.0

    @classmethod
    def of(cls, batch: TokenBatch, prior: Floats, english: English | None = None) -> "Reader":
        """Learn from PUBLIC texts, some of which say how much general English counts."""
        if len(batch) < _FEWEST_TEXTS:
            raise InvalidValue(
                f"a contextual attacker needs at least {_FEWEST_TEXTS} public texts to learn from; "
                f"got {len(batch)}"
            )
        if english is None:
            return cls(Pairs.of(batch, prior))
        every = np.arange(len(batch))
        held = every % _HELD_OUT == 0
        learnt = cls(Pairs.of(batch.only(every[~held]), prior), english)
        ids = batch.only(every[held])
        before = np.r_[len(prior), ids.ids[:-1]].astype(np.int64)
        before[ids.offsets[:-1][np.diff(ids.offsets) > 0]] = len(prior)
        words = ids.ids.astype(np.int64)
        here, there = learnt.pairs.chances(before, words), english.chances(before, words)
        fits = [float(np.log((1 - s) * here + s * there + 1e-12).sum()) for s in _SHARES]
        return cls(Pairs.of(batch, prior), english, _SHARES[int(np.argmax(fits))])

    @property
    def beginning(self) -> int:
        """What stands before the first word."""
        return len(self.pairs.prior)

    def logs(self, before: Ids, words: Ids) -> Floats:
        """``ln P(word | word before)``, never below -30."""
        chances = self.pairs.chances(before, words)
        if self.english is not None and self.share:
            chances = (1 - self.share) * chances + self.share * self.english.chances(before, words)
        return np.log(np.maximum(chances, 1e-13))


def contextual_guesses(
    originals: Originals, offsets: Ids, prior: Floats, reader: Reader, never: int | None = None
) -> Ids:
    """The likeliest original at each place, given everything that was released of its text.

    Args:
        originals: The likeliest originals by single words, under a prior.
        offsets: Where each text starts.
        prior: That prior; its weights are taken out again, pairs of words say more.
        reader: Which words follow each other.
        never: A word that is not guessed, such as the one that stands for unknown words.
    """
    guess = np.empty(len(originals.words), dtype=np.int64)
    # Texts are read each on its own, so that some at a time are enough.
    for first, last in ragged_blocks(offsets, _PLACES):
        part = slice(offsets[first], offsets[last])
        words, logs = originals.words[part], originals.logs[part]
        with np.errstate(divide="ignore", invalid="ignore"):
            evidence = np.where(np.isfinite(logs), logs - np.log(prior[words]), -np.inf)
        belief = _beliefs(words, evidence, offsets[first : last + 1] - offsets[first], reader)
        if never is not None:
            belief = np.where(words == never, -np.inf, belief)
        guess[part] = words[np.arange(len(words)), belief.argmax(axis=1)]
    return guess


def _beliefs(words: Ids, evidence: Floats, offsets: Ids, reader: Reader) -> Floats:
    """How likely each kept original is, up to a constant of its place: forward and backward."""
    lengths = np.diff(offsets)
    forward = np.empty(words.shape)
    backward = np.zeros(words.shape)
    order = np.argsort(-lengths, kind="stable")
    going = [order[: int((lengths > step).sum())] for step in range(int(lengths.max(initial=0)))]
    steps: list[NDArray[np.float64]] = []
    for step, texts in enumerate(going):
        here = offsets[texts] + step
        if step == 0:
            forward[here] = reader.logs(np.full((len(here), 1), reader.beginning), words[here])
        else:
            links = reader.logs(words[here - 1][:, :, None], words[here][:, None, :])
            steps.append(links)
            forward[here] = _log_sum(forward[here - 1][:, :, None] + links, axis=1)
        forward[here] += evidence[here]
        forward[here] -= forward[here].max(axis=1, keepdims=True)
    for step in range(len(going) - 1, 0, -1):
        here = offsets[going[step]] + step
        after = backward[here] + evidence[here]
        back = _log_sum(steps[step - 1] + after[:, None, :], axis=2)
        backward[here - 1] = back - back.max(axis=1, keepdims=True)
    return forward + backward


def _log_sum(table: Floats, axis: int) -> Floats:
    top = table.max(axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(table - top).sum(axis=axis)) + top.squeeze(axis))
