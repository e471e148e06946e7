"""Which words did a released vector stand for? A learned map to the space of tokens.

The attacker has public sentences whose vectors went through the same mechanism. A ridge regression
learns from these to go from a released vector to the mean of the sentence's rows in the encoder's
token matrix. The tokens nearest to the predicted mean, in the metric of how such means scatter and
with frequent tokens preferred, are the guess.

Paper: Song and Raghunathan, "Information Leakage in Embedding Models", CCS 2020, as used by Du et
al., WWW 2023. Where we differ: the nearest tokens weigh in how frequent a token is, by as much as
helps on held-out public sentences. Without that the attack does worse than guessing the most
frequent words as soon as there is noise, and so understates what is left to learn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from discreet.arrays import Floats, Ids, row_blocks
from discreet.attacks.outcome import AttackOutcome, bootstrapped
from discreet.attacks.public_halves import checked_halves
from discreet.errors import InvalidValue
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import tokenizer_for

HELD_OUT = 5  # one sentence in so many chooses the settings
RIDGES = tuple(10.0**power for power in range(-4, 5))
_WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 4.0, 8.0)
_NUMBERS = 2**24


@dataclass(frozen=True)
class Bags:
    """The tokens of sentences, without their order.

    Attributes:
        counts: ``(sentences, tokens of the space)``: how often each occurs.
        matrix: The token matrix of the encoder.
    """

    counts: csr_array = field(repr=False)
    matrix: NDArray[np.floating[Any]] = field(repr=False)

    @classmethod
    def of(cls, texts: Sequence[str], space: EmbeddingSpace) -> "Bags":
        """Cut public sentences into the tokens of an encoder's space."""
        batch = tokenizer_for(space.words, space.unknown, space.subwords).encode(texts)
        rows = np.repeat(np.arange(len(texts)), np.diff(batch.offsets))
        known = (batch.ids >= 0) & (batch.ids != (-1 if space.unknown is None else space.unknown))
        ones = np.ones(int(known.sum()))
        shape = (len(texts), len(space))
        counts = csr_array((ones, (rows[known], batch.ids[known])), shape=shape)
        counts.sum_duplicates()
        if (counts.sum(axis=1) == 0).any():
            raise InvalidValue(
                "a sentence without a single known token cannot be attacked; drop such rows"
            )
        return cls(counts, space.vectors)

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    def __getitem__(self, rows: Ids) -> "Bags":
        return Bags(self.counts[rows], self.matrix)

    @cached_property
    def present(self) -> csr_array:
        """1 where a token occurs."""
        return self.counts.sign()

    @cached_property
    def means(self) -> Floats:
        """The mean row of the token matrix of each sentence."""
        sums = self.counts @ self.matrix.astype(np.float64)
        return np.asarray(sums / self.counts.sum(axis=1)[:, None])


def inversion_attack(
    auxiliary: ArrayLike,
    auxiliary_words: Bags,
    targets: ArrayLike,
    target_words: Bags,
    *,
    unprotected: tuple[ArrayLike, ArrayLike] | None = None,
    seed: int = 0,
) -> list[AttackOutcome]:
    """Precision, recall and F1 of the recovered tokens, each an outcome.

    For every target as many tokens are guessed as a public sentence has on average. Chance guesses
    the most frequent ones of the public sentences, always.

    Args:
        auxiliary: Released vectors of the attacker's public sentences.
        auxiliary_words: What these sentences say.
        targets: Released vectors of the sentences under attack.
        target_words: What they say; only to measure.
        unprotected: The vectors of both, without noise.
        seed: Chooses the held-out sentences and the resamples of the intervals.
    """
    hits, size = _attacked(auxiliary, auxiliary_words, targets, target_words, seed)
    bare = None
    if unprotected is not None:
        bare, _ = _attacked(unprotected[0], auxiliary_words, unprotected[1], target_words, seed)
    return recovered_words(
        "inversion to words", hits, bare, size, auxiliary_words, target_words, seed
    )


