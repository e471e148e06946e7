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

from discreet import __version__
from discreet.arrays import Ids, Progress, ragged_places
from discreet.devices import device_of, find_device, moved, room_for
from discreet.errors import InvalidValue
from discreet.models.bert import MaskedModel, save_masked_model
from discreet.protocols import WordMechanism, release_texts
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch, tokenizer_for
from discreet.training.kept_state import RunState
from discreet.training.loop import (
    Epochs,
    TrainingStage,
    epoch_order,
    layers_in_16_bits,
    step_seed,
    train_in_stages,
    warmed_up,
)
from discreet.training.settings import Resumption
from discreet.training.texts.alignment import IGNORED, PaddedRows, PieceTable, padded, piece_table
from discreet.training.texts.settings import Pretraining

_MASKED, _RANDOM, _SHOWN = 0.8, 0.1, 0.1
_CLEAN, _NOISY, _DRAWN = 1, 2, 3


def windows_of(texts: Sequence[str], space: EmbeddingSpace, window: int) -> TokenBatch:
    """Texts as ids of a space, in windows of at most so many words that follow each other."""
    batch = tokenizer_for(space.words, space.unknown, space.subwords).encode(texts)
    lengths = np.diff(batch.offsets)
    if not lengths.sum():
        raise InvalidValue(f"the {len(texts)} texts hold no words at all; check the text field")
    part, document = ragged_places(np.zeros_like(lengths), -(-lengths // window))
    starts = batch.offsets[:-1][document] + part * window
    return TokenBatch(batch.ids, np.append(starts, batch.offsets[-1]))


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
) -> PaddedRows:
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
    chance[np.isin(chance, model.marks)] = model.marks.mask  # a mark in a text is no word
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
    when: Resumption | None = None,
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
        when: When the state is saved, and whether to go on from it.
        force: Replace a directory that exists.
        progress: Called with (done, total) steps.
    """
    where = find_device(settings.device)
    with room_for("the model", "use a smaller one, or --device cpu"):
        model.network.to(where)
    table = piece_table(space, model)
    windows = windows_of(texts, space, settings.window)
    head_steps = settings.head_steps
    if head_steps is None:
        head_steps = 0 if model.has_head else 300
    if not head_steps + settings.steps:
        raise InvalidValue("pretraining needs at least 1 step")
    counts = {"documents": len(texts), "words": windows.tokens, "windows": len(windows)}
    about: dict[str, Any] = {
        "discreet": __version__,
        "made": "pretrained on public text",
        "from": {"model": model.name, "fingerprint": model.fingerprint, "about": model.about},
        "settings": {**asdict(settings), "head_steps": head_steps},
        "space": {"name": space.name, "fingerprint": space.fingerprint},
        "mechanism": None if mechanism is None else mechanism.name,
        "statement": None if mechanism is None else mechanism.statement.to_dict(),
        "public_text": {**source, **counts},
    }
    state = None
    if output is not None:
        identity = {**about, "model": model.fingerprint}
        state = RunState(RunState.beside(output), when or Resumption(), identity)
    clean = _losses(model, windows, table, space.unknown, None, settings)
    noisy = _losses(model, windows, table, space.unknown, mechanism, settings)
    network, every = model.network, list(model.network.parameters())
    head = warmed_up(settings.head_learning_rate, settings.warmup)
    whole = warmed_up(settings.learning_rate, settings.warmup)
    stages = [
        TrainingStage(head_steps, head, model.head_parameters(), clean),
        TrainingStage(settings.steps, whole, every, noisy),
    ]
    losses = train_in_stages(network, stages, seed=settings.seed, state=state, progress=progress)
    about["final_loss"] = float(losses[-max(1, len(losses) // 20) :].mean())
    if output is not None:
        save_masked_model(model, output, about, force=force)
    if state is not None:
        state.forget()
    return Pretrained(model, losses, about)


def _losses(
    model: MaskedModel,
    windows: TokenBatch,
    table: PieceTable,
    unknown: int | None,
    mechanism: WordMechanism | None,
    settings: Pretraining,
) -> Callable[[int], Any]:
    """The loss of each step, a function of the seed and the step alone."""
    from torch.nn.functional import cross_entropy

    device = device_of(model.network)
    stream = _CLEAN if mechanism is None else _NOISY
    ids = windows.ids.astype(np.int64)

    def prepare(epoch: int) -> tuple[Ids, Ids]:
        order = epoch_order(len(windows), settings.seed, 2 * epoch + stream)
        if mechanism is None:
            return order, ids
        # The whole text at once: each word's law is then computed once an epoch.
        noise = np.random.default_rng([settings.seed, epoch, _NOISY])
        return order, release_texts(mechanism, ids, noise, windows.offsets)

    epochs = Epochs(math.ceil(len(windows) / settings.batch), prepare)

    def loss(step: int) -> Any:
        (order, released), number = epochs.at(step)
        chosen = order[number * settings.batch : (number + 1) * settings.batch]
        places, row = windows.places(chosen)
        rows = masked_rows(
            ids[places],
            released[places],
            row,
            len(chosen),
            table,
            model,
            share=settings.share,
            rng=np.random.default_rng([step_seed(settings.seed, step), stream, _DRAWN]),
            unknown=unknown,
        )
        targets = moved(rows.targets, device)
        wanted = targets != IGNORED
        inputs, attention = moved(rows.inputs, device), moved(rows.attention, device)
        with layers_in_16_bits(device, settings.mixed):
            scores = model.scores(inputs, attention, wanted)
        # A batch of nothing but unknown words has no target; its loss is 0, not 0 / 0.
        return cross_entropy(scores.float(), targets[wanted], reduction="sum") / max(1, len(scores))

    return loss
