"""A request, checked: who sent it, how large it is, and that it is the JSON it should be.

Nothing here repeats what was sent. A message names fields of ours, counts and limits.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from discreet.files import plain_json
from discreet.service.keys import ANYONE, ApiKey, ApiKeys
from discreet.service.problems import Problem

_CLOSE = {"Connection": "close"}
_BODY_SECONDS = 60.0
"""For a body to come: who sends a byte now and then must not hold a place for ever."""


class Gone(Exception):
    """The client went away before its request was whole."""


async def json_body(request: Request, most: int) -> dict[str, Any]:
    """The JSON object of a body that is not too large."""
    headers = dict(request.scope["headers"])
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise Problem(415, "send JSON, with the header Content-Type: application/json")
    if headers.get(b"content-encoding", b"identity") != b"identity":
        raise Problem(415, "send the JSON as it is, without a Content-Encoding")
    said = headers.get(b"content-length", b"0")
    if not said.isdigit() or int(said) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            raw = await _received(request, most)
    except TimeoutError:
        raise Problem(408, "the body did not come in time", headers=_CLOSE) from None
    try:
        values = plain_json(raw)
    except ValueError:  # its message may quote the body
        raise Problem(400, "the body is not JSON in UTF-8, or nested too deeply") from None
    if not isinstance(values, dict):
        raise Problem(422, "the body must be a JSON object")
    return values


async def _received(request: Request, most: int) -> bytes:
    parts, size, more = list[bytes](), 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
    return b"".join(parts)


def _too_large(most: int) -> Problem:
    return Problem(
        413,
        f"the body may have at most {most:,} bytes; send the documents in several requests",
        headers=_CLOSE,
    )


class Doorkeeper:
    """Lets in who has a key with the scope that is needed, at the rate that is allowed.

    Args:
        keys: None where anybody on this machine may ask.
        rate: requests a second for each key that has no rate of its own; None for any number.
    """

    def __init__(self, keys: ApiKeys | None, rate: float | None) -> None:
        self._keys, self._rate = keys, rate
        self._allowance: dict[str, tuple[float, float]] = {}

    def admit(self, headers: Mapping[str, str], scope: str) -> ApiKey:
        """Who asks."""
        key = self._holder(headers)
        require_scope(key, scope)
        rate = key.rate or self._rate
        if rate is not None:
            self._spend(key.name, rate)
        return key

    def _holder(self, headers: Mapping[str, str]) -> ApiKey:
        if self._keys is None:
            return ANYONE
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            secret = headers.get("x-api-key", "")
        key = self._keys.holder(secret.strip()) if secret else None
        if key is None:
            raise Problem(
                401,
                "send a key that this service knows, with the header Authorization: Bearer KEY",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return key

    def _spend(self, name: str, rate: float) -> None:
        """A bucket of a second's worth of requests, at least one, that fills at the rate."""
        now = time.monotonic()  # the clock of the day may jump
        full = max(1.0, rate)
        left, since = self._allowance.get(name, (full, now))
        left = min(full, left + (now - since) * rate)
        if left < 1:
            wait = max(1, round((1 - left) / rate + 0.5))
            raise Problem(
                429,
                f"this key may make {rate:g} requests a second; come back later",
                headers={"Retry-After": str(wait)},
            )
        self._allowance[name] = (left - 1, now)


def require_scope(key: ApiKey, scope: str) -> None:
    """Refuse what a key may not do."""
    if scope not in key.scopes:
        raise Problem(403, f"this key does not have the scope {scope}")


def field_of(values: Mapping[str, Any], name: str, kind: type[Any], default: Any = None) -> Any:
    """A field of a body, of its kind."""
    value = values.get(name, default)
    if value is None:
        return None
    number = kind is float and isinstance(value, int) and not isinstance(value, bool)
    if not isinstance(value, kind) and not number:
        words = {str: "a string", bool: "true or false", float: "a number", list: "a list"}
        raise Problem(422, f"{name} must be {words[kind]}")
    return value


def only_fields(values: Mapping[str, Any], *known: str) -> None:
    """Refuse a body with a field that would be ignored; its name is not repeated."""
    more = len(set(values) - set(known))
    if more:
        raise Problem(
            422,
            f"{more} field{'s'[: more != 1]} of the body {'are' if more != 1 else 'is'} not known "
            f"here; these are: {', '.join(known)}",
        )


def documents_of(values: Mapping[str, Any], most: int, name: str = "documents") -> list[str]:
    """The texts of a body."""
    texts = values.get(name)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Problem(422, f"{name} must be a list of strings, each of them a text")
    if not texts:
        raise Problem(422, f"{name} must have at least one text")
    if len(texts) > most:
        raise Problem(413, f"{name} may have at most {most:,} texts; send several requests")
    return texts