def recovered_words(
    attack: str,
    hits: Floats,
    bare: Floats | None,
    size: int,
    public: Bags,
    truth: Bags,
    seed: int,
) -> list[AttackOutcome]:
    """Precision, recall and F1 of guesses at ``size`` tokens of every target.

    Args:
        attack: What outcomes call it.
        hits: How many of the tokens guessed for each target it really has,
        bare: and how many were found without noise.
        size: How many were guessed.
        public: Public sentences: chance guesses their most frequent tokens.
        truth: The targets' tokens.
        seed: Of the resamples of the intervals.
    """
    guessed = np.full(len(hits), float(size))
    common = np.argsort(-public.present.sum(axis=0), kind="stable")[:size]
    lucky = truth.present[:, common].sum(axis=1)
    true = truth.present.sum(axis=1)
    outcomes = []
    for name, figure in _FIGURES.items():
        rng = np.random.default_rng(seed)
        success = bootstrapped([hits, guessed, true], figure, rng)
        chance = float(figure(lucky.sum(), guessed.sum(), true.sum()))
        base = None if bare is None else bootstrapped([bare, guessed, true], figure, rng)
        outcomes.append(AttackOutcome(attack, name, success, chance, base, len(hits)))
    return outcomes


_FIGURES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "precision": lambda hits, guessed, _true: hits / guessed,
    "recall": lambda hits, _guessed, true: hits / true,
    "F1": lambda hits, guessed, true: 2 * hits / (guessed + true),
}


def _attacked(
    auxiliary: ArrayLike, words: Bags, targets: ArrayLike, truth: Bags, seed: int
) -> tuple[Floats, int]:
    """How many tokens of each target were recovered, and how many were guessed for each."""
    known, hidden = checked_halves(auxiliary, words, targets, truth, ("an inversion", "words"))
    order = np.random.default_rng(seed).permutation(len(known))
    held, rest = np.split(order, [len(known) // HELD_OUT])
    size = max(1, round(float(words.present.sum()) / len(words)))
    learnt, tried = words[rest], words[held]

    def error(ridge: float) -> float:
        gap = (
            with_one(known[held]) @ ridge_regression(known[rest], learnt.means, ridge) - tried.means
        )
        return float(np.einsum("ij,ij->", gap, gap))

    ridge = min(RIDGES, key=error)
    trial = _Guesser(ridge_regression(known[rest], learnt.means, ridge), learnt)
    weight = max(
        _WEIGHTS, key=lambda value: float(trial.hits(known[held], tried, size, value).sum())
    )
    final = _Guesser(ridge_regression(known, words.means, ridge), words)
    return final.hits(hidden, truth, size, weight), size


class _Guesser:
    """Tokens by how well they fit a predicted mean and how frequent they are."""

    def __init__(self, regression: Floats, words: Bags) -> None:
        frequent = words.present.sum(axis=0)
        self._regression = regression
        self._tokens = np.flatnonzero(frequent)
        self._log_frequency = np.log(frequent[self._tokens] / len(words))
        self._centre = words.means.mean(axis=0)
        scatter = np.cov(words.means.T)
        # As much again of the same in every direction: few sentences do not tell the small ones.
        scatter += np.trace(scatter) / len(scatter) * np.eye(len(scatter))
        apart = words.matrix[self._tokens].astype(np.float64) - self._centre
        self._directions = np.linalg.solve(scatter, apart.T)

    def hits(self, vectors: Floats, truth: Bags, size: int, weight: float) -> Floats:
        """How many of the ``size`` likeliest tokens of each vector it really has."""
        size = min(size, len(self._tokens))
        means = with_one(vectors) @ self._regression - self._centre
        scale = weight / max(float((means @ self._directions).std()), 1e-12)
        out = np.empty(len(vectors))
        for part in row_blocks(len(vectors), len(self._tokens), _NUMBERS):
            scores = scale * (means[part] @ self._directions) + self._log_frequency
            picked = np.argpartition(-scores, size - 1, axis=1)[:, :size]
            real = truth.present[part][:, self._tokens].toarray()
            out[part] = np.take_along_axis(real, picked, axis=1).sum(axis=1)
        return out


def with_one(vectors: Floats) -> Floats:
    """Rows with a constant behind them, for :func:`ridge_regression`."""
    return np.concatenate([vectors, np.ones((len(vectors), 1))], axis=1)


def ridge_regression(vectors: Floats, means: Floats, ridge: float) -> Floats:
    """The matrix that takes :func:`with_one` of the vectors nearest to the means."""
    rows = with_one(vectors)
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 1e-9  # the constant is free
    return np.asarray(np.linalg.solve(rows.T @ rows + np.diag(penalty), rows.T @ means))
