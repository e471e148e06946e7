"""Mechanisms that release words."""

from discreet.mechanisms.word.cmp import CMP
from discreet.mechanisms.word.mahalanobis import Mahalanobis
from discreet.mechanisms.word.random_projection import RandomProjection
from discreet.mechanisms.word.santext import SanText
from discreet.mechanisms.word.santext_plus import SanTextPlus
from discreet.mechanisms.word.uniform import Uniform

__all__ = [
    "CMP",
    "Mahalanobis",
    "RandomProjection",
    "SanText",
    "SanTextPlus",
    "Uniform",
]
