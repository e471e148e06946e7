"""The routes of the gateway: as OpenAI's API has them, and LiteLLM's generic guardrail."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from discreet.errors import InvalidValue
from discreet.service.endpoints import admitted, answer
from discreet.service.gateway.conversations import Conversation, RememberedConversations
from discreet.service.gateway.fields import RequestFields, RequestReader
from discreet.service.gateway.guardrail import Guardrail
from discreet.service.gateway.releases import MessageReleaser, Released, keeper
from discreet.service.gateway.streams import ChatStream, ResponsesStream, json_names
from discreet.service.gateway.upstream import Upstream, broken_off, events, forwarded, whole
from discreet.service.keys import ApiKey
from discreet.service.logs import log_error
from discreet.service.problems import Problem
from discreet.service.requests import json_body
from discreet.service.service import Service

CONVERSATION = "discreet-conversation"
_DEVELOPERS = ("system", "developer")


class Gateway:
    """Stands in front of a provider.

    Args:
        service: whose policy has a gateway.
    """

    def __init__(self, service: Service) -> None:
        settings = service.policy.gateway
        if settings is None:
            raise InvalidValue("the policy has no gateway; add one, or leave its routes out")
        self._service = service
        self._reader = RequestReader(settings)
        self._conversations = RememberedConversations(
            int(settings.remember_mb * 2**20), 60 * settings.remember_minutes
        )
        self._messages = MessageReleaser(service, settings.profile)
        self._upstream = Upstream(settings, forwards_authorization=service.settings.keys is None)
        self._guardrail = Guardrail(service, self._messages, self._conversations, settings)
        service.sweeping += [self._conversations.forget, self._guardrail.forget]

    def handlers(self) -> dict[str, Callable[[Service, Request], Awaitable[Response]]]:
        """What answers each route."""
        return {
            "/v1/chat/completions": self._chat,
            "/v1/responses": self._responses,
            "/v1/embeddings": self._embeddings,
            "/beta/litellm_basic_guardrail_api": self._guardrail.answer,
        }

    async def close(self) -> None:
        """End all connections to the provider."""
        await self._upstream.close()

    async def _chat(self, service: Service, request: Request) -> Response:  # noqa: ARG002
        key, body = await self._read(request)
        fields = self._reader.chat(body)
        conversation = self._conversation(request, key, fields)
        done = await self._replaced(request, key, conversation, fields)
        upstream = await self._upstream.call("/chat/completions", body, request.headers)
        if body.get("stream") and upstream.status_code == 200:
            keep = keeper(conversation)
            stream = ChatStream(done.restorer, keep, json_answer=fields.json_answer)
            return self._streamed(upstream, stream, done)
        return await self._whole(upstream, done, fields, conversation, _kept_of_chat)

    async def _responses(self, service: Service, request: Request) -> Response:  # noqa: ARG002
        key, body = await self._read(request)
        fields = self._reader.responses(body)
        conversation = self._conversation(request, key, fields)
        done = await self._replaced(request, key, conversation, fields)
        body.setdefault("store", False)  # the provider keeps what is not refused
        upstream = await self._upstream.call("/responses", body, request.headers)
        if body.get("stream") and upstream.status_code == 200:
            keep = keeper(conversation)
            stream = ResponsesStream(done.restorer, keep, json_answer=fields.json_answer)
            return self._streamed(upstream, stream, done)
        return await self._whole(upstream, done, fields, conversation, _kept_of_response)

    async def _embeddings(self, service: Service, request: Request) -> Response:  # noqa: ARG002
        key, body = await self._read(request)
        fields = self._reader.embeddings(body)
        named = CONVERSATION in request.headers
        conversation = (
            self._conversation(request, key, fields) if named else self._conversations.fresh()
        )
        done = await self._replaced(request, key, conversation, fields)
        upstream = await self._upstream.call("/embeddings", body, request.headers)
        return await self._whole(upstream, done, fields, conversation, lambda _: iter(()))

    async def _read(self, request: Request) -> tuple[ApiKey, dict[str, Any]]:
        key = admitted(self._service, request, "gateway")
        return key, await json_body(request, self._service.settings.max_request_bytes)

    def _conversation(self, request: Request, key: ApiKey, fields: RequestFields) -> Conversation:
        """By the name that the client gives it, or by how it begins."""
        named = request.headers.get(CONVERSATION)
        if named is not None:
            return self._conversations.of(key.name, "named", named)
        first = next((slot for slot in fields.slots if slot.role not in _DEVELOPERS), None)
        if first is None:
            return self._conversations.fresh()
        return self._conversations.of(key.name, "begins", first.role, first.text)

    async def _replaced(
        self, request: Request, key: ApiKey, conversation: Conversation, fields: RequestFields
    ) -> Released:
        route = request.scope["path"]
        done = await self._messages.replace(
            key, conversation, fields.slots, route, sorted(fields.passed)
        )
        request.scope["discreet"] |= {"words": done.words, "charged": done.new_words}
        return done

    async def _whole(
        self,
        upstream: httpx.Response,
        done: Released,
        fields: RequestFields,
        conversation: Conversation,
        kept: Callable[[Any], Iterator[tuple[str, str]]],
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
            keep = keeper(conversation)
            for (form, theirs), (_, ours) in zip(texts, kept(restored), strict=True):
                keep(form, ours, theirs)
        made = answer(json.dumps(restored), {**done.headers(), **forwarded(upstream)})
        made.status_code = upstream.status_code
        return made

    def _streamed(
        self, upstream: httpx.Response, stream: ChatStream | ResponsesStream, done: Released
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
    """Texts of an answer that a client sends again."""
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
