"""What each user contributes to a step: clipped cells, summed and clipped again.

The contribution is a function of the model's parameters, the user's own text and the draws, so a
client can compute it alone; here many users share one pass over the model.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.arrays import Ids
from discreet.devices import moved
from discreet.errors import InvalidValue
from discreet.models.factors import (
    Factor,
    FactorModel,
    Masks,
    Parameters,
    SentenceBatch,
    group_norms,
    weighted_gradient,
)
from discreet.training.user_entity._draws import StepDraws
from discreet.training.user_entity.users import UserText

# Users go through the model together until they have so many words.
_WORDS_TOGETHER = 2000
# The squares of a longer row (a bias of so many words) are added up in 64 bits.
_LONG_ROW = 2**15
# Balls are taken this much smaller, so that rounding in 32 bits cannot carry a vector outside.
_MARGIN = 1e-4


@dataclass(frozen=True, eq=False)
class ActiveText:
    """The sentences of a drawn user that take part in a step."""

    user: UserText
    sentences: Ids = field(repr=False)
    weights: NDArray[np.float64] | None = field(default=None, repr=False)
    """What each sentence's gradient is multiplied by; 1 unless given."""
    scale: float = field(default=1.0, repr=False)
    """What the clipped sum is multiplied by."""

    @property
    def words(self) -> int:
        """How many words take part."""
        return int(self.user.lengths[self.sentences].sum())

    def apart(self) -> Iterator["ActiveText"]:
        """Each sentence by itself, as if nobody had written two."""
        return (ActiveText(self.user, one) for one in np.split(self.sentences, len(self.sentences)))


def contributions(
    model: FactorModel,
    texts: Sequence[ActiveText],
    draws: StepDraws,
    *,
    clip: float,
    cell_clip: float | None = None,
    one_cell: bool = False,
) -> Iterator[Parameters]:
    """For each user the clipped sum of clipped cells; what the server adds up.

    A cell's gradient (that of the sum of its active sentences' losses) is scaled to norm
    ``cell_clip`` if it is longer; so is, to norm ``clip``, the user's sum of all cells and of the
    sentences without an entity. The second is the projection on a ball, which never moves two
    vectors apart: taking a cell away moves what the user contributes by at most ``cell_clip``.
    Each sentence without an entity is scaled as a cell is, so that these do not outweigh the
    others; the guarantee does not need it. Where a user's one cell is all that it has
    (``one_cell``) the whole is scaled once, by its own norm.

    Args:
        model: with the parameters of this step.
        texts: the active sentences of each drawn user; users without one are left out before.
        draws: of this step; here for the dropout masks alone.
        clip: norm of a user's contribution, at most.
        cell_clip: norm of a cell's, at most; None clips users only.
        one_cell: no user has a second cell, nor a sentence without an entity beside a cell.
    """
    like = model.trainable()
    for part in together(texts):
        factors = model.factors(sentence_batch(part), dropout_masks(part, draws))
        weight = _weights(part, factors)
        if cell_clip is not None and not one_cell:
            weight = weight * _cell_scales(factors, part, weight, cell_clip)
        for text, rows in zip(part, _rows_by_text(factors, part, weight), strict=True):
            gradient = weighted_gradient(factors, like, rows, weight)
            norm = torch.tensor(norm_of(gradient), dtype=torch.float64)
            bound = clip
            if one_cell and cell_clip is not None and text.user.cells:
                bound = cell_clip
            yield scaled(gradient, text.scale * float(_shrink(norm, bound)))


def added_up(parts: Iterable[Parameters], total: Parameters) -> Parameters:
    """Contributions added to a total in 64 bits.

    Each by itself: of sums of a few in 32 bits one user more would move everybody's rounding, and
    of ten thousand users that can be more than the margin of a ball.
    """
    for part in parts:
        add_to(total, part)
    return total


def add_to(total: Parameters, part: Parameters) -> None:
    """Add to every entry, in place."""
    for name, value in part.items():
        total[name] += value


def plain_sum(model: FactorModel, texts: Sequence[ActiveText], draws: StepDraws) -> Parameters:
    """The sum of all gradients, unclipped: for training without a guarantee."""
    like = model.trainable()
    total: Parameters = {name: torch.zeros_like(value) for name, value in like.items()}
    for part in together(texts):
        factors = model.factors(sentence_batch(part), dropout_masks(part, draws))
        rows: dict[int, torch.Tensor | slice] = {id(f.sentence): slice(None) for f in factors}
        add_to(total, weighted_gradient(factors, like, rows, _weights(part, factors)))
    return total


