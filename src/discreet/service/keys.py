"""API keys: made here, kept as hashes in a file, and compared in constant time.

A key is 256 random bits, so a plain SHA-256 hides it: there is no list of likely keys to try. The
file is TOML, readable by its owner alone, with a section for each key::

    [support]
    sha256 = "9f86d0..."
    scopes = ["sanitize", "gateway"]
    profile = "default"
    budget = 500.0
"""

import hashlib
import hmac
import os
import re
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from discreet import check
from discreet.errors import InputError, InvalidValue
from discreet.settings import Setting, Settings
from discreet.text.identifiers.secret_files import read_secret

USUAL_SCOPES = ("sanitize", "embed", "explain", "restore", "budget", "gateway")
"""What a key may do unless told."""
SCOPES = (*USUAL_SCOPES, "metrics", "persons")
"""With what has to be given by name: metrics count what all keys send, and a key that says whose
each text is has its budget for each person."""
_PREFIX = "dsk_"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True, kw_only=True)
class ApiKey(Settings):
    """Who asks, and what that one may do."""

    name: str
    sha256: str
    scopes: tuple[str, ...] = USUAL_SCOPES
    profile: str | None = Setting("The profile whose settings hold for it.").default(None)
    budget: float | None = Setting(
        "Epsilon that its requests may cost together, each as much as its longest document; "
        "for each person, if it may name persons. Unlimited unless given.",
        above=0,
    ).default(None)
    budget_delta: float = Setting("And delta.", at_least=0, below=1).default(0.0)
    rate: float | None = Setting("Requests a second.", above=0).default(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch(r"[0-9a-f]{64}", str(self.sha256)):
            raise InvalidValue(f"sha256 of key {self.name} must be 64 hexadecimal digits")
        for scope in self.scopes:
            check.one_of(scope, SCOPES, f"scopes of key {self.name}")


ANYONE = ApiKey(name="local", sha256="0" * 64, scopes=SCOPES)
"""Who asks where there are no keys: somebody on this machine."""


class ApiKeys:
    """The keys of a service.

    >>> secret = new_secret()
    >>> keys = ApiKeys([ApiKey(name="support", sha256=hashed(secret))])
    >>> keys.holder(secret).name, keys.holder("dsk_another")
    ('support', None)
    """

    def __init__(self, keys: Sequence[ApiKey]) -> None:
        self._keys = tuple(keys)

    def __iter__(self) -> Any:
        return iter(self._keys)

    @classmethod
    def read(cls, path: Path) -> "ApiKeys":
        """Read a file of keys."""
        try:
            values = tomllib.loads(read_secret(path, "file of API keys").decode("utf-8"))
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path} is not a file of API keys: it is no TOML") from None
        keys = [_key(name, section, path) for name, section in values.items()]
        if not keys:
            raise InputError(
                f"{path} has no keys; make one with 'discreet serve --new-key NAME --keys {path}'"
            )
        return cls(keys)

    def holder(self, secret: str) -> ApiKey | None:
        """Whose key it is. All are compared, so that the time does not tell which came close."""
        presented, owner = hashed(secret), None
        for key in self._keys:
            if hmac.compare_digest(presented, key.sha256):
                owner = key
        return owner


def _key(name: str, section: Any, path: Path) -> ApiKey:
    if not isinstance(section, Mapping):
        raise InputError(f"{path} must have a section for each key; {name} is none")
    known = [each.name for each in fields(ApiKey) if each.name != "name"]
    if set(section) - set(known) or "sha256" not in section:
        raise InputError(f"key {name} in {path} needs sha256, and may have {', '.join(known)}")
    given = dict(section)
    if not isinstance(given.get("scopes", []), list):
        raise InputError(f"scopes of key {name} must be a list of words")
    given["scopes"] = tuple(map(str, given.get("scopes", USUAL_SCOPES)))
    return ApiKey(name=name, **given)


def new_secret() -> str:
    """A fresh key, to be shown once."""
    return _PREFIX + secrets.token_urlsafe(32)


def hashed(secret: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def add_key(
    path: Path,
    name: str,
    scopes: Sequence[str] = USUAL_SCOPES,
    profile: str | None = None,
    budget: float | None = None,
) -> str:
    """Add a key to a file, which is made if it is not there; the key itself is given back."""
    if not _NAME.fullmatch(name):
        raise InvalidValue("the name of a key must be small letters, digits, - and _")
    if path.exists() and any(key.name == name for key in ApiKeys.read(path)):
        raise InvalidValue(f"{path} has a key {name} already; choose another name")
    secret = new_secret()
    key = ApiKey(
        name=name, sha256=hashed(secret), scopes=tuple(scopes), profile=profile, budget=budget
    )
    lines = [f"[{name}]", f'sha256 = "{key.sha256}"']
    lines.append("scopes = [" + ", ".join(f'"{scope}"' for scope in key.scopes) + "]")
    if profile is not None:
        if not _NAME.fullmatch(profile):
            raise InvalidValue("the name of a profile must be small letters, digits, - and _")
        lines.append(f'profile = "{profile}"')
    if budget is not None:
        lines.append(f"budget = {float(budget)!r}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n\n")
    return secret
