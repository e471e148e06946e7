"""What is compared: mechanisms by name with their settings, written as one line.

``near-words:guide=ngram:near=2`` is a mechanism with two settings of its own, by the names that its
constructor has for them. ``epsilon=6/8/10`` gives it epsilons of its own. Commas stand between
mechanisms.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet import check
from discreet.arrays import Progress
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import MechanismEntry, find
from discreet.protocols import WordMechanism
from discreet.settings import plain_type
from discreet.spaces.space import EmbeddingSpace

STANDARD = (
    "near-words:epsilon=6/8/10/12",
    "near-words:near=1:outputs={words}:epsilon=10/12",
    "near-words:near=2:epsilon=8/12",
    "near-words:guide=ngram:epsilon=6/8/12",
    "santext:epsilon=6/7/8",
    "santext:calibration=published:epsilon=12/14",
    "santext-plus:epsilon=4/6",
    "cmp:epsilon=50/80",
    "uniform",
)
"""What is compared unless mechanisms are named; ``{words}`` is how many the space has."""
_EPSILON = "epsilon"


@dataclass(frozen=True)
class Contender:
    """A mechanism with its settings, at several epsilons.

    Attributes:
        name: Of the mechanism.
        settings: By the names of its parameters, without epsilon.
        epsilons: At which it is tried; a single None for a mechanism without one.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    epsilons: tuple[float | None, ...] = (None,)

    @property
    def label(self) -> str:
        """As it was written, without its epsilons."""
        return ":".join([self.name, *(f"{key}={value}" for key, value in self.settings.items())])

    def build(
        self, space: EmbeddingSpace, epsilon: float | None, progress: Progress | None = None
    ) -> WordMechanism:
        """Make the mechanism in a space."""
        given = {"space": space, _EPSILON: epsilon, **self.settings}
        built: WordMechanism = find(self.name, "word").build(given, progress=progress)
        return built


def contenders(
    mechanisms: Sequence[str] | None, epsilons: Sequence[float], space_words: int
) -> list[Contender]:
    """Read what is to be compared.

    Args:
        mechanisms: Each as in the module's description; the standard ones unless given.
        epsilons: For those that have none of their own.
        space_words: How many words the space has.

    >>> two = contenders(["uniform", "near-words:near=2:epsilon=6/8"], [10.0], 100)
    >>> [(each.label, each.epsilons) for each in two]
    [('uniform', (None,)), ('near-words:near=2', (6.0, 8.0))]
    """
    if mechanisms is None:
        if epsilons:
            raise InvalidValue(
                "--epsilons is for the mechanisms that --mechanisms names; the standard ones have "
                "epsilons of their own"
            )
        mechanisms = [each.format(words=space_words) for each in STANDARD]
    entries = [_read(each.strip(), tuple(epsilons)) for each in mechanisms if each.strip()]
    if not entries:
        raise InvalidValue("--mechanisms names none; leave it out for the standard ones")
    labels = [each.label for each in entries]
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidValue(
                f"{label} is named twice; give its epsilons together, as in {label}:epsilon=6/8"
            )
    return entries


def _read(text: str, epsilons: tuple[float, ...]) -> Contender:
    name, *parts = text.split(":")
    entry = find(name, "word", what="--mechanisms")
    kinds = {declared.name: declared for declared in entry.settings}
    settings: dict[str, Any] = {}
    for part in parts:
        key, sign, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if not sign or not value:
            raise InvalidValue(
                f"a setting of {name} must be NAME=VALUE, with a colon before it; see "
                "'discreet compare --help'"
            )
        if key not in kinds:
            options = ", ".join(kinds) or "none"
            raise InvalidValue(f"{key} is not an option of {name}; its options: {options}")
        if key in settings:
            raise InvalidValue(f"{key} of {name} is given twice")
        settings[key] = _value(entry, key, value.strip(), plain_type(kinds[key].kind))
    own = settings.pop(_EPSILON, None)
    for declared in entry.settings:
        if declared.required and declared.name not in (*settings, _EPSILON):
            raise InvalidValue(f"{name} needs {declared.name}; write {name}:{declared.name}=...")
    if _EPSILON not in kinds:
        return Contender(name, settings)
    chosen = own or epsilons
    if not chosen:
        raise InvalidValue(f"{name} needs an epsilon; use --epsilons, or {name}:epsilon=6/8")
    return Contender(name, settings, tuple(sorted(set(chosen))))


def _value(entry: MechanismEntry, key: str, text: str, kind: Any) -> Any:
    what = f"{key} of {entry.name}"
    if key == _EPSILON:
        return tuple(check.positive(_number(part, what), what) for part in text.split("/"))
    if kind is float:
        return _number(text, what)
    if kind is int:
        return check.whole(int(text) if text.isdecimal() else text, what)
    if kind is bool:
        return check.one_of(text, ("true", "false"), what) == "true"
    return Path(text) if kind is Path else text


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidValue(f"{what} must be a number; several epsilons have a / between them")
    return number
