"""Mechanisms that release labels."""

from discreet.mechanisms.label._example_priors import PriorPerExample as PriorPerExample
from discreet.mechanisms.label._stages import Stage as Stage
from discreet.mechanisms.label._stages import multi_stage as multi_stage
from discreet.mechanisms.label._stages import pooled_prior as pooled_prior
from discreet.mechanisms.label._stages import refine_prior as refine_prior
from discreet.mechanisms.label.prior_response import PriorResponse
from discreet.mechanisms.label.randomized_response import RandomizedResponse

__all__ = [
    "PriorResponse",
    "RandomizedResponse",
]
