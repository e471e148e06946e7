"""Does a density keep its promise? Ratios at chosen outputs, and divergences by simulation.

A density cannot be looked at everywhere. The ratio of two inputs is taken at outputs drawn from
both and at outputs on the line through the two, where the noise of the literature is at its worst.
The functions take a statement and a density, and know nothing of words.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from discreet.arrays import Floats, Generator, Ids, row_blocks, row_norms
from discreet.audit.subject import VectorStage, rate_of
from discreet.audit.verify import Worst
from discreet.statement import PrivacyStatement

_DRAWN = 16
_LINE = np.concatenate([np.linspace(-2.0, 3.0, 21), [-1e-3, 1e-3, 0.999, 1.001]])
_BLOCK_NUMBERS = 2**22
_ROUNDINGS = 64 * 2.0**-53
_SHIFTS = (0.0, 2.0, 4.0, 6.0)
_PILOT = 1000
# Releases may have been rounded to a grid.
_ON_SPHERE = 1e-4


def on_sphere(outputs: Floats) -> bool:
    """True if outputs have length 1: then densities are per area of the sphere."""
    return outputs.shape[1] > 1 and bool(np.abs(row_norms(outputs) - 1).max() < _ON_SPHERE)


def worst_ratio(
    statement: PrivacyStatement,
    stage: VectorStage,
    pairs: Ids,
    distances: Floats | None,
    rng: Generator,
) -> Worst:
    """The worst density ratio of some pairs against a pure or metric statement.

    ``pairs`` are ``(n, 2)`` inputs; their distances are for the metric notions.
    """
    losses = np.empty((len(pairs), 2))
    width = max(stage.points.shape[1], stage.centres.shape[1]) * (2 * _DRAWN + len(_LINE))
    for part in row_blocks(len(pairs), width, numbers=_BLOCK_NUMBERS):
        losses[part] = _largest_ratios(stage, pairs[part, 0], pairs[part, 1], rng)
    both = None if distances is None else np.column_stack([distances, distances])
    rates = rate_of(statement, losses, both)
    place, way = (int(i) for i in np.unravel_index(int(rates.argmax()), rates.shape))
    first, second = (int(x) for x in (pairs[place] if way == 0 else pairs[place][::-1]))
    return Worst(
        first=first,
        second=second,
        output=None,
        loss=float(losses[place, way]),
        claimed=statement.epsilon,
        needed=max(0.0, float(rates[place, way])),
    )


def _largest_ratios(stage: VectorStage, first: Ids, second: Ids, rng: Generator) -> Floats:
    """``(pairs, 2)``: the largest log-ratio found, in both directions."""
    x, y = stage.at(first), stage.at(second)
    drawn = [
        stage.add_noise(np.repeat(ends, _DRAWN, axis=0), rng).reshape(len(x), _DRAWN, -1)
        for ends in (x, y)
    ]
    near, far = (stage.centres[ids].astype(np.float64) for ids in (first, second))
    line = near[:, None, :] + _LINE[None, :, None] * (far - near)[:, None, :]
    if on_sphere(drawn[0].reshape(len(x) * _DRAWN, -1)):
        lengths = np.linalg.norm(line, axis=2, keepdims=True)
        line = np.where(lengths > 1e-6, line / np.maximum(lengths, 1e-6), near[:, None, :])
    outputs = np.concatenate([*drawn, line], axis=1)
    tried = outputs.shape[1]
    flat = outputs.reshape(len(x) * tried, -1)
    at_x, at_y = (
        stage.log_density(np.repeat(ends, tried, axis=0), flat).reshape(len(x), tried)
        for ends in (x, y)
    )
    rounding = _ROUNDINGS * np.fmax(np.abs(at_x), np.abs(at_y))
    with np.errstate(invalid="ignore"):
        gap = at_x - at_y
        rounding = np.where(np.isfinite(gap), rounding, 0.0)
        ways = (gap - rounding, -gap - rounding)
    # An output that neither input reaches tells nothing.
    return np.column_stack([np.where(np.isnan(way), -np.inf, way).max(axis=1) for way in ways])


_CARRIERS = 100
"""Draws that must carry an estimate of delta, for its bounds to mean anything."""


@dataclass(frozen=True)
class Divergence:
    """The hockey-stick divergence of one input from another: delta at the stated epsilon."""

    first: int
    second: int
    estimate: float
    low: float
    high: float
    conclusive: bool
    """False if so few draws carry the estimate that it cannot be trusted."""


def divergence(
    stage: VectorStage,
    first: int,
    second: int,
    epsilon: float,
    *,
    draws: int,
    level: float,
    rng: Generator,
) -> Divergence:
    """Estimate delta(epsilon) of a pair by simulation, with one-sided bounds.

    Delta is the mean of max(0, 1 - exp(epsilon - L)) over outputs of the first input, where L is
    the log-ratio. For a small delta such outputs are rare, so they are also drawn from inputs that
    lie further out, away from the second one, and weighted by the ratio of densities. The weights
    are bounded by the number of places drawn from. The bounds take the mean to be normal; the
    values are skewed to the right, which makes the lower one cautious.
    """
    x, y = stage.at(np.array([first, second]))
    gap = x - y
    length = float(np.sqrt(gap @ gap))
    pilot = stage.add_noise(np.repeat(x[None], _PILOT, axis=0), rng)
    shifts: tuple[float, ...] = (0.0,)
    if stage.statistics is None and length > 0 and not on_sphere(pilot):
        shifts = _SHIFTS
        gap = gap / length * float(np.std(pilot @ (gap / length)))
    places = x + np.array(shifts)[:, None] * gap
    each = -(-draws // len(shifts))
    outputs = stage.add_noise(np.repeat(places, each, axis=0), rng)
    logs = np.stack([stage.log_density_of(place, outputs) for place in places])
    log_x, log_y = logs[0], stage.log_density_of(y, outputs)
    with np.errstate(invalid="ignore", over="ignore"):
        excess = -np.expm1(np.minimum(epsilon - (log_x - log_y), 0.0))
        weights = np.exp(log_x - special.logsumexp(logs, axis=0)) * len(shifts)
    values = np.where(log_x > -np.inf, weights * excess, 0.0)
    mean, error = float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
    reach = -float(special.ndtri(level)) * error
    squares = float((values * values).sum())
    carriers = float(values.sum()) ** 2 / squares if squares > 0 else 0.0
    return Divergence(
        first,
        second,
        mean,
        max(0.0, mean - reach),
        min(1.0, mean + reach),
        conclusive=carriers >= _CARRIERS,
    )
