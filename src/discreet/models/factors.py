"""Gradients of sentences as sums of outer products: their norms without writing them out.

In every layer that is trained here, the gradient of a sentence is a sum over its tokens of
``error (x) input``. One batched backward pass gives the errors and the inputs of all tokens of all
sentences; from them come, with no further pass and no loop over sentences,

- the norm of the gradient of any group of sentences, from the products of its tokens with each
  other (:func:`group_norms`), and
- the gradient of a weighted sum of sentences, as one matrix product (:func:`weighted_gradient`).

The first is what a cell needs, the second what a user needs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Protocol

from discreet.errors import needs_extra

with needs_extra("training a language model", "train"):
    import torch

Parameters = dict[str, torch.Tensor]

# A gathered block of tokens has at most so many numbers.
_BLOCK_NUMBERS = 2**24
# Groups of tokens are padded to powers of this, so that few blocks serve all.
_GROWTH = 1.3


@dataclass(frozen=True)
class SentenceBatch:
    """Sentences of token ids, one after the other; protected text, so never shown."""

    tokens: torch.Tensor = field(repr=False)
    """Ids of all sentences, flat."""
    lengths: torch.Tensor = field(repr=False)
    """Tokens of each sentence, at least 1."""
    labels: torch.Tensor | None = field(default=None, repr=False)
    """Class of each sentence, where sentences are classified."""

    def __len__(self) -> int:
        return len(self.lengths)

    def on(self, device: torch.device) -> "SentenceBatch":
        """The same sentences on a device."""
        labels = None if self.labels is None else self.labels.to(device)
        return SentenceBatch(self.tokens.to(device), self.lengths.to(device), labels)


@dataclass(frozen=True)
class Masks:
    """What dropout draws from: one seed for the step, one generator seed and its rows for a user.

    ``rows[i]`` is the number of sentence i among all sentences of its owner: a mask belongs to a
    sentence, whichever others take part.
    """

    shared: int = field(repr=False)
    owners: Sequence[tuple[int, int]] = field(repr=False)
    """For each user in the batch, in order: its seed and how many of the sentences are its own."""
    rows: torch.Tensor = field(repr=False)


@dataclass(frozen=True)
class Factor:
    """A part of one parameter's gradient: the sum over rows of ``error (x) input``.

    Attributes:
        name: the parameter.
        errors: ``(rows, outputs)``.
        sentence: which sentence each row belongs to.
        inputs: ``(rows, inputs)``; ids of rows of an embedding; or None for a bias.
        mask: what the gradient is multiplied by, entry by entry (weight drop).
        largest: no entry of ``mask`` is larger.
    """

    name: str
    errors: torch.Tensor
    sentence: torch.Tensor
    inputs: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    largest: float = 1.0

    @property
    def by_row(self) -> bool:
        """True if an input is the number of a row of an embedding."""
        return self.inputs is not None and not self.inputs.is_floating_point()

    def gradient(
        self, rows: torch.Tensor | slice, weights: torch.Tensor, shape: torch.Size
    ) -> torch.Tensor:
        """The weighted sum over these rows."""
        errors = _picked(self.errors, rows)
        if self.inputs is None:
            return weights @ errors
        inputs = _picked(self.inputs, rows)
        if self.by_row:
            out = errors.new_zeros(shape)
            return out.index_add_(0, inputs, errors * weights[:, None])
        product = errors.T @ (inputs * weights[:, None])
        return product if self.mask is None else product.mul_(self.mask)


@dataclass(frozen=True)
class Predicted:
    """Every prediction of a batch: the words of a sentence and its end, sentence after sentence.

    Where sentences are classified there is one for each sentence.
    """

    losses: torch.Tensor = field(repr=False)
    """Nats."""
    wrong: torch.Tensor = field(repr=False)


class FactorModel(Protocol):
    """A model whose trained parameters all have gradients in factors."""

    @property
    def description(self) -> str:
        """What the model is but for its weights: shape, vocabulary, how it began."""

    def trainable(self) -> Parameters:
        """The parameters that are trained, by name; changing them changes the model."""

    def weights(self) -> Parameters:
        """What a file of the model holds: these, and others that are not to be had elsewhere."""

    def factors(self, batch: SentenceBatch, masks: Masks | None) -> list[Factor]:
        """The gradient of every sentence's loss, in factors; without masks there is no dropout."""

    def predicted(self, batch: SentenceBatch) -> Predicted:
        """How well each prediction of a batch does, without dropout."""

    def predictions(self, batch: SentenceBatch) -> int:
        """How many predictions a batch asks for."""


