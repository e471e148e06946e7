"""Does a sampler of vectors follow its density? Exchangeable pairs, with exact tests.

Take a draw z and propose a change z' that is as easily undone as done; accept it with probability
min(1, p(z') / p(z)). If z has the density p, then (z, z') and (z', z) have the same law. So among
the accepted changes those that raise any given figure (the length of the noise, say) are exactly
as frequent as those that lower it: a fair coin, whatever the dimension, the density's constant and
its support. If the sampler is off, changes back towards the density are accepted more often.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Generator
from discreet.audit.chance import binomial_p_value, fair_p_values
from discreet.audit.density import on_sphere
from discreet.audit.sampler import Misfit
from discreet.audit.subject import VectorStage

_PILOT = 2000


@dataclass(frozen=True)
class _Draws:
    values: Floats
    """What was fed."""
    centre: Floats
    noise: Floats
    log_density: Floats


@dataclass(frozen=True)
class _Change:
    """A proposed change of every draw."""

    what: str
    noise: Floats
    log_volume: Floats | float
    before: Floats
    """The figure whose rises and falls are counted."""
    after: Floats
    groups: NDArray[np.int64] | None = None
    """Tested within each group as well (coordinates)."""


def misfits(stage: VectorStage, inputs: NDArray[np.int64], rng: Generator) -> list[Misfit]:
    """Test the draws of some inputs (one draw each; repeat an input to draw it again)."""
    values, centre = stage.at(inputs), stage.centres[inputs].astype(np.float64)
    outputs = stage.add_noise(values, rng)
    logs = stage.log_density(values, outputs)
    outside = np.flatnonzero(~(logs > -np.inf))
    if outside.size:
        return [Misfit(0.0, 1, int(inputs[outside[0]]), "where its density is 0")]
    # How far to step is learnt from other draws: the coin is then exactly fair.
    spread = (stage.add_noise(values[:_PILOT], rng) - centre[:_PILOT]).std(axis=0) + 1e-300
    draws = _Draws(values, centre, outputs - centre, logs)
    if on_sphere(outputs):
        changes = _on_the_sphere(outputs, centre, rng)
    else:
        changes = _in_the_flat(draws.noise, spread, rng)
    found: list[Misfit] = []
    for change in changes:
        found += _judge(stage, draws, change, rng)
    return found


def _judge(stage: VectorStage, draws: _Draws, change: _Change, rng: Generator) -> list[Misfit]:
    logs = stage.log_density(draws.values, draws.centre + change.noise)
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.exp(logs - draws.log_density + change.log_volume)
    accepted = rng.random(len(ratio)) < ratio
    rises, falls = (
        accepted & (change.after > change.before),
        accepted & (change.after < change.before),
    )
    up, down = int(rises.sum()), int(falls.sum())
    found = [
        Misfit(
            binomial_p_value(up, up + down, 0.5),
            1,
            what=f"{change.what}: {up} steps up, {down} down, where they should balance",
        )
    ]
    if change.groups is not None:
        size = int(change.groups.max()) + 1
        ups = np.bincount(change.groups[rises], minlength=size)
        moves = ups + np.bincount(change.groups[falls], minlength=size)
        p_values = fair_p_values(ups, moves)
        worst = int(p_values.argmin())
        found.append(
            Misfit(
                float(p_values[worst]),
                size,
                what=f"{change.what} {worst}: {ups[worst]} of {moves[worst]} steps up, "
                "where half should be",
            )
        )
    return found


def _in_the_flat(noise: Floats, spread: Floats, rng: Generator) -> list[_Change]:
    n, d = noise.shape
    every = np.arange(n)
    out: list[_Change] = []

    step = rng.choice((-1.0, 1.0), n) * rng.uniform(0.2, 2.0, n) / np.sqrt(d)
    radius = np.sqrt(np.einsum("ij,ij->i", noise, noise))
    out.append(
        _Change("scale", noise * np.exp(step)[:, None], d * step, radius, radius * np.exp(step))
    )

    axis: NDArray[np.int64] = rng.integers(0, d, size=(n,))
    moved = noise.copy()
    moved[every, axis] += rng.choice((-1.0, 1.0), n) * rng.uniform(0.2, 3.0, n) * spread[axis]
    out.append(
        _Change(
            "one coordinate",
            moved,
            0.0,
            np.abs(noise[every, axis]),
            np.abs(moved[every, axis]),
            axis,
        )
    )

    mirrored = noise.copy()
    mirrored[every, axis] *= -1
    out.append(_Change("sign", mirrored, 0.0, noise[every, axis], mirrored[every, axis], axis))
    total = (noise / spread).sum(axis=1)
    turned = (mirrored / spread).sum(axis=1)
    out.append(_Change("coordinates together", mirrored, 0.0, np.abs(total), np.abs(turned)))

    for what, direction in (
        ("common direction", np.ones((n, d))),
        ("random direction", rng.standard_normal((n, d))),
    ):
        way = direction * spread
        way /= np.sqrt(np.einsum("ij,ij->i", way, way))[:, None]
        along = np.einsum("ij,ij->i", noise, way)
        typical = np.sqrt(np.einsum("ij,ij->i", way**2, np.broadcast_to(spread**2, way.shape)))
        size = typical * rng.choice((-1.0, 1.0), n) * rng.uniform(0.2, 3.0, n)
        out.append(
            _Change(what, noise + size[:, None] * way, 0.0, np.abs(along), np.abs(along + size))
        )
    return out


def _on_the_sphere(outputs: Floats, centre: Floats, rng: Generator) -> list[_Change]:
    """Steps along great circles; the figure is the angle to the input, or one coordinate."""
    n, d = outputs.shape
    every = np.arange(n)
    outputs = outputs / np.linalg.norm(outputs, axis=1, keepdims=True)
    tangent = rng.standard_normal((n, d))
    for _ in range(2):  # twice, because what is left of the first time may be tiny
        tangent -= np.einsum("ij,ij->i", tangent, outputs)[:, None] * outputs
        tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    pole = centre / np.maximum(np.linalg.norm(centre, axis=1, keepdims=True), 1e-300)
    before = np.einsum("ij,ij->i", outputs, pole)
    angle = rng.uniform(0.2, 3.0, n) / np.sqrt(d)
    moved = np.cos(angle)[:, None] * outputs + np.sin(angle)[:, None] * tangent
    axis: NDArray[np.int64] = rng.integers(0, d, size=(n,))
    after = np.einsum("ij,ij->i", moved, pole)
    noise = moved - centre
    return [
        _Change("angle", noise, 0.0, before, after),
        _Change("one coordinate", noise, 0.0, outputs[every, axis], moved[every, axis], axis),
    ]
