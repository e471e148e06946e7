"""How far the published algorithms can move a network: a bound from their own normaliser.

A step adds ``sum_u w_u clip(update_u) / (q_u W_u * S)`` to the weights, with ``S = q_e W_e`` for
f_E and ``q_e W_e + q_s W_s`` for f_E+. The drawn users' weights sum up to ``q_u W_u`` in
expectation and an update is no longer than the norm ``beta``, so that a step moves the weights by
at most ``beta / S`` in expectation, and T steps by ``T beta / S``, whatever the network, its text
and its learning rate. Noise comes on top and leads nowhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.devices import array_of
from discreet.training.user_entity.rules import Rules, TrainingPlan
from discreet_recipes.record import Record, verdict
from discreet_recipes.uedp.data import Users
from discreet_recipes.uedp.pages import ResultRow

_STEPS = 500
"""The most that the paper makes."""


@dataclass(frozen=True)
class Reach:
    """How far one algorithm can come."""

    algorithm: str
    most: float
    """Expected distance of all steps together, at most, without the noise."""
    noise: float
    """Standard deviation of all noise together, in one weight."""


def reach_of(rules: Rules, users: Users) -> Reach:
    """The bound for these users, in as many steps as the paper makes."""
    plan = TrainingPlan.of(rules, users)
    drawn = rules.user_rate * sum((plan.user_weights or {}).values())
    return Reach(
        rules.algorithm,
        _STEPS * drawn * rules.clip / plan.denominator,
        math.sqrt(_STEPS) * plan.deviation / plan.denominator,
    )


def weights_of(model: Any) -> NDArray[np.floating]:
    """All weights that are trained, in one row."""
    trained = model.trainable()
    return np.concatenate([array_of(value.detach()).ravel().copy() for value in trained.values()])


def add_reach(record: Record, reaches: Sequence[Reach], rows: Sequence[ResultRow]) -> None:
    """The claim that these steps can teach a network anything."""
    moved = next(row.moved for row in rows if row.algorithm == "noiseless")
    said = "; ".join(
        f"{reach.algorithm}: {reach.most:.2g}, and noise of {reach.noise:.2g} in every weight"
        for reach in reaches
    )
    record.add_claim(
        f"UeDP-Alg can teach a network in {_STEPS} steps",
        "perplexity near that of training without noise (Figures 3, 8 and 9)",
        f"CoNLL-2003, how far the weights move in {_STEPS} steps, expected, at most: {said}. "
        f"Training without noise moves ours by {moved or math.nan:,.3g}",
        verdict(moved is not None and any(reach.most >= moved for reach in reaches)),
        "computed, for any network and learning rate: the estimators divide the sum of clipped "
        "updates by the expected weight of users times that of entities",
        main=True,
    )
