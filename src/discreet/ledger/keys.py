"""Names under a key: who has the ledger but not the key cannot tell, or guess, who is in it.

A plain hash of a short name confirms a guess. A keyed one (HMAC-SHA-256) tells nothing to somebody
without the key. Each purpose has a key of its own, so that equal names of two kinds look unlike.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from pathlib import Path

from discreet.errors import InvalidValue, NotFound
from discreet.files import staged
from discreet.staging import PRIVATE
from discreet.text.identifiers.secret_files import KEY_BYTES, read_key

_NAME_BYTES = 16


class LedgerKey:
    """Turns names into keyed ones, and seals what is written.

    >>> key = LedgerKey(bytes(32))
    >>> key.person("tickets", "ann") == key.person("tickets", "ann")
    True
    >>> key.person("tickets", "ann") == key.person("mails", "ann")
    False
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) < KEY_BYTES:
            raise InvalidValue(f"the key of a ledger needs at least {KEY_BYTES} bytes")
        purposes = ("dataset", "person", "request", "row", "seal", "check")
        self._keys = {
            purpose: hmac.digest(secret, f"discreet ledger {purpose}".encode(), "sha256")
            for purpose in purposes
        }

    def __repr__(self) -> str:
        return "LedgerKey(...)"

    @property
    def check(self) -> str:
        """By this a ledger knows its key again."""
        return self._of("check", b"")

    def dataset(self, name: str) -> str:
        """A data set."""
        return self._of("dataset", name.encode("utf-8", "surrogatepass"))

    def person(self, dataset: str, name: str) -> str:
        """A person of a data set."""
        return self._of("person", *_parts(dataset, name))

    def persons(self, dataset: str, names: Iterable[str]) -> list[str]:
        """Many persons of a data set.

        >>> key = LedgerKey(bytes(32))
        >>> key.persons("tickets", ["ann"]) == [key.person("tickets", "ann")]
        True
        """
        own, before = self._keys["person"], _framed(dataset.encode("utf-8", "surrogatepass"))
        raws = (name.encode("utf-8", "surrogatepass") for name in names)
        return [
            hmac.digest(own, before + _framed(raw), "sha256")[:_NAME_BYTES].hex() for raw in raws
        ]

    def request(self, dataset: str, name: str) -> str:
        """What a client calls one of its requests."""
        return self._of("request", *_parts(dataset, name))

    def row(self, dataset: str, content: str | bytes) -> str:
        """The fingerprint of an input row."""
        return row_print(self.row_key, dataset, content)

    @property
    def row_key(self) -> bytes:
        """What fingerprints of rows are made with, and nothing else."""
        return self._keys["row"]

    def seal(self, *parts: str) -> str:
        """A digest that only who has the key can make."""
        return self._of("seal", *_parts(*parts), size=32)

    def _of(self, purpose: str, *parts: bytes, size: int = _NAME_BYTES) -> str:
        return _keyed(self._keys[purpose], *parts, size=size)


def row_print(row_key: bytes, dataset: str, content: str | bytes) -> str:
    """The fingerprint of an input row, by the key for rows (``LedgerKey.row_key``) alone."""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    return _keyed(row_key, dataset.encode("utf-8", "surrogatepass"), content)


def _keyed(key: bytes, *parts: bytes, size: int = _NAME_BYTES) -> str:
    # Lengths first: no two lists of parts give the same bytes.
    return hmac.digest(key, b"".join(map(_framed, parts)), hashlib.sha256)[:size].hex()


def _framed(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big") + part


def _parts(*parts: str) -> list[bytes]:
    return [part.encode("utf-8", "surrogatepass") for part in parts]


def ledger_key(path: Path, *, new: bool) -> LedgerKey:
    """The key in a file that only its owner can read; a new ledger makes one that is not there."""
    if not path.exists():
        if not new:
            raise NotFound(
                f"the key of this ledger is not at {path}; name the key file (--ledger-key): names "
                "in the ledger can be found by its key only"
            )
        with staged(path, mode=PRIVATE) as file:
            file.path.write_bytes(secrets.token_bytes(KEY_BYTES))
            file.sync()
            file.claim()  # if another process was faster, its key is the key
    return LedgerKey(read_key(path))
