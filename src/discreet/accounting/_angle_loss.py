"""The privacy loss of one Purkayastha release between two vectors at a given angle.

With x, x' at angle theta and a release y at angle t from x, the loss is
``kappa * (angle(x', y) - t)``. The spherical law of cosines gives the event "loss <= kappa s" for
a given t as a cap of the sphere of tangent directions, whose share is an incomplete beta function;
an integral over t is left. For opposite vectors the loss is ``kappa * (pi - 2 t)`` and nothing is
left to integrate.
"""

import math

import numpy as np
from scipy.special import betainc

from discreet.arrays import Floats
from discreet.mechanisms.angle_law import AngleLaw

_DROP = 50.0
_PANELS = 256
_POINTS = 16
_NODES = 192


def upper_tail(law: AngleLaw, angles: Floats) -> Floats:
    """The probability of an angle above each of these."""
    low, high = law.support(_DROP)
    edges = np.linspace(low, high, _PANELS + 1)
    x, w = np.polynomial.legendre.leggauss(_POINTS)

    def mass(start: Floats, stop: Floats) -> Floats:
        half = (stop - start)[:, None] / 2
        points = start[:, None] + half * (x + 1.0)
        return np.asarray((np.exp(law.log_density(points)) * half) @ w)

    above = np.append(np.cumsum(mass(edges[:-1], edges[1:])[::-1])[::-1], 0.0)
    inside = np.clip(angles, low, high)
    panel = np.clip(np.searchsorted(edges, inside, side="right"), 1, _PANELS)
    tail = above[panel] + mass(inside, edges[panel])
    return np.asarray(np.where(angles >= high, 0.0, np.minimum(tail, 1.0)))


def loss_cdf(law: AngleLaw, theta: float, s: Floats) -> Floats:
    """The probability that the loss is at most ``kappa * s``, for s in [-theta, theta]."""
    # Below first no direction has so small a loss, above last every one has.
    first = np.clip((theta - s) / 2, 0.0, math.pi)
    last = np.clip(math.pi - (theta + s) / 2, 0.0, math.pi)
    below = upper_tail(law, last)
    if theta < math.pi and law.power == 0:  # two directions, one of which has the small loss
        below += 0.5 * (upper_tail(law, first) - below)
    elif theta < math.pi:
        below += _between(law, theta, s, first, last)
    below[s >= theta] = 1.0
    return np.clip(np.maximum.accumulate(below), 0.0, 1.0)


def _between(law: AngleLaw, theta: float, s: Floats, first: Floats, last: Floats) -> Floats:
    low, high = law.support(_DROP)
    start = np.clip(first, low, high)[:, None]
    width = np.clip(last, low, high)[:, None] - start
    x, w = np.polynomial.legendre.leggauss(_NODES)
    u = (x + 1.0) * math.pi / 2
    # The share of the cap starts like a square root in three dimensions; sin^2 smooths both ends.
    t = start + width * np.sin(u / 2) ** 2
    weight = width * np.sin(u) / 2 * w * math.pi / 2
    shift = s[:, None]
    cap = np.sin(t + (shift - theta) / 2) * np.sin((shift + theta) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        cap = np.nan_to_num(np.clip(cap / (np.sin(t) * math.sin(theta)), 0.0, 1.0))
    half = law.power / 2
    density = np.exp(law.log_density(t))
    return np.asarray((density * betainc(half, half, cap) * weight).sum(axis=1))
