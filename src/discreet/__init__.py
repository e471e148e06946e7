"""Differentially private text, from a single word to a whole user, with checked guarantees.

>>> import discreet
>>> discreet.sanitize(["The doctor saw me on Monday."], epsilon=8)
TableRelease(1 values, 7 words; pure, epsilon=8 for each word)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.errors import DiscreetError as DiscreetError
    from discreet.mechanisms.registry import mechanism as mechanism
    from discreet.protocols import Release as Release
    from discreet.randomness import secure_generator as secure_generator
    from discreet.receipt import Receipt as Receipt
    from discreet.release.documents import DocumentEmbedder as DocumentEmbedder
    from discreet.release.frames import sanitize as sanitize
    from discreet.release.sentences import SentenceEmbedder as SentenceEmbedder
    from discreet.release.text import Sanitizer as Sanitizer
    from discreet.spaces import EmbeddingSpace as EmbeddingSpace
    from discreet.spaces import load_space as load_space
    from discreet.statement import PrivacyStatement as PrivacyStatement

__version__ = "0.1.0"

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
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    # Looked up on first use, so that the command's --help does not wait for array libraries.
    if name in _HOMES:
        return getattr(import_module(f"discreet.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
