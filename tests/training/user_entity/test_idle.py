"""Options that would do nothing beside the others are refused, whatever they belong to."""

from pathlib import Path

import pytest

from discreet.errors import InvalidValue
from discreet.settings import declared_in
from discreet.training.user_entity.idle import _PLACES, refuse_idle
from discreet.training.user_entity.settings import (
    NetworkSettings,
    Records,
    RuleOptions,
    RunSettings,
)

KINDS = (RuleOptions, Records, NetworkSettings, RunSettings)


def refuse(**given):
    own = [{each.name for each in declared_in(kind)} for kind in KINDS]
    split = [{name: given[name] for name in names & given.keys()} for names in own]
    refuse_idle(*(kind(**some) for kind, some in zip(KINDS, split, strict=True)))


USERS = {"algorithm": "user-level", "noise": 1.0}
IDLE = {
    "adapters": {"adapters": "lora"},
    "rank": {"rank": 7},
    "blocks": {"last_blocks": 3},
    "holders": USERS | {"holders": 3},
    "cells": USERS | {"cells": 2},
    "cell ratio": USERS | {"cell_ratio": 0.5},
    "one cell": USERS | {"one_cell": True},
    "strict": USERS | {"strict": True},
    "entity rate": USERS | {"entity_rate": 0.1},
    "sentence rate": USERS | {"sentence_rate": 0.1},
    "user rate": {"algorithm": "sample-level", "user_rate": 0.1},
    "noise": {"algorithm": "noiseless", "noise": 1.0},
    "population": {"algorithm": "published", "population": 9},
    "categories": USERS | {"categories": "person"},
    "text": {"text": "body", "tokens": "tokens"},
    "hidden": {"model": "here", "hidden": 5},
    "start": {"model": "here", "start": Path("there")},
    "space": {"vocabulary": Path("words.txt"), "space": "english"},
    "words": {"model": "here", "max_words": 100},
    "embedding": {"embedding": 4},
    "public": {"start_public": True},
    "evaluate every": {"evaluate_every": 5},
    "drop-out": {"drop_out": 0.5},
}


@pytest.mark.parametrize("given", IDLE.values(), ids=IDLE)
def test_what_would_do_nothing_is_refused(given):
    with pytest.raises(InvalidValue, match=r"^--[a-z-]+ does nothing with"):
        refuse(**given)


USED = {
    "nothing": {},
    "certified": {"holders": 3, "cells": 2, "cell_ratio": 0.5, "strict": True, "entity_rate": 0.1},
    "adapters": USERS | {"model": "here", "adapters": "lora", "rank": 7, "last_blocks": 3},
    "kinds": USERS | {"categories": "person", "gazetteer": Path("names.txt")},
    "published": {"algorithm": "published", "noise": 2.0, "entity_rate": 0.1},
    "sentences": {"algorithm": "sample-level", "sentence_rate": 0.1, "population": 9},
}


@pytest.mark.parametrize("given", USED.values(), ids=USED)
def test_what_does_something_is_taken(given):
    refuse(**given)


def test_the_table_is_of_settings_that_there_are():
    assert {*_PLACES} <= {each.name for kind in KINDS for each in declared_in(kind)}
    for place in _PLACES.values():
        refused = {*place.beside, *place.instead_of}
        assert any(refused <= {each.name for each in declared_in(kind)} for kind in KINDS)
