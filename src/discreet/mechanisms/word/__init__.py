"""Mechanisms that release words."""

from discreet.mechanisms.word.cmp import CMP
from discreet.mechanisms.word.gaussian import Gaussian
from discreet.mechanisms.word.laplace import Laplace
from discreet.mechanisms.word.mahalanobis import Mahalanobis
from discreet.mechanisms.word.near_words import NearWords
from discreet.mechanisms.word.random_projection import RandomProjection
from discreet.mechanisms.word.santext import SanText
from discreet.mechanisms.word.santext_plus import SanTextPlus
from discreet.mechanisms.word.truncated_laplace import TruncatedLaplace
from discreet.mechanisms.word.uniform import Uniform

__all__ = [
    "CMP",
    "Gaussian",
    "Laplace",
    "Mahalanobis",
    "NearWords",
    "RandomProjection",
    "SanText",
    "SanTextPlus",
    "TruncatedLaplace",
    "Uniform",
]
