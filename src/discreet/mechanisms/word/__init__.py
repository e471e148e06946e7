"""Mechanisms that release words."""

from discreet.mechanisms.word.santext import SanText
from discreet.mechanisms.word.santext_plus import SanTextPlus

__all__ = ["SanText", "SanTextPlus"]
