"""The routes of the gateway: as OpenAI's API has them, and LiteLLM's generic guardrail."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, compress
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from discreet.service.endpoints import Handler, admitted, answer
from discreet.service.gateway.conversations import Conversation, RememberedConversations
from discreet.service.gateway.fields import RequestFields, RequestReader, Slot
from discreet.service.gateway.guardrail import Guardrail
from discreet.service.gateway.releases import MessageReleaser, Released
from discreet.service.gateway.streams import (
    ChatStream,
    ResponsesStream,
    RestoredEvents,
    json_names,
)
from discreet.service.gateway.upstream import Upstream, broken_off, events, forwarded, whole
from discreet.service.keys import ApiKey
from discreet.service.logs import log_error
from discreet.service.policy import GatewaySettings
from discreet.service.problems import Problem
from discreet.service.requests import json_body
from discreet.service.service import Service

CONVERSATION = "discreet-conversation"
_DEVELOPERS = ("system", "developer")
Kept = Callable[[Any], Iterator[tuple[str, str]]]
"""Texts of an answer that a client sends again, each with its form."""


class Gateway:
    """Stands in front of a provider.

    Args:
        service: whose requests it answers.
        settings: of the service's policy.
    """

    def __init__(self, service: Service, settings: GatewaySettings) -> None:
        self._reader = RequestReader(settings.roles, settings.allow)
        self._conversations = RememberedConversations(
            int(settings.remember_mb * 2**20), 60 * settings.remember_minutes
        )
        self._messages = MessageReleaser(service, settings.profile)
        self._upstream = Upstream(settings, forwards_authorization=service.settings.keys is None)
        self._guardrail = Guardrail(self._messages, self._conversations, settings, self._reader)
        service.sweeping += [self._conversations.forget, self._guardrail.forget]
        service.closing.append(self._upstream.close)

    def handlers(self) -> dict[str, Handler]:
        """What answers each route."""
        own = {path: partial(self._answer, path) for path in _ROUTES}
        return {**own, "/beta/litellm_basic_guardrail_api": self._guardrail.answer}

    async def _answer(self, path: str, service: Service, request: Request) -> Response:
        route = _ROUTES[path]
        key = admitted(service, request, "gateway")
        body = await json_body(request, service.settings.max_request_bytes)
        fields = route.read(self._reader, body)
        places, conversation = self._conversations_of(
            request, key, fields.slots, begins=route.stream is not None
        )
        slots = list(zip(places, fields.slots, strict=True))
        done = await self._messages.replace(key, slots, path, sorted(fields.passed))
        request.scope["discreet"] |= {"words": done.words, "charged": done.new_words}
        upstream = await self._upstream.call(path.removeprefix("/v1"), body, request.headers)
        if route.stream is not None and body.get("stream") and upstream.status_code == 200:
            keep, json_answer = conversation.keep_answer, fields.json_answer
            stream = route.stream(done.restorer, keep, json_answer=json_answer)
            return self._streamed(upstream, stream, done)
        return await self._whole(upstream, done, fields, conversation, route.kept)

    def _conversations_of(
        self, request: Request, key: ApiKey, slots: Sequence[Slot], *, begins: bool
    ) -> tuple[list[Conversation], Conversation]:
        """The conversation of each text, and at the end: by its name, or by the messages so far."""
        named = request.headers.get(CONVERSATION)
        # What a developer says may change from one request to the next: it names nothing.
        says = [slot.role not in _DEVELOPERS for slot in slots]
        if named is not None:
            whole = self._conversations.of(key.name, "named", named)
        elif begins and any(says):
            path = self._conversations.along(key.name, list(compress(slots, says)))
            return [path[max(0, number - 1)] for number in accumulate(says)], path[-1]
        else:
            whole = self._conversations.fresh()
        return [whole] * len(slots), whole

    async def _whole(
        self,
        upstream: httpx.Response,
        done: Released,
        fields: RequestFields,
        conversation: Conversation,
        kept: Kept,
    ) -> Response:
        """An answer in one piece, restored; an upstream's refusal is passed on."""
        if upstream.status_code >= 500:
            await upstream.aclose()
            raise Problem(502, "the upstream failed; nothing more is known")
        original = await whole(upstream)
        is_json = json_names(fields.json_answer)
        restored = done.restorer.walked(original, is_json)
        if upstream.status_code == 200:
            try:
                texts = list(kept(original))
            except (AttributeError, TypeError):
                raise Problem(
                    502, "the upstream's answer is not of the shape it has to be"
                ) from None
            for (form, theirs), (_, ours) in zip(texts, kept(restored), strict=True):
                conversation.keep_answer(form, ours, theirs)
        headers = {**done.headers(), **forwarded(upstream)}
        return answer(json.dumps(restored), upstream.status_code, headers)

    def _streamed(
        self, upstream: httpx.Response, stream: RestoredEvents, done: Released
    ) -> Response:
        """An answer in parts, restored as it goes by."""

        async def parts() -> AsyncIterator[bytes]:
            try:
                async for event in events(upstream):
                    for each in stream.restored(event):
                        yield _framed(*each)
                for each in stream.rest():
                    yield _framed(*each)
            except Exception as error:
                # Told in the stream: the head is gone. What was held back stays here.
                log_error(error)
                told = json.dumps({"type": "error", "error": broken_off(error).error()})
                yield _framed(None, told)
            finally:
                await upstream.aclose()

        headers = {"Cache-Control": "no-store", **done.headers(), **forwarded(upstream)}
        return StreamingResponse(parts(), media_type="text/event-stream", headers=headers)


def _framed(name: str | None, data: str) -> bytes:
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {data}\n\n".encode()


def _kept_of_chat(body: Any) -> Iterator[tuple[str, str]]:
    for choice in body.get("choices") or () if isinstance(body, dict) else ():
        message = choice.get("message") or {}
        for field in ("content", "refusal"):
            if isinstance(message.get(field), str):
                yield "text", message[field]
        for call in message.get("tool_calls") or ():
            arguments = (call.get("function") or {}).get("arguments")
            if isinstance(arguments, str):
                yield "arguments", arguments


def _kept_of_response(body: Any) -> Iterator[tuple[str, str]]:
    for item in body.get("output") or () if isinstance(body, dict) else ():
        for part in item.get("content") or ():
            if isinstance(part.get("text"), str):
                yield "text", part["text"]
        if isinstance(item.get("arguments"), str):
            yield "arguments", item["arguments"]


@dataclass(frozen=True)
class _Route:
    """How requests of a route are read, and what becomes of their answers."""

    read: Callable[[RequestReader, dict[str, Any]], RequestFields]
    stream: type[RestoredEvents] | None
    """Of an answer in parts; None where there is no conversation."""
    kept: Kept


_ROUTES = {
    "/v1/chat/completions": _Route(RequestReader.chat, ChatStream, _kept_of_chat),
    "/v1/responses": _Route(RequestReader.responses, ResponsesStream, _kept_of_response),
    "/v1/embeddings": _Route(RequestReader.embeddings, None, lambda _: iter(())),
}
