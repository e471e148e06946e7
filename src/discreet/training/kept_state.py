"""The state of a run on disk: the weights, what the optimiser remembers of them, and a number."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.devices import array_of, moved
from discreet.errors import InputError, InvalidValue, OutputError
from discreet.staging import PRIVATE
from discreet.tensors import Arrays, arrays_under, load_tensors, save_tensors
from discreet.training.settings import Resumption

_KIND = "training state"
_WEIGHTS, _MEMORY = "parameter/", "optimizer/"


@dataclass(frozen=True)
class RunState:
    """The file that holds the state of a run until its result is there.

    Attributes:
        path: Where it is.
        when: How often it is written, and whether to go on from it.
        settings: Everything that the result depends on; a state of other settings is refused.
    """

    path: Path
    when: Resumption
    settings: dict[str, Any]

    @staticmethod
    def beside(output: Path) -> Path:
        """Where the state of a run lies whose result goes to ``output``."""
        return output.with_name(output.name + ".resume")

    def refuse_leftover(self) -> None:
        """Stop if an earlier run was interrupted and nobody said what to do with it."""
        if self.path.exists() and not self.when.resume:
            raise OutputError(
                f"{self.path} belongs to a run that was stopped; add --resume, or delete "
                "it to begin again"
            )

    def forget(self) -> None:
        """Remove the state: the result is in its place."""
        self.path.unlink(missing_ok=True)

    def save(self, named: dict[str, Any], optimizer: Any, losses: Floats, done: int) -> None:
        """Write the weights, the optimiser's memory and how far the run is."""
        arrays = {"losses": losses, **kept_arrays(named, optimizer)}
        about = {"steps_done": done, "settings": self._digest()}
        save_tensors(self.path, _KIND, arrays, about, force=True, mode=PRIVATE)

    def restore(self, named: dict[str, Any], optimizer: Any, losses: Floats) -> int:
        """Put the state of a stopped run back; the number of steps that it had done."""
        if not self.when.resume or not self.path.exists():
            return 0
        arrays, about = load_tensors(self.path, _KIND)
        if not fits(arrays, named):
            raise InputError(
                f"{self.path} is of a model with another architecture; resume with the model it "
                "was begun with, or delete it to begin again"
            )
        if about.get("settings") != self._digest():
            raise InvalidValue(
                f"{self.path} is of a run with other settings or other data; give the same ones to "
                "resume, or delete it to begin again"
            )
        restore_kept(arrays, named, optimizer)
        losses[:] = arrays["losses"]
        return int(about["steps_done"])

    def _digest(self) -> str:
        encoded = json.dumps(self.settings, sort_keys=True, default=str).encode()
        return hashlib.sha256(encoded).hexdigest()


def kept_arrays(named: Mapping[str, Any], optimizer: Any) -> Arrays:
    """Parameters, and what their optimiser remembers of them; :func:`restore_kept` reads them."""
    import torch

    arrays = {f"{_WEIGHTS}{name}": array_of(value) for name, value in named.items()}
    for name, parameter in named.items():
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor):
                arrays[f"{_MEMORY}{name}/{key}"] = array_of(value)
    return arrays


def fits(arrays: Arrays, named: Mapping[str, Any]) -> bool:
    """Whether :func:`kept_arrays` gave these for parameters of the same names and shapes."""
    owners = {place.rpartition("/")[0] for place in arrays_under(arrays, _MEMORY)}
    return shapes_of(arrays_under(arrays, _WEIGHTS)) == shapes_of(named) and owners <= named.keys()


def restore_kept(arrays: Arrays, named: Mapping[str, Any], optimizer: Any) -> None:
    """The inverse of :func:`kept_arrays`, in place."""
    import torch

    put_weights(arrays_under(arrays, _WEIGHTS), named)
    for place, value in arrays_under(arrays, _MEMORY).items():
        name, _, key = place.rpartition("/")
        # The count of steps is a scalar on the processor, which a file has as one entry.
        optimizer.state[named[name]][key] = (
            torch.from_numpy(np.array(value)).reshape(())
            if key == "step"
            else moved(np.array(value), named[name].device)
        )


def shapes_of(arrays: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Of arrays or of tensors, by name."""
    return {name: tuple(array.shape) for name, array in arrays.items()}


def put_weights(arrays: Arrays, named: Mapping[str, Any]) -> None:
    """Copy arrays into the parameters of the same names."""
    import torch

    with torch.no_grad():
        for name, parameter in named.items():
            parameter.copy_(torch.tensor(arrays[name]))
