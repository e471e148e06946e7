"""A language model's provider for tests: it repeats what it is told, in OpenAI's forms."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route


@dataclass
class Model:
    """Keeps the bodies that it got; answers with the last text, cut into parts of a few letters."""

    parts_of: int = 3
    behaves: str = "well"
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    says: str | None = None

    @property
    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/responses", self._responses, methods=["POST"]),
                Route("/v1/embeddings", self._embeddings, methods=["POST"]),
            ]
        )

    @property
    def sent(self) -> str:
        """All that reached it."""
        return json.dumps([self.bodies, self.headers], ensure_ascii=False)

    async def _taken(self, request: Request) -> dict[str, Any]:
        body = await request.json()
        self.bodies.append(json.loads(json.dumps(body)))
        self.headers.append(dict(request.headers))
        return body

    def _misbehaved(self) -> Response | None:
        return {
            "down": Response("boom", 500),
            "nonsense": Response("<html>nonsense</html>", media_type="text/html"),
            "another shape": JSONResponse({"choices": "nonsense", "output": [1]}),
            "refuses": JSONResponse({"error": {"message": "no such model"}}, 404),
            "rate": JSONResponse({"error": {"message": "slow down"}}, 429, {"retry-after": "7"}),
        }.get(self.behaves)

    async def _chat(self, request: Request) -> Response:
        body = await self._taken(request)
        while self.behaves == "slow":  # until somebody tells it otherwise
            await asyncio.sleep(0.01)
        if (bad := self._misbehaved()) is not None:
            return bad
        content = body["messages"][-1]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        said = f"You said: {text}" if self.says is None else self.says
        head = {"id": "c-1", "created": 1, "model": "tiny"}
        if body.get("tools"):
            arguments = json.dumps({"quote": text, "n": 1})
            call = {"id": "call_1", "type": "function"}
            function = {"name": "note", "arguments": arguments}
            message = {"role": "assistant", "content": None}
            message["tool_calls"] = [{**call, "function": function}]
            if not body.get("stream"):
                choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
                return JSONResponse({**head, "object": "chat.completion", "choices": [choice]})
            deltas = [
                {
                    "tool_calls": [
                        {"index": 0, **call, "function": {"name": "note", "arguments": ""}}
                    ]
                }
            ]
            deltas += [
                {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}
                for part in self._cut(arguments)
            ]
            return self._stream(head, deltas, "tool_calls")
        if not body.get("stream"):
            message = {"role": "assistant", "content": said}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return JSONResponse({**head, "object": "chat.completion", "choices": [choice]})
        deltas = [{"role": "assistant", "content": ""}]
        deltas += [{"content": part} for part in self._cut(said)]
        return self._stream(head, deltas, "stop")

    def _cut(self, text: str) -> list[str]:
        return [text[at : at + self.parts_of] for at in range(0, len(text), self.parts_of)]

    def _stream(self, head: dict[str, Any], deltas: list[Any], reason: str) -> Response:
        async def parts():
            for number, delta in enumerate([*deltas, {}]):
                last = number == len(deltas)
                choice = {"index": 0, "delta": delta, "finish_reason": reason if last else None}
                chunk = {**head, "object": "chat.completion.chunk", "choices": [choice]}
                if self.behaves == "breaks off" and number == 3:
                    yield "data: {nonsense\n\n"
                    return
                while self.behaves == "stalls" and number == 3:  # until it is told otherwise
                    await asyncio.sleep(0.01)
                if self.behaves == "forgets the end" and last:
                    return
                yield f"data: {json.dumps(chunk)}\n\n"
            yield "data: [DONE]\n\n"

        return StreamingResponse(parts(), media_type="text/event-stream")

    async def _responses(self, request: Request) -> Response:
        body = await self._taken(request)
        given = body["input"]
        said = given if isinstance(given, str) else given[-1]["content"]
        part = {"type": "output_text", "text": said, "annotations": []}
        item = {"id": "m-1", "type": "message", "role": "assistant", "status": "completed"}
        whole = {
            "id": "r-1",
            "object": "response",
            "created_at": 1,
            "model": "tiny",
            "status": "completed",
            "output": [{**item, "content": [part]}],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
        if not body.get("stream"):
            return JSONResponse(whole)
        place = {"item_id": "m-1", "output_index": 0, "content_index": 0}
        told = [{"type": "response.created", "response": {**whole, "output": []}}]
        empty = {**item, "status": "in_progress", "content": []}
        told.append({"type": "response.output_item.added", "output_index": 0, "item": empty})
        bare = {**part, "text": ""}
        told.append({"type": "response.content_part.added", **place, "part": bare})
        told += [
            {"type": "response.output_text.delta", **place, "delta": each, "logprobs": []}
            for each in self._cut(said)
        ]
        told.append({"type": "response.output_text.done", **place, "text": said, "logprobs": []})
        told.append({"type": "response.completed", "response": whole})

        async def parts():
            for number, event in enumerate(told):
                if self.behaves == "breaks off" and number == 5:
                    yield "data: {nonsense\n\n"
                    return
                data = json.dumps({**event, "sequence_number": number})
                yield f"event: {event['type']}\ndata: {data}\n\n"

        return StreamingResponse(parts(), media_type="text/event-stream")

    async def _embeddings(self, request: Request) -> Response:
        body = await self._taken(request)
        given = [body["input"]] if isinstance(body["input"], str) else body["input"]
        vectors = [
            {"object": "embedding", "index": place, "embedding": [float(len(text)), 1.0]}
            for place, text in enumerate(given)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return JSONResponse({"object": "list", "data": vectors, "model": "tiny", "usage": usage})
