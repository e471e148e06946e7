"""A transformers model of which all weights are trained, or all of its last blocks.

Layers are trained by rules (:mod:`discreet.models.trained_layers`), and whether the rules are right
for a model is seen before anything is trained: on made-up sentences, what they give must be what
automatic differentiation gives. A layer that is built in another way than its kind says, or that
makes one sentence depend on another, does not come through.
"""

from collections.abc import Callable
from typing import Any

import torch

from discreet.errors import InvalidValue
from discreet.models.adapters import last_of
from discreet.models.factors import FactorModel, SentenceBatch, weighted_gradient

# Made-up sentences of two lengths, and weights that tell them apart.
_MADE_UP = ((1, 2, 3, 1), (2, 1))
_WEIGHTS = (1.0, -0.5)
# Far more than numbers of 32 bits are rounded by, and less than a factor that is wrong is off by:
# of a parameter's own gradient, and of all of them, since some are nothing but rounding.
_APART, _APART_OF_ALL = 1e-2, 1e-4


def whole_network(network: Any, *, last_blocks: int | None = None, classes: int | None) -> Any:
    """The model, ready to be trained: every weight, or those of its last blocks and a new head."""
    network = network.eval()
    network.requires_grad_(requires_grad=last_blocks is None)
    if last_blocks is not None:
        below = network.base_model_prefix
        heads = [part for name, part in network.named_children() if name != below]
        for part in (*last_of(network, last_blocks), *(heads if classes is not None else ())):
            part.requires_grad_(requires_grad=True)
    return network


def require_sound(
    model: FactorModel, losses: Callable[[SentenceBatch], torch.Tensor], device: torch.device
) -> None:
    """Refuse a model whose factors are not its gradients, on made-up sentences.

    Args:
        model: about to be trained.
        losses: of each sentence of a batch, a row each.
        device: where it computes.
    """
    batch = SentenceBatch(
        torch.tensor([number for sentence in _MADE_UP for number in sentence]),
        torch.tensor([len(sentence) for sentence in _MADE_UP]),
        torch.zeros(len(_MADE_UP), dtype=torch.long),
    ).on(device)
    weight, like = torch.tensor(_WEIGHTS).to(device), model.trainable()
    factors = model.factors(batch, None)
    rows: dict[int, torch.Tensor | slice] = {id(factor.sentence): slice(None) for factor in factors}
    found = weighted_gradient(factors, like, rows, weight)
    with torch.enable_grad():
        loss = (losses(batch).sum(dim=1) * weight).sum()
    wanted = dict(zip(like, torch.autograd.grad(loss, list(like.values())), strict=True))
    most = sum(_size(value) ** 2 for value in wanted.values()) ** 0.5
    for name, value in wanted.items():
        if not _size(found[name] - value) <= _APART * _size(value) + _APART_OF_ALL * most:
            raise InvalidValue(
                "the gradients of this model cannot be told apart by sentence, so not all of its "
                "weights can be trained; choose --adapters core, half or lora"
            )


def _size(value: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(value))
