"""Texts through a BERT to one vector each, with gradients; a pair is read as one sequence.

The lowest layers may be left as they are. They then run once for all epochs: what comes out of them
is kept, and training goes on from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import Floats32, Ids, ragged_places
from discreet.devices import array_of, device_of, in_halves, moved
from discreet.errors import InvalidValue
from discreet.models.bert import MaskedModel
from discreet.text.tokens import TokenBatch
from discreet.training.linear_head import require_pairs
from discreet.training.loop import evaluated, rows_by_length
from discreet.training.texts.alignment import last_states, padded, texts_of_pairs

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class LowerStates:
    """What the frozen layers make of every position of some texts, end to end."""

    states: Floats32 = field(repr=False)
    starts: Ids = field(repr=False)
    counts: Ids = field(repr=False)

    def rows(self, rows: Ids) -> tuple[Floats32, Ids]:
        """Some texts as ``(rows, positions, size)`` with zeros behind, and where there are any."""
        places, row = ragged_places(self.starts[rows], self.counts[rows])
        column, _ = ragged_places(np.zeros_like(rows), self.counts[rows])
        width = int(self.counts[rows].max())
        out = np.zeros((len(rows), width, self.states.shape[1]), dtype=np.float32)
        out[row, column] = self.states[places]
        return out, (np.arange(width) < self.counts[rows][:, None]).astype(np.int64)


@dataclass(frozen=True)
class SentenceReader:
    """A BERT that gives a unit vector for each text: the direction of the mean of its last layer.

    Attributes:
        model: The model; its weights may be in training.
        longest: Positions of a text at most, marks included.
        frozen: So many of the lowest layers, and the token matrix below them, stay as they are;
            0 leaves nothing as it is.
    """

    model: MaskedModel = field(repr=False)
    longest: int
    frozen: int = 0

    def __post_init__(self) -> None:
        if not self.frozen:
            return
        layers = _layers(self.model)
        if layers is None:
            raise InvalidValue(
                "only the layers of a plain BERT can be frozen one by one; train all of this model"
            )
        if self.frozen > len(layers):
            raise InvalidValue(
                f"the model has {len(layers)} layers; {self.frozen} of them cannot be frozen"
            )

    @property
    def network(self) -> Any:
        """The PyTorch module, without any head."""
        return self.model.network.base_model

    @property
    def trained(self) -> list["torch.nn.Parameter"]:
        """The parameters that are not frozen; a layer over the first position is never read."""
        kept = ["embeddings."] if self.frozen else []
        kept += ["pooler.", *(f"encoder.layer.{number}." for number in range(self.frozen))]
        return [p for name, p in self.network.named_parameters() if not name.startswith((*kept,))]

    def lower_states(self, batch: TokenBatch) -> LowerStates:
        """What the frozen layers make of all texts, without gradients and without dropout."""
        lengths = np.minimum(np.diff(batch.offsets), self.longest - 2) + 2
        starts = np.cumsum(lengths) - lengths
        out = np.empty((int(lengths.sum()), self.network.config.hidden_size), dtype=np.float32)

        def read(rows: Ids) -> None:
            states, _ = self._lower(batch, rows)
            places, row = ragged_places(starts[rows], lengths[rows])
            column, _ = ragged_places(np.zeros_like(rows), lengths[rows])
            out[places] = array_of(states)[row, column]

        with evaluated(self.network):
            for rows in rows_by_length(lengths):
                in_halves(read, rows, "a text")
        return LowerStates(out, starts, lengths)

    def vectors(self, batch: TokenBatch, rows: Ids, kept: LowerStates | None) -> "torch.Tensor":
        """Unit vectors of some texts, with gradients; from their kept states if there are any."""
        import torch

        if kept is None:
            states, attention = self._lower(batch, rows)
        else:
            lower, present = kept.rows(rows)
            device = device_of(self.network)
            states, attention = moved(lower, device), moved(present, device)
        if self.frozen:
            states = run_layers_from(self.model, states, attention, self.frozen)
        mask = attention[:, :, None].to(states.dtype)
        return torch.nn.functional.normalize((states * mask).sum(dim=1) / mask.sum(dim=1))

    def units(self, batch: TokenBatch, kept: LowerStates | None = None) -> Floats32:
        """Unit vectors of all texts, without gradients."""
        out = np.empty((len(batch), self.network.config.hidden_size), dtype=np.float32)

        def read(rows: Ids) -> None:
            out[rows] = array_of(self.vectors(batch, rows, kept))

        with evaluated(self.network):
            for rows in rows_by_length(np.diff(batch.offsets)):
                in_halves(read, rows, "a text")
        return out

    def _lower(self, batch: TokenBatch, rows: Ids) -> tuple["torch.Tensor", "torch.Tensor"]:
        """The states after the frozen layers, or after all if none are, and where there are any."""
        places, row = batch.places(rows)
        pieces, marks = batch.ids[places].astype(np.int64), self.model.marks
        ready = padded(pieces, pieces, row, len(rows), marks, self.longest)
        device = device_of(self.network)
        attention = moved(ready.attention, device)
        if not self.frozen:
            return last_states(self.network, ready, marks), attention
        inputs, types = (moved(a, device) for a in (ready.inputs, texts_of_pairs(ready, marks)))
        states = self.network.embeddings(input_ids=inputs, token_type_ids=types)
        return run_layers_from(self.model, states, attention, 0, self.frozen), attention


def joint_tokens(
    model: MaskedModel, texts: Sequence[str], seconds: Sequence[str] | None = None
) -> TokenBatch:
    """The pieces of each text; of a pair both, with the model's mark in between."""
    first = model.tokenizer.encode(texts)
    if seconds is None:
        return first
    require_pairs(texts, seconds, True)
    second = model.tokenizer.encode(seconds)
    ones, twos = np.diff(first.offsets), np.diff(second.offsets)
    offsets = np.concatenate([[0], np.cumsum(ones + 1 + twos)]).astype(np.int64)
    ids = np.full(int(offsets[-1]), model.marks.end, dtype=np.int32)
    ids[ragged_places(offsets[:-1], ones)[0]] = first.ids
    ids[ragged_places(offsets[:-1] + ones + 1, twos)[0]] = second.ids
    return TokenBatch(ids, offsets)


def run_layers_from(
    model: MaskedModel,
    states: "torch.Tensor",
    attention: "torch.Tensor",
    first: int,
    last: int | None = None,
) -> "torch.Tensor":
    """States after some of the layers of a plain BERT, from those before them."""
    import torch

    layers = _layers(model)
    if layers is None:
        raise InvalidValue("only a plain BERT can be run layer by layer")
    closed = (attention == 0)[:, None, None, :].to(states.dtype) * torch.finfo(states.dtype).min
    for layer in layers[first:last]:
        output = layer(states, closed)
        states = output[0] if isinstance(output, tuple) else output
    return states


def _layers(model: MaskedModel) -> Any:
    network = model.network.base_model
    if network.config.model_type != "bert":
        return None
    return network.encoder.layer
