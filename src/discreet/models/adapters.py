"""Small trained parts beside the frozen matrices of a transformers model.

Noise has norm ``sqrt(number of trained parameters)`` in units of its deviation, so what is trained
should be small. A frozen matrix W of shape ``(out, in)`` becomes ``W + scale * B A`` with A of
shape ``(rank, in)`` and B of shape ``(out, rank)``, where

- ``lora`` trains A and B (LoRA), ``rank * (in + out)`` numbers a matrix;
- ``half`` trains B; A is drawn once from a public seed and stays, ``rank * out`` numbers;
- ``core`` trains the square R in ``B = U R``, ``rank * rank`` numbers: U and A are the first
  singular vectors of W, with the singular values in A (LoRA-XS, Bałazy and others, 2024). R begins
  at zero, and an entry of R is a relative change of W in its main directions.

All are linear layers of their own, so gradients come in factors; and all can be written as plain
LoRA, which peft opens without knowing how it was trained.

Several machines may find U and A for themselves: the clients of a federation, or a run that is
resumed elsewhere. Processors round differently, so what they find agrees to the rounding of their
numbers and no further, like all that a network computes. It agrees that far because nothing else is
left open: where two singular values are equal, their vectors could be any in a plane, and the model
is refused; signs are fixed by a rule that a last bit cannot turn. A guarantee does not depend on it
(what is clipped and gets noise is the sum for R), nor does a saved model, which holds the products.
"""

import warnings
from typing import Any

import torch

from discreet import check
from discreet.devices import own_chance
from discreet.errors import InvalidValue, needs_extra
from discreet.models.adapter_kinds import ADAPTERS
from discreet.models.factors import Parameters

_NAME = "default"
# Singular vectors are found by so many powers of a random sketch this much wider than the rank.
_WIDER, _POWERS = 8, 8
# Singular values, and the sizes of a vector's entries, that are nearer to each other are not told
# apart: far more than double precision rounds, far less than the weights of a model differ.
_ALIKE = 1e-6


def adapted(
    network: Any,
    *,
    rank: int,
    kind: str = "lora",
    last_blocks: int | None = None,
    classes: int | None = None,
    seed: int = 0,
) -> Any:
    """The model with adapters in it, as peft's model; only they, and a new head, are trained.

    Args:
        network: a transformers model.
        rank: of the adapters.
        kind: one of :data:`discreet.models.adapter_kinds.ADAPTERS`.
        last_blocks: put them into the last so many blocks only; None for all.
        classes: number of classes of a classifier, whose head is trained as well.
        seed: of the first weights; public.
    """
    with needs_extra("adapters", "train"):
        from peft import LoraConfig, TaskType, get_peft_model
    check.whole(rank, "rank of adapters", at_least=1)
    check.one_of(kind, ADAPTERS, "adapters")
    config = LoraConfig(
        r=rank,
        lora_alpha=rank if kind == "core" else 2 * rank,
        target_modules="all-linear" if last_blocks is None else _targets(network, last_blocks),
        task_type=TaskType.CAUSAL_LM if classes is None else TaskType.SEQ_CLS,
        # peft asks for this in GPT-2, whose matrices are kept the other way round.
        fan_in_fan_out=type(network).__name__.startswith("GPT2"),
    )
    with own_chance(), warnings.catch_warnings():
        # peft asks transformers by a name that newer ones warn about: nothing a user could change.
        warnings.filterwarnings("ignore", ".*is_gradient_checkpointing", FutureWarning)
        torch.manual_seed(seed)
        made = get_peft_model(network, config).eval()
    if kind != "lora":
        for layer in (each for each in made.modules() if _NAME in getattr(each, "lora_A", ())):
            layer.lora_A[_NAME].requires_grad_(requires_grad=False)
            if kind == "core":
                _put_core(layer, rank, seed)
    return made


def as_lora(network: Any) -> Parameters:
    """The adapters' weights as those of plain LoRA, under the names that peft knows them by."""
    weights: Parameters = dict(network.state_dict())
    for name in [name for name in weights if name.endswith(".core.weight")]:
        stem = name.removesuffix(".core.weight")
        core, out = weights.pop(name), weights.pop(f"{stem}.out.weight")
        weights[f"{stem}.weight"] = out @ core
    return weights


def blocks_of(network: Any) -> Any:
    """The list of a model's blocks: the first that holds linear layers."""
    for module in network.modules():
        if isinstance(module, torch.nn.ModuleList) and any(map(_is_matrix, module.modules())):
            return module
    raise InvalidValue("this model has no list of blocks; leave out --last-blocks")


def last_of(network: Any, last_blocks: int) -> Any:
    """The last so many of a model's blocks."""
    blocks = blocks_of(network)
    if not 1 <= last_blocks <= len(blocks):
        raise InvalidValue(
            f"last blocks must be between 1 and {len(blocks)}, the blocks of this model; "
            f"got {last_blocks}"
        )
    return blocks[-last_blocks:]


def _targets(network: Any, last_blocks: int) -> list[str]:
    blocks = last_of(network, last_blocks)
    inside = {id(module) for block in blocks for module in block.modules()}
    return [n for n, m in network.named_modules() if id(m) in inside and _is_matrix(m)]


def _is_matrix(module: Any) -> bool:
    from transformers.pytorch_utils import Conv1D

    return isinstance(module, torch.nn.Linear | Conv1D)


@torch.no_grad()
def _put_core(layer: Any, rank: int, seed: int) -> None:
    """Fixed factors from the frozen matrix, and between them the square that is trained."""
    frozen = layer.get_base_layer().weight.detach()
    matrix = (frozen.T if layer.fan_in_fan_out else frozen).double()
    if rank > min(matrix.shape):
        raise InvalidValue(
            f"rank of a core must be at most {min(matrix.shape)}, the size of the smallest matrix; "
            f"got {rank}"
        )
    with own_chance():
        torch.manual_seed(seed)
        wide = min(rank + _WIDER, *matrix.shape)
        left, values, right = torch.svd_lowrank(matrix, q=wide, niter=_POWERS)
    gaps = values - torch.cat([values[1:], values.new_full((1,), -torch.inf)])
    matters = values > _ALIKE * values[0]
    if bool((matters & (gaps < _ALIKE * values))[:rank].any()):
        raise InvalidValue(
            "a matrix of this model has two equal singular values, so its main directions are not "
            "unique and a core has no place; choose --adapters half or lora"
        )
    left, right = left[:, :rank], (right[:, :rank] * values[:rank]).T
    signs = _signs(right)
    layer.lora_A[_NAME].weight.copy_(right * signs[:, None])
    core = torch.nn.Linear(rank, rank, bias=False)
    core.weight.zero_()
    out = torch.nn.Linear(rank, len(left), bias=False).requires_grad_(requires_grad=False)
    out.weight.copy_(left * signs)
    parts = torch.nn.Sequential()
    parts.add_module("core", core)
    parts.add_module("out", out)
    layer.lora_B[_NAME] = parts.eval()


def _signs(rows: torch.Tensor) -> torch.Tensor:
    """The sign of a pair of singular vectors is free: that of the first of the largest entries."""
    sizes = rows.abs()
    largest = sizes >= (1 - _ALIKE) * sizes.amax(dim=1, keepdim=True)
    first = largest.to(torch.uint8).argmax(dim=1, keepdim=True)
    return torch.sign(rows.gather(1, first))[:, 0]
