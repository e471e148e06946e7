"""PrivUnit: a unit vector from a cap around the true one, or from the rest of the sphere."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, betaln, gammaln

from discreet.arrays import Floats
from discreet.mechanisms.angle_law import AngleLaw
from discreet.mechanisms.sentence._sphere import TurnedDirection, vector_statement
from discreet.mechanisms.sphere import angles_released
from discreet.randomness import bernoulli_exp, exponential
from discreet.statement import Notion

# The share of the sphere that the best cap covers is a normal float64 up to here.
LARGEST_EPSILON = 500.0
# The share is known to about 1e-13 of itself; this much of epsilon is not used.
_MARGIN = 1e-9
# Above this share a draw in the cap is a draw on the sphere that fell there.
_WIDE = 0.05


class PrivUnit(TurnedDirection):
    """Release each unit vector x as a vector near it, or as one that is not, uniform in either.

    Privacy: unit sentence, adjacency replace, pure notion. For any two unit vectors x, x' and any
    set of outputs S, ``P(S|x) <= exp(epsilon) * P(S|x')``, however far apart the two are. Rows are
    released independently; their number is public.

    Paper: Bhowmick, Duchi, Freudiger, Kapoor and Rogers, "Protection Against Reconstruction and Its
    Applications in Private Federated Learning", 2018; that no pure mechanism on the sphere is
    better in the mean is due to Asi, Feldman and Talwar, "Optimal Algorithms for Mean Estimation
    under Local Differential Privacy", ICML 2022. Where we differ: the cap is the best one for
    epsilon and dimension instead of a bound's, the vector is not stretched (its direction is what
    is used), angles are drawn exactly, and vectors are released on a public grid.

    Args:
        dimension: length of the vectors, at least 2.
        epsilon: loss allowed between any two sentences, at least 0 and at most 500; 0 releases
            uniform directions.

    >>> mechanism = PrivUnit(dimension=16, epsilon=10.0)
    >>> round(mechanism.mean_cosine, 2), round(math.degrees(mechanism.cap))
    (0.7, 45)
    >>> released = mechanism.release(np.eye(4, 16), np.random.default_rng(0))
    >>> released.shape
    (4, 16)
    """

    name: ClassVar[str] = "priv-unit"

    def __init__(self, dimension: int, epsilon: float) -> None:
        super().__init__(dimension, epsilon, LARGEST_EPSILON)
        self._loss = self.epsilon * (1.0 - _MARGIN)
        self.cap = _best_cap(self.dimension, self._loss)
        share = _share(self.cap, self.dimension)
        self._log_low = -float(np.logaddexp(math.log1p(-share), self._loss + math.log(share)))
        self._log_outside = self._log_low + math.log1p(-share)
        self._wide = share > _WIDE
        self._uniform = AngleLaw(self.dimension, 0.0)
        self.statement = vector_statement(Notion.PURE, self.epsilon)

    @property
    def mean_cosine(self) -> float:
        """The cosine of the angle between a vector and its release, on average."""
        if self.epsilon == 0.0:
            return 0.0
        return math.exp(_log_mean_cosine(self.cap, self.dimension, self._loss))

    def log_density(self, vectors: ArrayLike, outputs: ArrayLike) -> Floats:
        """Log-density of each output row given the vector in the same row, before rounding.

        The reference measure is surface area, whose total is ``2 pi^(m/2) / Gamma(m/2)``: the
        exponential of this integrates to 1 over the sphere.
        """
        angles = angles_released(vectors, outputs, self.dimension, "PrivUnit")
        half = self.dimension / 2
        area = math.log(2.0) + half * math.log(math.pi) - float(gammaln(half))
        inside = angles <= self.cap
        return np.where(inside, self._loss, 0.0) + (self._log_low - area)

    def _angles(self, count: int, rng: np.random.Generator) -> Floats:
        # Of the two the one that can be too rare for the digits of the other's chance.
        inside = ~bernoulli_exp(np.full(count, -self._log_outside), rng)
        near = int(inside.sum())
        out = np.empty(count)
        out[inside] = self._inside(near, rng)
        out[~inside] = self._chosen(count - near, rng, inside=False)
        return out

    def _chosen(self, count: int, rng: np.random.Generator, *, inside: bool) -> Floats:
        """Angles of uniform directions that fell in the cap, or beside it."""
        parts = [np.empty(0)]
        missing = count
        while missing:
            angles = self._uniform.sample(2 * missing + 16, rng)
            chosen = angles[(angles <= self.cap) == inside][:missing]
            parts.append(chosen)
            missing -= len(chosen)
        return np.concatenate(parts)

    def _inside(self, count: int, rng: np.random.Generator) -> Floats:
        """Angles of directions that are uniform in the cap.

        Their density ``sin(t)^n`` has a concave logarithm. In a cap of a small share it rises to
        the edge, so the tangent there bounds it: an exponential law going inwards.
        """
        if self.dimension == 2:
            return self.cap * rng.random(count)
        if self._wide:
            return self._chosen(count, rng, inside=True)
        power, edge = self.dimension - 2, math.sin(self.cap)
        parts = [np.empty(0)]
        missing = count
        while missing:
            fallen = exponential((2 * missing + 16,), rng)
            angles = self.cap - fallen * math.tan(self.cap) / power
            fallen, angles = fallen[angles > 0.0], angles[angles > 0.0]
            below = -power * np.log(np.sin(angles) / edge) - fallen
            accepted = angles[bernoulli_exp(np.maximum(below, 0.0), rng)][:missing]
            parts.append(accepted)
            missing -= len(accepted)
        return np.concatenate(parts)


def _share(cap: float, dimension: int) -> float:
    """Of the sphere that lies within an angle of at most a right one."""
    if dimension == 2:
        return cap / math.pi
    return 0.5 * float(betainc((dimension - 1) / 2, 0.5, math.sin(cap) ** 2))


def _log_mean_cosine(cap: float, dimension: int, epsilon: float) -> float:
    """``ln E cos``: the cap's own part of the integral of the cosine, at the density it is above.

    Over the whole sphere the cosine integrates to 0, so only the excess of the cap counts.
    """
    share = _share(cap, dimension)
    within = (dimension - 1) * math.log(math.sin(cap)) - math.log(dimension - 1)
    within -= float(betaln(0.5, (dimension - 1) / 2))
    raised = epsilon + math.log(-math.expm1(-epsilon))
    return within + raised - float(np.logaddexp(math.log1p(-share), epsilon + math.log(share)))


def _best_cap(dimension: int, epsilon: float) -> float:
    """The angle at which a release is closest to the truth in the mean, to six digits.

    To six digits because the rest depends on the processor; any angle keeps the guarantee.
    """
    if epsilon == 0.0:
        return math.pi / 2
    from scipy.optimize import minimize_scalar  # takes a while to import

    def short(log_share: float) -> float:
        return -_log_mean_cosine(_cap_of(math.exp(log_share), dimension), dimension, epsilon)

    # A share of exp(-epsilon) is as likely as all the rest; the best one is above it.
    bounds = (-epsilon - 1.0, math.log(0.5))
    best = minimize_scalar(short, bounds=bounds, method="bounded")
    return min(float(f"{_cap_of(math.exp(best.x), dimension):.6g}"), math.pi / 2)


def _cap_of(share: float, dimension: int) -> float:
    """The angle within which so much of the sphere lies, up to half."""
    if dimension == 2:
        return share * math.pi
    return math.asin(math.sqrt(float(betaincinv((dimension - 1) / 2, 0.5, 2 * share))))
