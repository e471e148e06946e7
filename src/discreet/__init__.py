"""Differentially private text, from a single word to a whole user, with checked guarantees.

>>> import discreet
>>> discreet.sanitize(["The doctor saw me on Monday."], epsilon=8)
TableRelease(1 values, 7 words; pure, epsilon=8 for each word)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.errors import DiscreetError
    from discreet.mechanisms.registry import mechanism
    from discreet.protocols import Release
    from discreet.randomness import secure_generator
    from discreet.receipt import Receipt
    from discreet.release.documents import DocumentEmbedder
    from discreet.release.frames import sanitize
    from discreet.release.sentences import SentenceEmbedder
    from discreet.release.text import Sanitizer
    from discreet.spaces import EmbeddingSpace, load_space
    from discreet.statement import PrivacyStatement

__version__ = "0.1.0"

__all__ = [
    "DiscreetError",
    "DocumentEmbedder",
    "EmbeddingSpace",
    "PrivacyStatement",
    "Receipt",
    "Release",
    "Sanitizer",
    "SentenceEmbedder",
    "load_space",
    "mechanism",
    "sanitize",
    "secure_generator",
]

_HOMES = {
    "DiscreetError": "errors",
    "DocumentEmbedder": "release.documents",
    "EmbeddingSpace": "spaces",
    "PrivacyStatement": "statement",
    "Receipt": "receipt",
    "Release": "protocols",
    "Sanitizer": "release.text",
    "SentenceEmbedder": "release.sentences",
    "load_space": "spaces",
    "mechanism": "mechanisms.registry",
    "sanitize": "release.frames",
    "secure_generator": "randomness",
}


def __getattr__(name: str) -> Any:
    # Looked up on first use, so that the command's --help does not wait for array libraries.
    if name in _HOMES:
        return getattr(import_module(f"discreet.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
