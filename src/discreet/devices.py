"""Where PyTorch computes: a device by name, and arrays on their way there.

Random numbers that a guarantee rests on are never drawn on a device: they come from the secure
generator, as arrays, and are moved like any other.
"""

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from discreet import check
from discreet.errors import DiscreetError, InvalidValue, NotFound, needs_extra
from discreet.settings import Setting

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

R = TypeVar("R")
AUTO, CPU, CUDA = "auto", "cpu", "cuda"
VARIABLE = "DISCREET_DEVICE"
"""In the environment: what ``auto`` means, for this process and those that it starts."""
DEVICES = (AUTO, CPU, CUDA, "mps")
# What drivers leave behind; without any of these PyTorch need not be asked, which takes seconds.
_TRACES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd")
# In the environment: NVIDIA's libraries take TF32 wherever they are free to, whoever says no.
_TF32 = "NVIDIA_TF32_OVERRIDE"
# What an allocator says, a library of NVIDIA (or AMD) that could not work, and the processor's own.
_NO_ROOM = ("out of memory", "_STATUS_ALLOC_FAILED", "DefaultCPUAllocator")
# What PyTorch multiplies numbers of 32 bits in.
_PRODUCTS = ("cuda.matmul", "cudnn.conv", "cudnn.rnn", "mkldnn.matmul", "mkldnn.conv", "mkldnn.rnn")


def find_device(name: str = AUTO, *, doubles: bool = False) -> str:
    """The device that a name stands for, if this machine has it.

    Where it is cuda, PyTorch multiplies in all 32 bits from now on, and can repeat its sums.

    Args:
        name: ``cpu``; ``cuda`` or ``mps``, which must then be there; ``auto`` for what the
            environment names (``DISCREET_DEVICE``), else for one of these if it is there.
        doubles: Whether contributions are bounded there: that needs 64-bit numbers, which mps does
            not have, and none of fewer than 32.

    >>> find_device("cpu")
    'cpu'
    """
    where = _found(name, doubles)
    if where == CUDA:
        # Read where cuBLAS is used for the first time, so it must be there before.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        keep_32_bits()
    if doubles:
        _refuse_override(where)
    return where


def _found(name: str, doubles: bool) -> str:
    check.one_of(name, DEVICES, "--device")
    if name == AUTO:
        name = check.one_of(os.environ.get(VARIABLE, AUTO), DEVICES, VARIABLE)
        if doubles and name == "mps":  # that is a wish for whatever can be done there
            name = AUTO
    if name == CPU or (name == AUTO and not _may_have_one()):
        return CPU
    if name == AUTO:
        try:
            there = _present()
        except ImportError:
            return CPU
        return next((each for each in there if not doubles or each != "mps"), CPU)
    with needs_extra(f"--device {name}", "encoder"):
        there = _present()
    if name not in there:
        raise NotFound(f"{name} was asked for and this machine has none: use --device cpu or auto")
    if doubles and name == "mps":
        raise InvalidValue(
            "mps has no 64-bit numbers, in which contributions are bounded and added up: use "
            "--device cpu or cuda"
        )
    return name


def prefer_device(name: str) -> None:
    """Let ``auto`` mean this device, here and in the processes that are started from now on.

    For commands whose guide is found by name, wherever a part of the work is done.
    """
    check_device(name)  # of auto nothing is asked yet: where a GPU may be, that takes seconds
    if name != AUTO:
        os.environ[VARIABLE] = name


def check_device(name: str) -> None:
    """Refuse a device that is not there, before any work; what ``auto`` means is seen later."""
    if name != AUTO:
        find_device(name)


DEVICE = Setting(
    "Where PyTorch computes: auto (a GPU if there is one), cpu, cuda or mps.",
    choices=DEVICES,
    refuse=check_device,
)
"""The option of every command that may use PyTorch."""


def _may_have_one() -> bool:
    if platform.system() == "Linux":
        return any(map(os.path.exists, _TRACES))
    return platform.system() != "Darwin" or platform.machine() == "arm64"


