"""Where PyTorch computes: a device by name, and arrays on their way there.

Random numbers that a guarantee rests on are never drawn on a device: they come from the secure
generator, as arrays, and are moved like any other.
"""

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from discreet import check
from discreet.errors import DiscreetError, InvalidValue, NotFound, needs_extra
from discreet.settings import Setting

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

R = TypeVar("R")
AUTO, CPU = "auto", "cpu"
VARIABLE = "DISCREET_DEVICE"
"""In the environment: what ``auto`` means, for this process and those that it starts."""
DEVICES = (AUTO, CPU, "cuda", "mps")
# What drivers leave behind; without any of these PyTorch need not be asked, which takes seconds.
_TRACES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd")


def find_device(name: str = AUTO, *, doubles: bool = False) -> str:
    """The device that a name stands for, if this machine has it.

    Args:
        name: ``cpu``; ``cuda`` or ``mps``, which must then be there; ``auto`` for what the
            environment names (``DISCREET_DEVICE``), else for one of these if it is there.
        doubles: Whether 64-bit numbers are needed, which mps does not have.

    >>> find_device("cpu")
    'cpu'
    """
    check.one_of(name, DEVICES, "--device")
    if name == AUTO:
        name = check.one_of(os.environ.get(VARIABLE, AUTO), DEVICES, VARIABLE)
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
    find_device(name)
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

    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
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

    if torch.device(device).type != "cuda":
        with torch.random.fork_rng(devices=[]):
            yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with torch.random.fork_rng(devices=[torch.cuda.current_device()]):
            yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)


# -- memory ----------------------------------------------------------------------------------------


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device had no room left."""
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "out of memory" in str(error)


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