def group_norms(factors: Iterable[Factor], group: torch.Tensor, groups: int) -> torch.Tensor:
    """The norm of the gradient of each group's sum of losses; never below it.

    ``group`` says which group each sentence belongs to, -1 for none. Equal to the norm but for two
    cases, in which it is an upper bound: weight drop (the largest entry of the mask stands for all)
    and a parameter that is used twice with other rows or another mask (the two norms are added).
    Products are summed in 64 bits.
    """
    alike: dict[tuple[int, int], list[Factor]] = {}
    for factor in factors:
        alike.setdefault((id(factor.sentence), id(factor.mask)), []).append(factor)
    norms: dict[str, torch.Tensor] = {}
    for some in alike.values():
        for name, squares in _group_squares(some, group, groups).items():
            norm = some[0].largest * squares.clamp_(min=0).sqrt_()
            norms[name] = norms[name] + norm if name in norms else norm
    total = torch.zeros(groups, dtype=torch.float64, device=group.device)
    for norm in norms.values():
        total += norm**2
    return total.sqrt_()


def weighted_gradient(
    factors: Iterable[Factor],
    like: Parameters,
    rows: dict[int, torch.Tensor | slice],
    weight: torch.Tensor,
) -> Parameters:
    """The gradient of a weighted sum of losses over some rows.

    Args:
        factors: of a batch.
        like: the parameters, for their shapes.
        rows: for each layout of rows (``id`` of the tensor ``sentence``), those that take part.
        weight: of each sentence of the batch.
    """
    total: Parameters = {}
    weights: dict[int, torch.Tensor] = {}
    for factor in factors:
        layout = id(factor.sentence)
        part = rows[layout]
        if layout not in weights:
            weights[layout] = _picked(weight, _picked(factor.sentence, part))
        gradient = factor.gradient(part, weights[layout], like[factor.name].shape)
        if factor.name in total:
            total[factor.name] += gradient
        else:
            total[factor.name] = gradient
    return total


def _picked(values: torch.Tensor, rows: torch.Tensor | slice) -> torch.Tensor:
    """``values[rows]``, in a quicker way where rows are numbered."""
    return values[rows] if isinstance(rows, slice) else values.index_select(0, rows)


def _blocks(group_of_row: torch.Tensor, groups: int) -> list[torch.Tensor]:
    """The rows of each group as rectangles of about equal length; a missing row is -1."""
    rows = torch.nonzero(group_of_row >= 0)[:, 0]
    owners = group_of_row[rows]
    order = torch.argsort(owners, stable=True)
    rows, counts = rows[order], torch.bincount(owners, minlength=groups)
    starts = torch.cumsum(counts, 0) - counts
    present = torch.nonzero(counts > 0)[:, 0]
    present = present[torch.argsort(counts[present])]
    blocks: list[torch.Tensor] = []
    first = 0
    sizes = counts[present].tolist()
    while first < len(sizes):
        last = first
        while last < len(sizes) and sizes[last] <= max(4, _GROWTH * sizes[first]):
            last += 1
        chosen, width = present[first:last], sizes[last - 1]
        within = torch.arange(width, device=rows.device)[None, :]
        places = (starts[chosen, None] + within).clamp_(max=len(rows) - 1)
        blocks.append(torch.where(within < counts[chosen, None], rows[places], -1))
        first = last
    return blocks


