"""The same work on the processor and on the second device, and with arrays that are left behind."""

from contextlib import contextmanager

import numpy as np
import torch

from discreet import devices
from discreet.devices import VARIABLE
from second_device import NAME, second_device


@contextmanager
def found(monkeypatch):
    """A machine with a second device, which ``auto`` finds."""
    with monkeypatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        patch.setattr(devices, "_may_have_one", lambda: True)
        patch.setattr(devices, "_present", lambda: (NAME,))
        with second_device():
            yield


def agree(run, monkeypatch, atol=2e-5):
    """What the processor gives the second device gives too."""
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, "cpu")
        here = run()
    with found(monkeypatch):
        np.testing.assert_allclose(run(), here, atol=atol)


@contextmanager
def left_behind(module, monkeypatch):
    """The mutant: on the second device, but what a module makes of arrays stays where it is."""

    def left(array, _device):
        return torch.from_numpy(array)

    with found(monkeypatch), monkeypatch.context() as patch:
        patch.setattr(module, "moved", left)
        yield


def full(*_given, **_named):
    """Work for which a device has no room."""
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


def narrow(work, room, sizes):
    """The same work, with room for so many rows at once; notes how many it was asked for."""

    def bounded(*given, **named):
        rows = next(len(x) for x in (*given, *named.values()) if isinstance(x, torch.Tensor))
        sizes.append(rows)
        return work(*given, **named) if rows <= room else full()

    return bounded
