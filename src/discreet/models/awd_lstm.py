"""AWD-LSTM (Merity, Keskar, Socher 2018) whose gradients come in factors.

Weight drop on the recurrent matrices, locked dropout on the inputs and outputs of layers (one mask
for a whole sentence), dropout of whole rows of the embedding, tied weights if asked for. Weight
drop and embedding dropout are drawn once per step for everybody: they belong to the model that is
sent out. Locked masks belong to a sentence.

The recurrence is written out, so that the gradient with respect to the gates of every token can be
read off: neither cuDNN's nor PyTorch's fused LSTM shows it. Sentences are sorted by length and a
sentence leaves the batch where it ends, so that padding costs nothing.

Where we differ from the paper: no averaged SGD (the optimiser is the trainer's), no truncated
backpropagation (a sentence is short), and a state that starts at zero with every sentence, so that
no sentence acts through another.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from discreet import check
from discreet.devices import CPU
from discreet.errors import InvalidValue
from discreet.models.awd_lstm_shape import PARTS, AwdLstmShape
from discreet.models.factors import Factor, Masks, Parameters, Predicted, SentenceBatch

__all__ = ["PARTS", "AwdLstm", "AwdLstmShape"]

# Seeds of the masks: the two that a step shares, then one for each layer's locked mask.
_WEIGHTS, _ROWS, _LOCKED = 0, 1, 2


class AwdLstm:
    """The network: parameters by name, and what training and evaluation need of them.

    Args:
        shape: the network.
        seed: of the first weights; public, because it is chosen before any text is read.
        vectors: public vectors to begin with instead, for the last so many words.
        trained: which of :data:`PARTS` are trained; the others stay as they begin. Noise grows with
            the root of the number of trained parameters. With tied weights the output's matrix is
            the embedding's, and "output" is its bias alone.
        start: weights to begin with instead, all of them; they must come from public text.
        device: where it computes, as :func:`discreet.devices.find_device` gives it.

    >>> shape = AwdLstmShape(words=10, boundary=0, embedding=4, hidden=5)
    >>> sum(p.numel() for p in AwdLstm(shape, seed=1).trainable().values())
    194
    >>> sorted(AwdLstm(shape, trained=["output"]).trainable())
    ['output.bias']
    """

    def __init__(
        self,
        shape: AwdLstmShape,
        *,
        seed: int = 0,
        vectors: NDArray[Any] | None = None,
        trained: Sequence[str] = PARTS,
        start: Mapping[str, NDArray[Any]] | None = None,
        device: str = CPU,
    ) -> None:
        self.shape = shape
        self._seed = seed
        if not trained:
            raise InvalidValue(
                f"name at least one trained part of an AWD-LSTM, of {', '.join(PARTS)}"
            )
        for part in trained:
            check.one_of(part, PARTS, "a trained part of an AWD-LSTM")
        random = torch.Generator().manual_seed(seed)

        def uniform(bound: float, *size: int) -> torch.Tensor:
            return (torch.rand(size, generator=random) * 2 - 1) * bound

        bound = 1 / math.sqrt(shape.hidden)
        self._parameters: Parameters = {"embedding": uniform(0.1, shape.words, shape.embedding)}
        self._vectors: str | None = None
        if vectors is not None:
            raw = np.ascontiguousarray(vectors).tobytes()
            self._vectors = hashlib.sha256(raw).hexdigest()[:16]
            if len(vectors) > shape.words or vectors.shape[1] != shape.embedding:
                raise InvalidValue("vectors of an AWD-LSTM must fit its words and embedding")
            known = torch.from_numpy(np.array(vectors, dtype=np.float32))
            # The size that random vectors have on average, whatever the space's own.
            known *= 0.1 / math.sqrt(3) / float(known.pow(2).mean().sqrt())
            self._parameters["embedding"][shape.words - len(known) :] = known
        for layer in range(shape.layers):
            inputs, units = shape.widths(layer)
            self._parameters[f"lstm.{layer}.input"] = uniform(bound, 4 * units, inputs)
            self._parameters[f"lstm.{layer}.recurrent"] = uniform(bound, 4 * units, units)
            self._parameters[f"lstm.{layer}.bias"] = torch.zeros(4 * units)
        outputs = shape.words if shape.classes is None else shape.classes
        if not shape.shares_matrix:
            last = shape.widths(shape.layers - 1)[1]
            self._parameters["output.weight"] = uniform(bound, outputs, last)
        self._parameters["output.bias"] = torch.zeros(outputs)
        self._start: str | None = None
        if start is not None:
            self._begin_with(start)
        self._device = torch.device(device)
        self._parameters = {n: p.to(self._device) for n, p in self._parameters.items()}
        self._trained = {
            name: value
            for name, value in self._parameters.items()
            if name.partition(".")[0] in trained
        }

    def _begin_with(self, start: Mapping[str, NDArray[Any]]) -> None:
        sizes = {name: tuple(value.shape) for name, value in self._parameters.items()}
        if sizes != {name: value.shape for name, value in start.items()}:
            raise InvalidValue(
                "the weights to begin with belong to a network of another shape; give the same "
                "vocabulary and sizes as they were trained with"
            )
        digest = hashlib.sha256()
        for name in sizes:
            array = np.array(start[name], dtype=np.float32)
            digest.update(array.tobytes())
            self._parameters[name] = torch.from_numpy(array)
        self._start = digest.hexdigest()[:16]

    @property
    def description(self) -> str:
        """The shape, what is trained of it, and where the first weights come from."""
        about = {
            "shape": asdict(self.shape),
            "seed": self._seed,
            "vectors": self._vectors,
            "trained": sorted(self._trained),
            "start": self._start,
        }
        return json.dumps({"awd-lstm": about}, sort_keys=True)

    def trainable(self) -> Parameters:
        """The parameters that are trained, by name."""
        return self._trained

    def weights(self) -> Parameters:
        """All parameters, by name."""
        return self._parameters

    def factors(self, batch: SentenceBatch, masks: Masks | None) -> list[Factor]:
        """The gradient of each sentence's loss, in factors."""
        run = _Run(self, batch.on(self._device), masks)
        packed = run.packed
        last, weight = packed.predicting(run.outputs.detach()), self._output_weight()
        logits = torch.addmm(self._parameters["output.bias"], last, weight.T)
        errors = torch.softmax(logits, dim=1, out=logits)
        errors[torch.arange(len(errors), device=self._device), packed.targets] -= 1.0
        back = errors @ weight
        if self.shape.classes is not None:
            back = torch.zeros_like(run.outputs).index_copy_(0, packed.final, back)
        gates = [state.gates for state in run.states]
        words, *gate_errors = torch.autograd.grad(run.outputs, [run.words, *gates], back)
        if run.row_mask is not None:
            words = words * run.row_mask[packed.inputs]
        out_name = "embedding" if self.shape.shares_matrix else "output.weight"
        factors = [
            Factor("embedding", words, packed.sentence, packed.inputs),
            Factor(out_name, errors, packed.owner, last),
            Factor("output.bias", errors, packed.owner),
        ]
        for layer, (state, error) in enumerate(zip(run.states, gate_errors, strict=True)):
            name, rows = f"lstm.{layer}", packed.sentence
            before = packed.shifted(state.outputs.detach())
            factors += [
                Factor(f"{name}.input", error, rows, state.inputs.detach()),
                Factor(f"{name}.recurrent", error, rows, before, state.mask, run.largest_mask),
                Factor(f"{name}.bias", error, rows),
            ]
        return [factor for factor in factors if factor.name in self._trained]

    @torch.no_grad()
    def predicted(self, batch: SentenceBatch) -> Predicted:
        """Nats of each prediction and whether it is wrong, without dropout."""
        packed, logits = self._logits(batch)
        losses = functional.cross_entropy(logits, packed.targets, reduction="none")
        order = torch.argsort(packed.place)
        return Predicted(losses[order], (logits.argmax(dim=1) != packed.targets)[order])

    @torch.no_grad()
    def class_scores(self, batch: SentenceBatch) -> torch.Tensor:
        """Of a classifier: ``(sentences, classes)``, logarithms of odds; labels are not read."""
        packed, logits = self._logits(batch)
        return logits[torch.argsort(packed.place)]

    def predictions(self, batch: SentenceBatch) -> int:
        """Words and the end of each sentence; or one class each."""
        return len(batch) if self.shape.classes is not None else len(batch.tokens) + len(batch)

    def _logits(self, batch: SentenceBatch) -> tuple["_Packed", torch.Tensor]:
        """A batch by time, and the scores of its predictions in that order, without dropout."""
        run = _Run(self, batch.on(self._device), None)
        outputs, bias = run.packed.predicting(run.outputs), self._parameters["output.bias"]
        return run.packed, torch.addmm(bias, outputs, self._output_weight().T)

    def _output_weight(self) -> torch.Tensor:
        return self._parameters["embedding" if self.shape.shares_matrix else "output.weight"]


