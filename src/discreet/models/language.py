"""A transformers model from this machine, trained by parts whose gradients are factors.

What is trained are adapters (:mod:`discreet.models.adapters`) and, for classification, the new
head: few numbers, while the model's own weights stay as they are and are public. Or it is the
weights themselves (:mod:`discreet.models.whole_network`). Either way gradients come in factors like
those of the AWD-LSTM, by the rules of :mod:`discreet.models.trained_layers`, so that a real model
can be trained with clipped users on a small machine. There is no dropout.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import torch
from numpy.typing import NDArray
from torch.nn import functional

from discreet.devices import CPU, own_chance, room_for
from discreet.encoders.causal import SMOLLM2, first_mark, model_folder
from discreet.encoders.encoder import model_files_sha256, quiet_transformers
from discreet.encoders.library import refuse_no_tokenizer, refuse_unread
from discreet.errors import InvalidValue, NotFound, needs_extra, read_as
from discreet.models.adapter_kinds import ALL
from discreet.models.adapters import adapted, as_lora
from discreet.models.factors import Factor, Masks, Parameters, Predicted, SentenceBatch
from discreet.models.lower_blocks import LowerBlocks
from discreet.models.padding import Marks, marks_of, padded, some_of
from discreet.models.trained_layers import Rows, parameters_of, trained_layers
from discreet.models.whole_network import require_sound, whole_network

# Sentences go through the network together until their scores are so many numbers.
_SCORES_TOGETHER = 2**26
# Of one layer: the rows of its factors, which sentence each belongs to, and how many rows a token
# has (0: a row is a sentence).
_Seen = tuple[Rows, torch.Tensor, int]


@dataclass(frozen=True)
class Base:
    """The public model under the adapters: what it is called, its files, where they are."""

    name: str
    sha256: str
    folder: Path


class AdaptedLanguageModel:
    """A causal language model, or a classifier of sentences, with adapters or without.

    Make one with :meth:`load`, or from objects that are there already.

    Args:
        network: a transformers model; it is taken to 32 bits, and adapters are put into it.
        tokenizer: its tokenizer; None if sentences come as numbers.
        boundary: number that stands before and after every sentence (language models).
        marks: numbers that stand before and after every sentence (classifiers).
        rank: of the adapters.
        adapters: which, one of :data:`discreet.models.adapter_kinds.TRAINED`: with ``all`` there
            are none, and the network's own weights are trained.
        last_blocks: train the last so many blocks only, and run those below once for each
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
        marks: Marks = ((), ()),
        rank: int = 4,
        adapters: str = "lora",
        last_blocks: int | None = None,
        classes: int | None = None,
        seed: int = 0,
        base: Base | None = None,
        device: str = CPU,
    ) -> None:
        self.boundary, self.classes, self.base = boundary, classes, base
        self.whole = adapters == ALL
        self._marks = marks
        self._tokenizer = tokenizer
        # In 16 bits the norm of a gradient would be off by more than the margin of a ball.
        network = network.float()
        if classes is not None:
            # A causal classifier finds the end of a sentence by this. With another, it would read
            # the padding, whose length the other sentences of a batch decide.
            network.config.pad_token_id = boundary
        about: dict[str, Any] = {"kind": adapters, "classes": classes, "last_blocks": last_blocks}
        config = network.config.to_json_string(use_diff=False)
        about["configuration"] = hashlib.sha256(config.encode()).hexdigest()[:16]
        if base is not None:
            about["base"] = {key: asdict(base)[key] for key in ("name", "sha256")}
        if marks != ((), ()):
            about["marks"] = marks
        if self.whole:
            made = whole_network(network, last_blocks=last_blocks, classes=classes)
        else:
            about |= {"rank": rank, "seed": seed}
            blocks: dict[str, Any] = {"last_blocks": last_blocks, "classes": classes}
            made = adapted(network, rank=rank, kind=adapters, seed=seed, **blocks)
        self._network, self._device = made.to(device), torch.device(device)
        self._layers = trained_layers(self._network)
        self._parameters = parameters_of(self._layers.values())
        trained = sum(value.numel() for value in self._parameters.values())
        self._about = about | {"trained": trained}
        self._scores = classes or int(network.config.vocab_size)
        # Some models know nothing of this where they classify.
        self._given = {"use_cache": False} if classes is None else {}
        self._lower: LowerBlocks | None = None
        if last_blocks is not None:
            self._lower = LowerBlocks(self._network, last_blocks, **self._given)
        if self.whole:
            require_sound(self, lambda batch: self._losses(batch)[0], self._device)

    @classmethod
    def load(
        cls,
        name: str | Path,
        *,
        rank: int = 4,
        adapters: str = "lora",
        last_blocks: int | None = None,
        classes: int | None = None,
        marked: bool = True,
        device: str = CPU,
    ) -> Self:
        """The model in a local folder or a GGUF file, or the packaged ``"smollm2"``.

        With its tokenizer; nothing is downloaded. A classifier reads each sentence between the
        marks that the tokenizer puts around one, unless it is not ``marked``.
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
            refuse_unread(
                folder, lambda words: tokenizer(words, add_special_tokens=False)["input_ids"]
            )
            network = (
                AutoModelForCausalLM.from_pretrained(folder, **local)
                if classes is None
                else AutoModelForSequenceClassification.from_pretrained(
                    folder, num_labels=classes, **local
                )
            )
        boundary = first_mark(tokenizer)
        called = SMOLLM2 if str(name) == SMOLLM2 else Path(name).resolve().name
        with room_for(f"the model {called}", "use a smaller model, or --device cpu"):
            return cls(
                network,
                tokenizer,
                boundary=boundary,
                marks=marks_of(tokenizer) if marked and classes is not None else ((), ()),
                rank=rank,
                adapters=adapters,
                last_blocks=last_blocks,
                classes=classes,
                base=Base(called, model_files_sha256(folder, {}), folder),
                device=device,
            )

    @property
    def description(self) -> str:
        """What the model is: digests of the public one below, and what of it is trained."""
        return json.dumps({"adapters": self._about}, sort_keys=True)

    def encode(self, words: Sequence[str]) -> list[int]:
        """The numbers of a sentence that comes in words, by the model's own tokenizer."""
        return self.encode_text(" ".join(words))

    def encode_text(self, text: str) -> list[int]:
        """The numbers of a sentence as it was written."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def trainable(self) -> Parameters:
        """The adapters and a new head; or the weights themselves."""
        return self._parameters

    def weights(self) -> Parameters:
        """The same: other weights are public and stay where they are."""
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

    def save_model(self, folder: Path, classes: Sequence[str] = ()) -> None:
        """Write the model, all its weights, and the tokenizer: a folder that transformers opens.

        Args:
            folder: where to.
            classes: names of a classifier's classes.
        """
        if classes:
            self._network.config.id2label = dict(enumerate(classes))
            self._network.config.label2id = {name: i for i, name in enumerate(classes)}
        with quiet_transformers():
            self._network.save_pretrained(folder)
        if self._tokenizer is not None:
            self._tokenizer.save_pretrained(folder)

    def factors(self, batch: SentenceBatch, masks: Masks | None) -> list[Factor]:
        """The gradient of each sentence's loss, in factors; there is no dropout."""
        del masks
        batch = batch.on(self._device)
        seen: dict[str, list[_Seen]] = {name: [] for name in self._layers}
        for places in self._together(batch):
            for name, part in self._seen(some_of(batch, places), places).items():
                seen[name].append(part)
        factors = []
        layouts: dict[tuple[int, ...], torch.Tensor] = {}  # one tensor for each layout of rows
        for parts in seen.values():
            layout = (parts[0][2], *(len(sentence) for _, sentence, _ in parts))
            if layout not in layouts:
                layouts[layout] = torch.cat([sentence for _, sentence, _ in parts])
            joined: dict[int, torch.Tensor] = {}  # a bias has the same errors as its matrix
            for name in parts[0][0]:
                own = [rows[name] for rows, _, _ in parts]
                errors = _joined([some for some, _ in own], joined)
                inputs = [some for _, some in own if some is not None]
                whole = _joined(inputs, joined) if inputs else None
                factors.append(Factor(name, errors, layouts[layout], whole))
        return factors

    def _seen(self, batch: SentenceBatch, places: torch.Tensor) -> dict[str, _Seen]:
        """The rows of each trained layer's factors, of some sentences."""
        seen: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

        def spread(_module: Any, inputs: tuple[Any, ...]) -> Any:
            """Places are looked up once for all sentences; here, for each of them."""
            if inputs[0].dim() == 2 and len(inputs[0]) == 1:
                return (inputs[0].expand(len(batch), -1), *inputs[1:])
            return inputs

        def keep(name: str, _module: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
            if name in seen or len(output) != len(batch):
                raise InvalidValue(
                    "a layer of this model is used twice, or for several sentences at once, and "
                    "cannot be trained here"
                )
            seen[name] = (inputs[0].detach(), output)

        hooks = []
        for name, layer in self._layers.items():
            if layer.by_number:
                hooks.append(layer.module.register_forward_pre_hook(spread))
            hooks.append(layer.module.register_forward_hook(partial(keep, name)))
        try:
            with torch.enable_grad():
                loss = self._losses(batch)[0].sum()
        finally:
            for hook in hooks:
                hook.remove()
        if len(seen) < len(self._layers):
            raise InvalidValue(
                "a part of this model takes no part in what it predicts and cannot be trained here"
            )
        errors = torch.autograd.grad(loss, [output for _, output in seen.values()])
        lengths = self._lengths(batch)
        longest = int(lengths.max())
        there = torch.arange(longest, device=self._device)[None, :] < lengths[:, None]
        by_layer: dict[str, _Seen] = {}
        for (name, (inputs, output)), error in zip(seen.items(), errors, strict=True):
            each = error[0].numel() // error.shape[-1]
            flat = error.reshape(-1, error.shape[-1])
            rows = inputs.reshape(len(flat), -1)
            sentence = torch.repeat_interleave(places, each)
            of_token = 0
            if output.dim() > 2 and output.shape[1] == longest:  # else a row is a sentence
                of_token = each // longest
                # After the end of a sentence there is no error.
                kept = there[:, :, None].expand(-1, -1, of_token).reshape(-1)
                flat, rows, sentence = flat[kept], rows[kept], sentence[kept]
            by_layer[name] = self._layers[name].rows(rows, flat), sentence, of_token
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
            some = some_of(batch, places)
            some_losses, logits, targets = self._losses(some)
            some_wrong = logits.argmax(dim=-1) != targets
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
            scores[places] = self._class_logits(some_of(batch, places))
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

    def _losses(self, batch: SentenceBatch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of each prediction its loss, its scores and what is right; ``(sentences, each, ...)``."""
        if self.classes is not None:
            if batch.labels is None:
                raise InvalidValue("a classifier needs a label for every sentence")
            logits, targets = self._class_logits(batch)[:, None], batch.labels[:, None]
            there = torch.ones_like(targets, dtype=torch.bool)
        else:
            there, marks = self._there(batch), (self.boundary,)
            targets = padded(batch, there, self.boundary)
            logits = self._logits(padded(batch, there, self.boundary, before=marks), batch)
        flat = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
        return torch.where(there, flat.view_as(targets), 0.0), logits, targets

    def _class_logits(self, batch: SentenceBatch) -> torch.Tensor:
        there, (before, after) = self._there(batch), self._marks
        return self._logits(padded(batch, there, self.boundary, before, after), batch)

    def _logits(self, ids: torch.Tensor, batch: SentenceBatch) -> torch.Tensor:
        lower, there = self._lower, self._there(batch)
        with ExitStack() as below:
            if lower is not None:
                hidden = lower.hidden(ids, self._lengths(batch))
                below.enter_context(lower.replaced(hidden))
            logits: torch.Tensor = self._network(
                input_ids=ids, attention_mask=there.long(), **self._given
            ).logits
        return logits

    def _lengths(self, batch: SentenceBatch) -> torch.Tensor:
        """Of each sentence as the network reads it, with what stands around it."""
        if self.classes is None:
            return batch.lengths + 1
        return batch.lengths + sum(map(len, self._marks))

    def _there(self, batch: SentenceBatch) -> torch.Tensor:
        """Where the network reads a token: ``(sentences, longest)``."""
        lengths = self._lengths(batch)
        place = torch.arange(int(lengths.max()), device=self._device)[None, :]
        return place < lengths[:, None]


def _joined(parts: list[torch.Tensor], known: dict[int, torch.Tensor]) -> torch.Tensor:
    """The rows of all parts, once for whoever shares them."""
    if id(parts[0]) not in known:
        known[id(parts[0])] = torch.cat(parts)
    return known[id(parts[0])]
