"""What releases cost together: repeated, joined and shuffled."""

from discreet.accounting.calibrate import epsilon_per_release, largest_within, local_epsilon
from discreet.accounting.compose import RepeatedRelease, joint_statement
from discreet.accounting.shuffle import (
    shuffle_closed_form,
    shuffle_delta,
    shuffle_epsilon,
    shuffled,
)

__all__ = [
    "RepeatedRelease",
    "epsilon_per_release",
    "joint_statement",
    "largest_within",
    "local_epsilon",
    "shuffle_closed_form",
    "shuffle_delta",
    "shuffle_epsilon",
    "shuffled",
]
