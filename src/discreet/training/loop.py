"""One training loop for every PyTorch model: warm-up, resume, and nothing left half-written.

Every step is a function of the weights, of the seed and of its number: data order, masks, noise and
dropout of step 7 are drawn from (seed, 7). A run that was stopped and resumed therefore gives the
same weights as one that was not (on the same machine and number of threads), and the state on disk
holds only the weights, what the optimiser remembers of them, and a number.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.arrays import Progress
from discreet.errors import InputError, InvalidValue, OutputError
from discreet.tensors import load_tensors, save_tensors

KIND = "training state"


def state_beside(output: Path) -> Path:
    """Where the state of a run lies until its result is at ``output``."""
    return output.with_name(output.name + ".resume")


@dataclass(frozen=True)
class Stage:
    """Steps that train some of the weights.

    Attributes:
        steps: How many.
        learning_rate: The highest rate: it rises to it from 0 and falls to 0 again, linearly.
        parameters: The weights that are trained.
        loss: From the number of the step within the stage to a loss (a scalar tensor).
    """

    steps: int
    learning_rate: float
    parameters: Sequence[Any]
    loss: Callable[[int], Any]


@dataclass(frozen=True)
class Keeping:
    """Where the state of a run is kept, and when.

    Attributes:
        path: The file; None keeps nothing.
        every: Steps between two savings.
        resume: Go on from the file if there is one.
        settings: Everything that the result depends on; a state of other settings is refused.
    """

    path: Path | None
    every: int
    resume: bool
    settings: dict[str, Any]

    def digest(self) -> str:
        """SHA-256 of the settings."""
        encoded = json.dumps(self.settings, sort_keys=True, default=str).encode()
        return hashlib.sha256(encoded).hexdigest()

    def refuse_leftover(self) -> None:
        """Stop if an earlier run was interrupted and nobody said what to do with it."""
        if self.path is not None and self.path.exists() and not self.resume:
            raise OutputError(
                f"{self.path} is left of a run that was stopped; go on with --resume, or delete "
                "it to begin again"
            )


def rate(step: int, stage: Stage, warmup: float) -> float:
    """The learning rate at a step: up to the highest, then down to 0.

    >>> stage = Stage(10, 1.0, [], lambda step: None)
    >>> [round(rate(step, stage, 0.2), 2) for step in (0, 1, 2, 9)]
    [0.5, 1.0, 1.0, 0.12]
    """
    rising = max(1, round(warmup * stage.steps))
    if step < rising:
        return stage.learning_rate * (step + 1) / rising
    return stage.learning_rate * (stage.steps - step) / max(1, stage.steps - rising)


def run(
    network: Any,
    stages: Sequence[Stage],
    *,
    seed: int,
    keeping: Keeping,
    warmup: float = 0.06,
    weight_decay: float = 0.01,
    clip: float = 1.0,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Train; returns the loss of every step.

    Args:
        network: The PyTorch module that holds all parameters.
        stages: What is trained, one after the other.
        seed: Of all that is random here; not for releases.
        keeping: Where the state is kept.
        warmup: Share of each stage during which the learning rate rises.
        weight_decay: Of AdamW.
        clip: Longest gradient.
        progress: Called with (done, total) steps.
    """
    import torch

    keeping.refuse_leftover()
    total = sum(stage.steps for stage in stages)
    losses = np.zeros(total)
    named = dict(network.named_parameters())
    # Foreach updates add in another order than one tensor at a time; one fixed way is repeatable.
    optimizer = torch.optim.AdamW(
        list(named.values()), lr=0.0, weight_decay=weight_decay, foreach=False
    )
    done = _restored(named, optimizer, losses, keeping) if keeping.resume else 0
    starts = np.cumsum([0, *(stage.steps for stage in stages)])
    training = network.training
    network.train()
    with torch.random.fork_rng(devices=[]):
        for number, stage in enumerate(stages):
            trained = {id(parameter) for parameter in stage.parameters}
            for parameter in named.values():
                parameter.requires_grad_(id(parameter) in trained)
            for step in range(max(0, done - int(starts[number])), stage.steps):
                at = int(starts[number]) + step
                torch.manual_seed(step_seed(seed, at))
                optimizer.param_groups[0]["lr"] = rate(step, stage, warmup)
                loss = stage.loss(step)
                if not torch.isfinite(loss):
                    raise InvalidValue(
                        f"training became unstable at step {at + 1} of {total} (the loss is not "
                        "finite); use a smaller learning rate"
                    )
                loss.backward()
                torch.nn.utils.clip_grad_norm_(list(stage.parameters), clip)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                losses[at] = float(loss.detach())
                if keeping.path is not None and (at + 1) % keeping.every == 0 and at + 1 < total:
                    _save(named, optimizer, losses, at + 1, keeping)
                if progress is not None:
                    progress(at + 1, total)
    for parameter in named.values():
        parameter.requires_grad_(True)
    network.train(training)
    return losses


def forget(keeping: Keeping) -> None:
    """Remove the state: the result is in its place."""
    if keeping.path is not None:
        keeping.path.unlink(missing_ok=True)


def step_seed(seed: int, step: int) -> int:
    """A seed for one step, unrelated to those of other steps and seeds."""
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> 1)


def epoch_order(documents: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """The order in which an epoch takes the documents."""
    return np.random.default_rng([check.whole(seed, "seed"), epoch]).permutation(documents)


def _save(named: Any, optimizer: Any, losses: Any, done: int, keeping: Keeping) -> None:
    arrays = {"losses": losses}
    for name, parameter in named.items():
        arrays[f"value.{name}"] = parameter.detach().numpy()
        state = optimizer.state.get(parameter)
        if state:
            arrays[f"mean.{name}"] = state["exp_avg"].numpy()
            arrays[f"square.{name}"] = state["exp_avg_sq"].numpy()
            arrays[f"count.{name}"] = state["step"].numpy()
    about = {"steps_done": done, "settings": keeping.digest()}
    if keeping.path is not None:
        save_tensors(keeping.path, KIND, arrays, about, force=True)


def _restored(named: Any, optimizer: Any, losses: Any, keeping: Keeping) -> int:
    """Put the state of a stopped run back; the number of steps that it had done."""
    import torch

    if keeping.path is None or not keeping.path.exists():
        return 0
    arrays, about = load_tensors(keeping.path, KIND)
    shapes = {f"value.{name}": tuple(p.shape) for name, p in named.items()}
    if {k: v.shape for k, v in arrays.items() if k.startswith("value.")} != shapes:
        raise InputError(
            f"{keeping.path} is of a model with another architecture; resume with the model it "
            "was begun with, or delete it to begin again"
        )
    if about.get("settings") != keeping.digest():
        raise InvalidValue(
            f"{keeping.path} is of a run with other settings or other data; give the same ones to "
            "resume, or delete it to begin again"
        )
    with torch.no_grad():
        for name, parameter in named.items():
            parameter.copy_(torch.tensor(arrays[f"value.{name}"]))
            if f"mean.{name}" in arrays:
                optimizer.state[parameter] = {
                    "step": torch.tensor(arrays[f"count.{name}"]).reshape(()),
                    "exp_avg": torch.tensor(arrays[f"mean.{name}"]),
                    "exp_avg_sq": torch.tensor(arrays[f"square.{name}"]),
                }
    losses[:] = arrays["losses"]
    return int(about["steps_done"])
