"""Identifiers in text (addresses, numbers, names): found, and replaced by surrogates of their type.

What is found is replaced by something that was drawn without looking at it; what is not found is
left to the word mechanism.
"""

from discreet.text.identifiers.mapping import SurrogateMapping, restore
from discreet.text.identifiers.replace import Identifiers
from discreet.text.identifiers.surrogates import Surrogates

__all__ = ["Identifiers", "SurrogateMapping", "Surrogates", "restore"]