def _present() -> tuple[str, ...]:
    """The devices of this machine that are not its processor."""
    import torch

    available = {CUDA: torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return tuple(name for name, there in available.items() if there)


# -- arrays and networks on a device ---------------------------------------------------------------


def moved(array: "NDArray[Any]", device: Any) -> "torch.Tensor":
    """An array as a tensor on a device; on the processor it stays where it is."""
    import torch

    return torch.from_numpy(array).to(device)


def array_of(tensor: "torch.Tensor") -> "NDArray[Any]":
    """The numbers of a tensor, wherever it is."""
    numbers: NDArray[Any] = tensor.detach().cpu().numpy()
    return numbers


def device_of(network: Any) -> Any:
    """Where the weights of a network are."""
    return next(network.parameters()).device


@contextmanager
def own_chance(device: Any = CPU) -> Iterator[None]:
    """Around what seeds PyTorch: nobody else's draws are touched, and a device repeats itself.

    On cuda, sums are made in a fixed order where PyTorch has one; where it has none it warns.
    """
    import torch

    if torch.device(device).type != CUDA:
        with torch.random.fork_rng(devices=[]):
            yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with torch.random.fork_rng(devices=[torch.cuda.current_device()]):
            yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)


# -- precision -------------------------------------------------------------------------------------


def keep_32_bits() -> None:
    """Let PyTorch multiply numbers of 32 bits in all of these, in this process.

    Its environment, or a line of somebody else, may have it round them to 11 (TF32) or 8: vectors
    would be other ones, and what a contribution is bounded by would not be its norm.
    """
    import torch

    backends: Any = torch.backends
    # Older names of the same, which must agree with the newer ones: else they cannot be read.
    torch.set_float32_matmul_precision("highest")
    backends.cudnn.allow_tf32 = False
    if _says_precision():
        for name in _PRODUCTS:
            attrgetter(name)(backends).fp32_precision = "ieee"


def _keeps_32_bits() -> bool:
    import torch

    backends: Any = torch.backends
    newer = _PRODUCTS if _says_precision() else ()
    return (
        all(attrgetter(name)(backends).fp32_precision == "ieee" for name in newer)
        and torch.get_float32_matmul_precision() == "highest"
        and not backends.cuda.matmul.allow_tf32
        and not backends.cudnn.allow_tf32
    )


def _says_precision() -> bool:
    """Whether PyTorch has a precision for each kind of product, as since 2.9."""
    import torch

    return hasattr(torch.backends, "fp32_precision")


def _refuse_override(device: Any) -> None:
    if str(device).startswith(CUDA) and os.environ.get(_TF32, "0") != "0":
        raise InvalidValue(
            f"{_TF32} lets the GPU round products to fewer than 32 bits, and the bound on "
            "contributions rests on these: unset it, or use --device cpu"
        )


@contextmanager
def exactly(device: Any) -> Iterator[None]:
    """Around what a guarantee rests on: products in all 32 bits, and as in :func:`own_chance`."""
    _refuse_override(device)
    keep_32_bits()
    if not _keeps_32_bits():
        raise InvalidValue(
            "PyTorch cannot be kept from rounding products to fewer than 32 bits here, and the "
            "bound on contributions rests on these: train in a process of its own"
        )
    with own_chance(device):
        yield


# -- memory ----------------------------------------------------------------------------------------


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device had no room left."""
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_ROOM)


@contextmanager
def room_for(what: str, remedy: str) -> Iterator[None]:
    """Around work on a device: one that has no room left is one sentence with a remedy."""
    try:
        yield
    except DiscreetError:
        raise
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, MemoryError) and not is_out_of_memory(error):
            raise
        raise InvalidValue(f"there is not enough memory for {what}; {remedy}") from None


def in_halves(work: "Callable[[NDArray[Any]], R]", rows: "NDArray[Any]", what: str) -> list[R]:
    """``[work(rows)]``; in two halves, and so on, where the device has no room for so many.

    For work whose result for a row does not depend on the other rows.
    """
    tight = None
    try:
        return [work(rows)]
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        tight = str(type(error).__name__)
    # Here, not above: the error would hold on to what filled the memory.
    if len(rows) < 2:
        raise InvalidValue(
            f"there is not enough memory for {what}, even one at a time ({tight}); shorten the "
            "texts, or use --device cpu"
        )
    half = len(rows) // 2
    return [*in_halves(work, rows[:half], what), *in_halves(work, rows[half:], what)]