def _group_squares(
    factors: Sequence[Factor], group: torch.Tensor, groups: int
) -> dict[str, torch.Tensor]:
    """For each parameter the squared norm of each group, of factors with the same rows."""
    sentence, widest = factors[0].sentence, max(factor.errors.shape[1] for factor in factors)
    by_name: dict[str, list[Factor]] = {}
    for factor in factors:
        by_name.setdefault(factor.name, []).append(factor)
    squares = {name: group.new_zeros(groups, dtype=torch.float64) for name in by_name}
    for block in _blocks(group[sentence], groups):
        for rows in torch.split(block, max(1, _BLOCK_NUMBERS // (widest * block.shape[1]))):
            gathered, at = _Gathered(rows), group[sentence[rows[:, 0]]]
            for name, parts in by_name.items():
                pairs = combinations_with_replacement(parts, 2)
                squares[name][at] = sum(
                    (1 if one is other else 2) * gathered.inner(one, other) for one, other in pairs
                )
    return squares


class _Gathered:
    """The rows of some groups as a rectangle, and products of what is in them, in 64 bits.

    A missing row repeats the first of its group, so that what is no number stays in its group.
    """

    def __init__(self, rows: torch.Tensor) -> None:
        there = rows >= 0
        self._rows = torch.where(there, rows, rows[:, :1])
        self._there = there[:, None, :].double()
        self._both = there[:, :, None] & there[:, None, :]
        self._wide: dict[int, torch.Tensor] = {}

    def inner(self, one: Factor, other: Factor) -> torch.Tensor:
        """The inner product of two parts of a parameter's gradient, for each group."""
        mine, theirs = one.inputs, other.inputs
        if mine is None or theirs is None:
            sums = [torch.bmm(self._there, self._of(part.errors)) for part in (one, other)]
            return (sums[0] * sums[1]).sum(dim=(1, 2))
        if one.by_row == other.by_row:
            pairs = _products(self._of(one.errors), self._of(other.errors))
            if one.by_row:
                pairs *= mine[self._rows][:, :, None] == theirs[self._rows][:, None, :]
            else:
                pairs *= _products(self._of(mine), self._of(theirs))
        elif one.by_row:  # as in a matrix that words come in and go out by
            pairs = _products(self._of(theirs), self._of(one.errors))
            rows = mine[self._rows][:, None, :].expand_as(pairs)
            pairs *= self._of(other.errors).gather(2, rows)
        else:
            return self.inner(other, one)
        return torch.where(self._both, pairs, 0.0).sum(dim=(1, 2))

    def _of(self, values: torch.Tensor) -> torch.Tensor:
        if id(values) not in self._wide:
            self._wide[id(values)] = values[self._rows].double()
        return self._wide[id(values)]


def _products(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Of every row of a group with every row of the same group."""
    return torch.bmm(one, other.transpose(1, 2))


def sentence_gradients(factors: Iterable[Factor], like: Parameters, count: int) -> Parameters:
    """The gradient of each sentence, written out: ``(sentences, *shape)`` for each parameter."""
    written: Parameters = {}
    for factor in factors:
        shape = like[factor.name].shape
        gradients = written.setdefault(factor.name, factor.errors.new_zeros(count, *shape))
        for rows in _blocks(factor.sentence, count):
            which = factor.sentence[rows[:, 0]]
            there = (rows >= 0)[:, :, None]
            errors = torch.where(there, factor.errors[rows.clamp(min=0)], 0.0)
            if factor.inputs is None:
                part = errors.sum(dim=1)
            elif not factor.by_row:
                part = torch.bmm(errors.transpose(1, 2), factor.inputs[rows.clamp(min=0)])
                part = part if factor.mask is None else part * factor.mask
            else:
                part = errors.new_zeros(len(rows), *shape)
                places = factor.inputs[rows.clamp(min=0)][:, :, None].expand_as(errors)
                part.scatter_add_(1, places, errors)
            gradients[which] += part
    return written
