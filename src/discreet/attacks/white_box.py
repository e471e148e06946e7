"""Which words did a released vector stand for? A search, through the encoder's own lower layers.

The attacker has the encoder's weights, and public sentences whose vectors went through the same
mechanism. A linear map learns from these to go from a released vector to what a lower layer of the
encoder gives for the sentence (the mean of its positions). Then tokens are searched for whose
lower-layer mean comes nearest: one token after the other is exchanged for one of those that the
gradient through the layers proposes, if that really comes nearer.

Paper: Song and Raghunathan, "Information Leakage in Embedding Models", CCS 2020, white-box, as used
by Du et al., WWW 2023. Where we differ: near is measured in the covariance of the linear map's own
errors, and frequent tokens are preferred, by as much as helps on held-out public sentences; without
that the attack finds less than guessing frequent words as soon as there is noise. The search
exchanges tokens where the paper relaxes them to mixtures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Floats, Ids
from discreet.attacks.inversion import (
    HELD_OUT,
    RIDGES,
    Bags,
    recovered_words,
    ridge_regression,
    with_one,
)
from discreet.attacks.outcome import AttackOutcome
from discreet.attacks.public_halves import checked_halves
from discreet.devices import array_of, device_of, in_halves, moved
from discreet.errors import InvalidValue, needs_extra
from discreet.models.bert import MaskedModel
from discreet.spaces.encoder_space import model_space
from discreet.training.vectors.reading import SentenceReader, joint_tokens, run_layers_from

if TYPE_CHECKING:
    import torch

_WEIGHTS = (0.0, 0.3, 1.0, 3.0)
_TRIED = 24
"""Held-out sentences that choose how much frequency weighs."""
_SMALLEST = 1e-9


@dataclass(frozen=True)
class SearchEffort:
    """How long the search goes on.

    Attributes:
        layer: So many of the encoder's lowest layers are searched through.
        rounds: How often every token is exchanged.
        proposals: Tokens that are tried in each exchange.
    """

    layer: int = 1
    rounds: int = 2
    proposals: int = 16


def white_box_inversion(
    model: MaskedModel,
    auxiliary: ArrayLike,
    auxiliary_texts: Sequence[str],
    targets: ArrayLike,
    target_texts: Sequence[str],
    *,
    unprotected: tuple[ArrayLike, ArrayLike] | None = None,
    effort: SearchEffort | None = None,
    seed: int = 0,
) -> list[AttackOutcome]:
    """Precision, recall and F1 of the tokens that the search recovers, each an outcome.

    For every target as many tokens are searched for as a public sentence has on average. Chance
    guesses the most frequent ones of the public sentences, always.

    Args:
        model: The encoder, a plain BERT, with its weights.
        auxiliary: Released vectors of the attacker's public sentences.
        auxiliary_texts: These sentences.
        targets: Released vectors of the sentences under attack.
        target_texts: These; only to measure.
        unprotected: The vectors of both, without noise.
        effort: See :class:`SearchEffort`.
        seed: Chooses the held-out sentences and the resamples of the intervals.
    """
    with needs_extra("a white-box attack", "train"):
        import torch  # noqa: F401
    space = model_space(model.directory)
    words, truth = (Bags.of(texts, space) for texts in (auxiliary_texts, target_texts))
    search = _Search(model, effort or SearchEffort(), words)
    means = search.means_of(auxiliary_texts)

    def attacked(known: ArrayLike, hidden: ArrayLike) -> Floats:
        halves = checked_halves(known, words, hidden, truth, ("a white-box inversion", "words"))
        return _attacked(search, halves, means, (words, truth), seed)

    hits = attacked(auxiliary, targets)
    bare = None if unprotected is None else attacked(*unprotected)
    return recovered_words(
        "white-box inversion to words", hits, bare, search.size, words, truth, seed
    )


def _attacked(
    search: "_Search", halves: Any, means: Floats, bags: tuple[Bags, Bags], seed: int
) -> Floats:
    """How many tokens of each target the search finds."""
    (known, hidden), (words, truth) = halves, bags
    held, rest = np.split(
        np.random.default_rng(seed).permutation(len(known)), [len(known) // HELD_OUT]
    )

    def gaps(ridge: float) -> Floats:
        fitted = with_one(known[held]) @ ridge_regression(known[rest], means[rest], ridge)
        return np.asarray(means[held] - fitted)

    ridge = min(RIDGES, key=lambda value: float(np.square(gaps(value)).sum()))
    errors = gaps(ridge)
    spread = errors.T @ errors / len(errors)
    # As much again of the same in every direction: few sentences do not tell the small ones.
    spread += (np.trace(spread) / len(spread) + _SMALLEST) * np.eye(len(spread))
    near: Floats = np.linalg.inv(spread).astype(np.float64)
    few = held[:_TRIED]
    aimed = with_one(known[few]) @ ridge_regression(known[rest], means[rest], ridge)

    def tokens_named(weight: float) -> float:
        return float(search.hits(search.tokens(aimed, near, weight), words[few]).sum())

    weight = max(_WEIGHTS, key=tokens_named)
    aimed = with_one(hidden) @ ridge_regression(known, means, ridge)
    return search.hits(search.tokens(aimed, near, weight), truth)


@dataclass(frozen=True)
class _Search:
    """Tokens whose lower-layer mean is near to given ones."""

    model: MaskedModel = field(repr=False)
    effort: SearchEffort
    public: Bags = field(repr=False)

    def __post_init__(self) -> None:
        if self.effort.layer < 1:
            raise InvalidValue("a white-box attack needs at least 1 layer to search through")
        SentenceReader(self.model, self.model.longest, self.effort.layer)  # refuses other models

    @property
    def size(self) -> int:
        """How many tokens are searched for."""
        mean = round(float(self.public.present.sum()) / len(self.public))
        return max(1, min(mean, len(self._tokens), self.model.longest - 2))

    @property
    def _tokens(self) -> Ids:
        """Those of the public sentences, the most frequent first."""
        frequent = self.public.present.sum(axis=0)
        order = np.argsort(-frequent, kind="stable")
        return order[frequent[order] > 0]

    def means_of(self, texts: Sequence[str]) -> Floats:
        """The lower-layer mean of each text."""
        reader = SentenceReader(self.model, self.model.longest, self.effort.layer)
        kept = reader.lower_states(joint_tokens(reader.model, texts))
        sums = np.add.reduceat(kept.states.astype(np.float64), kept.starts)
        return np.asarray(sums / kept.counts[:, None])

    def hits(self, tokens: Ids, truth: Bags) -> Floats:
        """How many of the tokens found for each sentence it really has."""
        rows = np.repeat(np.arange(len(tokens)), tokens.shape[1])
        there = np.asarray(truth.present[rows, tokens.ravel()], dtype=np.float64)
        return np.asarray(there.reshape(tokens.shape).sum(axis=1))

    def tokens(self, aimed: Floats, near: Floats, weight: float) -> Ids:
        """``(n, size)`` different tokens for each aimed mean, by exchanging one after another."""
        vocabulary = self._tokens
        share = self.public.present.sum(axis=0)[vocabulary] / len(self.public)
        prices = np.full(len(self.model.pieces), np.inf, dtype=np.float32)
        prices[vocabulary] = -weight * np.log(share)
        start, device = vocabulary[: self.size], device_of(self.model.network)
        costs, metric = (moved(array.astype(np.float32), device) for array in (prices, near))

        def searched(some: Floats) -> Ids:
            goal = moved(some.astype(np.float32), device)
            now = moved(np.tile(start, (len(some), 1)), device)
            for step in range(self.effort.rounds * self.size):
                now = self._exchanged(now, step % self.size, goal, metric, costs)
            return array_of(now)

        return np.concatenate(in_halves(searched, aimed, "a search for words"))

    def _exchanged(
        self,
        now: "torch.Tensor",
        place: int,
        goal: "torch.Tensor",
        metric: "torch.Tensor",
        costs: "torch.Tensor",
    ) -> "torch.Tensor":
        """The best of the proposed tokens in one place of each row, if it is better."""
        import torch

        matrix = self.model.network.get_input_embeddings().weight.detach()
        rows, size = now.shape
        given = matrix[self._marked(now)].requires_grad_(True)
        with torch.enable_grad():
            slope = torch.autograd.grad(_off(self._mean(given), goal, metric).sum(), given)[0]
        # To first order, what the whole costs with each token in this place.
        first = slope[:, place + 1] @ matrix.T + costs
        first.scatter_(1, now, float("inf"))  # a token is guessed once
        proposed = first.topk(min(self.effort.proposals, first.shape[1]), largest=False).indices
        tried = torch.cat([now[:, place : place + 1], proposed], dim=1)
        every = now[:, None, :].repeat(1, tried.shape[1], 1)
        every[:, :, place] = tried
        with torch.inference_mode():
            means = self._mean(matrix[self._marked(every.reshape(-1, size))])
            wanted = goal.repeat_interleave(tried.shape[1], dim=0)
            off = _off(means, wanted, metric).reshape(rows, -1) + costs[tried]
        best = off.argmin(dim=1)
        out = now.clone()
        out[:, place] = tried.gather(1, best[:, None])[:, 0]
        return out

    def _marked(self, tokens: "torch.Tensor") -> "torch.Tensor":
        import torch

        marks = self.model.marks
        start, end = (
            torch.full((len(tokens), 1), mark, device=tokens.device)
            for mark in (marks.start, marks.end)
        )
        return torch.cat([start, tokens, end], dim=1)

    def _mean(self, given: "torch.Tensor") -> "torch.Tensor":
        """The lower-layer mean from rows of the token matrix."""
        import torch

        network = self.model.network.base_model.eval()
        attention = torch.ones(given.shape[:2], dtype=torch.int64, device=given.device)
        states = network.embeddings(inputs_embeds=given)
        return run_layers_from(self.model, states, attention, 0, self.effort.layer).mean(dim=1)


def _off(means: "torch.Tensor", goal: "torch.Tensor", metric: "torch.Tensor") -> "torch.Tensor":
    gap = means - goal
    return ((gap @ metric) * gap).sum(dim=1) / 2