def sentence_batch(texts: Sequence[ActiveText]) -> SentenceBatch:
    """The active sentences of some users, for a model."""
    words = [text.user.tokens[text.user.places(text.sentences)] for text in texts]
    lengths = [text.user.lengths[text.sentences] for text in texts]
    labels = [text.user.labels[text.sentences] for text in texts if text.user.labels is not None]
    return SentenceBatch(
        torch.from_numpy(np.concatenate(words)),
        torch.from_numpy(np.concatenate(lengths)),
        torch.from_numpy(np.concatenate(labels)) if labels else None,
    )


def norm_of(parameters: Parameters) -> float:
    """The Euclidean norm of all entries."""
    return float(_norms({name: value[None] for name, value in parameters.items()}))


def _norms(several: Parameters) -> torch.Tensor:
    """Of each of n vectors: of short rows in 32 bits, which are added up in 64."""
    norms = []
    for value in several.values():
        if value.dtype not in (torch.float32, torch.float64):
            raise InvalidValue(
                "gradients of fewer than 32 bits cannot be clipped; give the model in 32 bits, and "
                "train it without autocast"
            )
        wide = torch.float64 if value.shape[-1] > _LONG_ROW else None
        rows = value.reshape(len(value), -1, value.shape[-1])
        norms.append(torch.linalg.vector_norm(rows, dim=2, dtype=wide).double())
    out: torch.Tensor = torch.linalg.vector_norm(torch.cat(norms, dim=1), dim=1)
    return out


def scaled(parameters: Parameters, factor: float) -> Parameters:
    """Every entry times a number, in place; times 0 is 0, whatever the entry."""
    if factor != 1.0:
        for value in parameters.values():
            if factor:
                value *= factor
            else:
                value.zero_()
    return parameters


def _shrink(norms: torch.Tensor, bound: float) -> torch.Tensor:
    """What takes vectors of these norms into the ball; a norm that is no number takes one to 0."""
    inner = bound * (1 - _MARGIN)
    return torch.where(torch.isfinite(norms), (inner / norms).clamp(max=1.0), 0.0)


def _cell_scales(
    factors: list[Factor], texts: Sequence[ActiveText], weight: torch.Tensor, bound: float
) -> torch.Tensor:
    """For each sentence what its cell is scaled by; without an entity it is by itself."""
    cells, first = [], 0
    for text in texts:
        own = text.user.cell[text.sentences]
        alone = first + len(text.user.cells) + np.arange(len(own))
        cells.append(np.where(own >= 0, own + first, alone))
        first += len(text.user.cells) + len(own)
    group = moved(np.concatenate(cells), weight.device)
    if bool((weight != 1).any()):
        raise ValueError("cells are clipped as they are, without weights")
    return _shrink(group_norms(factors, group, first), bound)[group].float()


def _weights(texts: Sequence[ActiveText], factors: list[Factor]) -> torch.Tensor:
    """Of each sentence, where the factors are."""
    each = [np.ones(len(t.sentences)) if t.weights is None else t.weights for t in texts]
    return moved(np.concatenate(each).astype(np.float32), factors[0].errors.device)


def dropout_masks(texts: Sequence[ActiveText], draws: StepDraws) -> Masks:
    """What a model draws its dropout from."""
    return Masks(
        draws.shared_seed(),
        [(draws.user_seed(text.user.name), len(text.sentences)) for text in texts],
        torch.from_numpy(np.concatenate([text.sentences for text in texts])),
    )


def together(texts: Sequence[ActiveText]) -> Iterator[list[ActiveText]]:
    """Users who go through the model at once."""
    part: list[ActiveText] = []
    words = 0
    for text in texts:
        if part and words + text.words > _WORDS_TOGETHER:
            yield part
            part, words = [], 0
        part.append(text)
        words += text.words
    if part:
        yield part


def _rows_by_text(
    factors: list[Factor], texts: Sequence[ActiveText], weight: torch.Tensor
) -> Iterator[dict[int, torch.Tensor | slice]]:
    """For each user and each layout of rows, the rows that are the user's.

    Sentences of weight 0 are left out: their gradients may be no numbers, which 0 does not undo.
    """
    counts = torch.tensor([len(text.sentences) for text in texts])
    owner = torch.repeat_interleave(torch.arange(len(texts)), counts).to(weight.device)
    owner = torch.where(weight != 0, owner, len(texts))  # nobody's
    ordered = {}
    for factor in factors:
        if id(factor.sentence) not in ordered:
            owners = owner[factor.sentence]
            sizes = torch.bincount(owners, minlength=len(texts) + 1).tolist()
            ordered[id(factor.sentence)] = torch.split(torch.argsort(owners, stable=True), sizes)
    for place in range(len(texts)):
        yield {key: rows[place] for key, rows in ordered.items()}
