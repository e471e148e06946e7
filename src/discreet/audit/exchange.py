"""Does a sampler of vectors follow its density? Exchangeable pairs, with exact tests.

Take a draw z and propose a change z' that is as easily undone as done; accept it with probability
min(1, p(z') / p(z)). If z has the density p, then (z, z') and (z', z) have the same law. So among
the accepted changes those that raise any given figure (the length of the noise, say) are exactly
as frequent as those that lower it: a fair coin, whatever the dimension, the density's constant and
its support. If the sampler is off, changes back towards the density are accepted more often.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Generator, Ids, row_norms
from discreet.audit.chance import binomial_p_values
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
    groups: Ids | None = None
    """Tested within each group as well (coordinates)."""


def misfits(stage: VectorStage, inputs: Ids, rng: Generator) -> list[Misfit]:
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
        changes = list(_on_the_sphere(outputs, centre, rng))
    else:
        changes = list(_in_the_flat(draws.noise, spread, rng))
    return [misfit for change in changes for misfit in _judge(stage, draws, change, rng)]


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
    told = f"{change.what}: {up} steps up, {down} down, where they should balance"
    results = [Misfit(float(binomial_p_values(up, up + down, 0.5)), 1, what=told)]
    if change.groups is not None:
        size = int(change.groups.max()) + 1
        ups = np.bincount(change.groups[rises], minlength=size)
        moves = ups + np.bincount(change.groups[falls], minlength=size)
        p_values = binomial_p_values(ups, moves, 0.5)
        worst = int(p_values.argmin())
        steps = f"{ups[worst]} of {moves[worst]} steps up, where half should be"
        results.append(Misfit(float(p_values[worst]), size, what=f"{change.what} {worst}: {steps}"))
    return results


def _in_the_flat(noise: Floats, spread: Floats, rng: Generator) -> Iterator[_Change]:
    n, d = noise.shape
    every = np.arange(n)

    def steps(longest: float) -> Floats:
        return np.asarray(rng.choice((-1.0, 1.0), n) * rng.uniform(0.2, longest, n))

    step = steps(2.0) / np.sqrt(d)
    radius = row_norms(noise)
    larger = noise * np.exp(step)[:, None]
    yield _Change("scale", larger, d * step, radius, radius * np.exp(step))

    axis: Ids = rng.integers(0, d, size=(n,))
    here = every, axis
    moved = noise.copy()
    moved[here] += steps(3.0) * spread[axis]
    yield _Change("one coordinate", moved, 0.0, np.abs(noise[here]), np.abs(moved[here]), axis)

    mirrored = noise.copy()
    mirrored[here] *= -1
    yield _Change("sign", mirrored, 0.0, noise[here], mirrored[here], axis)
    total, turned = ((rows / spread).sum(axis=1) for rows in (noise, mirrored))
    yield _Change("coordinates together", mirrored, 0.0, np.abs(total), np.abs(turned))

    for what, direction in (
        ("common direction", np.ones((n, d))),
        ("random direction", rng.standard_normal((n, d))),
    ):
        way = direction * spread
        way /= row_norms(way)[:, None]
        along = np.einsum("ij,ij->i", noise, way)
        typical = np.sqrt(np.einsum("ij,ij->i", way**2, np.broadcast_to(spread**2, way.shape)))
        size = typical * steps(3.0)
        further = noise + size[:, None] * way
        yield _Change(what, further, 0.0, np.abs(along), np.abs(along + size))


def _on_the_sphere(outputs: Floats, centre: Floats, rng: Generator) -> Iterator[_Change]:
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
    axis: Ids = rng.integers(0, d, size=(n,))
    after = np.einsum("ij,ij->i", moved, pole)
    noise = moved - centre
    yield _Change("angle", noise, 0.0, before, after)
    yield _Change("one coordinate", noise, 0.0, outputs[every, axis], moved[every, axis], axis)
