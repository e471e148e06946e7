"""Options that would do nothing beside the others that were given: they are refused."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import InvalidValue
from discreet.settings import Settings, said, settings_of
from discreet.training.user_entity.settings import ALGORITHMS, PRIVATE, PUBLISHED, SharedRules


@dataclass(frozen=True)
class _Place:
    """Where an option does something."""

    algorithms: tuple[str, ...] = ALGORITHMS
    beside: tuple[str, ...] = ()
    """Settings of which one must be given, too."""
    instead_of: tuple[str, ...] = ()
    """Settings of which none may be given: each does the same job."""


_AWD_LSTM = _Place(instead_of=("model",))
_ADAPTERS = _Place(beside=("model",))
_CERTIFIED = _Place(algorithms=("certified",))
_NOISY = _Place(algorithms=(*PRIVATE, *PUBLISHED))
_PLACES = {
    "user_rate": _Place(algorithms=tuple(a for a in ALGORITHMS if a != "sample-level")),
    "entity_rate": _Place(algorithms=("certified", *PUBLISHED)),
    "sentence_rate": _Place(algorithms=("certified", "published-optimized", "sample-level")),
    "delta": _NOISY,
    "clip": _NOISY,
    "noise": _NOISY,
    "population": _Place(algorithms=PRIVATE),
    "holders": _CERTIFIED,
    "cells": _CERTIFIED,
    "cell_ratio": _CERTIFIED,
    "one_cell": _CERTIFIED,
    "strict": _CERTIFIED,
    "text": _Place(instead_of=("tokens",)),
    "categories": _Place(beside=("tags", "entities", "gazetteer")),
    "hidden": _AWD_LSTM,
    "layers": _AWD_LSTM,
    "weight_drop": _AWD_LSTM,
    "output_drop": _AWD_LSTM,
    "embedding_drop": _AWD_LSTM,
    "trained": _AWD_LSTM,
    "start": _AWD_LSTM,
    "start_public": _Place(beside=("start", "model")),
    "vocabulary": _AWD_LSTM,
    "embedding": _Place(beside=("vocabulary",)),
    "space": _Place(instead_of=("vocabulary", "model")),
    "max_words": _Place(instead_of=("vocabulary", "model")),
    "adapters": _ADAPTERS,
    "rank": _ADAPTERS,
    "last_blocks": _ADAPTERS,
    "evaluate_every": _Place(beside=("evaluate",)),
    "drop_out": _Place(beside=("federated",)),
}


def refuse_idle(*groups: Settings) -> None:
    """Stop at the first setting that is not its default and would do nothing.

    Args:
        groups: settings of one run; what they say of each other is looked at, and no more.
    """
    flags = {each.name: each.flag for group in groups for each in settings_of(type(group))}
    given = [name for group in groups for name in said(group)]
    algorithm = next((g.algorithm for g in groups if isinstance(g, SharedRules)), None)
    for name in given:
        place = _PLACES.get(name, _Place())
        if algorithm is not None and algorithm not in place.algorithms:
            raise InvalidValue(
                f"{flags[name]} does nothing with --algorithm {algorithm}, only with "
                f"{_either(place.algorithms)}; leave it out"
            )
        if others := [flags[each] for each in place.instead_of if each in given]:
            raise InvalidValue(
                f"{flags[name]} does nothing with {others[0]}; leave one of the two out"
            )
        if place.beside and not any(each in given for each in place.beside):
            needed = _either([flags[each] for each in place.beside])
            raise InvalidValue(
                f"{flags[name]} does nothing without {needed}; give that, too, or leave it out"
            )


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