class _Packed:
    """A batch laid out by time: all first tokens, then all second ones, longest sentence first."""

    def __init__(self, batch: SentenceBatch, boundary: int, next_word: bool) -> None:
        # The boundary is read before the first word and predicted after the last.
        lengths = batch.lengths + 1 if next_word else batch.lengths
        self.by_length = torch.argsort(lengths, descending=True, stable=True)
        sizes = lengths[self.by_length]
        time = torch.arange(int(sizes[0]), device=sizes.device)
        there = time[:, None] < sizes[None, :]
        self.sizes: list[int] = there.sum(dim=1).tolist()
        self.sentence = self.by_length[None, :].expand_as(there)[there]
        at = time[:, None].expand_as(there)[there]
        starts = torch.cumsum(batch.lengths, 0) - batch.lengths
        place = starts[self.sentence] + at
        if next_word:
            ends = at == batch.lengths[self.sentence]
            self.targets = torch.where(
                ends, boundary, batch.tokens[place.clamp(max=len(batch.tokens) - 1)]
            )
            self.inputs = torch.where(at == 0, boundary, batch.tokens[(place - 1).clamp(min=0)])
            # Where a prediction belongs if sentences follow each other, each with its end.
            self.place, self.owner = place + self.sentence, self.sentence
        else:
            self.inputs = batch.tokens[place]
            self.place = self.owner = self.by_length
            if batch.labels is not None:
                self.targets = batch.labels[self.by_length]
        offsets = torch.tensor(self.sizes).cumsum(0) - torch.tensor(self.sizes)
        places = torch.arange(len(sizes), device=sizes.device)
        self.final = offsets.to(sizes.device)[sizes - 1] + places
        self._next_word = next_word

    def predicting(self, outputs: torch.Tensor) -> torch.Tensor:
        """What the predictions are made from: every output, or the last of each sentence."""
        return outputs if self._next_word else outputs[self.final]

    def shifted(self, outputs: torch.Tensor) -> torch.Tensor:
        """What the layer gave one token before; zero at the first."""
        steps = torch.split(outputs, self.sizes)
        before = [torch.zeros_like(steps[0])]
        before += [h[:size] for h, size in zip(steps[:-1], self.sizes[1:], strict=True)]
        return torch.cat(before)


