"""Bounds on entities proposed from public text of the kind that is to be trained on.

A *unit* is a cell, or a sentence without an entity: what is clipped to ``ratio`` of a user's norm.
Of a user with n units that pull in different directions the sum has norm ``ratio * sqrt(n)``, and
is clipped to 1; so each unit keeps the weight ``min(ratio, 1 / sqrt(n))``. The weights of all units
that stay within the bounds, over the noise that the bounds ask for, are the *signal*: what a step
says of the text, in units of its noise. More holders keep more text and ask for more noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from discreet.accounting.user_entity import UserEntityTraining, noise_for
from discreet.arrays import Progress
from discreet.errors import InvalidValue
from discreet.models.vocabulary import Vocabulary
from discreet.training.progress import Announce, silently
from discreet.training.user_entity._bounds import within_bounds
from discreet.training.user_entity.records import read_users
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.settings import BoundsSettings, Records
from discreet.training.user_entity.users import UserText

HOLDERS = (1, 2, 3, 5, 10)
CELLS = (1, 2)
RATIOS = (0.25, 0.5)
# A user's one cell is all that it has, so its norm may be that of a user.
_ONE_CELL_RATIO = 1.0


@dataclass(frozen=True)
class Proposal:
    """One choice of bounds, and what it keeps of the public text."""

    holders: int
    cells: int
    cell_ratio: float
    one_cell: bool
    """Whether each user keeps one cell only."""
    noise: float
    """What keeps the run within its epsilon."""
    kept: float
    """Share of all sentences that stay within the bounds."""
    signal: float
    """As a share of that of training for users alone, which keeps every sentence."""


def proposals(
    users: Sequence[UserText],
    rules: Rules,
    *,
    steps: int,
    epsilon: float,
    holders: Sequence[int] = HOLDERS,
    cells: Sequence[int] = CELLS,
    ratios: Sequence[float] = RATIOS,
    progress: Progress | None = None,
) -> list[Proposal]:
    """Choices of bounds, the one with most signal first; each also for one cell of every user.

    Args:
        users: PUBLIC text, with entities. An entity has more holders the more users there are, so
            it should have about as many users as the text that is to be trained on.
        rules: rates and delta of the run; its bounds are those that are chosen here.
        steps: of the run.
        epsilon: for a user and an entity together, after all steps.
        holders: values to try,
        cells: likewise,
        ratios: likewise.
        progress: called with choices done and in all.

    >>> from discreet.training.user_entity.users import Sentence, gather
    >>> public = gather(
    ...     Sentence(f"u{i}", [1, 2], frozenset({f"own {i}"} if j else {"everybody's"}))
    ...     for i in range(20) for j in range(3)
    ... )
    >>> tried = {"holders": [1], "cells": [1], "ratios": [0.5]}
    >>> best, other = proposals(public, Rules(), steps=4, epsilon=8.0, **tried)
    >>> best.one_cell, round(best.kept, 2), other.one_cell, round(other.kept, 2)
    (True, 0.67, False, 0.68)
    """
    sentences = sum(map(len, users))
    if not any((user.cell >= 0).any() for user in users):
        raise InvalidValue("the public text holds no entity, so there is nothing to bound")

    @cache
    def noise(holders: int, reach: float = 1.0, one_cell: bool = False) -> float:
        """For entities that move what a holder contributes by at most ``reach``."""

        def run(noise: float) -> UserEntityTraining:
            return UserEntityTraining(
                user_rate=rules.user_rate,
                entity_rate=rules.entity_rate,
                noise=noise,
                steps=steps,
                holders=holders,
                cells=math.ceil(reach),
                cell_ratio=reach / math.ceil(reach),
                one_cell=one_cell,
            )

        return noise_for(run, epsilon, rules.delta)

    alone = noise(0)
    most = max(_weight(users, ratio) for ratio in ratios) / alone
    choices: list[Proposal] = []
    bounds = [(some, each, False, tuple(ratios)) for some, each in product(holders, cells)]
    bounds += [(some, 1, True, (_ONE_CELL_RATIO,)) for some in holders]
    for done, (some, each, one_cell, tried) in enumerate(bounds):
        bounded, dropped = within_bounds(users, holders=some, cells=each, one_cell=one_cell)
        for ratio in tried:
            needed = noise(some, each * ratio, one_cell)
            signal = _weight(bounded, ratio, one_cell=one_cell) / needed / most
            kept = 1 - dropped.sentences / sentences
            choices.append(Proposal(some, each, ratio, one_cell, needed, kept, signal))
        if progress is not None:
            progress(done + 1, len(bounds))
    return sorted(choices, key=lambda one: (-one.signal, one.holders))


def _weight(users: Sequence[UserText], ratio: float, *, one_cell: bool = False) -> float:
    units = np.array([len(user.cells) + int((user.cell < 0).sum()) for user in users], dtype=float)
    units = units[units > 0]
    if one_cell:  # the sentences of a user are scaled together, to the norm of a user
        return float(np.sqrt(units).sum())
    return float((units * np.minimum(ratio, 1 / np.sqrt(units))).sum())


def proposals_from_file(
    source: str, records: Records, settings: BoundsSettings, *, announce: Announce = silently
) -> tuple[list[Proposal], int]:
    """The proposals for PUBLIC text in a file, and how many users it has.

    Args:
        source: JSON lines, as for training.
        records: where a line has what is needed.
        settings: of the run that the bounds are for.
        announce: shows how far it is.
    """
    records.require_entities("certified")
    users = read_users(source, records, Vocabulary(["-"]))  # bounds look at entities alone
    rules = Rules(
        user_rate=settings.user_rate, entity_rate=settings.entity_rate, delta=settings.delta
    )
    with announce("bounds") as show:
        proposed = proposals(
            users, rules, steps=settings.steps, epsilon=settings.epsilon, progress=show
        )
    return proposed, len(users)
