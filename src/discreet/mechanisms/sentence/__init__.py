"""Mechanisms that release the vector of a sentence."""

from discreet.mechanisms.sentence._sphere import unit_rows as unit_rows
from discreet.mechanisms.sentence.planar_laplace import PlanarLaplace
from discreet.mechanisms.sentence.purkayastha import Purkayastha
from discreet.mechanisms.sentence.sphere_gaussian import SphereGaussian

__all__ = [
    "PlanarLaplace",
    "Purkayastha",
    "SphereGaussian",
]