@dataclass(frozen=True)
class _LayerState:
    inputs: torch.Tensor
    gates: torch.Tensor
    """What the inputs add to the gates: its gradient is that of the gates."""
    outputs: torch.Tensor
    mask: torch.Tensor | None


class _Run:
    """A forward pass that keeps what the factors are made of."""

    def __init__(self, model: AwdLstm, batch: SentenceBatch, masks: Masks | None) -> None:
        shape, weights = model.shape, model.weights()
        self.packed = packed = _Packed(batch, shape.boundary, shape.classes is None)
        self._masks = masks
        learn = torch.is_grad_enabled()
        self.largest_mask = 1.0
        embedding, self.row_mask = weights["embedding"], None
        self.words = embedding[packed.inputs]
        if masks is not None and shape.embedding_drop:
            seed = _mixed(masks.shared, _ROWS)
            self.row_mask = _mask((shape.words, 1), shape.embedding_drop, seed).to(embedding.device)
            self.words = self.words * self.row_mask[packed.inputs]
        self.words.requires_grad_(learn)
        x = self._locked(self.words, shape.input_drop, 0)
        self.states: list[_LayerState] = []
        for layer in range(shape.layers):
            recurrent, mask = weights[f"lstm.{layer}.recurrent"], None
            if masks is not None and shape.weight_drop:
                seed = _mixed(masks.shared, _WEIGHTS, layer)
                mask = _mask(tuple(recurrent.shape), shape.weight_drop, seed).to(recurrent.device)
                recurrent = recurrent * mask
                self.largest_mask = 1 / (1 - shape.weight_drop)
            gates = torch.addmm(weights[f"lstm.{layer}.bias"], x, weights[f"lstm.{layer}.input"].T)
            outputs = _recurrence(gates, recurrent.T.contiguous(), packed.sizes)
            self.states.append(_LayerState(x, gates, outputs, mask))
            last = layer == shape.layers - 1
            x = self._locked(outputs, shape.output_drop if last else shape.hidden_drop, layer + 1)
        self.outputs = x

    def _locked(self, x: torch.Tensor, drop: float, place: int) -> torch.Tensor:
        if self._masks is None or not drop:
            return x
        masks, parts, first = self._masks, [], 0
        for seed, count in masks.owners:
            rows = masks.rows[first : first + count]
            size = (int(rows.max()) + 1, x.shape[1])
            parts.append(_mask(size, drop, _mixed(seed, _LOCKED, place))[rows])
            first += count
        return x * torch.cat(parts).to(x.device)[self.packed.sentence]


def _recurrence(gates: torch.Tensor, recurrent: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    """The outputs of a layer whose inputs add ``gates``; rows leave where their sentence ends."""
    units = recurrent.shape[0]
    hidden = cell = gates.new_zeros(sizes[0], units)
    outputs: list[torch.Tensor] = []
    for step, size in zip(torch.split(gates, sizes), sizes, strict=True):
        if outputs:
            hidden, cell = hidden[:size], cell[:size]
            step = torch.addmm(step, hidden, recurrent)
        three = torch.sigmoid(step[:, : 3 * units])
        keep, write, show = three.chunk(3, dim=1)
        cell = keep * cell + write * torch.tanh(step[:, 3 * units :])
        hidden = show * torch.tanh(cell)
        outputs.append(hidden)
    return torch.cat(outputs)


def _mask(size: tuple[int, ...], drop: float, seed: int) -> torch.Tensor:
    """1 / (1 - drop) with probability 1 - drop, else 0; drawn alike for every device."""
    random = torch.Generator().manual_seed(seed)
    return (torch.rand(size, generator=random) >= drop).float() / (1 - drop)


def _mixed(seed: int, *place: int) -> int:
    """Another seed for each place, by the multiplier of Steele and Vigna's generator."""
    for number in place:
        seed = (seed + number + 1) * 0xD1342543DE82EF95 % 2**63
    return seed
