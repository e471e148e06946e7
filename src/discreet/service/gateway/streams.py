"""Streams of chat completions and of responses, with values put back as the text goes by."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from discreet.service.gateway.restoring import Restorer, RestoringStream

Event = tuple[str | None, str]
Keep = Callable[[str, str, str], None]
"""Called with a form (text or arguments), what the client got, and what the upstream wrote."""
_IN_DELTA = ("content", "refusal", "reasoning_content", "reasoning")


class RestoredEvents:
    """The events of one stream, whose texts are restored each under its place."""

    def __init__(self, restorer: Restorer, keep: Keep, *, json_answer: bool) -> None:
        self._restorer, self._keep, self._json_answer = restorer, keep, json_answer
        self._streams: dict[Any, tuple[RestoringStream, str]] = {}
        self._whole: dict[Any, tuple[list[str], list[str]]] = {}

    def restored(self, event: Event) -> Iterator[Event]:
        """What the client gets for an event of the upstream."""
        name, data = event
        if data.strip() == "[DONE]":
            yield from self.rest()
            yield event
            return
        value = json.loads(data)
        if not isinstance(value, dict):
            raise ValueError("not an object")
        yield from self._events(name, value)

    def rest(self) -> Iterator[Event]:
        """What is left of texts that never said that they are finished."""
        raise NotImplementedError

    def _events(self, name: str | None, value: dict[str, Any]) -> Iterator[Event]:
        raise NotImplementedError

    def _feed(self, place: Any, part: str, form: str, *, as_json: bool) -> str:
        """What is clear of a text after one more part."""
        if place not in self._streams:
            self._streams[place] = (self._restorer.stream(as_json=as_json), form)
            self._whole[place] = ([], [])
        out = self._streams[place][0].feed(part)
        restored, original = self._whole[place]
        original.append(part)
        restored.append(out)
        return out

    def _finish(self, place: Any) -> str:
        """The rest of a text, which is then kept."""
        if place not in self._streams:
            return ""
        stream, form = self._streams.pop(place)
        rest = stream.finish()
        restored, original = self._whole.pop(place)
        self._keep(form, "".join([*restored, rest]), "".join(original))
        return rest


class ChatStream(RestoredEvents):
    """Chunks of chat completions."""

    _last: dict[str, Any] | None = None

    def _events(self, name: str | None, value: dict[str, Any]) -> Iterator[Event]:
        self._last = {k: value[k] for k in ("id", "object", "created", "model") if k in value}
        for choice in value.get("choices") or ():
            index = choice.get("index", 0)
            delta = choice.get("delta")
            if isinstance(delta, dict):
                self._delta(index, delta)
                if choice.get("finish_reason") is not None:
                    self._close(index, delta)
        yield name, json.dumps(value)

    def rest(self) -> Iterator[Event]:
        """What is left of choices that never said that they are finished."""
        for index in sorted({place[0] for place in self._streams}):
            delta: dict[str, Any] = {}
            self._close(index, delta)
            if delta:
                choices = [{"index": index, "delta": delta, "finish_reason": None}]
                yield None, json.dumps({**(self._last or {}), "choices": choices})

    def _delta(self, index: int, delta: dict[str, Any]) -> None:
        for field in _IN_DELTA:
            if isinstance(delta.get(field), str):
                as_json = self._json_answer and field == "content"
                part = delta[field]
                delta[field] = self._feed((index, field), part, "text", as_json=as_json)
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            if isinstance(function.get("arguments"), str):
                place = (index, "tool_calls", call.get("index", 0))
                part = function["arguments"]
                function["arguments"] = self._feed(place, part, "arguments", as_json=True)

    def _close(self, index: int, delta: dict[str, Any]) -> None:
        for place in [place for place in self._streams if place[0] == index]:
            rest = self._finish(place)
            if not rest:
                continue
            if place[1] != "tool_calls":
                delta[place[1]] = (delta.get(place[1]) or "") + rest
                continue
            calls = delta.setdefault("tool_calls", [])
            own = next((call for call in calls if call.get("index") == place[2]), None)
            if own is None:
                calls.append({"index": place[2], "function": {"arguments": rest}})
            else:
                function = own.setdefault("function", {})
                function["arguments"] = (function.get("arguments") or "") + rest


class ResponsesStream(RestoredEvents):
    """Events of responses."""

    def __init__(self, restorer: Restorer, keep: Keep, *, json_answer: bool) -> None:
        super().__init__(restorer, keep, json_answer=json_answer)
        self._deltas: dict[Any, tuple[str | None, dict[str, Any]]] = {}
        self._more = 0

    def _events(self, name: str | None, value: dict[str, Any]) -> Iterator[Event]:
        kind = str(value.get("type", ""))
        if kind.endswith(".delta") and isinstance(value.get("delta"), str):
            place = (kind.removesuffix(".delta"), *_place(value))
            arguments = "arguments" in kind
            as_json = arguments or (self._json_answer and "output_text" in kind)
            self._deltas[place] = (name, copy.deepcopy(value))
            form = "arguments" if arguments else "text"
            value["delta"] = self._feed(place, value["delta"], form, as_json=as_json)
        else:
            if kind.endswith(".done"):
                yield from self._closed((kind.removesuffix(".done"), *_place(value)))
            value = self._restorer.walked(value, json_names(self._json_answer))
        if isinstance(value.get("sequence_number"), int):
            value["sequence_number"] += self._more
        yield name, json.dumps(value)

    def rest(self) -> Iterator[Event]:
        """What is left of texts that never said that they are done."""
        for place in list(self._streams):
            yield from self._closed(place)

    def _closed(self, place: Any) -> Iterator[Event]:
        rest = self._finish(place)
        if rest:
            name, like = self._deltas[place]
            self._more += 1
            yield name, json.dumps({**like, "delta": rest})


def json_names(json_answer: bool) -> Callable[[str], bool]:
    """Which fields of an answer hold JSON as text."""
    answer = ("content", "text", "delta") if json_answer else ()
    return lambda name: name == "arguments" or name in answer


def _place(value: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(value.get(each) for each in ("item_id", "output_index", "content_index"))
