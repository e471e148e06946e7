"""A transformers model from a local folder, trained by adapters whose gradients are factors.

Only the adapters (LoRA, by peft) and, for classification, the new head are trained: they are linear
layers, so their gradients come in factors like those of the AWD-LSTM, and a real model can be
trained with clipped users on a small machine. The model's own weights stay as they are and are
public. Adapters are trained without dropout.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import torch
from torch.nn import functional

from discreet import check
from discreet.devices import CPU, own_chance
from discreet.encoders.library import refuse_no_tokenizer
from discreet.errors import InputError, InvalidValue, NotFound, needs_extra
from discreet.models.factors import Factor, Masks, Parameters, Predicted, SentenceBatch


class AdaptedLanguageModel:
    """A causal language model, or a classifier of sentences, with adapters.

    Make one with :meth:`load`, or from objects that are there already.

    Args:
        network: a transformers model; adapters are put into it.
        tokenizer: its tokenizer; None if sentences come as numbers.
        boundary: number that stands before and after every sentence (language models).
        rank: of the adapters.
        classes: number of classes; None for a causal language model.
        seed: of the adapters' first weights; public.
        device: where it computes, as :func:`discreet.devices.find_device` gives it.
    """

    def __init__(
        self,
        network: Any,
        tokenizer: Any = None,
        *,
        boundary: int = 0,
        rank: int,
        classes: int | None = None,
        seed: int = 0,
        device: str = CPU,
    ) -> None:
        with needs_extra("adapters", "train"):
            from peft import LoraConfig, TaskType, get_peft_model
        check.whole(rank, "rank of adapters", at_least=1)
        self.boundary, self.classes = boundary, classes
        self._tokenizer = tokenizer
        config = LoraConfig(
            r=rank,
            lora_alpha=2 * rank,
            target_modules="all-linear",
            task_type=TaskType.CAUSAL_LM if classes is None else TaskType.SEQ_CLS,
            # peft asks for this in GPT-2, whose matrices are kept the other way round.
            fan_in_fan_out=type(network).__name__.startswith("GPT2"),
        )
        with own_chance():
            torch.manual_seed(seed)
            self._network = get_peft_model(network, config).eval().to(device)
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
        about = [network.config.to_json_string(use_diff=False), rank, classes, seed]
        self._digest = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]
        self._rank = rank

    @classmethod
    def load(
        cls, folder: Path, *, rank: int, classes: int | None = None, device: str = CPU
    ) -> Self:
        """The model in a local folder, with its tokenizer; nothing is downloaded."""
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
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            with own_chance():
                torch.manual_seed(0)  # of a classifier's new head
                network = (
                    AutoModelForCausalLM.from_pretrained(folder, **local)
                    if classes is None
                    else AutoModelForSequenceClassification.from_pretrained(
                        folder, num_labels=classes, **local
                    )
                )
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{folder} cannot be loaded as a transformers model") from error
        marks = [tokenizer.bos_token_id, tokenizer.eos_token_id, 0]
        boundary = next(mark for mark in marks if mark is not None)
        if classes is not None and network.config.pad_token_id is None:
            network.config.pad_token_id = boundary
        return cls(network, tokenizer, boundary=boundary, rank=rank, classes=classes, device=device)

    @property
    def description(self) -> str:
        """What the model is, as a digest of its configuration."""
        about = {"configuration": self._digest, "rank": self._rank, "classes": self.classes}
        return json.dumps({"adapters": about}, sort_keys=True)

    def encode(self, words: Sequence[str]) -> list[int]:
        """The numbers of a sentence, by the model's own tokenizer."""
        ids: list[int] = self._tokenizer(" ".join(words), add_special_tokens=False)["input_ids"]
        return ids

    def trainable(self) -> Parameters:
        """The adapters and a new head."""
        return self._parameters

    def weights(self) -> Parameters:
        """The same: the model's own weights are public and stay where they are."""
        return self._parameters

    def factors(self, batch: SentenceBatch, masks: Masks | None) -> list[Factor]:
        """The gradient of each sentence's loss, in factors; there is no dropout."""
        del masks
        batch = batch.on(self._device)
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
        factors = []
        layouts: dict[int, torch.Tensor] = {}  # one tensor for each layout of rows
        for (name, (inputs, _)), error in zip(seen.items(), errors, strict=True):
            each = error[0].numel() // error.shape[-1]
            if each not in layouts:
                rows_of = torch.arange(len(batch), device=self._device)
                layouts[each] = torch.repeat_interleave(rows_of, each)
            flat = error.reshape(-1, error.shape[-1])
            rows = inputs.reshape(len(flat), -1)
            factors.append(Factor(f"{name}.weight", flat, layouts[each], rows))
            if f"{name}.bias" in self._parameters:
                factors.append(Factor(f"{name}.bias", flat, layouts[each]))
        return factors

    @torch.no_grad()
    def predicted(self, batch: SentenceBatch) -> Predicted:
        """Nats of each prediction and whether it is wrong."""
        batch = batch.on(self._device)
        losses, wrong = self._token_losses(batch)
        if self.classes is not None:
            return Predicted(losses[:, 0], wrong[:, 0])
        place = torch.arange(losses.shape[1], device=self._device)[None, :]
        there = place <= batch.lengths[:, None]
        return Predicted(losses[there], wrong[there])

    def predictions(self, batch: SentenceBatch) -> int:
        """Words and the end of each sentence; or one class each."""
        return len(batch) if self.classes is not None else len(batch.tokens) + len(batch)

    def _token_losses(self, batch: SentenceBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss of each prediction, and whether it is wrong: ``(sentences, predictions)``."""
        lengths = batch.lengths if self.classes is not None else batch.lengths + 1
        place = torch.arange(int(lengths.max()), device=self._device)[None, :]
        there = place < lengths[:, None]
        ids = torch.full(there.shape, self.boundary, device=self._device)
        targets = ids.clone()
        inner = place < batch.lengths[:, None]
        if self.classes is not None:
            ids[inner] = batch.tokens
            if batch.labels is None:
                raise InvalidValue("a classifier needs a label for every sentence")
            logits = self._network(input_ids=ids, attention_mask=there.long()).logits
            losses = functional.cross_entropy(logits, batch.labels, reduction="none")
            return losses[:, None], (logits.argmax(dim=1) != batch.labels)[:, None]
        targets[inner] = batch.tokens
        ids[:, 1:] = targets[:, :-1]
        logits = self._network(input_ids=ids, attention_mask=there.long()).logits
        losses = functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
        wrong = (logits.argmax(dim=2) != targets) & there
        return torch.where(there, losses, 0.0), wrong
