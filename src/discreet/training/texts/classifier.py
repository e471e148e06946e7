"""A BERT-style encoder with a linear layer: classes or numbers for texts and for pairs of texts.

The linear layer is first fitted on the vectors of the encoder as it is. With a frozen encoder that
is the model. Otherwise all weights are then trained together, from there on: a random layer would
first spoil the encoder.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Floats, Floats32, Ids, Progress
from discreet.devices import AUTO, array_of, device_of, find_device, in_halves, moved, room_for
from discreet.errors import InvalidValue, read_as
from discreet.models.bert import MaskedModel, SpecialPieces, marks_of_pieces, network_of
from discreet.tensors import arrays_under, load_tensors, save_tensors
from discreet.text.labelled import Labelled
from discreet.text.tokens import TokenBatch, WordPieceTokenizer
from discreet.training.kept_state import RunState
from discreet.training.linear_head import LinearHead, classes_of, decided, fit_head, require_pairs
from discreet.training.loop import (
    RowsOfLikeLength,
    TrainingStage,
    evaluated,
    layers_in_16_bits,
    rows_by_length,
    train_in_stages,
    warmed_up,
)
from discreet.training.settings import Resumption
from discreet.training.texts.alignment import last_states, padded
from discreet.training.texts.settings import FineTuning, FineTuningResumption

KIND = "text model"


@dataclass(frozen=True)
class TextClassifier:
    """An encoder and a linear layer; :func:`fine_tune` makes one.

    A text is the mean of the encoder's last layer. A pair is the absolute difference and the
    product of its two texts, so that both are read by the same encoder.
    """

    network: Any = field(repr=False, compare=False)
    pieces: tuple[str, ...] = field(repr=False)
    marks: SpecialPieces
    head: LinearHead
    pairs: bool
    max_tokens: int
    about: dict[str, Any] = field(repr=False)

    def predict(
        self, texts: Sequence[str], seconds: Sequence[str] | None = None
    ) -> list[str] | list[float]:
        """A class or a number for each text, or pair of texts."""
        return decided(self.scores(texts, seconds), self.classes)

    def predict_tokens(
        self, first: TokenBatch, second: TokenBatch | None = None
    ) -> list[str] | list[float]:
        """As :meth:`predict`, for texts that are pieces already."""
        return decided(self._scores(first, second), self.classes)

    def scores(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Floats:
        """``(texts, outputs)``: of each class the logarithm of its odds, or a number."""
        require_pairs(texts, seconds, self.pairs)
        tokenizer = WordPieceTokenizer(self.pieces, self.marks.unknown)
        first = tokenizer.encode(texts)
        return self._scores(first, None if seconds is None else tokenizer.encode(seconds))

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The classes in the order of the scores; None for regression."""
        return self.head.classes

    def _scores(self, first: TokenBatch, second: TokenBatch | None) -> Floats:
        reader = _Reader(self.network, self.marks, self.max_tokens)
        return self.head.scores(reader.features(first, second))

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write it as one file of safetensors: weights, configuration and vocabulary."""
        arrays = {f"encoder.{n}": array_of(v) for n, v in self.network.state_dict().items()}
        about = {
            "architecture": self.network.config.model_type,
            "configuration": json.loads(self.network.config.to_json_string()),
            "pieces": list(self.pieces),
            "classes": self.head.classes,
            "pairs": self.pairs,
            "max_tokens": self.max_tokens,
            "about": self.about,
        }
        save_tensors(path, KIND, {**arrays, **self.head.arrays}, about, force=force)

    @classmethod
    def load(cls, path: Path, *, device: str = AUTO) -> "TextClassifier":
        """Read what :meth:`save` wrote, onto a device."""
        where = find_device(device)
        import torch

        arrays, about = load_tensors(path, KIND)
        with read_as(f"{path} holds weights of another architecture; train the model again"):
            saved = arrays_under(arrays, "encoder.")
            weights = {name: torch.tensor(array) for name, array in saved.items()}
            with torch.device("meta"):  # a network of the wrong size is never in memory
                sizes = network_of(about["configuration"], len(weights)).state_dict()
            if any(sizes[name].shape != value.shape for name, value in weights.items()):
                raise ValueError("the weights and the configuration differ")
            network = network_of(about["configuration"], len(weights))
            lost = network.load_state_dict(weights, strict=False)
            # The layer over the first position is no part of the model: nothing reads it.
            if lost.unexpected_keys or any(not n.startswith("pooler.") for n in lost.missing_keys):
                raise ValueError("the weights and the configuration differ")
            pieces = tuple(about["pieces"])
            return cls(
                network.eval().to(where),
                pieces,
                marks_of_pieces(pieces),
                LinearHead.of_arrays(arrays, about["classes"]),
                bool(about["pairs"]),
                int(about["max_tokens"]),
                dict(about["about"]),
            )


def fine_tune(
    model: MaskedModel,
    examples: Labelled,
    settings: FineTuning,
    *,
    regression: bool = False,
    about: dict[str, Any] | None = None,
    output: Path | None = None,
    data: str = "",
    when: Resumption | None = None,
    tokens: tuple[TokenBatch, TokenBatch | None] | None = None,
    progress: Progress | None = None,
) -> TextClassifier:
    """Train a model for texts or pairs, on released text or on text as it is.

    Privacy: a model trained on released text is post-processing of it: its statement holds for the
    model too. A model trained on raw text carries no guarantee; keep it as you keep the text.

    Args:
        model: The original model, or one that was pretrained; its encoder is changed unless frozen.
        examples: Texts or pairs, with labels.
        settings: How.
        regression: Labels are numbers.
        about: Where the examples come from, ready for JSON; kept in the model.
        output: Where the model will go; the state of the run is kept beside it, and is for whoever
            saves the model to remove.
        data: What identifies the examples, so that another run's state is refused.
        when: When the state is saved, and whether to go on from it.
        tokens: The examples as the model's pieces, if they are at hand; for text that was sanitised
            piece by piece, writing it as text and cutting it again may move the borders.
        progress: Called with (done, total).
    """
    if examples.labels is None:
        raise InvalidValue("training needs labels; name their field")
    labels: Any = examples.numbers() if regression else examples.labels
    if tokens is None:
        encode, seconds = model.tokenizer.encode, examples.seconds
        tokens = encode(examples.texts), None if seconds is None else encode(seconds)
    where = find_device(settings.device)
    with room_for("the model", "use a smaller one, or --device cpu"):
        network = model.network.to(where).base_model
    longest = min(settings.max_tokens, model.longest)
    reader = _Reader(network, model.marks, longest)
    features = reader.features(*tokens, progress if settings.frozen else None)
    head = _fitted(features, labels, regression=regression, penalty=settings.penalty)
    described = {**(about or {}), "model": model.name, "settings": asdict(settings)}
    if not settings.frozen:
        state = None
        if output is not None:
            identity = {"fingerprint": model.fingerprint, "data": data, "rows": len(examples)}
            when = when or FineTuningResumption()
            state = RunState(RunState.beside(output), when, {**described, **identity})
        head = _trained_together(reader, head, tokens, labels, settings, state, progress)
    pairs = examples.seconds is not None
    return TextClassifier(
        network.eval(), model.pieces, model.marks, head, pairs, longest, described
    )


@dataclass(frozen=True)
class _Reader:
    """Pieces to features through the encoder."""

    network: Any
    marks: SpecialPieces
    longest: int

    def features(
        self, first: TokenBatch, second: TokenBatch | None, progress: Progress | None = None
    ) -> Floats32:
        """The features of all texts or pairs, without gradients."""
        if second is not None and len(second) != len(first):
            raise InvalidValue(f"{len(first)} texts need as many second texts; got {len(second)}")
        order: list[Ids] = []
        parts: list[Floats32] = []
        with evaluated(self.network):
            for rows in rows_by_length(np.diff(first.offsets), progress):
                read = in_halves(partial(self.vectors, first, second), rows, "a text")
                parts += map(array_of, read)
                order.append(rows)
        out = np.empty((len(first), parts[0].shape[1]), dtype=np.float32)
        out[np.concatenate(order)] = np.concatenate(parts)
        return out

    def vectors(self, first: TokenBatch, second: TokenBatch | None, rows: Any) -> Any:
        """A tensor of the features of some rows."""
        one = self._pooled(first, rows)
        if second is None:
            return one
        other = self._pooled(second, rows)
        import torch

        return torch.cat([(one - other).abs(), one * other], dim=1)

    def _pooled(self, batch: TokenBatch, rows: Any) -> Any:
        from torch.nn.functional import normalize

        places, row = batch.places(rows)
        pieces = batch.ids[places].astype(np.int64)
        ready = padded(pieces, pieces, row, len(rows), self.marks, self.longest)
        states = last_states(self.network, ready, self.marks).float()  # also of layers in 16 bits
        mask = moved(ready.attention, states.device)[:, :, None].to(states.dtype)
        mean = (states * mask).sum(dim=1) / mask.sum(dim=1)
        # Of length sqrt(size), so that a coordinate is of the order of 1 in every model.
        return normalize(mean, dim=1) * math.sqrt(mean.shape[1])


def _fitted(features: Floats32, labels: Any, *, regression: bool, penalty: float) -> LinearHead:
    """The linear layer on standardised features, written for the features as they are."""
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    # The penalty is per example and per feature: the same strength for any number of either.
    strength = penalty * features.shape[1] / 4
    head = fit_head((features - mean) / spread, labels, regression=regression, penalty=strength)
    weight = head.weight / spread[:, None]
    return LinearHead(weight, head.bias - mean @ weight, head.classes)


def _trained_together(
    reader: _Reader,
    head: LinearHead,
    tokens: tuple[TokenBatch, TokenBatch | None],
    labels: Any,
    settings: FineTuning,
    state: RunState | None,
    progress: Progress | None,
) -> LinearHead:
    """Train the encoder, in place, with the linear layer, which is given back."""
    import torch
    from torch.nn.functional import cross_entropy, mse_loss

    device = device_of(reader.network)
    layer = torch.nn.Linear(*head.weight.shape).to(device)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(head.weight.T))
        layer.bias.copy_(torch.tensor(head.bias))
    numbers = head.classes is None
    target = moved(np.asarray(labels, np.float32) if numbers else classes_of(labels)[1], device)
    # In units of the labels' own spread, so that one learning rate suits every scale.
    scale = max(float(target.var()), 1e-12) if numbers and len(target) > 1 else 1.0
    batches = RowsOfLikeLength(np.diff(tokens[0].offsets), settings.batch, settings.seed)

    def loss(step: int) -> Any:
        rows = batches.of_step(step)
        with layers_in_16_bits(device, settings.mixed):
            read = reader.vectors(*tokens, rows)
        out, wanted = layer(read), target[moved(rows, device)]
        return mse_loss(out[:, 0], wanted) / scale if numbers else cross_entropy(out, wanted)

    both = torch.nn.ModuleDict({"encoder": reader.network, "head": layer})
    stage = TrainingStage(
        settings.epochs * batches.length,
        warmed_up(settings.learning_rate, settings.warmup),
        [p for name, p in both.named_parameters() if ".pooler." not in name],
        loss,
    )
    train_in_stages(both, [stage], seed=settings.seed, state=state, progress=progress)
    return LinearHead(array_of(layer.weight).T.copy(), array_of(layer.bias).copy(), head.classes)
