"""Calls to the provider: what is sent, and what may come back."""

import json
import os
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

from discreet.errors import InvalidValue
from discreet.files import plain_json
from discreet.service.policy import GatewaySettings
from discreet.service.problems import Problem

_MOST_BYTES = 64 * 2**20
_MOST_EVENT = 4 * 2**20
_ENDS = re.compile(rb"\r\n|\r|\n")
_FORWARDED = ("retry-after", "x-request-id")


class Upstream:
    """A language model's provider.

    Nothing of the client's request reaches it but the body that was made here and, where the
    service has neither keys of its own nor one for the provider, the client's Authorization.
    """

    def __init__(self, settings: GatewaySettings, *, forwards_authorization: bool) -> None:
        self._url = settings.upstream.rstrip("/")
        self._own = None
        if settings.upstream_key_env is not None:
            self._own = os.environ.get(settings.upstream_key_env)
            if not self._own:
                raise InvalidValue(
                    f"the environment has no {settings.upstream_key_env}, which is to hold the "
                    "upstream's key"
                )
        self._forwards = forwards_authorization
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(settings.timeout, connect=settings.connect_timeout),
            limits=httpx.Limits(max_connections=512, max_keepalive_connections=64),
            follow_redirects=False,
        )

    async def close(self) -> None:
        """End all connections."""
        await self._client.aclose()

    async def call(self, path: str, body: Any, headers: Mapping[str, str]) -> httpx.Response:
        """Send a body; the answer, of which only the head has been read."""
        sent = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._own is not None:
            sent["Authorization"] = f"Bearer {self._own}"
        elif self._forwards and "authorization" in headers:
            sent["Authorization"] = headers["authorization"]
        request = self._client.build_request(
            "POST", self._url + path, content=json.dumps(body).encode(), headers=sent
        )
        try:
            return await self._client.send(request, stream=True)
        except httpx.TimeoutException:
            raise Problem(504, "the upstream did not answer in time") from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise Problem(502, "the upstream cannot be reached") from None


async def whole(answer: httpx.Response) -> Any:
    """The JSON of an answer."""
    parts, size = [], 0
    try:
        async for part in answer.aiter_bytes():
            size += len(part)
            if size > _MOST_BYTES:
                raise Problem(502, "the upstream's answer is too large")
            parts.append(part)
    except httpx.HTTPError as error:
        raise broken_off(error) from None
    finally:
        await answer.aclose()
    try:
        return plain_json(b"".join(parts))
    except ValueError:
        raise Problem(502, "the upstream answered something that is not JSON") from None


async def events(answer: httpx.Response) -> AsyncIterator[tuple[str | None, str]]:
    """The events of a stream: the name, if it has one, and the data."""
    name: str | None = None
    data: list[str] = []
    size = 0
    async for line in _lines(answer):
        if not line:
            if data:
                yield name, "\n".join(data)
            name, data, size = None, [], 0
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
            size += len(line) + 1
            if size > _MOST_EVENT:
                raise _too_long()
        elif line.startswith("event:"):
            name = line[6:].strip()
    if data:
        yield name, "\n".join(data)


async def _lines(answer: httpx.Response) -> AsyncIterator[str]:
    """The lines of a stream of events: in UTF-8 whatever its head says, ended by CR, LF or both.

    Other characters end a line of text (U+2028 is one), and may stand in JSON as they are.
    """
    held: list[bytes] = []
    size, after_return = 0, False
    async for part in answer.aiter_bytes():
        if after_return:
            part = part.removeprefix(b"\n")
        after_return = part.endswith(b"\r")
        first, *more = _ENDS.split(part)
        held.append(first)
        size += len(first)
        for each in more:
            yield b"".join(held).decode("utf-8", "replace")
            held, size = [each], len(each)
        if size > _MOST_EVENT:  # before its end has come, which may be never
            raise _too_long()
    if size:
        yield b"".join(held).decode("utf-8", "replace")


def _too_long() -> Problem:
    return Problem(502, "the upstream sent an event that is too long")


def broken_off(error: Exception) -> Problem:
    """What a client is told of an answer that did not come to its end."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, httpx.TimeoutException):
        return Problem(504, "the upstream stopped in the middle of its answer")
    return Problem(502, "the upstream broke off its answer")


def forwarded(answer: httpx.Response) -> dict[str, str]:
    """Headers of an answer that a client needs."""
    return {each: answer.headers[each] for each in _FORWARDED if each in answer.headers}
