"""The loss of a Gaussian whose shift is drawn from a few values, in one pass over all losses.

dp-accounting knows this loss (:class:`MixtureGaussianPrivacyLoss`) and finds where it takes each
value of a grid by a recursion in Python, which takes a minute where there is little noise. Here the
same points are found for the whole grid at once; everything else is dp-accounting's own.
"""

from collections.abc import Sequence

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as distributions
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, MixtureGaussianPrivacyLoss

from discreet.arrays import Floats

# Losses are met to this, relative to the larger of the loss and 1.
_TOLERANCE = 1e-12
_ITERATIONS = 100


class _AllAtOnce(MixtureGaussianPrivacyLoss):  # type: ignore[misc]
    """The same loss, inverted by Newton's method within brackets, for all values together."""

    def _inverse_privacy_losses_with_range(
        self, privacy_losses: Floats, bounds: tuple[float, float], precision: float = 1e-6
    ) -> Floats:
        low = np.full(len(privacy_losses), bounds[0] - precision)
        high = np.full(len(privacy_losses), bounds[1] + precision)
        x: Floats = (low + high) / 2
        enough = _TOLERANCE * np.maximum(1.0, np.abs(privacy_losses))
        left = np.arange(len(x))  # who is not met yet
        for _ in range(_ITERATIONS):
            at = x[left]
            loss, slope = self._loss_and_slope(at)
            excess = loss - privacy_losses[left]
            far = np.abs(excess) > enough[left]
            if not far.any():
                break
            left, at, excess, slope = left[far], at[far], excess[far], slope[far]
            low[left] = np.where(excess > 0, at, low[left])  # the loss falls with x
            high[left] = np.where(excess > 0, high[left], at)
            with np.errstate(divide="ignore", invalid="ignore"):
                guess = at - excess / slope
            within = (guess > low[left]) & (guess < high[left])
            x[left] = np.where(within, guess, (low[left] + high[left]) / 2)
        return x

    def _loss_and_slope(self, x: Floats) -> tuple[Floats, Floats]:
        sign = 1.0 if self.adjacency_type == AdjacencyType.ADD else -1.0
        slopes = sign * self.sensitivities / self._variance
        exponents = self._precompute_privacy_loss_constants + x[:, None] * slopes
        largest = exponents.max(axis=1)
        parts = np.exp(exponents - largest[:, None])
        total = parts.sum(axis=1)
        return -sign * (largest + np.log(total)), -sign * (parts @ slopes) / total


def mixture_of_gaussians(
    noise: float,
    shifts: Sequence[float],
    chances: Sequence[float],
    *,
    grid: float,
    log_truncation: float,
) -> PrivacyLossDistribution:
    """The loss of adding noise to a shift that is drawn; pessimistic, in both directions.

    Args:
        noise: standard deviation.
        shifts: by how much the value may move; none below 0, one above.
        chances: how probably.
        grid: losses are multiples of this.
        log_truncation: losses rarer than exp of this count as infinite.
    """
    directions = [
        distributions._create_pld_pmf_from_monotone_privacy_loss(
            _AllAtOnce(
                noise,
                shifts,
                chances,
                log_mass_truncation_bound=log_truncation,
                adjacency_type=direction,
            ),
            value_discretization_interval=grid,
            use_connect_dots=True,
        )
        for direction in (AdjacencyType.REMOVE, AdjacencyType.ADD)
    ]
    return PrivacyLossDistribution(*directions)
