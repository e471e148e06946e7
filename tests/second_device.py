"""A second device on a machine that has none: real numbers, and a wall around them.

Its tensors say that they are on ``meta`` and hold their numbers inside. Whatever is computed there
is computed for real, with the same numbers as on the processor, so that whole trainings run and can
be compared. What a GPU refuses is refused here too: an operation on tensors of both devices, and
NumPy's hands on a tensor that is not on the processor. (As on a GPU, a single number may be on
either side, indices may be on the processor, and copies may go across.) If asked to, it refuses
numbers of 64 bits as well, as mps does.
"""

from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    return_and_correct_aliasing,
)
from torch.utils._pytree import tree_map_only

NAME = "meta"
_ACROSS = {"aten::_to_copy", "aten::copy_", "aten::to"}
_INDEXING = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}


class LeftBehind(AssertionError):
    """An operation on tensors of two devices."""


class TooWide(TypeError):
    """Numbers of 64 bits on a device that has none."""


class There(torch.Tensor):
    """A tensor on the second device."""

    doubles = True

    @staticmethod
    def __new__(cls, inside):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            inside.size(),
            strides=inside.stride(),
            storage_offset=inside.storage_offset(),
            dtype=inside.dtype,
            layout=inside.layout,
            device=NAME,
            requires_grad=False,
        )

    def __init__(self, inside):
        if inside.dtype == torch.float64 and not There.doubles:
            raise TooWide(f"64-bit numbers {tuple(inside.shape)}")
        self.inside = inside

    def __repr__(self):
        return f"There({tuple(self.shape)}, {self.dtype})"

    def tolist(self):
        return self.inside.tolist()

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _run(func, args, kwargs or {})


def _run(func, args, kwargs):
    name = func._schema.name
    tensors = []
    looked_at = (args[0], args[2:]) if name in _INDEXING else (args, kwargs)
    tree_map_only(torch.Tensor, tensors.append, looked_at)
    there = [each for each in tensors if isinstance(each, There)]
    here = [x for x in tensors if not isinstance(x, There) and x.dim() > 0 and x.numel() > 0]
    if there and here and name not in _ACROSS:
        raise LeftBehind(f"{name} on tensors of two devices: {[tuple(x.shape) for x in here]}")
    wanted = kwargs.get("device")
    wanted = None if wanted is None else torch.device(wanted).type
    if wanted == NAME:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    kwargs = {k: v for k, v in kwargs.items() if k != "pin_memory"}
    inner_args, inner_kwargs = tree_map_only(torch.Tensor, _inside, (args, kwargs))
    out = func(*inner_args, **inner_kwargs)
    goes_there = wanted == NAME if wanted is not None else bool(there)
    if name == "aten::copy_":
        return args[0]
    if not goes_there:
        return out
    out = tree_map_only(torch.Tensor, There, out)
    return return_and_correct_aliasing(func, args, kwargs, out)


def _inside(tensor):
    if isinstance(tensor, There):
        return tensor.inside
    if tensor.device.type != NAME:
        return tensor
    assert tensor.numel() == 0, "torch.tensor(numbers, device) goes past this device"
    return torch.empty(tensor.shape, dtype=tensor.dtype)


class _SecondDevice(TorchDispatchMode):
    """New tensors go to the second device where they are asked for there."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return _run(func, args, kwargs or {})


@contextmanager
def second_device(*, doubles=True):
    """Within, ``device="meta"`` is a device that computes; with ``doubles`` also in 64 bits."""
    There.doubles = doubles
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    inference, torch.inference_mode = torch.inference_mode, torch.no_grad  # which classes may enter
    plain = torch.tensor

    def tensor(numbers, *, device=None, **how):  # the original goes past any other device
        made = plain(numbers, **how)
        return made if device is None else made.to(device)

    torch.tensor = tensor
    try:
        with _SecondDevice():
            yield NAME
    finally:
        There.doubles = True
        torch.tensor, torch.inference_mode = plain, inference
        torch.__future__.set_swap_module_params_on_conversion(before)


@contextmanager
def without_it():
    """Within, there is no second device: transformers means nothing by ``meta`` while it loads."""
    with _disable_current_modes():
        yield
