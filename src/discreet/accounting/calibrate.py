"""The largest parameter whose cost stays within a target; never one above it."""

import math
from collections.abc import Callable

from discreet import check
from discreet.accounting.compose import RepeatedRelease
from discreet.accounting.shuffle import shuffle_epsilon
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence.purkayastha import LARGEST_EPSILON, Purkayastha
from discreet.search import last_that_holds

_PRECISION = 1e-4


def largest_within(
    cost: Callable[[float], float],
    target: float,
    *,
    low: float,
    high: float,
    precision: float = _PRECISION,
) -> float:
    """The largest value in [low, high] whose cost is at most the target, by bisection.

    The value that comes back was tried: its cost is within the target even if the cost is not as
    monotone as it should be. ``low`` itself must be within.

    >>> value = largest_within(lambda x: x * x, 4.0, low=0.0, high=100.0)
    >>> 1.999 < value <= 2.0
    True
    """
    if cost(low) > target:
        raise InvalidValue(f"no value of at least {low!r} stays within {target!r}")
    if cost(high) <= target:
        return high
    return last_that_holds(lambda value: cost(value) <= target, low, high, relative=precision)


def local_epsilon(epsilon: float, n: int, delta: float) -> float:
    """The largest local epsilon that n shuffled releases bring down to ``epsilon`` at ``delta``.

    >>> 2.0 < local_epsilon(0.2, 10_000, 1e-6) < 2.5
    True
    """
    epsilon = check.positive(epsilon, "epsilon of shuffling")
    n = check.whole(n, "n of shuffling", at_least=1)
    delta = check.probability(delta, "delta of shuffling")
    # Without any clones epsilon0 = epsilon; with all n of them hardly more than ln n.
    high = epsilon + math.log(n) + 1.0
    return largest_within(
        lambda local: shuffle_epsilon(local, n, delta), epsilon, low=epsilon, high=high
    )


def epsilon_per_release(
    dimension: int, times: int, epsilon: float, delta: float, *, angle: float = math.pi
) -> float:
    """The largest epsilon per radian at which ``times`` Purkayastha releases stay within a target.

    Args:
        dimension: length of the vectors.
        times: how often the same sentence is released.
        epsilon: loss allowed for all releases together, between sentences at most ``angle`` apart.
        delta: probability with which the loss may be larger; 0 gives basic composition.
        angle: how far apart.
    """
    epsilon = check.positive(epsilon, "epsilon of the releases")
    check.whole(times, "times of the releases", at_least=1)
    basic = epsilon / (times * check.positive(angle, "angle of the releases"))
    # One unit in the last place less, so that multiplying it back stays within the target.
    basic *= 1.0 - 2.0**-51

    def cost(kappa: float) -> float:
        return RepeatedRelease(Purkayastha(dimension, kappa), times, angle).epsilon(delta)

    high = 2.0 * basic
    while high < LARGEST_EPSILON and cost(high) <= epsilon:
        high *= 2.0
    return largest_within(cost, epsilon, low=basic, high=min(high, LARGEST_EPSILON))
