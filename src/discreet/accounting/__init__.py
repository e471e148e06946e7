"""What releases cost together: repeated, joined and shuffled."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.accounting.calibrate import epsilon_per_release, largest_within, local_epsilon
    from discreet.accounting.compose import RepeatedRelease, joint_statement
    from discreet.accounting.lifting import (
        for_any_two,
        for_group,
        for_replacing,
        for_smaller,
        group_as,
        in_parallel,
    )
    from discreet.accounting.receipts import Together, add_receipts, add_statements
    from discreet.accounting.shuffle import (
        shuffle_closed_form,
        shuffle_delta,
        shuffle_epsilon,
        shuffled,
    )
    from discreet.accounting.user_entity import (
        PublishedFigures,
        UserEntityTraining,
        moments_epsilon,
        noise_for,
        published_figures,
    )

__all__ = [
    "PublishedFigures",
    "RepeatedRelease",
    "Together",
    "UserEntityTraining",
    "add_receipts",
    "add_statements",
    "epsilon_per_release",
    "for_any_two",
    "for_group",
    "for_replacing",
    "for_smaller",
    "group_as",
    "in_parallel",
    "joint_statement",
    "largest_within",
    "local_epsilon",
    "moments_epsilon",
    "noise_for",
    "published_figures",
    "shuffle_closed_form",
    "shuffle_delta",
    "shuffle_epsilon",
    "shuffled",
]

_HOMES = {
    "PublishedFigures": "user_entity",
    "RepeatedRelease": "compose",
    "Together": "receipts",
    "UserEntityTraining": "user_entity",
    "add_receipts": "receipts",
    "add_statements": "receipts",
    "epsilon_per_release": "calibrate",
    "for_any_two": "lifting",
    "for_group": "lifting",
    "for_replacing": "lifting",
    "for_smaller": "lifting",
    "group_as": "lifting",
    "in_parallel": "lifting",
    "joint_statement": "compose",
    "largest_within": "calibrate",
    "local_epsilon": "calibrate",
    "moments_epsilon": "user_entity",
    "noise_for": "user_entity",
    "published_figures": "user_entity",
    "shuffle_closed_form": "shuffle",
    "shuffle_delta": "shuffle",
    "shuffle_epsilon": "shuffle",
    "shuffled": "shuffle",
}


def __getattr__(name: str) -> Any:
    # Looked up on first use: most releases add nothing up, and SciPy takes a while to import.
    if name in _HOMES:
        return getattr(import_module(f"discreet.accounting.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'discreet.accounting' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
