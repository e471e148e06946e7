"""A transformers model from this machine, trained by adapters whose gradients are factors.

Only the adapters (:mod:`discreet.models.adapters`) and, for classification, the new head are
trained: they are linear layers, so their gradients come in factors like those of the AWD-LSTM, and
a real model can be trained with clipped users on a small machine. The model's own weights stay as
they are and are public. Adapters are trained without dropout.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import torch
from numpy.typing import NDArray
from torch.nn import functional

from discreet.devices import CPU, own_chance
from discreet.encoders.causal import SMOLLM2, first_mark, model_folder
from discreet.encoders.encoder import model_files_sha256, quiet_transformers
from discreet.encoders.library import refuse_no_tokenizer
from discreet.errors import InvalidValue, NotFound, needs_extra, read_as
from discreet.models.adapters import adapted, as_lora
from discreet.models.factors import Factor, Masks, Parameters, Predicted, SentenceBatch
from discreet.models.lower_blocks import LowerBlocks

# Sentences go through the network together until their scores are so many numbers.
_SCORES_TOGETHER = 2**26
# Of one layer: errors and inputs, a row each, and which sentence each row belongs to.
_Seen = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Base:
    """The public model under the adapters: what it is called, its files, where they are."""

    name: str
    sha256: str
    folder: Path


class AdaptedLanguageModel:
    """A causal language model, or a classifier of sentences, with adapters.

    Make one with :meth:`load`, or from objects that are there already.

    Args:
        network: a transformers model; adapters are put into it.
        tokenizer: its tokenizer; None if sentences come as numbers.
        boundary: number that stands before and after every sentence (language models).
        rank: of the adapters.
        adapters: which, one of :data:`discreet.models.adapter_kinds.ADAPTERS`.
        last_blocks: put them into the last so many blocks only, and run those below once for each
            sentence; None for all blocks.
        classes: number of classes; None for a causal language model.
        seed: of the adapters' first weights; public.
        base: where the network comes from.
        device: where it computes, as :func:`discreet.devices.find_device` gives it.
    """

    def __init__(
        self,
        network: Any,
        tokenizer: Any = None,
        *,
        boundary: int = 0,
        rank: int,
        adapters: str = "lora",
        last_blocks: int | None = None,
        classes: int | None = None,
        seed: int = 0,
        base: Base | None = None,
        device: str = CPU,
    ) -> None:
        self.boundary, self.classes, self.base = boundary, classes, base
        self._tokenizer = tokenizer
        if classes is not None:
            # A causal classifier finds the end of a sentence by this. With another, it would read
            # the padding, whose length the other sentences of a batch decide.
            network.config.pad_token_id = boundary
        about: dict[str, Any] = {"kind": adapters, "rank": rank, "classes": classes, "seed": seed}
        about["last_blocks"] = last_blocks
        config = network.config.to_json_string(use_diff=False)
        about["configuration"] = hashlib.sha256(config.encode()).hexdigest()[:16]
        if base is not None:
            about["base"] = {key: asdict(base)[key] for key in ("name", "sha256")}
        self._network = adapted(
            network, rank=rank, kind=adapters, last_blocks=last_blocks, classes=classes, seed=seed
        ).to(device)
        self._device = torch.device(device)
        self._layers = {
            name: module
            for name, module in self._network.named_modules()
            if isinstance(module, torch.nn.Linear) and module.weight.requires_grad
        }
        self._parameters: Parameters = {}
        for name, module in self._layers.items():
            self._parameters[f"{name}.weight"] = module.weight
            if module.bias is not None:
                self._parameters[f"{name}.bias"] = module.bias
        trained = sum(p.numel() for p in self._network.parameters() if p.requires_grad)
        if trained != sum(p.numel() for p in self._parameters.values()):
            raise InvalidValue("this model has trained parts that are not linear layers")
        self._about = about | {"trained": trained}
        self._scores = classes or int(network.config.vocab_size)
        self._lower: LowerBlocks | None = None
        if last_blocks is not None and classes is None:
            self._lower = LowerBlocks(self._network, last_blocks)

    @classmethod
    def load(
        cls,
        name: str | Path,
        *,
        rank: int,
        adapters: str = "lora",
        last_blocks: int | None = None,
        classes: int | None = None,
        device: str = CPU,
    ) -> Self:
        """The model in a local folder or a GGUF file, or the packaged ``"smollm2"``.

        With its tokenizer; nothing is downloaded.
        """
        folder = model_folder(name)
        with needs_extra("a transformers model", "train"):
            from transformers import (
                AutoModelForCausalLM,
                AutoModelForSequenceClassification,
                AutoTokenizer,
            )
        if not (folder / "config.json").is_file():
            raise NotFound(f"{folder} is not the folder of a transformers model")
        refuse_no_tokenizer(folder)
        local: dict[str, Any] = {"local_files_only": True, "use_safetensors": True}
        local["dtype"] = torch.float32
        reading = read_as(f"{name} cannot be loaded as a transformers model")
        with reading, quiet_transformers(), own_chance():
            torch.manual_seed(0)  # of a classifier's new head
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            network = (
                AutoModelForCausalLM.from_pretrained(folder, **local)
                if classes is None
                else AutoModelForSequenceClassification.from_pretrained(
                    folder, num_labels=classes, **local
                )
            )
        boundary = first_mark(tokenizer)
        called = SMOLLM2 if str(name) == SMOLLM2 else Path(name).resolve().name
        return cls(
            network,
            tokenizer,
            boundary=boundary,
            rank=rank,
            adapters=adapters,
            last_blocks=last_blocks,
            classes=classes,
            base=Base(called, model_files_sha256(folder, {}), folder),
            device=device,
        )

    @property
    def description(self) -> str:
        """What the model is: digests of the public one below, and how it is adapted."""
        return json.dumps({"adapters": self._about}, sort_keys=True)

    def encode(self, words: Sequence[str]) -> list[int]:
        """The numbers of a sentence that comes in words, by the model's own tokenizer."""
        return self.encode_text(" ".join(words))

    def encode_text(self, text: str) -> list[int]:
        """The numbers of a sentence as it was written."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def trainable(self) -> Parameters:
        """The adapters and a new head."""
        return self._parameters

    def weights(self) -> Parameters:
        """The same: the model's own weights are public and stay where they are."""
        return self._parameters

    @torch.no_grad()
    def put(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Take trained weights, as :meth:`weights` gave them."""
        sizes = {name: tuple(value.shape) for name, value in self._parameters.items()}
        if sizes != {name: value.shape for name, value in weights.items()}:
            raise InvalidValue("these weights belong to other adapters, or to another model")
        for name, value in self._parameters.items():
            value.copy_(torch.from_numpy(weights[name]))

    def save_adapter(self, folder: Path) -> None:
        """Write the adapters as plain LoRA, and the tokenizer: a folder that peft opens."""
        if self.base is not None:
            self._network.peft_config["default"].base_model_name_or_path = str(self.base.folder)
        self._network.save_pretrained(
            folder, state_dict=as_lora(self._network), save_embedding_layers=False
        )
        if self._tokenizer is not None:
            self._tokenizer.save_pretrained(folder)

    def factors(self, batch: SentenceBatch, masks: Masks | None) -> list[Factor]:
        """The gradient of each sentence's loss, in factors; there is no dropout."""
        del masks
        batch = batch.on(self._device)
        seen: dict[str, list[_Seen]] = {name: [] for name in self._layers}
        for places in self._together(batch):
            for name, part in self._seen(_some(batch, places), places).items():
                seen[name].append(part)
        factors = []
        layouts: dict[tuple[int, ...], torch.Tensor] = {}  # one tensor for each layout of rows
        for name, parts in seen.items():
            layout = tuple(len(part[0]) for part in parts)
            errors, inputs, sentence = map(torch.cat, zip(*parts, strict=True))
            sentence = layouts.setdefault(layout, sentence)
            factors.append(Factor(f"{name}.weight", errors, sentence, inputs))
            if f"{name}.bias" in self._parameters:
                factors.append(Factor(f"{name}.bias", errors, sentence))
        return factors

    def _seen(self, batch: SentenceBatch, places: torch.Tensor) -> dict[str, _Seen]:
        """What came into each trained layer and the errors that came back, of some sentences."""
        seen: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

        def keep(name: str, _module: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
            if name in seen:
                raise InvalidValue(
                    "a layer of this model is used twice, which adapters here cannot be"
                )
            seen[name] = (inputs[0].detach(), output)

        hooks = [
            module.register_forward_hook(partial(keep, name))
            for name, module in self._layers.items()
        ]
        try:
            with torch.enable_grad():
                loss = self._token_losses(batch)[0].sum()
        finally:
            for hook in hooks:
                hook.remove()
        errors = torch.autograd.grad(loss, [output for _, output in seen.values()])
        by_layer = {}
        for (name, (inputs, _)), error in zip(seen.items(), errors, strict=True):
            each = error[0].numel() // error.shape[-1]
            flat = error.reshape(-1, error.shape[-1])
            rows = inputs.reshape(len(flat), -1)
            sentence = torch.repeat_interleave(places, each)
            if self.classes is None:  # after the end of a sentence there is no error
                place = torch.arange(each, device=self._device)[None, :]
                there = (place <= batch.lengths[:, None]).reshape(-1)
                flat, rows, sentence = flat[there], rows[there], sentence[there]
            by_layer[name] = flat, rows, sentence
        return by_layer

    @torch.no_grad()
    def predicted(self, batch: SentenceBatch) -> Predicted:
        """Nats of each prediction and whether it is wrong."""
        batch = batch.on(self._device)
        each = torch.ones_like(batch.lengths) if self.classes is not None else batch.lengths + 1
        first = torch.cumsum(each, 0) - each
        losses = torch.zeros(int(each.sum()), device=self._device)
        wrong = torch.zeros(len(losses), dtype=torch.bool, device=self._device)
        for places in self._together(batch):
            some_losses, some_wrong = self._token_losses(_some(batch, places))
            within = torch.arange(some_losses.shape[1], device=self._device)[None, :]
            there = within < each[places, None]
            target = (first[places, None] + within)[there]
            losses[target], wrong[target] = some_losses[there], some_wrong[there]
        return Predicted(losses, wrong)

    @torch.no_grad()
    def class_scores(self, batch: SentenceBatch) -> torch.Tensor:
        """Of a classifier: ``(sentences, classes)``, logarithms of odds; labels are not read."""
        batch = batch.on(self._device)
        scores = torch.zeros(len(batch), self._scores, device=self._device)
        for places in self._together(batch):
            scores[places] = self._class_logits(_some(batch, places))
        return scores

    def predictions(self, batch: SentenceBatch) -> int:
        """Words and the end of each sentence; or one class each."""
        return len(batch) if self.classes is not None else len(batch.tokens) + len(batch)

    def _together(self, batch: SentenceBatch) -> Iterator[torch.Tensor]:
        """Sentences of about one length, as many as go through the network at once."""
        order = torch.argsort(batch.lengths, descending=True, stable=True)
        lengths = (batch.lengths[order] + 1).tolist()
        first = 0
        while first < len(order):
            count = max(1, _SCORES_TOGETHER // (lengths[first] * self._scores))
            yield order[first : first + count]
            first += count

    def _token_losses(self, batch: SentenceBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss of each prediction, and whether it is wrong: ``(sentences, predictions)``."""
        if self.classes is not None:
            if batch.labels is None:
                raise InvalidValue("a classifier needs a label for every sentence")
            logits = self._class_logits(batch)
            losses = functional.cross_entropy(logits, batch.labels, reduction="none")
            return losses[:, None], (logits.argmax(dim=1) != batch.labels)[:, None]
        lengths = batch.lengths + 1
        there, targets = self._padded(batch, lengths)
        ids = torch.full_like(targets, self.boundary)
        ids[:, 1:] = targets[:, :-1]
        lower = self._lower
        below = nullcontext() if lower is None else lower.replaced(lower.hidden(ids, lengths))
        with below:
            logits = self._network(
                input_ids=ids, attention_mask=there.long(), use_cache=False
            ).logits
        flat = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
        losses = flat.view_as(targets)
        wrong = (logits.argmax(dim=2) != targets) & there
        return torch.where(there, losses, 0.0), wrong

    def _class_logits(self, batch: SentenceBatch) -> torch.Tensor:
        there, ids = self._padded(batch, batch.lengths)
        logits: torch.Tensor = self._network(input_ids=ids, attention_mask=there.long()).logits
        return logits

    def _padded(
        self, batch: SentenceBatch, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Where there is a token within these lengths, and the tokens, boundaries after them."""
        place = torch.arange(int(lengths.max()), device=self._device)[None, :]
        there = place < lengths[:, None]
        ids = torch.full(there.shape, self.boundary, device=self._device)
        ids[place < batch.lengths[:, None]] = batch.tokens
        return there, ids


def _some(batch: SentenceBatch, places: torch.Tensor) -> SentenceBatch:
    """Some sentences of a batch."""
    starts = torch.cumsum(batch.lengths, 0) - batch.lengths
    lengths = batch.lengths[places]
    offsets = torch.repeat_interleave(
        starts[places] - (torch.cumsum(lengths, 0) - lengths), lengths
    )
    tokens = batch.tokens[offsets + torch.arange(len(offsets), device=offsets.device)]
    return SentenceBatch(tokens, lengths, None if batch.labels is None else batch.labels[places])
