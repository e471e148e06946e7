"""What a setting is worth: how much is hidden, and how much is still of use."""

from discreet.evaluation.privacy import (
    OutputPrivacy,
    WordPrivacy,
    likely_outputs,
    output_privacy,
    renyi_entropy,
    word_privacy,
)

__all__ = [
    "OutputPrivacy",
    "WordPrivacy",
    "likely_outputs",
    "output_privacy",
    "renyi_entropy",
    "word_privacy",
]
