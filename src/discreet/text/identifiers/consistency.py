"""Whether equal values get equal surrogates: never, within a document, or wherever a key is used.

The random numbers that surrogates are made from come from a generator, which knows nothing of the
values, or from a keyed hash of the value, which is the one place where a value decides.
"""

import hmac
import unicodedata
from pathlib import Path

import numpy as np

from discreet.errors import InvalidValue
from discreet.text.entities.found import entity_key
from discreet.text.identifiers.patterns import NAMES
from discreet.text.identifiers.secret_files import read_key
from discreet.text.identifiers.surrogates import WORDS, Words

_PURPOSE = b"discreet identifiers 1"
_IGNORE_MARKS = ("phone", "iban", "card", "ssn", "mac", "code")
_FOUND = (
    "identifiers that were found are replaced by surrogates of their type; what was not found is "
    "treated as words, and nothing guarantees that all were found"
)
_INDEPENDENT = (
    "a surrogate is drawn independently of the value it replaces (epsilon = 0 between two values "
    "of one type)"
)
_KEYED = (
    "a surrogate is a keyed pseudo-random function (HMAC-SHA256) of the value: it hides the value "
    "only from those who do not have the key, and only as far as they cannot break that function; "
    "two values may get one surrogate"
)


class Consistency:
    """How surrogates of equal values relate.

    Args:
        choice: ``none``, ``document``, or ``key:`` and the path of a key file.

    >>> Consistency("document")
    Consistency('document')
    """

    def __init__(self, choice: str = "none") -> None:
        self.name, _, path = choice.partition(":")
        if self.name not in ("none", "document", "key") or (self.name == "key") != bool(path):
            raise InvalidValue(
                "consistent must be none, document, or key: and the path of a key file"
            )
        self._key = read_key(Path(path)) if self.name == "key" else b""

    def __repr__(self) -> str:  # neither the key nor where it is
        return f"Consistency({self.name!r})"

    @property
    def public(self) -> tuple[str, ...]:
        """What is treated as public on account of it."""
        return {
            "none": (),
            "document": ("which identifiers of a document are equal",),
            "key": ("which identifiers are equal, wherever the same key is used",),
        }[self.name]

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader of the statement must know."""
        return (_FOUND, _KEYED if self.name == "key" else _INDEPENDENT)

    def group(self, position: int, document: int, kind: str, value: str) -> tuple[object, ...]:
        """Identifiers with the same group get the same surrogate."""
        if self.name == "none":
            return (position,)
        same = (kind, _compared(kind, value))
        return (document, *same) if self.name == "document" else same

    @property
    def keyed(self) -> bool:
        """Whether the random numbers come from :meth:`keyed_words`."""
        return self.name == "key"

    def keyed_words(self, kind: str, value: str) -> Words:
        """The random numbers that the key gives for a value."""
        message = _compared(kind, value).encode("utf-8", "surrogatepass")
        digest = hmac.digest(self._key, b"\0".join([_PURPOSE, kind.encode(), message]), "sha256")
        return np.frombuffer(digest, "<u8", WORDS).astype(np.uint64)


def _compared(kind: str, value: str) -> str:
    """What two values of a type must share to count as equal."""
    if kind in NAMES:
        return entity_key(value)
    plain = unicodedata.normalize("NFKC", value).casefold()
    return "".join(filter(str.isalnum, plain)) if kind in _IGNORE_MARKS else plain
