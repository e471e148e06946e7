"""Small networks by gradient descent: shuffled batches, one rise and fall of the rate."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Progress
from discreet.errors import InvalidValue, MissingExtra

if TYPE_CHECKING:
    import torch


def descend(
    modules: "Iterable[torch.nn.Module]",
    loss: "Callable[[NDArray[np.int64]], torch.Tensor]",
    *,
    rows: int,
    epochs: int,
    batch: int,
    rate: float,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> None:
    """Train modules in place with Adam.

    Args:
        modules: Whose parameters are trained.
        loss: From the row numbers of a batch to a scalar tensor.
        rows: How many there are; each is seen once in an epoch.
        epochs: How often all rows are seen.
        batch: Rows to a step.
        rate: The highest learning rate, reached after a third of the steps.
        rng: Shuffles the rows.
        progress: Called with (epochs done, epochs).
    """
    import torch

    parameters = [p for module in modules for p in module.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=rate)
    steps = epochs * -(-rows // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps + 1)
    for epoch in range(epochs):
        order = rng.permutation(rows)
        for start in range(0, rows, batch):
            optimiser.zero_grad()
            value = loss(order[start : start + batch])
            if not bool(torch.isfinite(value)):
                raise InvalidValue("training diverged: the loss is no longer a finite number")
            value.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
        if progress is not None:
            progress(epoch + 1, epochs)


def seeded(seed: int, feature: str) -> np.random.Generator:
    """PyTorch and a generator of its own, both set to a seed; without PyTorch a clear error."""
    torch = needed(feature)
    torch.manual_seed(seed)
    return np.random.default_rng(seed)


def needed(feature: str) -> Any:
    """PyTorch, or an error that names the extra."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(feature, "train") from error
    return torch
