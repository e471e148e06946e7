"""What several releases about the same sentence protect together.

Of one Purkayastha release between two vectors x, x' at angle theta: for a release y at angle t from
x, the loss is ``kappa * (angle(x', y) - t)``. The spherical law of cosines gives the event "loss <=
kappa s" for a given t as a cap of the sphere of tangent directions, whose share is an incomplete
beta function; an integral over t is left. For opposite vectors the loss is ``kappa * (pi - 2 t)``
and nothing is left to integrate.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betainc

from discreet import check
from discreet.arrays import Floats
from discreet.errors import IncompatibleStatements, InvalidValue
from discreet.mechanisms.angle_law import AngleLaw
from discreet.mechanisms.sentence.purkayastha import Purkayastha
from discreet.statement import Notion, PrivacyStatement, Unit

_MOST_CELLS, _FEWEST_CELLS = 4000, 500
# Vectors that are not opposite need an integral in every cell.
_MOST_INTEGRALS = 1000
_ALL_CELLS = 2**20
# Covers the quadrature, the tails it leaves out and the transforms; smaller deltas are left to
# basic composition.
_ERROR = 1e-12
SMALLEST_DELTA = 1e-9
# Of the quadratures over angles.
_DROP = 50.0
_PANELS = 256
_POINTS = 16
_NODES = 192


@dataclass(frozen=True)
class RepeatedRelease:
    """The same sentence released ``times`` times by one Purkayastha mechanism.

    Basic composition gives ``times * epsilon * angle`` at delta 0. The privacy-loss distribution of
    the angle law, composed numerically (dp-accounting, rounded upwards), gives less at a positive
    delta; whichever is smaller is the answer. The guarantee is between any two sentences whose
    vectors are at most ``angle`` apart: of all such pairs the one at ``angle`` is the worst.

    >>> repeated = RepeatedRelease(Purkayastha(dimension=16, epsilon=1.0), times=20)
    >>> round(repeated.basic, 3), repeated.epsilon(1e-5) < 0.5 * repeated.basic
    (62.832, True)
    """

    mechanism: Purkayastha
    times: int
    angle: float = math.pi

    def __post_init__(self) -> None:
        check.whole(self.times, "times of RepeatedRelease", at_least=1)
        check.in_range(self.angle, "angle of RepeatedRelease", above=0, at_most=math.pi)

    @property
    def basic(self) -> float:
        """Epsilon of basic composition, at delta 0."""
        return self.times * self.mechanism.epsilon * self.angle

    def epsilon(self, delta: float) -> float:
        """The least epsilon that holds with ``delta`` (0 gives basic composition)."""
        delta = check.non_negative(delta, "delta of RepeatedRelease")
        if delta < SMALLEST_DELTA or self.basic == 0.0:
            return self.basic
        return min(self.basic, float(self._losses.get_epsilon_for_delta(delta)))

    def delta(self, epsilon: float) -> float:
        """The least delta that holds with ``epsilon``; 0 from ``basic`` on."""
        epsilon = check.non_negative(epsilon, "epsilon of RepeatedRelease")
        if epsilon >= self.basic:
            return 0.0
        delta = float(self._losses.get_delta_for_epsilon(epsilon))
        return min(1.0, max(delta, SMALLEST_DELTA))

    def statement(self, delta: float) -> PrivacyStatement:
        """The approximate guarantee between any two sentences; needs the largest angle, pi."""
        delta = check.probability(delta, "delta of RepeatedRelease")
        if self.angle < math.pi:
            raise InvalidValue(
                "a statement for any two sentences must be at angle pi; "
                f"got {self.angle!r}, which leaves out sentences farther apart"
            )
        return replace(
            self.mechanism.statement,
            notion=Notion.APPROXIMATE,
            epsilon=self.epsilon(delta),
            delta=delta,
            metric=None,
        )

    @cached_property
    def _losses(self) -> Any:
        """The composed privacy-loss distribution; the same in both directions, by symmetry."""
        # Takes a second to import, which a command that only shuffles need not wait for.
        from dp_accounting.pld.pld_pmf import DensePLDPmf
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

        most = _MOST_CELLS if self.angle == math.pi else _MOST_INTEGRALS
        cells = min(most, max(_FEWEST_CELLS, _ALL_CELLS // self.times))
        grid = np.arange(-cells, cells + 1) / cells
        below = loss_cdf(self.mechanism.law, self.angle, grid * self.angle)
        # Each cell's mass sits at its upper end: the loss is never made smaller.
        masses = np.diff(below, prepend=0.0)
        once = DensePLDPmf(
            self.mechanism.epsilon * self.angle / cells, -cells, masses, _ERROR, True
        )
        return PrivacyLossDistribution(once).self_compose(self.times, tail_mass_truncation=_ERROR)


def joint_statement(vector: PrivacyStatement, label: PrivacyStatement) -> PrivacyStatement:
    """The guarantee when a sentence's vector and its label are released together.

    The two draws are independent, so the losses add: ``epsilon1 * d(x, x') + epsilon2`` for a
    metric statement of the vector (the label's part becomes its slack), ``epsilon1 + epsilon2``
    otherwise. ``to_pure(diameter=math.pi)`` makes one number of it.
    """
    if (vector.unit, label.unit) != (Unit.SENTENCE, Unit.LABEL) or label.notion is not Notion.PURE:
        raise IncompatibleStatements(
            "a joint statement is of a sentence's vector and of a label with a pure statement; "
            f"got a {vector.unit} and a {label.unit} with a {label.notion} one"
        )
    if vector.adjacency is not label.adjacency:
        raise IncompatibleStatements("a joint statement needs one adjacency for vector and label")
    if vector.notion is Notion.NONE:
        raise IncompatibleStatements("a vector without a guarantee has no joint statement")
    metric = vector.notion in (Notion.METRIC, Notion.UTILITY_OPTIMISED)
    return replace(
        vector,
        epsilon=vector.epsilon if metric else vector.epsilon + label.epsilon,
        slack=vector.slack + label.epsilon if metric else 0.0,
        scope="a sentence and its label, which may both change: "
        "its vector and its label are each replaced by an independent draw",
        public=(*vector.public, *label.public),
        caveats=(*vector.caveats, *label.caveats),
    )


# -- the loss of one release --------------------------------------------------------------------


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
