"""Attackers on the words of released texts, all with the same knowledge and on the same words.

They know the mechanism, what was released, and public text of the same kind: how frequent words
are there and which follow each other. What they name is counted by text, so that intervals come
from drawing texts anew. Words that are public and pass unchanged are nobody's merit: the attackers
read them, and they are not counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Generator, Ids
from discreet.attacks.bayes import checked_prior, text_prior
from discreet.attacks.chain import English, Reader, contextual_guesses
from discreet.attacks.inverted import originals
from discreet.attacks.watching import Watcher
from discreet.protocols import WordMechanism, release_texts
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch

Columns = tuple[NDArray[Any], NDArray[Any]]
"""Words that were named and words in all, of each text."""
_WATCHED = 500
_SUGGESTED = 256


@dataclass(frozen=True)
class WordAttack:
    """Texts whose words are to be named.

    Attributes:
        space: The vocabulary.
        texts: Their words, which only the count of what was named depends on.
        known: The words of public texts, which the attackers know.
        listed: Which words of the space are public and pass unchanged; None if none are.
        seed: Of simulated laws and of what the attackers release themselves.
    """

    space: EmbeddingSpace
    texts: TokenBatch
    known: TokenBatch
    listed: NDArray[np.bool_] | None = field(default=None, repr=False)
    seed: int = 0

    @classmethod
    def within(
        cls,
        space: EmbeddingSpace,
        sample: TokenBatch,
        words: int,
        *,
        listed: NDArray[np.bool_] | None = None,
        seed: int = 0,
    ) -> "WordAttack":
        """On one half of a PUBLIC sample, by who knows the other half.

        Args:
            space: The vocabulary.
            sample: Texts of the same kind as those that are to be protected.
            words: About so many are attacked, in whole texts.
            listed: Which words of the space pass unchanged.
            seed: Chooses the halves.
        """
        order = np.random.default_rng([seed, 3]).permutation(len(sample))
        known, hidden = np.split(order, [len(order) // 2])
        enough = np.searchsorted(np.cumsum(np.diff(sample.offsets)[hidden]), words) + 1
        chosen = np.sort(hidden[: int(enough)])
        return cls(space, sample.only(chosen), sample.only(np.sort(known)), listed, seed)

    @cached_property
    def truth(self) -> Ids:
        """What is to be named."""
        return self.texts.ids.astype(np.int64)

    @cached_property
    def passed(self) -> NDArray[np.bool_] | None:
        """Which words of the texts are public."""
        return None if self.listed is None else self.listed[self.truth]

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Which words count: those that the space has and that do not pass."""
        unknown = -1 if self.space.unknown is None else self.space.unknown
        counted = np.asarray(self.truth != unknown, np.bool_)
        return counted if self.passed is None else counted & ~self.passed

    @property
    def words(self) -> int:
        """How many words are to be named."""
        return int(self.counted.sum())

    @cached_property
    def prior(self) -> Floats:
        """How frequent words are in public text; 0 for those that are not in it."""
        seen = np.bincount(self.known.ids, minlength=len(self.space)) > 0
        return np.where(seen, text_prior(self.space, self.known), 0.0)

    @cached_property
    def chance(self) -> float:
        """How many words are named by always naming the commonest public one."""
        prior = self.prior.copy()
        if self.space.unknown is not None:
            prior[self.space.unknown] = 0.0
        if self.listed is not None:
            prior[self.listed] = 0.0
        return float((self.truth[self.counted] == int(prior.argmax())).mean())

    @cached_property
    def reader(self) -> Reader:
        """Which words follow each other."""
        english = None if self.space.subwords else English(self.space)
        return Reader.of(self.known, text_prior(self.space, self.known), english)

    def named(
        self, mechanism: WordMechanism | None, released: Ids, number: int = 0
    ) -> Iterator[tuple[str, Columns]]:
        """What the attackers who know the law name; without a mechanism, of the texts as they are.

        Args:
            mechanism: What released the texts.
            released: The words that came out.
            number: Of the release, if there are several.
        """
        never, offsets = self.space.unknown, self.texts.offsets
        if mechanism is None:
            yield "exact", self.columns(released)
            yield "contextual", self.columns(self._from_context(released))
            return
        rng = np.random.default_rng([self.seed, number, 1])
        full = self._prior_with(released)
        drawn = full if self.listed is None else np.where(self.listed, 0.0, full)
        inverted = originals(mechanism, released, offsets, drawn, passed=self.passed, rng=rng)
        yield "exact", self.columns(inverted.best(never))
        guesses = contextual_guesses(inverted, offsets, full, self.reader, never)
        yield "contextual", self.columns(guesses)

    def watched(self, mechanism: WordMechanism, released: Ids, number: int = 0) -> Columns:
        """What is named by who only releases public text with the mechanism and looks."""
        own = self.known.first(_WATCHED)
        rng = np.random.default_rng([self.seed, number, 2])
        passed = None if self.listed is None else self.listed[own.ids]
        theirs = release_texts(mechanism, own.ids, rng, own.offsets, passed)
        drawn = np.ones(len(own.ids), np.bool_) if passed is None else ~passed
        words = np.array(self.space.words, dtype=object)
        watcher = Watcher.of([words[own.ids[drawn]].tolist()], [words[theirs[drawn]].tolist()])
        guessed = np.array(watcher.guesses(words[released].tolist()), dtype=object)
        return self._by_text(guessed == words[self.truth])

    def shares(self, mechanism: WordMechanism, rng: Generator) -> dict[str, float]:
        """What the attackers who know the law name of one release of the texts, as shares."""
        released = release_texts(mechanism, self.truth, rng, self.texts.offsets, self.passed)
        return {
            name: float(hits.sum() / total.sum())
            for name, (hits, total) in self.named(mechanism, released)
        }

    def bound(self, mechanism: WordMechanism) -> float | None:
        """What no attacker on single words can exceed, for words as frequent as these.

        That is how often the best rule is right in expectation. None where the law depends on what
        was released before, or is a pass over all pairs of words.
        """
        if getattr(mechanism, "contextual", False) or not hasattr(mechanism, "guess_rate"):
            return None
        shares = np.bincount(self.truth[self.counted], minlength=len(self.space))
        return float(mechanism.guess_rate(checked_prior(shares, len(self.space))))

    def columns(self, guess: Ids) -> Columns:
        """What a guess at each word is worth."""
        return self._by_text(guess == self.truth)

    def _by_text(self, right: NDArray[np.bool_]) -> Columns:
        size, offsets = len(self.texts), self.texts.offsets
        row = np.repeat(np.arange(size), np.diff(offsets))
        hits = np.bincount(row[right & self.counted], minlength=size)
        return hits, np.bincount(row[self.counted], minlength=size)

    def _prior_with(self, released: Ids) -> Floats:
        """How frequent words are: a word that stands in a release may be the original too."""
        full = text_prior(self.space, self.known)
        possible = self.prior > 0
        possible[released] = True
        weights = np.where(possible, full, 0.0)
        return np.asarray(weights / weights.sum())

    def _from_context(self, words: Ids) -> Ids:
        """What the words on both sides suggest, without a look at the word itself.

        That is how the contextual attacker is tried on text that was not protected: where the word
        is shown to it, anybody could name it.
        """
        offsets = self.texts.offsets
        prior = self.prior if self.listed is None else np.where(self.listed, 0.0, self.prior)
        frequent = np.argsort(-prior, kind="stable")
        frequent = frequent[frequent != self.space.unknown][:_SUGGESTED]
        first, last = np.zeros(len(words), np.bool_), np.zeros(len(words), np.bool_)
        first[offsets[:-1][np.diff(offsets) > 0]] = True
        last[(offsets[1:] - 1)[np.diff(offsets) > 0]] = True
        before = np.where(first, len(self.space), np.roll(words, 1))
        logs = self.reader.logs(before[:, None], frequent[None, :])
        after = np.roll(words, -1)
        follow = self.reader.logs(np.broadcast_to(frequent, logs.shape), after[:, None])
        logs = logs + np.where(last[:, None], 0.0, follow)
        return np.asarray(frequent[logs.argmax(axis=1)])
