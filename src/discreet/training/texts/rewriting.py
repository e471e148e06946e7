"""Train a denoising rewriter on public text, and release text through it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.arrays import Ids, Progress
from discreet.devices import CPU, array_of, device_of, find_device, in_halves, moved, room_for
from discreet.errors import InvalidValue
from discreet.models.bert import load_masked_model
from discreet.models.rewriter import (
    BiLSTM,
    MaskedBody,
    Rewriter,
    RewriterNetwork,
    described,
    windows,
)
from discreet.protocols import Mechanism, PostProcessed, Release, WordMechanism, release_texts
from discreet.randomness import secure_generator
from discreet.release.strength import KeepRate, keep_rate
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import PrivacyStatement
from discreet.text.layout import TokensLayout
from discreet.text.tokens import TokenBatch, tokenizer_for
from discreet.training.loop import (
    Epochs,
    TrainingStage,
    layers_in_16_bits,
    seeded_weights,
    train_in_stages,
    warmed_up,
)
from discreet.training.texts.alignment import IGNORED, piece_table
from discreet.training.texts.settings import BODIES, RewriterTraining

_BATCH_TOKENS = 256
_LEAVE_MORE = (0, 1, 2, 3, 4, 6)
_HELD_OUT = 20  # every so many documents one is only measured on
DEFAULTS = {"batch_tokens": _BATCH_TOKENS, "learning_rates": BODIES}
"""What the figures of a rewriter depend on besides its arguments."""
_CLOSENESS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_CLOSENESS_TOKENS = 2048
_MEASURED_TOKENS = 2048


@dataclass(frozen=True)
class _Public:
    """Public text as ids, and what may be written."""

    batch: TokenBatch
    space: EmbeddingSpace
    candidates: Ids
    frequencies: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    rare: float = 0.0

    @cached_property
    def place(self) -> Ids:
        """Of each word of the space among the candidates; -1 if it is none."""
        place = np.full(len(self.space), -1)
        place[self.candidates] = np.arange(len(self.candidates))
        return place

    def targets(self, places: Ids, released: Ids, device: Any) -> torch.Tensor:
        """For each position the candidate's number, "leave it", or nothing to learn."""
        words = self.batch.ids[places].astype(np.int64)
        number = self.place[words]
        left = (number < 0) & (words == released) & (words != self.space.unknown)
        number = np.where(left, len(self.candidates), number)
        return moved(np.where(number < 0, IGNORED, number), device)


def train_rewriter(
    mechanism: WordMechanism,
    texts: Sequence[str],
    settings: RewriterTraining | None = None,
    *,
    source: str = "given as a list",
    progress: Progress | None = None,
) -> Rewriter:
    """Sanitise public text again and again, and learn to give back the original.

    Privacy: the rewriter depends on public text and on the mechanism's public law only. Never give
    it protected text.

    Where we differ from Huang et al. (2024): as far as its text says, the paper trains its
    auto-encoder on a part of the data set that is protected; ours sees public text and, later, a
    finished release. It also starts near Bayes' rule for each word on its own. Feeding the exact
    law ``ln P(y|x)`` of SanText to an earlier version of the network was tried, with one seed: as
    many words were restored with it as without.

    Args:
        mechanism: The word mechanism whose noise is to be undone.
        texts: PUBLIC documents, alike those that will be rewritten.
        settings: How; nothing here is a release, so all of it is seeded.
        source: What the receipt calls the public text.
        progress: Called with (done, total) steps.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> from discreet.mechanisms.word import SanText
    >>> space = EmbeddingSpace.from_arrays(["<unk>", "hot", "tea"], [[5.0], [0.0], [1.0]])
    >>> mechanism = SanText(space, epsilon=1.0)
    >>> small = RewriterTraining(hidden=8, epochs=1)
    >>> rewriter = train_rewriter(mechanism, ["hot tea"] * 100, small)
    >>> release = RewritingSanitizer(mechanism, rewriter).sanitize(["hot tea", "tea"])
    >>> [len(text.split()) for text in release.values], release.statement.epsilon
    ([2, 1], 1.0)
    """
    settings = settings or RewriterTraining()
    seed, space = settings.seed, mechanism.space
    every = tokenizer_for(space.words, space.unknown, space.subwords).encode(texts)
    held = np.arange(len(every)) % _HELD_OUT == _HELD_OUT - 1
    public = _public(every.only(np.flatnonzero(~held)), space, settings.write_words)
    device = find_device(settings.device)
    rng = np.random.default_rng([seed, 0])
    with room_for("the rewriter", "let it write fewer words, or use --device cpu"):
        network = _network(public, space, settings).to(device)
        _begin(network, public, _released(public.batch, mechanism, rng))
    epochs = _noisy_epochs(public, mechanism, seed)

    def loss(step: int) -> Any:
        (places, released), number = epochs.at(step)
        read = released[places[number]]
        with layers_in_16_bits(device, settings.mixed):
            scores = network(moved(read, device)).float()
        # Divided by a fixed number: a step of few known words must not count as much as any.
        return _cross_entropy(scores, public.targets(places[number], read, device)) / _BATCH_TOKENS

    steps = settings.epochs * epochs.length
    stage = TrainingStage(steps, warmed_up(settings.rate), list(network.parameters()), loss)
    train_in_stages(network, [stage], seed=seed, weight_decay=0.0, progress=progress)
    used = {
        "body": settings.body,
        "epochs": settings.epochs,
        "learning_rate": settings.rate,
        "mixed": settings.mixed,
        "seed": seed,
    }
    if settings.body == "masked":
        used["model"] = settings.model
    counts = {"documents": len(every), "words": every.tokens, "written": len(public.candidates)}
    about: dict[str, Any] = {"public text": source, "counts": counts, "training": used}
    rewriter = Rewriter(network.eval(), described(mechanism), about)
    if held.sum() > 1:
        tuned, judged = (np.flatnonzero(held)[first::2] for first in (0, 1))
        about["leave more"] = _leave_more(rewriter, mechanism, every.only(tuned), seed)
        about["held out"] = measure_rewriter(rewriter, mechanism, every.only(judged), seed=seed)
    return rewriter


