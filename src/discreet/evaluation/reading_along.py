"""What somebody names who also knows which words follow each other: measured on public text.

A best guess at single words is known from the law. What reading along adds depends on the texts;
scripts/build_reading_along.py measured it on public reviews and news, with the settings that ship.
"""

import hashlib
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from discreet.files import unsealed_json

FILE = "reading_along.json"


class Named(NamedTuple):
    """Shares of the words of public texts that were named."""

    single: float
    """One word at a time."""
    along: float
    """By also using which words follow each other."""


def setting_of(mechanism: Any) -> str:
    """What near words can do, as a digest: another alphabet, epsilon or guide is another one."""
    guide = None if mechanism.guide is None else mechanism.guide.fingerprint
    numbers = (mechanism.epsilon, mechanism.near, mechanism.pool, mechanism.weight, guide)
    digest = hashlib.sha256(f"{mechanism.space.fingerprint} {numbers}".encode())
    digest.update(mechanism.exemplars.astype("<i8").tobytes())
    return digest.hexdigest()


def reading_along(mechanism: Any) -> Named | None:
    """What was measured with this very setting; None if nothing was."""
    if not hasattr(mechanism, "near_inputs"):
        return None
    measured = _measured().get(setting_of(mechanism))
    return None if measured is None else Named(*measured["named"])


@cache
def _measured() -> dict[str, Any]:
    place = resources.files("discreet") / "data" / FILE
    settings: dict[str, Any] = unsealed_json(place.read_text("utf-8"))["settings"]
    return settings
