"""LiteLLM's generic guardrail: texts of a request are sanitised, those of the answer restored.

Between the two calls the values of one request are held in memory, for a few minutes at most: the
answer comes back without the request that it answers.
"""

import time
from collections import OrderedDict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from discreet.service.endpoints import admitted, answer
from discreet.service.gateway.conversations import RememberedConversations
from discreet.service.gateway.fields import RequestReader, Slot
from discreet.service.gateway.releases import MessageReleaser
from discreet.service.gateway.restoring import Restorer
from discreet.service.keys import ApiKey
from discreet.service.logs import log_error
from discreet.service.policy import GatewaySettings
from discreet.service.problems import Problem, problem_of
from discreet.service.requests import field_of, json_body
from discreet.service.service import Service

_MOST_CALLS = 10_000
_SECONDS = 600.0


class Guardrail:
    """Answers LiteLLM, and blocks whatever of messages cannot be protected.

    LiteLLM hands over texts, messages, pictures and tools, and no other field of a request.
    """

    def __init__(
        self,
        messages: MessageReleaser,
        conversations: RememberedConversations,
        settings: GatewaySettings,
        reader: RequestReader,
    ) -> None:
        self._messages, self._conversations, self._settings = messages, conversations, settings
        self._reader = reader
        self._calls: OrderedDict[tuple[str, str], tuple[float, Restorer]] = OrderedDict()

    async def answer(self, service: Service, request: Request) -> Response:
        """Sanitise or restore. A refusal is an answer: LiteLLM may be told to pass on errors."""
        try:
            key = admitted(service, request, "gateway")
            body = await json_body(request, service.settings.max_request_bytes)
            told = await self._told(key, body, request)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                log_error(error)
            told = {"action": "BLOCKED", "blocked_reason": problem.detail}
        return answer(told)

    async def _told(self, key: ApiKey, body: dict[str, Any], request: Request) -> dict[str, Any]:
        texts = field_of(body, "texts", list, []) or []
        if not all(isinstance(text, str) for text in texts):
            raise Problem(422, "texts must be a list of texts")
        call = field_of(body, "litellm_call_id", str) or ""
        if body.get("input_type") == "response":
            return self._restored(key, call, texts)
        if body.get("input_type") != "request":
            raise Problem(422, "input_type must be request or response")
        roles, fields = self._reader.handed_over(body.get("structured_messages"), texts)
        passed = sorted({*self._passed(body), *fields.passed})
        trace = field_of(body, "litellm_trace_id", str) or call
        conversation = (
            self._conversations.of(key.name, "trace", trace)
            if trace
            else self._conversations.fresh()
        )
        released = list(texts)
        slots = [
            (conversation, Slot(released, place, role))
            for place, role in enumerate(roles)
            if role in self._settings.roles
        ]
        done = await self._messages.replace(key, slots, request.scope["path"], passed)
        if call:
            self._calls.pop((key.name, call), None)
            self._calls[key.name, call] = (time.monotonic(), done.restorer)
            self.forget()
        request.scope["discreet"] |= {"words": done.words, "charged": done.new_words}
        return {"action": "GUARDRAIL_INTERVENED", "texts": released}

    def _passed(self, body: dict[str, Any]) -> list[str]:
        """What beside texts is in the request; it must be allowed."""
        passed = []
        for name, allowed in (("images", "image_url"), ("tools", "tools"), ("tool_calls", "tools")):
            if body.get(name):
                if allowed not in self._settings.allow:
                    raise Problem(
                        422,
                        f"{name} of the request may carry text and are not on the gateway's list; "
                        f'add "{allowed}" to allow of [gateway]',
                    )
                passed.append(name)
        return passed

    def _restored(self, key: ApiKey, call: str, texts: list[str]) -> dict[str, Any]:
        _, restorer = self._calls.get((key.name, call), (0.0, None))
        if restorer is None:
            return {"action": "NONE", "texts": texts}
        back = [restorer.text(text) for text in texts]
        clear = [restorer.stream().feed(text) for text in texts]
        return {
            "action": "NONE" if back == texts else "GUARDRAIL_INTERVENED",
            "texts": back,
            # The end may be half a surrogate, if this is the middle of a stream. What is clear is
            # the beginning of what is given back; the rest of it may still change.
            "stream_holdback_chars": [
                len(whole) - len(sure) for whole, sure in zip(back, clear, strict=True)
            ],
        }

    def forget(self) -> None:
        """Let go of the values of calls that are too old or too many."""
        now = time.monotonic()
        while self._calls:
            since, _ = next(iter(self._calls.values()))
            if len(self._calls) <= _MOST_CALLS and now - since <= _SECONDS:
                return
            self._calls.popitem(last=False)
