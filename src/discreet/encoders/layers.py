"""Affine layers with tanh between them: run with NumPy, trained with PyTorch, kept as arrays."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats32, Rows, row_blocks
from discreet.devices import array_of
from discreet.exact import ExactProducts, tanh

if TYPE_CHECKING:
    import torch

Layers = tuple[tuple[Floats32, Floats32], ...]
"""For each layer an (inputs, outputs) array and an (outputs,) array."""


def run_layers(layers: Layers, rows: Rows) -> Floats32:
    """The output of the last layer; tanh stands between layers, not after the last.

    What comes out of a row depends on that row and the layers alone, to the last bit, on any
    processor: rows may be protected, and replacing one must not move another.
    """
    products = [ExactProducts(weight.T) for weight, _ in layers]
    out = np.empty((len(rows), layers[-1][0].shape[1]), dtype=np.float32)
    for part in row_blocks(len(rows), max(len(weight) for weight, _ in layers)):
        values: Rows = rows[part]
        for number, (product, (_, bias)) in enumerate(zip(products, layers, strict=True)):
            values = product.of(tanh(values) if number else values) + bias
        out[part] = values
    return out


def check_layers(layers: Layers, inputs: int) -> None:
    """A ValueError for layers that do not fit each other, or rows of this size."""
    size = inputs
    for weight, bias in layers:
        if weight.ndim != 2 or weight.shape[0] != size or bias.shape != weight.shape[1:]:
            raise ValueError("the layers do not fit each other")
        if weight.dtype.kind != "f" or bias.dtype.kind != "f":
            raise ValueError("the layers hold other things than numbers")
        size = weight.shape[1]


def affine_network(sizes: Sequence[int]) -> "torch.nn.Sequential":
    """A network of these layer sizes to be trained; chance comes from PyTorch's own seed."""
    import torch

    parts: list[torch.nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        parts += [torch.nn.Tanh(), torch.nn.Linear(inputs, outputs)]
    return torch.nn.Sequential(*parts[1:])


def layers_of(trained: "torch.nn.Sequential") -> Layers:
    """The arrays of a network made by :func:`affine_network`."""
    import torch

    return tuple(
        (array_of(part.weight).T.copy(), array_of(part.bias).copy())
        for part in trained
        if isinstance(part, torch.nn.Linear)
    )


def layer_arrays(layers: Layers, name: str) -> dict[str, NDArray[Any]]:
    """Arrays to be saved, by names that :func:`layers_from` understands."""
    out: dict[str, NDArray[Any]] = {}
    for number, (weight, bias) in enumerate(layers):
        out |= {f"{name}.{number}.weight": weight, f"{name}.{number}.bias": bias}
    return out


def layers_from(arrays: Mapping[str, NDArray[Any]], name: str) -> Layers:
    """The inverse of :func:`layer_arrays`."""
    layers: list[tuple[Floats32, Floats32]] = []
    while f"{name}.{len(layers)}.weight" in arrays:
        number = len(layers)
        layers.append((arrays[f"{name}.{number}.weight"], arrays[f"{name}.{number}.bias"]))
    return tuple(layers)
