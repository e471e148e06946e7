"""A map and a decoder with a mechanism's noise between them, trained together."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats32, Ids, Progress
from discreet.devices import array_of, device_of, find_device, moved, room_for
from discreet.encoders.layers import affine_network
from discreet.models.sphere_noise import Trainable, spread, through_noise
from discreet.training.loop import ShuffledRows, one_cycle, seeded_weights, train_on_rows
from discreet.training.vectors.settings import MapTrainingSettings

if TYPE_CHECKING:
    import torch

_DRAWS = 4
_DECODER = 64
_BATCH = 256
_FEWEST_STEPS = 200
_RATE = 2e-3
_GUIDED = 0.4
"""Share of the steps in which classes are drawn, ever less, to places spread over the sphere."""
_SMALL, _STARTS = 4, 3
"""On a sphere of few dimensions descent can be caught with a class on both sides of another. So
several starts are made there, and the one whose loss is lowest on its own rows is kept."""
_LESS = "use less public text, or --device cpu"


@dataclass(frozen=True)
class Goal:
    """What the decoder should say of each row: probabilities of classes, or a direction."""

    values: Floats32
    classes: bool


@dataclass(frozen=True)
class Bottleneck:
    """A trained map with its decoder."""

    mapped: "torch.nn.Sequential"
    decoder: "torch.nn.Sequential"
    mechanism: Trainable

    def units(self, rows: "torch.Tensor") -> "torch.Tensor":
        """Rows on the sphere, before noise."""
        import torch

        return torch.nn.functional.normalize(self.mapped(rows))

    def said(self, rows: Floats32, draws: int, seed: int) -> Floats32:
        """What the decoder says of each row under so many draws of noise, one after the other."""
        import torch

        rng = np.random.default_rng(seed)
        with torch.no_grad(), room_for("so many rows under noise", _LESS):
            units = self.units(moved(rows, device_of(self.mapped))).repeat(draws, 1)
            noisy = through_noise(self.mechanism, units, rng)
            return array_of(self.decoder(noisy))


def starts(dimension: int) -> int:
    """How often training is started for a map to this dimension."""
    return _STARTS if dimension <= _SMALL else 1


def train_bottleneck(
    rows: Floats32,
    goal: Goal,
    mechanism: Trainable,
    settings: MapTrainingSettings,
    progress: Progress | None = None,
) -> Bottleneck:
    """Train through the noise of a mechanism on public rows; the best of several starts.

    A tanh layer that is not wider than the map is left out, and there are more epochs than asked
    for if they would make very few steps. ``progress`` begins anew with each start.
    """
    count, seed = starts(mechanism.dimension), settings.seed
    seeds = range(count * seed, count * (seed + 1))
    trained = (_started(rows, goal, mechanism, settings, one, progress) for one in seeds)
    with room_for("training a map on so many rows", _LESS):
        return min(trained, key=lambda one: _loss_of(one, rows, goal, seed))


def _started(
    rows: Floats32,
    goal: Goal,
    mechanism: Trainable,
    settings: MapTrainingSettings,
    seed: int,
    progress: Progress | None,
) -> Bottleneck:
    rng = np.random.default_rng(seed)
    size, outputs = mechanism.dimension, goal.values.shape[1]
    inside = [settings.hidden] if settings.hidden > size else []
    device = find_device(settings.device)
    wide = _DECODER if goal.classes else max(_DECODER, 4 * size)
    with seeded_weights(seed, "training a map"):
        both = Bottleneck(
            affine_network([rows.shape[1], *inside, size]).to(device),
            affine_network([size, wide, outputs]).to(device),
            mechanism,
        )
    x, target = moved(rows, device), moved(goal.values, device)
    places = moved(spread(outputs, size), device) if goal.classes else None
    batches = ShuffledRows(np.arange(len(rows)), _BATCH, rng)
    epochs = max(settings.epochs, -(-_FEWEST_STEPS // batches.length))
    guided = _GUIDED * epochs * batches.length
    steps = 0

    def loss(batch: Ids) -> "torch.Tensor":
        nonlocal steps
        picked = moved(batch, device)
        units = both.units(x[picked])
        said = both.decoder(through_noise(mechanism, units.repeat(_DRAWS, 1), rng))
        value = _compared(said, target[picked].repeat(_DRAWS, 1), goal.classes)
        if places is not None and steps < guided:
            wanted = target[picked] @ places
            value = value + (1 - steps / guided) * (1 - (units * wanted).sum(dim=1)).mean()
        steps += 1
        return value

    train_on_rows(
        [both.mapped, both.decoder],
        loss,
        rows=batches,
        epochs=epochs,
        schedule=one_cycle(_RATE),
        progress=progress,
    )
    return both


def _loss_of(trained: Bottleneck, rows: Floats32, goal: Goal, seed: int) -> float:
    import torch

    said = torch.from_numpy(trained.said(rows, 1, seed))
    return float(_compared(said, torch.from_numpy(goal.values), goal.classes))


def _compared(said: "torch.Tensor", target: "torch.Tensor", classes: bool) -> "torch.Tensor":
    import torch

    if classes:
        return torch.nn.functional.cross_entropy(said, target)
    return -torch.nn.functional.cosine_similarity(said, target).mean()
