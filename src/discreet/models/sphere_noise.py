"""The noise of a sentence mechanism as a layer of a network, so that a map can learn with it.

Training only: what is released goes through the mechanism itself, never through this layer.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import check
from discreet.mechanisms.sentence import PlanarLaplace, Purkayastha

if TYPE_CHECKING:
    import torch

MECHANISMS = (Purkayastha.name, PlanarLaplace.name)
SphereMechanism = Purkayastha | PlanarLaplace


def sphere_mechanism(name: str, dimension: int, epsilon: float) -> SphereMechanism:
    """The mechanism of this name, one of those a map can be trained through."""
    check.one_of(name, MECHANISMS, "mechanism")
    kind = Purkayastha if name == Purkayastha.name else PlanarLaplace
    return kind(dimension, epsilon)


def through_noise(
    mechanism: SphereMechanism, units: "torch.Tensor", rng: np.random.Generator
) -> "torch.Tensor":
    """A draw of the mechanism for each unit row, of which the gradient reaches the row.

    The random part is drawn from the mechanism's own law and does not depend on the weights:
    for Purkayastha the angle t and a direction v at right angles to u, with
    ``y = cos(t) u + sin(t) v``; for planar Laplace z, with ``y = (u + z) / |u + z|``.
    """
    import torch

    if isinstance(mechanism, PlanarLaplace):
        zeros = np.zeros(tuple(units.shape))
        return torch.nn.functional.normalize(units + _tensor(mechanism.noise.add_noise(zeros, rng)))
    angles = _tensor(mechanism.law.sample(len(units), rng))[:, None]
    across = _tensor(rng.standard_normal(tuple(units.shape)))
    across = across - (across * units).sum(dim=1, keepdim=True) * units
    return torch.cos(angles) * units + torch.sin(angles) * torch.nn.functional.normalize(across)


def _tensor(values: Any) -> "torch.Tensor":
    import torch

    return torch.from_numpy(np.asarray(values, dtype=np.float32))
