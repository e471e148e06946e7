"""The layers of a transformers model that are trained, and their gradients in factors.

For every kind of layer there is one rule: from what came in and the errors that came back, the
factors of its parameters. A parameter that no rule covers is refused by the kind of its layer: one
that is trained and not clipped would break the guarantee.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from discreet.errors import InvalidValue
from discreet.models.factors import Parameters

Rows = dict[str, tuple[torch.Tensor, torch.Tensor | None]]
"""Of each of a layer's own parameters: errors and inputs as a factor has them, a row each."""
_Rule = Callable[[Any, torch.Tensor, torch.Tensor], Rows]


@dataclass(frozen=True, eq=False)
class TrainedLayer:
    """A layer of which some parameters are trained.

    Attributes:
        module: the layer.
        names: of its own parameters that are trained, each with the name that it is trained by.
            A parameter that two layers share has one name.
    """

    module: Any
    names: dict[str, str]
    _rule: _Rule

    @property
    def by_number(self) -> bool:
        """True if numbers of rows come in, as into an embedding."""
        return isinstance(self.module, torch.nn.Embedding)

    def rows(self, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
        """The factors of what is trained, by its name, from rows of inputs and of errors."""
        rows = self._rule(self.module, inputs, errors)
        return {name: rows[own] for own, name in self.names.items()}


def trained_layers(network: Any) -> dict[str, TrainedLayer]:
    """All layers with a trained parameter, by name; refused if a parameter has no rule."""
    names: dict[int, str] = {}  # a parameter that is shared keeps its first name
    layers = {}
    for place, module in network.named_modules():
        own = {n: p for n, p in module.named_parameters(recurse=False) if p.requires_grad}
        if own:
            called = {n: names.setdefault(id(p), f"{place}.{n}") for n, p in own.items()}
            layers[place] = TrainedLayer(module, called, _rule_for(module, own))
    return layers


def parameters_of(layers: Iterable[TrainedLayer]) -> Parameters:
    """What the layers train, by name; what is shared is there once."""
    named = ((layer, own, name) for layer in layers for own, name in layer.names.items())
    return {name: getattr(layer.module, own) for layer, own, name in named}


def _rule_for(module: Any, own: Iterable[str]) -> _Rule:
    from transformers.pytorch_utils import Conv1D

    kind = type(module)
    rule: _Rule | None = None
    if kind is torch.nn.Linear:
        rule = _linear
    elif kind is Conv1D:
        rule = _conv1d
    elif kind is torch.nn.Embedding and _plain(module):
        rule = _embedding
    elif kind is torch.nn.LayerNorm:
        rule = _layer_norm
    elif kind.__name__.endswith("RMSNorm") and _epsilon(module) > 0:
        rule = _rms_norm
    if rule is None or not set(own) <= {"weight", "bias"}:
        raise InvalidValue(
            f"this model has a layer of a kind whose gradients cannot be bounded here, "
            f"{kind.__name__}, so not all of its weights can be trained; choose --adapters core, "
            "half or lora"
        )
    return rule


def _plain(embedding: torch.nn.Embedding) -> bool:
    """Neither changed by reading it, nor with gradients that depend on other sentences."""
    return embedding.max_norm is None and not embedding.scale_grad_by_freq


def _linear(_module: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    return {"weight": (errors, inputs), "bias": (errors, None)}


def _conv1d(_module: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    """A linear layer whose matrix is kept the other way round, as in GPT-2."""
    return {"weight": (inputs, errors), "bias": (errors, None)}


def _embedding(module: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    numbers = inputs.reshape(-1)
    if module.padding_idx is not None:  # that row stays as it is
        errors = errors * (numbers != module.padding_idx)[:, None]
    return {"weight": (errors, numbers)}


def _layer_norm(module: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    normal = functional.layer_norm(inputs, module.normalized_shape, eps=module.eps)
    return {"weight": (errors * normal, None), "bias": (errors, None)}


def _rms_norm(module: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    size = torch.rsqrt(inputs.pow(2).mean(dim=-1, keepdim=True) + _epsilon(module))
    return {"weight": (errors * inputs * size, None)}


def _epsilon(module: Any) -> float:
    """What the length of a vector is kept away from zero by, under any name; 0 if there is none."""
    for name in ("variance_epsilon", "eps"):
        if isinstance(value := getattr(module, name, None), float):
            return value
    return 0.0
