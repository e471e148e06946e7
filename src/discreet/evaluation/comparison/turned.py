"""The question turned round: at which epsilon is the attacker right so often?

Epsilons of different notions cannot be compared, what an attacker achieves can. Where mechanisms
are set so that the same attackers name the same share of words, their use may be compared as it is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_STEPS = 7
_DOUBLINGS = 8
_CLOSE = 0.01
_PATIENCE, _FLAT = 3, 0.005


@dataclass(frozen=True)
class EpsilonAt:
    """An epsilon, what the attacker achieves there, and whether that is near what was asked."""

    epsilon: float
    success: float
    reached: bool


def epsilon_at(
    success: Callable[[float], float], wanted: float, begin: Sequence[float | None]
) -> EpsilonAt:
    """Search for the epsilon at which the attacker's success is the wanted one.

    Success rises with epsilon, but for chance: doubling or halving brackets it, halving the bracket
    (on a logarithmic scale) narrows it down.

    Args:
        success: What the attacker achieves at an epsilon.
        wanted: Between 0 and 1.
        begin: Epsilons to begin with; only the middle one is used.

    >>> nearest = epsilon_at(lambda epsilon: epsilon / (1 + epsilon), 0.75, [1.0])
    >>> round(nearest.epsilon), nearest.reached
    (3, True)
    """
    known = sorted(each for each in begin if each is not None)
    here = known[len(known) // 2]
    tried = {here: success(here)}
    low = high = here
    for _ in range(_DOUBLINGS):
        if tried[high] >= wanted:
            break
        low, high = high, high * 1.6
        tried[high] = success(high)
    for number in range(_DOUBLINGS):
        if tried[low] <= wanted:
            break
        # Some mechanisms disclose words at every epsilon: further down it does not get less.
        if number > _PATIENCE and tried[high] - tried[low] < _FLAT:
            break
        low, high = low / 1.6, low
        tried[low] = success(low)
    for _ in range(_STEPS):
        if min(abs(each - wanted) for each in tried.values()) <= _CLOSE:
            break
        middle = math.sqrt(low * high)
        tried[middle] = success(middle)
        low, high = (middle, high) if tried[middle] < wanted else (low, middle)
    best = min(tried, key=lambda epsilon: abs(tried[epsilon] - wanted))
    return EpsilonAt(best, tried[best], abs(tried[best] - wanted) <= 3 * _CLOSE)
