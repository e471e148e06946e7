"""The training loop: schedules, stages, and steps that can be resumed.

Every step is a function of the weights, of the seed and of its number: data order, masks, noise and
dropout of step 7 are drawn from (seed, 7). A run that was stopped and resumed therefore gives the
same weights as one that was not (on the same machine and number of threads); what it leaves on disk
is in :mod:`discreet.training.kept_state`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from discreet import check
from discreet.arrays import Floats, Generator, Ids, Progress, row_blocks
from discreet.devices import CPU, device_of, own_chance, room_for
from discreet.errors import InvalidValue, needs_extra
from discreet.training.kept_state import RunState
from discreet.training.settings import WARMUP

T = TypeVar("T")
_BATCHES_OF_POOL = 50
_READ_AT_ONCE = 64
Schedule = Callable[[int, int], dict[str, Any]]
"""From a step and the number of steps to what the optimiser is set to."""


# -- what the optimiser is set to ------------------------------------------------------------------


def warmed_up(highest: float, warmup: float = WARMUP) -> Schedule:
    """A rate that rises to the highest during a share of the steps, then falls to 0.

    >>> schedule = warmed_up(1.0, 0.2)
    >>> [round(schedule(step, 10)["lr"], 2) for step in (0, 1, 2, 9)]
    [0.5, 1.0, 1.0, 0.12]
    """

    def at(step: int, steps: int) -> dict[str, Any]:
        rising = max(1, round(warmup * steps))
        if step < rising:
            return {"lr": highest * (step + 1) / rising}
        return {"lr": highest * (steps - step) / max(1, steps - rising)}

    return at


def one_cycle(highest: float) -> Schedule:
    """One rise and fall along a cosine; the momentum falls where the rate rises (Smith 2018).

    >>> schedule = one_cycle(1.0)
    >>> [round(schedule(step, 9)["lr"], 3) for step in (0, 2, 8)]
    [0.04, 1.0, 0.05]
    """

    low, high, last = (highest / 25, 0.95), (highest, 0.85), (highest / 25 / 1e4, 0.95)

    def at(step: int, steps: int) -> dict[str, Any]:
        top = 0.3 * (steps + 1) - 1
        part = step / top if step <= top else (step - top) / (steps - top)
        before, then = (low, high) if step <= top else (high, last)
        cosine = math.cos(math.pi * part) + 1
        rate, momentum = (b + (a - b) / 2 * cosine for a, b in zip(before, then, strict=True))
        return {"lr": rate, "betas": (momentum, 0.999)}

    return at


def constant(rate: float) -> Schedule:
    """The same rate throughout."""
    return lambda _step, _steps: {"lr": rate}


# -- what a step sees ------------------------------------------------------------------------------


class Epochs(Generic[T]):
    """What is made anew for every epoch, such as an order of the rows or fresh noise.

    Args:
        length: Steps of an epoch.
        prepare: From the number of an epoch to what its steps need.
    """

    def __init__(self, length: int, prepare: Callable[[int], T]) -> None:
        self.length = length
        self._prepare = lru_cache(maxsize=1)(prepare)

    def at(self, step: int) -> tuple[T, int]:
        """What the epoch of a step needs, and the number of the step within it."""
        epoch, number = divmod(step, self.length)
        return self._prepare(epoch), number


class ShuffledRows(Epochs[Ids]):
    """Rows in batches, in a new order every epoch."""

    def __init__(self, rows: Ids, batch: int, rng: Generator) -> None:
        super().__init__(math.ceil(len(rows) / batch), lambda _epoch: rng.permutation(rows))
        self._batch = batch

    def of_step(self, step: int) -> Ids:
        """The rows of a step."""
        order, number = self.at(step)
        return order[number * self._batch : (number + 1) * self._batch]


class RowsOfLikeLength(Epochs[list[Ids]]):
    """Rows in random batches of like length: sorted within pools of a random order."""

    def __init__(self, lengths: Ids, batch: int, seed: int) -> None:
        def prepare(epoch: int) -> list[Ids]:
            order = epoch_order(len(lengths), seed, epoch)
            batches = []
            for part in row_blocks(len(order), numbers=batch * _BATCHES_OF_POOL):
                some = order[part][np.argsort(lengths[order[part]], kind="stable")]
                batches += [some[rows] for rows in row_blocks(len(some), numbers=batch)]
            again = np.random.default_rng([seed, epoch, 1]).permutation(len(batches))
            return [batches[number] for number in again]

        super().__init__(math.ceil(len(lengths) / batch), prepare)

    def of_step(self, step: int) -> Ids:
        """The rows of a step."""
        batches, number = self.at(step)
        return batches[number]


def rows_by_length(lengths: Ids, progress: Progress | None = None) -> Iterator[Ids]:
    """All rows in blocks of like length: little is then spent on padding."""
    order = np.argsort(lengths, kind="stable")
    for part in row_blocks(len(order), numbers=_READ_AT_ONCE, progress=progress):
        yield order[part]


@contextmanager
def evaluated(network: Any) -> Iterator[None]:
    """Without gradients and without dropout, and then as before."""
    import torch

    training = network.training
    network.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        network.train(training)


@contextmanager
def layers_in_16_bits(device: Any, wanted: bool) -> Iterator[None]:
    """Around a pass through a network that is trained: its layers may round to ``bfloat16``.

    That has the range of 32 bits, so no loss need be scaled. What comes out is for the caller to
    take back to 32 bits. Not for anything that bounds contributions or adds noise.
    """
    if not wanted:
        yield
        return
    import torch

    kind = torch.device(device).type
    if kind == "cuda" and not torch.cuda.is_bf16_supported():
        raise InvalidValue("this GPU has no bfloat16: leave --mixed out")
    with torch.autocast(kind, dtype=torch.bfloat16):
        yield


def epoch_order(documents: int, seed: int, epoch: int) -> Ids:
    """The order in which an epoch takes the documents: a function of seed and epoch alone."""
    return np.random.default_rng([check.whole(seed, "seed"), epoch]).permutation(documents)


def step_seed(seed: int, step: int) -> int:
    """A seed for one step, unrelated to those of other steps and seeds."""
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> 1)


def seed_draws(seed: int) -> None:
    """What PyTorch draws next comes from this seed, on every device in use.

    As ``torch.manual_seed``, which for each device that is *not* in use notes down the whole stack
    of calls: longer work than a small network's step.
    """
    import torch

    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(seed)
    if torch.backends.mps.is_available():
        torch.mps.manual_seed(seed)


@contextmanager
def seeded_weights(seed: int, feature: str) -> Iterator[None]:
    """Where first weights are drawn: from the seed, and nobody else's draws are touched.

    Without PyTorch there is an error that names the extra for this feature.
    """
    with needs_extra(feature, "train"):
        import torch  # noqa: F401
    with own_chance():
        seed_draws(seed)
        yield


# -- the loop --------------------------------------------------------------------------------------


def make_steps(
    make: Callable[[int], None],
    *,
    done: int,
    total: int,
    every: int = 1,
    save: Callable[[int], None] | None = None,
    progress: Progress | None = None,
) -> None:
    """Make the steps from ``done`` on, whatever a step is.

    ``save`` is called with the number of steps that are behind, at intervals and after the last.
    """
    for number in range(done, total):
        make(number)
        behind = number + 1
        if save is not None and (behind % every == 0 or behind == total):
            save(behind)
        if progress is not None:
            progress(behind, total)


@dataclass(frozen=True)
class TrainingStage:
    """Steps that train some of the weights.

    Attributes:
        steps: How many.
        schedule: The learning rate of each.
        parameters: The weights that are trained.
        loss: From the number of the step within the stage to a loss (a scalar tensor).
    """

    steps: int
    schedule: Schedule
    parameters: Sequence[Any]
    loss: Callable[[int], Any]


def train_in_stages(
    network: Any,
    stages: Sequence[TrainingStage],
    *,
    seed: int,
    state: RunState | None = None,
    weight_decay: float = 0.01,
    clip: float | None = 1.0,
    times: Callable[[str], float] = lambda _name: 1.0,
    after: Callable[[int], None] | None = None,
    progress: Progress | None = None,
) -> Floats:
    """Gradient descent on released or public data; returns the loss of every step.

    Args:
        network: The PyTorch module that holds all parameters, on the device that computes.
        stages: What is trained, one after the other.
        seed: Of all that is random in a step; not for releases.
        state: Where the state is kept; None keeps nothing.
        weight_decay: Of AdamW.
        clip: Longest gradient, if there is a limit.
        times: What the learning rate of a parameter is multiplied by, from its name.
        after: Called with the number of steps that are behind, after each.
        progress: Called with (done, total) steps.
    """
    import torch

    if state is not None:
        state.refuse_leftover()
    ends = np.cumsum([stage.steps for stage in stages])
    total = int(ends[-1])
    losses = np.zeros(total)
    named = dict(network.named_parameters())
    # One fixed way is repeatable; on the processor each weight is read once, six times as fast.
    groups: dict[float, list[Any]] = {}
    for name, parameter in named.items():
        groups.setdefault(times(name), []).append(parameter)
    optimizer = torch.optim.AdamW(
        [{"params": some, "times": factor} for factor, some in groups.items()],
        lr=0.0,
        weight_decay=weight_decay,
        foreach=False,
        fused=str(device_of(network)) == CPU,
    )
    done = 0 if state is None else state.restore(named, optimizer, losses)

    def make(number: int) -> None:
        place = int(np.searchsorted(ends, number, side="right"))
        stage = stages[place]
        step = number - int(ends[place]) + stage.steps
        if step == 0 or number == done:
            trained = {id(parameter) for parameter in stage.parameters}
            for parameter in named.values():
                parameter.requires_grad_(id(parameter) in trained)
        seed_draws(step_seed(seed, number))
        for group in optimizer.param_groups:
            group.update(stage.schedule(step, stage.steps))
            group["lr"] *= group["times"]
        with room_for(f"step {number + 1} of {total}", "use a smaller batch, or --device cpu"):
            loss = stage.loss(step)
            if not torch.isfinite(loss):
                raise InvalidValue(
                    f"training became unstable at step {number + 1} of {total} (the loss is not "
                    "finite); use a smaller learning rate"
                )
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(list(stage.parameters), clip)
            optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses[number] = float(loss.detach())
        if after is not None:
            after(number + 1)

    def save(behind: int) -> None:
        if state is not None and behind < total:
            state.save(named, optimizer, losses, behind)

    training = network.training
    network.train()
    every = 1 if state is None else state.when.save_every
    with own_chance(device_of(network)):
        make_steps(make, done=done, total=total, every=every, save=save, progress=progress)
    for parameter in named.values():
        parameter.requires_grad_(True)
    network.train(training)
    return losses


def train_on_rows(
    modules: Iterable[Any],
    loss: Callable[[Ids], Any],
    *,
    rows: ShuffledRows,
    epochs: int,
    schedule: Schedule,
    after: Callable[[int], None] | None = None,
    progress: Progress | None = None,
) -> None:
    """Train small networks in place: ``loss`` is a function of the rows of a batch.

    As :func:`train_in_stages` in one stage, without decay and clipping.
    """
    import torch

    network = torch.nn.ModuleList(modules)
    stage = TrainingStage(
        epochs * rows.length,
        schedule,
        list(network.parameters()),
        lambda step: loss(rows.of_step(step)),
    )
    train_in_stages(
        network, [stage], seed=0, weight_decay=0.0, clip=None, after=after, progress=progress
    )
