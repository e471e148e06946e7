"""Sanitisation-aware pretraining: read sanitised public text, predict the original words.

A service that will receive sanitised text may prepare its model for the noise: it sanitises PUBLIC
text with the same mechanism, masks words of the result and lets the model predict what stood there
before (Yue et al., Findings of ACL 2021, section 4.4). No protected text is involved.

Where we differ from the paper: the noise is drawn anew in every epoch (public text may be sanitised
as often as one likes), and an encoder that comes without a head for predicting words gets one,
which is trained first, alone, on the public text as it is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import __version__, check
from discreet.arrays import Ids, Progress
from discreet.errors import InvalidValue
from discreet.models.bert import MaskedModel, save_masked_model
from discreet.protocols import WordMechanism
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import tokenizer_for
from discreet.training.loop import Keeping, Stage, epoch_order, forget, run, state_beside, step_seed
from discreet.training.texts.alignment import IGNORED, PieceTable, Rows, padded, piece_table

_MASKED, _RANDOM, _SHOWN = 0.8, 0.1, 0.1
_CLEAN, _NOISY, _DRAWN = 1, 2, 3


@dataclass(frozen=True)
class Pretraining:
    """How a model is pretrained.

    Attributes:
        steps: Steps with all weights, on sanitised text.
        head_steps: Steps before that with the head alone, on the text as it is; None stands for 300
            if the head is new, else none.
        batch: Windows of text in a step.
        window: Words in a window; longer documents are cut into several.
        learning_rate: Of all weights.
        head_learning_rate: Of the head alone.
        share: Share of the words that is masked.
        warmup: Share of the steps during which the learning rate rises.
        seed: Of the order, the masks and the noise on PUBLIC text.
    """

    steps: int = 1000
    head_steps: int | None = None
    batch: int = 32
    window: int = 64
    learning_rate: float = 1e-4
    head_learning_rate: float = 1e-3
    share: float = 0.15
    warmup: float = 0.06
    seed: int = 0

    def __post_init__(self) -> None:
        check.whole(self.steps, "steps of pretraining")
        if self.head_steps is not None:
            check.whole(self.head_steps, "head steps of pretraining")
        check.whole(self.batch, "batch of pretraining", at_least=1)
        check.whole(self.window, "window of pretraining", at_least=2)
        check.positive(self.learning_rate, "learning rate of pretraining")
        check.positive(self.head_learning_rate, "head learning rate of pretraining")
        check.probability(self.share, "share of masked words")
        check.probability(self.warmup, "warm-up of pretraining")
        check.whole(self.seed, "seed of pretraining")


@dataclass(frozen=True)
class Windows:
    """Public text as word ids of a space, cut into windows that follow each other."""

    ids: Ids
    bounds: Ids

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def places(self, chosen: Ids) -> tuple[Ids, Ids]:
        """Positions of the words of some windows, and for each the number of its window."""
        lengths = np.diff(self.bounds)[chosen]
        row = np.repeat(np.arange(len(chosen)), lengths)
        within = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.bounds[:-1][chosen][row] + within, row


def windows_of(texts: Sequence[str], space: EmbeddingSpace, window: int) -> Windows:
    """Texts as ids of a space, in windows of at most so many words."""
    batch = tokenizer_for(space.words, space.unknown, space.subwords).encode(texts)
    lengths = np.diff(batch.offsets)
    if not lengths.sum():
        raise InvalidValue(f"the {len(texts)} texts hold no words at all; check the text field")
    parts = -(-lengths // window)
    document = np.repeat(np.arange(len(lengths)), parts)
    part = np.arange(len(document)) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = batch.offsets[:-1][document] + part * window
    return Windows(batch.ids.astype(np.int64), np.append(starts, batch.offsets[-1]))


def masked_rows(
    original: Ids,
    released: Ids,
    row: Ids,
    rows: int,
    table: PieceTable,
    model: MaskedModel,
    *,
    share: float,
    rng: np.random.Generator,
    unknown: int | None = None,
) -> Rows:
    """What the model reads and what it is to predict.

    A share of the words is drawn. Of these, eight in ten are masked, one is replaced by random
    pieces and one is shown as it was released; the target is the original word in all three cases.
    A released word with another number of pieces than the original cannot be shown over its
    targets and is masked instead. Words that are not drawn are shown as released and have no
    target; an original that the space does not know is never a target.

    Args:
        original: Word ids of the space, end to end.
        released: What the mechanism made of each.
        row: For each word the number of its text, never falling.
        rows: How many texts.
        table: The words as pieces.
        model: Its marks and its longest row.
        share: Probability that a word is drawn.
        rng: Draws words and replacements.
        unknown: Id of the space's unknown word.
    """
    if original.shape != released.shape or original.shape != row.shape:
        raise InvalidValue(
            f"{original.size} original words and {released.size} released words are not aligned; "
            "there must be exactly one for each"
        )
    known = np.ones(len(original), dtype=np.bool_) if unknown is None else original != unknown
    drawn = (rng.random(len(original)) < share) & known
    if not drawn.any() and known.any():
        drawn[rng.choice(np.flatnonzero(known))] = True
    kind = rng.random(len(original))
    alike = table.counts[original] == table.counts[released]
    shown = drawn & alike & (kind >= 1 - _SHOWN)
    replaced = drawn & (kind >= _MASKED) & (kind < _MASKED + _RANDOM)
    # Drawn words take the room of their original, so that a target stands over each piece of it.
    pieces, owner = table.spread(np.where(drawn & ~shown, original, released))
    wanted, _ = table.spread(np.where(drawn, original, released))
    targets = np.where(drawn[owner], wanted, IGNORED)
    pieces = np.where(drawn[owner] & ~shown[owner], model.marks.mask, pieces)
    chance = rng.integers(0, len(model.pieces), len(pieces))
    chance[np.isin(chance, model.marks.all)] = model.marks.mask  # a mark in a text is no word
    pieces = np.where(replaced[owner], chance, pieces)
    return padded(pieces, targets, row[owner], rows, model.marks, model.longest)


@dataclass(frozen=True)
class Pretrained:
    """A pretrained model and how it went.

    Attributes:
        model: The model, with its head.
        losses: Of every step.
        about: What the checkpoint says of it.
    """

    model: MaskedModel
    losses: NDArray[np.float64]
    about: dict[str, Any]


def pretrain(
    model: MaskedModel,
    texts: Sequence[str],
    space: EmbeddingSpace,
    mechanism: WordMechanism | None,
    settings: Pretraining,
    *,
    source: dict[str, Any],
    output: Path | None = None,
    save_every: int = 200,
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Pretrained:
    """Pretrain a masked language model on sanitised public text.

    Privacy: none is needed and none is given. The texts must be PUBLIC; the seed makes their noise
    repeatable.

    Args:
        model: From :func:`discreet.models.bert.load_masked_model`; it is changed.
        texts: Public documents.
        space: The mechanism's space, or for plain text the model's own.
        mechanism: What users will sanitise with; None is ordinary masked language modelling.
        settings: How.
        source: Where the texts come from, ready for JSON; recorded with the mechanism's statement.
        output: Directory to write the model to; its state is kept beside it meanwhile.
        save_every: Steps between two savings of the state.
        resume: Go on with a run that was stopped.
        force: Replace a directory that exists.
        progress: Called with (done, total) steps.
    """
    table = piece_table(space, model)
    windows = windows_of(texts, space, settings.window)
    head_steps = settings.head_steps
    if head_steps is None:
        head_steps = 0 if model.has_head else 300
    if not head_steps + settings.steps:
        raise InvalidValue("pretraining needs at least 1 step")
    about = _about(model, space, mechanism, settings, head_steps, source, len(texts), windows)
    keeping = Keeping(
        None if output is None else state_beside(output),
        check.whole(save_every, "steps between savings", at_least=1),
        resume,
        {**about, "model": model.fingerprint},
    )
    keeping.refuse_leftover()
    clean = _losses(model, windows, table, space.unknown, None, settings)
    noisy = _losses(model, windows, table, space.unknown, mechanism, settings)
    losses = run(
        model.network,
        [
            Stage(head_steps, settings.head_learning_rate, model.head_parameters(), clean),
            Stage(settings.steps, settings.learning_rate, list(model.network.parameters()), noisy),
        ],
        seed=settings.seed,
        keeping=keeping,
        warmup=settings.warmup,
        progress=progress,
    )
    about["final_loss"] = float(losses[-max(1, len(losses) // 20) :].mean())
    if output is not None:
        save_masked_model(model, output, about, force=force)
        forget(keeping)
    return Pretrained(model, losses, about)


def _losses(
    model: MaskedModel,
    windows: Windows,
    table: PieceTable,
    unknown: int | None,
    mechanism: WordMechanism | None,
    settings: Pretraining,
) -> Callable[[int], Any]:
    """The loss of each step, a function of the seed and the step alone."""
    import torch
    from torch.nn.functional import cross_entropy

    per_epoch = math.ceil(len(windows) / settings.batch)
    stream = _CLEAN if mechanism is None else _NOISY
    epoch_now = -1
    order = released = np.empty(0, dtype=np.int64)

    def loss(step: int) -> Any:
        nonlocal epoch_now, order, released
        epoch, number = divmod(step, per_epoch)
        if epoch != epoch_now:
            epoch_now = epoch
            order = epoch_order(len(windows), settings.seed, 2 * epoch + stream)
            released = windows.ids
            if mechanism is not None:
                # The whole text at once: each word's law is then computed once an epoch.
                noise = np.random.default_rng([settings.seed, epoch, _NOISY])
                released = mechanism.release(windows.ids, noise)
        chosen = order[number * settings.batch : (number + 1) * settings.batch]
        places, row = windows.places(chosen)
        rows = masked_rows(
            windows.ids[places],
            released[places],
            row,
            len(chosen),
            table,
            model,
            share=settings.share,
            rng=np.random.default_rng([step_seed(settings.seed, step), stream, _DRAWN]),
            unknown=unknown,
        )
        targets = torch.from_numpy(rows.targets)
        wanted = targets != IGNORED
        scores = model.scores(
            torch.from_numpy(rows.inputs), torch.from_numpy(rows.attention), wanted
        )
        # A batch of nothing but unknown words has no target; its loss is 0, not 0 / 0.
        return cross_entropy(scores, targets[wanted], reduction="sum") / max(1, len(scores))

    return loss


def _about(
    model: MaskedModel,
    space: EmbeddingSpace,
    mechanism: WordMechanism | None,
    settings: Pretraining,
    head_steps: int,
    source: dict[str, Any],
    documents: int,
    windows: Windows,
) -> dict[str, Any]:
    return {
        "discreet": __version__,
        "made": "pretrained on public text",
        "from": {"model": model.name, "fingerprint": model.fingerprint, "about": model.about},
        "settings": {**asdict(settings), "head_steps": head_steps},
        "space": {"name": space.name, "fingerprint": space.fingerprint},
        "mechanism": None if mechanism is None else mechanism.name,
        "statement": None if mechanism is None else mechanism.statement.to_dict(),
        "public_text": {
            **source,
            "documents": documents,
            "words": len(windows.ids),
            "windows": len(windows),
        },
    }
