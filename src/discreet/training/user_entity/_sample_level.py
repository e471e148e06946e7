"""DP-SGD through Opacus: each sentence by itself is clipped, whoever wrote it.

Opacus clips, adds noise and steps; the gradients of single sentences come from the factors. Its
noise is PyTorch's, which is not cryptographic, and the statement says so.
"""

import secrets
from collections.abc import Sequence
from typing import Any

import torch

from discreet.errors import needs_extra
from discreet.models.factors import FactorModel, sentence_gradients
from discreet.training.user_entity._draws import StepDraws
from discreet.training.user_entity._gradients import ActiveText, dropout_masks, sentence_batch
from discreet.training.user_entity._server import Server

CAVEAT = "the noise comes from PyTorch's generator, which is not cryptographic"
# Gradients of single sentences are written out; so many numbers at a time.
_NUMBERS = 2**26


class SampleLevel:
    """Steps of DP-SGD on a model; ``population`` of the server's rules counts sentences."""

    def __init__(self, server: Server, model: FactorModel) -> None:
        with needs_extra("sample-level training", "train"):
            from opacus.optimizers import DPOptimizer
        self._model = model
        self._shared = server.shared
        rules = server.plan.rules
        self._optimizer: Any = DPOptimizer(
            server.optimizer,
            noise_multiplier=rules.noise,
            max_grad_norm=rules.clip,
            expected_batch_size=max(1, round(rules.sentence_rate * rules.population)),
            generator=torch.Generator(server.device),
        )

    def step(self, texts: Sequence[ActiveText], draws: StepDraws, seeded: bool) -> float:
        """One step on these sentences; returns the norm of the noisy average."""
        seed = draws.shared_seed() if seeded else secrets.randbits(63)
        self._optimizer.generator.manual_seed(seed)
        size = sum(value.numel() for value in self._shared.values())
        most = max(1, _NUMBERS // size)
        parts = [
            ActiveText(text.user, text.sentences[first : first + most])
            for text in texts
            for first in range(0, len(text.sentences), most)
        ]
        for place, part in enumerate(parts or [None]):
            self._set_gradients(part, draws)
            self._optimizer.signal_skip_step(place + 1 < len(parts))
            self._optimizer.step()
            if place + 1 == max(1, len(parts)):
                grads = [p.grad for p in self._shared.values() if p.grad is not None]
                norm = float(torch.linalg.vector_norm(torch.cat([g.reshape(-1) for g in grads])))
            self._optimizer.zero_grad(set_to_none=True)
        return norm

    def _set_gradients(self, part: ActiveText | None, draws: StepDraws) -> None:
        like = self._model.trainable()
        if part is None:
            gradients = {name: value.new_zeros(0, *value.shape) for name, value in like.items()}
        else:
            factors = self._model.factors(sentence_batch([part]), dropout_masks([part], draws))
            gradients = sentence_gradients(factors, like, len(part.sentences))
        for name, parameter in self._shared.items():
            parameter.grad_sample = gradients[name]  # type: ignore[attr-defined]
