"""Appendices G and H: what the paper says of two mechanisms of Lyu et al. (2020), computed.

Both release a vector at once: DPNR adds Laplace noise to every coordinate, the other writes every
coordinate in binary and sends each bit by randomised response.
"""

from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.mechanisms.label import RandomizedResponse
from discreet_recipes.record import Record, verdict

EPSILON = 1.0
COORDINATES = 6
INTEGER_BITS, FRACTION_BITS = 4, 5
"""With the sign 10 bits, as many as the paper takes for a number."""


def appendix_losses() -> dict[str, Any]:
    """The largest losses, in units of the epsilon that was given."""
    return {
        "dpnr": laplace_loss(COORDINATES, EPSILON) / EPSILON,
        "bits": (bit_losses(1 + INTEGER_BITS + FRACTION_BITS, EPSILON) / EPSILON).tolist(),
    }


def laplace_loss(coordinates: int, epsilon: float) -> float:
    """Between two corners of the unit cube, with noise of scale 1 / epsilon in each coordinate.

    >>> laplace_loss(6, 0.5)
    3.0
    """
    one, other = np.zeros(coordinates), np.ones(coordinates)
    at = one  # where the ratio of the densities is largest
    return float(epsilon * (np.abs(at - other) - np.abs(at - one)).sum())


def bit_losses(bits: int, epsilon: float) -> Floats:
    """The largest loss between numbers that differ in one bit, for each place; then in any bits.

    Each bit is sent with an equal part of epsilon. The law is that of all bits together, at every
    output: whatever is made of them afterwards cannot add to it.

    >>> bit_losses(3, 6.0).round(9).tolist()
    [2.0, 2.0, 2.0, 6.0]
    """
    one = np.log(RandomizedResponse(2, epsilon / bits).transition)
    law = np.zeros((1, 1))
    for _ in range(bits):
        law = (law[:, None, :, None] + one[None, :, None, :]).reshape(2 * len(law), 2 * len(law))
    lost = (law[0] - law).max(axis=1)  # from the number 0; from any other it is the same
    return np.append(lost[2 ** np.arange(bits)], lost.max())


def add_appendices(record: Record, losses: dict[str, Any]) -> None:
    """Both claims."""
    record.add_claim(
        "Appendix G: DPNR costs as many times epsilon as a vector has coordinates",
        "shown for Lyu et al. (2020), who claim epsilon",
        f"{losses['dpnr']:g} times epsilon with {COORDINATES} coordinates",
        verdict(abs(losses["dpnr"] - COORDINATES) < 1e-9),
    )
    *single, whole = losses["bits"]
    least, most = (round(len(single) * each, 9) for each in (min(single), max(single)))
    record.add_claim(
        "Appendix H: in binary encoding integer bit i costs 2^(i-1) times the epsilon that it was "
        "given, the sign 2^(m+1) times",
        f"up to {2 ** (INTEGER_BITS - 1)} times for {INTEGER_BITS} integer bits and "
        f"{2 ** (INTEGER_BITS + 1)} times for the sign",
        f"{least:g} to {most:g} times for each of {len(single)} bits, {whole:.6g} times epsilon "
        "for all of them: the law at every output",
        verdict(most > 1 + 1e-9),
        "how much a bit counts in the number that it is a part of does not change what randomised "
        "response tells of it, and decoding afterwards cannot. The mechanism is taken as the "
        "appendix describes it",
    )
