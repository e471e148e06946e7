"""Does a density have total mass 1? Importance sampling from a simple law fitted to its draws.

In many dimensions this works only if the fitted law is close, so several families are tried:
independent coordinates and elliptical contours, both with tails exp(-r^beta) (normal, Laplace,
planar Laplace and in between), a box, and laws of the angle on a sphere. The effective number of
draws says whether the answer can be trusted.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special

from discreet.arrays import Floats, Generator
from discreet.audit.density import on_sphere
from discreet.audit.subject import VectorStage

_BETAS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0)
# Slightly wider than the fit: a proposal with too light tails has weights without bound.
_WIDER = 1.02
_ENOUGH = 200.0
_TO_CHOOSE = 2000


@dataclass(frozen=True)
class Mass:
    """An estimate of a density's total mass."""

    estimate: float
    error: float
    """Standard error."""
    effective: float
    """How many independent draws the weighted ones are worth."""

    @property
    def conclusive(self) -> bool:
        """True if the estimate can be trusted."""
        return self.effective >= _ENOUGH


Draw = Callable[[int, Generator], tuple[Floats, Floats]]


@dataclass(frozen=True)
class _Family:
    likelihood: float
    """Mean log-density of the draws that it was fitted to."""
    draw: Draw
    """Outputs and their log-densities."""


def total_mass(stage: VectorStage, number: int, draws: int, rng: Generator) -> Mass:
    """Estimate the integral of the density of one input.

    So many ``draws`` are fitted with, and as many again are weighed.
    """
    x = stage.at(np.array([number]))
    sample = stage.add_noise(np.repeat(x, draws, axis=0), rng)
    if not (np.ptp(sample, axis=0) > 0).all():
        return Mass(math.nan, 0.0, 0.0)  # no spread at all: other checks will say why
    outputs, logs = _fitted(sample).draw(draws, rng)
    ratio = stage.log_density_of(x[0], outputs) - logs
    ratio = np.where(np.isnan(ratio), -np.inf, ratio)
    top = float(ratio.max())
    if not math.isfinite(top):
        return Mass(0.0 if top < 0 else math.inf, 0.0, 0.0)
    weights = np.exp(ratio - top)
    with np.errstate(over="ignore"):
        scale = float(np.exp(top))
    return Mass(
        estimate=scale * float(weights.mean()),
        error=scale * float(weights.std(ddof=1)) / math.sqrt(draws),
        effective=float(weights.sum() ** 2 / (weights**2).sum()),
    )


def _fitted(sample: Floats) -> _Family:
    if on_sphere(sample):
        return _angle(sample)
    fits: list[Callable[[Floats], _Family]] = [_box]
    for beta in _BETAS:
        fits += [partial(_independent, beta=beta), partial(_elliptical, beta=beta)]
    # Which family is plain from a few draws; its parameters want all of them.
    few = sample[: max(_TO_CHOOSE, 10 * sample.shape[1])]
    best = max(fits, key=lambda fit: fit(few).likelihood)
    return best(sample)


def _independent(sample: Floats, beta: float) -> _Family:
    centre = np.median(sample, axis=0)
    scale = (beta * (np.abs(sample - centre) ** beta).mean(axis=0)) ** (1 / beta)
    scale = _WIDER * np.maximum(scale, 1e-300)
    constant = sample.shape[1] * math.log(beta / 2 / special.gamma(1 / beta))
    constant -= float(np.log(scale).sum())

    def log_density(outputs: Floats) -> Floats:
        terms = (np.abs(outputs - centre) / scale) ** beta
        return np.asarray(constant - terms.sum(axis=1))

    def draw(count: int, rng: Generator) -> tuple[Floats, Floats]:
        size = (count, sample.shape[1])
        radius = rng.gamma(1 / beta, size=size) ** (1 / beta)
        outputs = centre + scale * radius * rng.choice((-1.0, 1.0), size=size)
        return outputs, log_density(outputs)

    return _Family(float(log_density(sample).mean()), draw)


def _elliptical(sample: Floats, beta: float) -> _Family:
    d = sample.shape[1]
    centre = np.median(sample, axis=0)
    spread = np.atleast_2d(np.cov(sample, rowvar=False))
    spread += 1e-12 * np.trace(spread) / d * np.eye(d)
    root = np.linalg.cholesky(spread)
    back = np.linalg.inv(root)
    radii = np.linalg.norm((sample - centre) @ back.T, axis=1)
    scale = _WIDER * float((beta * (radii**beta).mean() / d) ** (1 / beta))
    constant = (
        math.log(beta / 2)
        + math.lgamma(d / 2)
        - d / 2 * math.log(math.pi)
        - d * math.log(scale)
        - math.lgamma(d / beta)
        - float(np.log(np.diag(root)).sum())
    )

    def draw(count: int, rng: Generator) -> tuple[Floats, Floats]:
        direction = rng.standard_normal((count, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        power = rng.gamma(d / beta, size=count)
        outputs = centre + (scale * power ** (1 / beta))[:, None] * direction @ root.T
        return outputs, constant - power

    return _Family(constant - float(((radii / scale) ** beta).mean()), draw)


def _box(sample: Floats) -> _Family:
    low, high = sample.min(axis=0), sample.max(axis=0)
    # The outermost of n draws misses about 1/n of the range on either side.
    margin = 2 * (high - low) / len(sample)
    low, high = low - margin, high + margin
    log_density = -float(np.log(np.maximum(high - low, 1e-300)).sum())

    def draw(count: int, rng: Generator) -> tuple[Floats, Floats]:
        outputs = low + (high - low) * rng.random((count, sample.shape[1]))
        return outputs, np.full(count, log_density)

    return _Family(log_density, draw)


def _angle(sample: Floats) -> _Family:
    """Rotationally symmetric on the sphere around the mean direction, the angle about normal."""
    d = sample.shape[1]
    pole = sample.mean(axis=0)
    pole /= np.linalg.norm(pole)
    angles = np.arccos(np.clip(sample @ pole, -1, 1))
    middle, spread = float(angles.mean()), 1.05 * float(angles.std())
    # Log-area of the sphere of all directions at one angle, for an angle of 90 degrees.
    ring = math.log(2) + (d - 1) / 2 * math.log(math.pi) - math.lgamma((d - 1) / 2)
    inside = special.ndtr((math.pi - middle) / spread) - special.ndtr(-middle / spread)

    def draw(count: int, rng: Generator) -> tuple[Floats, Floats]:
        angle = np.empty(0)
        while len(angle) < count:
            more = rng.normal(middle, spread, 2 * count)
            angle = np.concatenate([angle, more[(more > 0) & (more < math.pi)]])
        angle = angle[:count]
        tangent = rng.standard_normal((count, d))
        tangent -= (tangent @ pole)[:, None] * pole
        tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
        outputs = np.cos(angle)[:, None] * pole + np.sin(angle)[:, None] * tangent
        log_angle = -0.5 * ((angle - middle) / spread) ** 2 - math.log(
            spread * math.sqrt(2 * math.pi) * float(inside)
        )
        return outputs, log_angle - (d - 2) * np.log(np.sin(angle)) - ring

    return _Family(0.0, draw)
