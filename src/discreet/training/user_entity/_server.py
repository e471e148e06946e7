"""The server's part of a step: noise on the sum, a public denominator, the optimiser.

DP-SGD, where each sentence by itself is clipped, whoever wrote it, is left to Opacus: it clips,
adds noise and steps; the gradients of single sentences come from the factors. Its noise is
PyTorch's, which is not cryptographic, and the statement says so.
"""

import math
import secrets
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from discreet.devices import moved
from discreet.errors import InvalidValue, needs_extra
from discreet.models.factors import FactorModel, Parameters, sentence_gradients
from discreet.tensors import Arrays
from discreet.training.kept_state import fits, kept_arrays, restore_kept
from discreet.training.user_entity._draws import StepDraws
from discreet.training.user_entity._gradients import (
    ActiveText,
    clipped_each,
    dropout_masks,
    sentence_batch,
)
from discreet.training.user_entity.rules import TrainingPlan

SAMPLE_LEVEL_CAVEAT = "the noise comes from PyTorch's generator, which is not cryptographic"
# Gradients of single sentences are written out; so many numbers at a time.
_NUMBERS = 2**26


class Server:
    """Turns the sum of contributions into the next parameters of a model, in place."""

    def __init__(self, plan: TrainingPlan, parameters: Parameters) -> None:
        self.plan = plan
        self.parameters = parameters
        # The optimiser's own view of the same memory, whatever kind of tensors the model holds.
        self.shared = {n: torch.nn.Parameter(p.detach()) for n, p in parameters.items()}

    @cached_property
    def optimizer(self) -> torch.optim.Optimizer:
        """Made for the first step: torch loads its compiler with it, and clients make no step."""
        rate, tensors = self.plan.step_size, list(self.shared.values())
        if self.plan.rules.optimizer == "adam":
            return torch.optim.Adam(tensors, lr=rate)
        return torch.optim.SGD(tensors, lr=rate)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(iter(self.shared.values())).device

    def empty_sum(self) -> Parameters:
        """Where contributions are added up, in 64 bits."""
        return {n: torch.zeros_like(p, dtype=torch.float64) for n, p in self.parameters.items()}

    def release(self, total: Parameters, rng: np.random.Generator) -> float:
        """Add noise to a sum and move the parameters: all that anybody may see of a step.

        The noisy sum, which takes the place of ``total``, is rounded to a public grid, 2^-20 of the
        noise and coarser than the low bits of the sum, so that these do not come out with it.
        Returns the norm of the noisy average, which is a function of what is released.
        """
        deviation = self.plan.deviation
        grid = 2.0 ** (math.floor(math.log2(deviation)) - 20) if deviation else 0.0
        for value in total.values():
            if deviation:
                # Drawn here by the secure generator, whichever device it is added on.
                noise = moved(rng.standard_normal(tuple(value.shape)), value.device)
                value.add_(noise, alpha=deviation).div_(grid).round_().mul_(grid)
                value += 0.0  # the sign of a zero would tell which side it came from
        return self.apply(total, self.plan.denominator)

    def apply(self, total: Parameters, denominator: float) -> float:
        """Move the parameters by an average; returns its norm."""
        square = 0.0
        for name, parameter in self.shared.items():
            average = (total[name] / denominator).to(parameter.dtype)
            square += float(average.double().pow(2).sum())
            parameter.grad = average
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return math.sqrt(square)

    def state(self) -> Arrays:
        """The parameters and the optimiser's memory, as arrays."""
        return kept_arrays(self.shared, self.optimizer)

    def restore(self, state: Arrays) -> None:
        """The inverse of :meth:`state`."""
        if not fits(state, self.shared):
            raise InvalidValue("the checkpoint belongs to another model")
        restore_kept(state, self.shared, self.optimizer)


class SampleLevel:
    """Steps of DP-SGD through Opacus; ``population`` of the server's rules counts sentences."""

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
            # Opacus takes norms in 32 bits, and lets what is no number into the sum.
            gradients = clipped_each(gradients, self._optimizer.max_grad_norm)
        for name, parameter in self._shared.items():
            parameter.grad_sample = gradients[name]  # type: ignore[attr-defined]
