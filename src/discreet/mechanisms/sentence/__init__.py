"""Mechanisms that release the vector of a sentence."""

from discreet.mechanisms.sentence.planar_laplace import PlanarLaplace
from discreet.mechanisms.sentence.priv_unit import PrivUnit
from discreet.mechanisms.sentence.purkayastha import Purkayastha
from discreet.mechanisms.sentence.sphere_gaussian import SphereGaussian
from discreet.mechanisms.sphere import unit_rows as unit_rows

__all__ = [
    "PlanarLaplace",
    "PrivUnit",
    "Purkayastha",
    "SphereGaussian",
]
