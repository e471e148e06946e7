"""The noise of a sentence mechanism as a layer of a network, so that a map can learn with it.

Training only: what is released goes through the mechanism itself, never through this layer.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet import check
from discreet.arrays import Floats, Floats32
from discreet.devices import moved
from discreet.mechanisms.registry import entries, find
from discreet.protocols import SentenceMechanism

if TYPE_CHECKING:
    import torch


class Trainable(SentenceMechanism, Protocol):
    """A sentence mechanism that can say what is random about a draw, apart from the vector."""

    def random_parts(self, count: int, rng: np.random.Generator) -> tuple[Floats | None, Floats]:
        """Angles, if the draw turns a vector by an angle, and directions or noise, row by row."""


def trainable(name: str, dimension: int, epsilon: float) -> Trainable:
    """The mechanism of this name, if a map can be trained through it."""
    known = [each.name for each in entries("sentence") if hasattr(each.kind, "random_parts")]
    check.one_of(name, known, "mechanism")
    built: Trainable = find(name, "sentence").build({"dimension": dimension, "epsilon": epsilon})
    return built


def through_noise(
    mechanism: Trainable, units: "torch.Tensor", rng: np.random.Generator
) -> "torch.Tensor":
    """A draw of the mechanism for each unit row, of which the gradient reaches the row.

    The random parts are drawn from the mechanism's own law and do not depend on the weights: an
    angle t and a direction v, made to be at right angles to u, with ``y = cos(t) u + sin(t) v``;
    or noise z alone, with ``y = (u + z) / |u + z|``.
    """
    import torch

    turned, noise = mechanism.random_parts(len(units), rng)
    across = _tensor(noise, units)
    if turned is None:
        return torch.nn.functional.normalize(units + across)
    angles = _tensor(turned, units)[:, None]
    across = across - (across * units).sum(dim=1, keepdim=True) * units
    return torch.cos(angles) * units + torch.sin(angles) * torch.nn.functional.normalize(across)


def spread(points: int, dimension: int) -> Floats32:
    """Unit vectors that keep away from each other: as many as there are classes, always the same.

    >>> bool((spread(2, 3)[0] @ spread(2, 3)[1]) < -0.999)
    True
    """
    return _spread(points, dimension).copy()


@lru_cache(maxsize=64)
def _spread(points: int, dimension: int) -> Floats32:
    """Every start of every map asks for these."""
    places = np.random.default_rng(points).standard_normal((points, dimension))
    for step in range(400):
        places /= np.linalg.norm(places, axis=1, keepdims=True)
        pushes = np.exp(3.0 * (places @ places.T - 1))
        np.fill_diagonal(pushes, 0.0)
        pushes /= pushes.sum(axis=1, keepdims=True)
        places = places - (0.5 if step < 200 else 0.05) * (pushes @ places)
    return np.asarray(places / np.linalg.norm(places, axis=1, keepdims=True), dtype=np.float32)


def _tensor(values: Any, beside: "torch.Tensor") -> "torch.Tensor":
    return moved(np.asarray(values, dtype=np.float32), beside.device)