def _leave_more(rewriter: Rewriter, mechanism: WordMechanism, public: TokenBatch, seed: int) -> int:
    """Raise the score of leaving a word alone by what restores most words of unseen public text.

    Words that were never learnt are rarer in the text that was learnt from than in any other.
    """
    rare, learnt = rewriter.network.rare, float(rewriter.network.rare.detach())

    def restored(more: int) -> float:
        with torch.no_grad():
            rare.fill_(learnt + more)
        return measure_rewriter(rewriter, mechanism, public, seed=seed)["restored"]

    best = max(_LEAVE_MORE, key=restored)
    with torch.no_grad():
        rare.fill_(learnt + best)
    return best


def measure_rewriter(
    rewriter: Rewriter, mechanism: WordMechanism, public: TokenBatch, *, seed: int = 0
) -> dict[str, float]:
    """On PUBLIC documents: the share of words that the mechanism keeps, and that are right after.

    The cross-entropy is that of the true word under the rewriter, in nats, over the words that it
    can write.
    """
    rng = np.random.default_rng([seed, 2**31])
    released = WordRelease(mechanism).release(public, rng)
    space, ids = mechanism.space, public.ids.astype(np.int64)
    known = ids != (-1 if space.unknown is None else space.unknown)
    written = _rewritten(rewriter, released).ids
    network, device = rewriter.network, device_of(rewriter.network)
    reference = _Public(public, space, array_of(network.candidates))
    total, count = 0.0, 0

    def measure(places: Ids) -> None:
        nonlocal total, count
        read = released.ids[places].astype(np.int64)
        scores = network(moved(read, device))
        targets = reference.targets(places, read, device)
        loss, learnt = float(_cross_entropy(scores, targets)), int((targets != IGNORED).sum())
        total, count = total + loss, count + learnt

    with torch.inference_mode():
        for places in windows(public.offsets, _MEASURED_TOKENS):
            in_halves(measure, places, "a text")
    return {
        "kept": float((released.ids == ids)[known].mean()) if known.any() else 0.0,
        "restored": float((written == ids)[known].mean()) if known.any() else 0.0,
        "cross_entropy": total / max(1, count),
    }


class WordRelease:
    """A word mechanism over whole documents: released ids in the place of ids."""

    def __init__(self, mechanism: WordMechanism) -> None:
        self._mechanism = mechanism

    @property
    def statement(self) -> PrivacyStatement:
        """The word mechanism's."""
        return self._mechanism.statement

    def release(self, values: TokenBatch, rng: np.random.Generator) -> TokenBatch:
        """An independent draw for each word."""
        released = _released(values, self._mechanism, rng)
        return TokenBatch(released.astype(np.int32), values.offsets)


