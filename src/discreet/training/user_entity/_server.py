"""The server's part of a step: noise on the sum, a public denominator, the optimiser."""

import math
from functools import cached_property

import numpy as np
import torch

from discreet.devices import moved
from discreet.errors import InvalidValue
from discreet.models.factors import Parameters
from discreet.tensors import Arrays
from discreet.training.kept_state import fits, kept_arrays, restore_kept
from discreet.training.user_entity.rules import TrainingPlan


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
