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

_MODULES = ("compose", "lifting", "receipts", "calibrate", "shuffle", "user_entity")


def __getattr__(name: str) -> Any:
    # Looked up on first use: most releases add nothing up, and SciPy takes a while to import.
    for module in _MODULES if name in __all__ else ():
        home = import_module(f"discreet.accounting.{module}")
        if hasattr(home, name):
            return getattr(home, name)
    raise AttributeError(f"module 'discreet.accounting' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