class RewritingSanitizer:
    """Sanitises text word by word, then rewrites what was released.

    Privacy: exactly the word mechanism's statement. The rewriter is handed the released words and
    nothing else (:class:`discreet.protocols.PostProcessed`).

    Args:
        mechanism: A word mechanism.
        rewriter: One that was trained for it; another is refused.
    """

    def __init__(self, mechanism: WordMechanism, rewriter: Rewriter) -> None:
        rewriter.require(mechanism)
        space = mechanism.space
        self.mechanism = mechanism
        told = {key: value for key, value in rewriter.about.items() if key != "options"}
        self.about: Mapping[str, Any] = {"layout": "tokens", "rewriter": told}
        self._layout = TokensLayout(tokenizer_for(space.words, space.unknown, space.subwords))
        words: Mechanism[TokenBatch, TokenBatch] = WordRelease(mechanism)
        self._released = PostProcessed(words, partial(_rewritten, rewriter))

    @cached_property
    def keep_rate(self) -> KeepRate:
        """How often the mechanism lets a word stay."""
        return keep_rate(self.mechanism)

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each word of the input."""
        return self._released.statement.with_public(*self._layout.public)

    def draws(self, texts: Sequence[str]) -> Ids:
        """How many draws each document will take; nothing is drawn."""
        return np.diff(self._layout.split(texts).offsets)

    def sanitize(
        self, texts: Sequence[str], rng: np.random.Generator | None = None
    ) -> Release[list[str]]:
        """Sanitise and rewrite documents.

        Args:
            texts: The documents.
            rng: Leave it out for a release; a seeded one is for experiments.
        """
        rng = secure_generator() if rng is None else rng
        batch = self._layout.split(texts)
        written = self._released.release(batch, rng)
        out = self._layout.join(texts, written.offsets, written.ids)
        draws = np.diff(batch.offsets)
        return Release.of(out, self.statement, batch.tokens, rng, draws=draws)


def _public(batch: TokenBatch, space: EmbeddingSpace, max_words: int) -> _Public:
    counts = np.bincount(batch.ids, minlength=len(space)).astype(np.float64)
    if space.unknown is not None:
        counts[space.unknown] = 0.0
    # Words that occur once teach when to leave a word alone that was never learnt.
    frequent = np.argsort(-counts, kind="stable")[:max_words]
    candidates = np.sort(frequent[counts[frequent] > 1])
    if not len(candidates):
        raise InvalidValue(
            "a rewriter needs public text in which some words of the space occur twice; "
            f"got {len(batch)} documents of {batch.tokens} words"
        )
    missed = counts.sum() - counts[candidates].sum()
    rare = max(missed, 0.5) / max(1, len(space) - len(candidates)) / counts.sum()
    return _Public(batch, space, candidates, counts[candidates] / counts.sum(), rare)


def _network(public: _Public, space: EmbeddingSpace, settings: RewriterTraining) -> RewriterNetwork:
    vectors = torch.from_numpy(space.vectors.astype(np.float32))
    vectors = vectors / vectors.norm(dim=1).mean().clamp_min(1e-12)
    with seeded_weights(settings.seed, "a rewriter"):
        body = (
            _masked(space, settings.model)
            if settings.body == "masked"
            else BiLSTM(space.dimension, hidden=settings.hidden)
        )
        return RewriterNetwork(vectors, torch.from_numpy(public.candidates), body, space.unknown)


def _masked(space: EmbeddingSpace, model: str) -> MaskedBody:
    loaded = load_masked_model(model, device=CPU)  # until the whole is moved
    pieces = piece_table(space, loaded)
    matrix = loaded.network.get_input_embeddings().weight.detach()
    ids, owner = pieces.spread(np.arange(len(space)))
    table = torch.zeros(len(space), matrix.shape[1])
    table.index_add_(0, torch.from_numpy(owner), matrix[torch.from_numpy(ids)])
    table /= torch.from_numpy(pieces.counts)[:, None]
    ends = matrix[[loaded.marks.start, loaded.marks.end]].clone()
    base = loaded.network.base_model
    config = {**base.config.to_dict(), "vocab_size": 1, "pad_token_id": 0}
    return MaskedBody(config, table, ends, base)


def _begin(network: RewriterNetwork, public: _Public, released: Ids) -> None:
    """Start with the closeness that explains the noise best, of a few."""
    places = np.arange(min(_CLOSENESS_TOKENS, public.batch.tokens))
    device = device_of(network)
    targets = public.targets(places, released[places], device)
    frequencies = moved(public.frequencies.astype(np.float32), device)
    given = network.vectors[moved(released[places], device)]
    near = given @ network.output.detach().T
    learnt = targets != IGNORED
    learnt &= targets < len(public.candidates)

    def surprise(closeness: float) -> float:
        scores = closeness * near + frequencies.log()
        return float(_cross_entropy(scores[learnt], targets[learnt]))

    network.start(frequencies, public.rare, min(_CLOSENESS, key=surprise))


def _noisy_epochs(
    public: _Public, mechanism: WordMechanism, seed: int
) -> Epochs[tuple[list[Ids], Ids]]:
    """Places in batches, and what was released; the noise of an epoch is drawn when it begins."""

    def places_of(epoch: int) -> list[Ids]:
        rng = np.random.default_rng([seed, epoch, 1])
        return list(windows(public.batch.offsets, _BATCH_TOKENS, rng))

    def prepare(epoch: int) -> tuple[list[Ids], Ids]:
        rng = np.random.default_rng([seed, epoch])
        return places_of(epoch), _released(public.batch, mechanism, rng)

    return Epochs(len(places_of(0)), prepare)


def _rewritten(rewriter: Rewriter, released: TokenBatch) -> TokenBatch:
    with room_for("the rewriter, on one text at a time", "use --device cpu"):
        return rewriter.rewrite(released)


def _released(batch: TokenBatch, mechanism: WordMechanism, rng: np.random.Generator) -> Ids:
    return release_texts(mechanism, batch.ids, rng, batch.offsets)


def _cross_entropy(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The sum over all targets; what is IGNORED is the default of PyTorch."""
    return torch.nn.functional.cross_entropy(
        scores.flatten(end_dim=-2), targets.flatten(), reduction="sum"
    )
