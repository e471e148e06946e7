"""Where text is in a request for a language model: an allow-list, and everything else is refused.

A field passes if it is known to hold a number, a switch or a short name; a text on the list is
sanitised. Whatever is not on the list is refused, unless the policy names it, and then it passes as
it is and the statement says so.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.service.policy import ROLES
from discreet.service.problems import Problem

Rule = Callable[[Any], bool]
_NAME = re.compile(r"[A-Za-z0-9][\w.:/@+-]{0,127}", re.ASCII)
_WORD = re.compile(r"[a-z0-9_-]{1,32}")
TEXT, ARGUMENTS = "text", "arguments"


@dataclass(frozen=True, eq=False)
class Slot:
    """A place in a request that holds text."""

    holder: Any = field(repr=False)
    key: str | int
    role: str
    form: str = TEXT

    @property
    def text(self) -> str:
        """What stands there."""
        text: str = self.holder[self.key]
        return text

    def put(self, text: str) -> None:
        """Put a release in its place."""
        self.holder[self.key] = text


@dataclass
class RequestFields:
    """The texts of a request, and what of it passes as it is."""

    slots: list[Slot] = field(default_factory=list)
    passed: set[str] = field(default_factory=set)
    json_answer: bool = False
    """Whether the answer is to be JSON."""


def number(value: Any) -> bool:
    """A number, or nothing."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def switch(value: Any) -> bool:
    """True, false or nothing."""
    return value is None or isinstance(value, bool)


def name(value: Any) -> bool:
    """A short name of letters, digits and a few marks."""
    return value is None or (isinstance(value, str) and _NAME.fullmatch(value) is not None)


def word(value: Any) -> bool:
    """One of the words that a setting has."""
    return value is None or (isinstance(value, str) and _WORD.fullmatch(value) is not None)


def off(value: Any) -> bool:
    """False or nothing."""
    return value in (None, False)


def nothing(value: Any) -> bool:
    """Nothing, or none of what there may be several of."""
    return value is None or value == []


def _only(**rules: Rule) -> Rule:
    def holds(value: Any) -> bool:
        return value is None or (
            isinstance(value, dict)
            and all(key in rules and rules[key](each) for key, each in value.items())
        )

    return holds


def _tool_choice(value: Any) -> bool:
    chosen = _only(type=word, name=name, function=_only(name=name))
    return word(value) if isinstance(value, str) else chosen(value)


def _names(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(name, value)))


_plain_format = _only(type=lambda value: value in ("text", "json_object"))
_BOTH: dict[str, Rule] = {
    **dict.fromkeys(("stream", "parallel_tool_calls"), switch),
    **dict.fromkeys(("temperature", "top_p", "top_logprobs"), number),
    "model": name,
    "service_tier": word,
    "store": off,
    "tool_choice": _tool_choice,
}
_CHAT: dict[str, Rule] = {
    **_BOTH,
    "stream_options": _only(include_usage=switch, include_obfuscation=switch),
    "logprobs": switch,
    "function_call": _tool_choice,
    "response_format": _plain_format,
    "modalities": lambda value: value in (None, ["text"]),
    **dict.fromkeys(("reasoning_effort", "verbosity"), word),
    **dict.fromkeys(("n", "max_tokens", "max_completion_tokens", "seed"), number),
    **dict.fromkeys(("presence_penalty", "frequency_penalty", "top_k"), number),
}
_RESPONSES: dict[str, Rule] = {
    **_BOTH,
    "stream_options": _only(include_obfuscation=switch),
    "background": off,
    "reasoning": _only(effort=word, summary=word),
    "text": _only(format=_plain_format, verbosity=word),
    "include": _names,
    "truncation": word,
    **dict.fromkeys(("max_output_tokens", "max_tool_calls"), number),
}
_EMBEDDINGS: dict[str, Rule] = {"model": name, "dimensions": number, "encoding_format": word}
# Known to carry text: named in the refusal, so that whoever means it can put it on the list.
_NAMED = frozenset((
    "audio", "background", "conversation", "custom", "file", "function_call", "functions",
    "image_url", "include", "input_audio", "input_file", "input_image", "instructions",
    "item_reference", "logit_bias", "metadata", "modalities", "name", "prediction",
    "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_retention", "reasoning",
    "refusal", "response_format", "safety_identifier", "stop", "store", "stream_options", "text",
    "tool_choice", "tools", "truncation", "user", "web_search_options",
))  # fmt: skip


def _refused(what: str) -> Problem:
    named = what if what in _NAMED else "a field"
    remedy = (
        f'add "{what}" to allow under [gateway] in the policy' if what in _NAMED else "leave it out"
    )
    return Problem(
        422,
        f"{named} of the request may carry text and is not on the gateway's list; {remedy}. "
        "Nothing was sent",
        kind="not-on-the-list",
    )


class RequestReader:
    """Finds the texts of requests.

    Args:
        roles: whose messages are sanitised; those of the others pass as they are.
        allow: fields and kinds of content that pass as they are.
    """

    def __init__(self, roles: Collection[str], allow: Collection[str] = ()) -> None:
        self._roles, self._allow = frozenset(roles), frozenset(allow)

    def chat(self, body: dict[str, Any]) -> RequestFields:
        """Of a request for chat completions."""
        fields = RequestFields()
        self._checked(body, _CHAT, ("messages",), fields)
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Problem(422, "messages must be a list with at least one message")
        for message in messages:
            self._message(message, fields)
        kind = body.get("response_format")
        fields.json_answer = isinstance(kind, dict) and kind.get("type") != "text"
        return fields

    def handed_over(self, messages: Any, texts: Sequence[str]) -> tuple[list[str], RequestFields]:
        """Whose each text is that somebody took out of messages, and what of these passes.

        If messages and texts do not fit together, all are the user's.

        Raises:
            Problem: messages hold something that is neither on the list nor among the texts.
        """
        fields = RequestFields()
        if messages is None:
            return ["user"] * len(texts), fields
        if not isinstance(messages, list):
            raise Problem(422, "messages must be a list")
        for message in messages:
            self._message(message, fields)
        rest = Counter(texts)
        for slot in fields.slots:
            if slot.form == ARGUMENTS:
                self._pass("tools", fields)
            elif not rest[slot.text]:
                raise Problem(
                    422,
                    "a message holds text that was not handed over, such as a refusal; leave it "
                    "out. Nothing was sent",
                )
            else:
                rest[slot.text] -= 1
        pairs = [
            (message["role"], part["text"])
            for message in messages
            for part in _parts(message.get("content"))
            if isinstance(part.get("text"), str)
        ]
        if [text for _, text in pairs] != list(texts):
            return ["user"] * len(texts), fields
        return [role for role, _ in pairs], fields

    def responses(self, body: dict[str, Any]) -> RequestFields:
        """Of a request for a response."""
        fields = RequestFields()
        self._checked(body, _RESPONSES, ("input", "instructions"), fields)
        self._text(body, "instructions", "system", fields)
        given = body.get("input")
        if isinstance(given, str):
            self._text(body, "input", "user", fields)
        elif isinstance(given, list) and given:
            for item in given:
                self._item(item, fields)
        else:
            raise Problem(422, "input must be a text, or a list with at least one item")
        kind = body.get("text")
        format = kind.get("format") if isinstance(kind, dict) else None
        fields.json_answer = isinstance(format, dict) and format.get("type") != "text"
        body.setdefault("store", False)  # the provider keeps what is not refused
        return fields

    def embeddings(self, body: dict[str, Any]) -> RequestFields:
        """Of a request for embeddings."""
        fields = RequestFields()
        self._checked(body, _EMBEDDINGS, ("input",), fields)
        given = body.get("input")
        if isinstance(given, str):
            fields.slots.append(Slot(body, "input", "user"))
        elif isinstance(given, list) and given and all(isinstance(each, str) for each in given):
            fields.slots += [Slot(given, place, "user") for place in range(len(given))]
        else:
            raise Problem(422, "input must be a text or a list of texts; tokens are not read here")
        return fields

    def _checked(
        self, values: Any, rules: Mapping[str, Rule], own: tuple[str, ...], fields: RequestFields
    ) -> None:
        if not isinstance(values, dict):
            raise Problem(422, "a message or item of the request must be an object")
        for key, value in values.items():
            if key not in own and not (key in rules and rules[key](value)):
                self._pass(key, fields)

    def _pass(self, what: Any, fields: RequestFields) -> None:
        """Let a field or a kind of content go as it is, if the policy names it."""
        if not isinstance(what, str) or what not in self._allow:
            raise _refused(str(what))
        fields.passed.add(what)

    def _message(self, message: Any, fields: RequestFields) -> None:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ROLES:
            raise Problem(422, f"role of a message must be one of {', '.join(ROLES)}")
        rules: dict[str, Rule] = {"role": word, "tool_call_id": name}
        if role == "function":
            rules["name"] = name
        rules |= dict.fromkeys(
            ("audio", "function_call", "annotations", "reasoning_content"), nothing
        )
        own = ("content", "tool_calls", "refusal") if role == "assistant" else ("content",)
        self._checked(message, rules, own, fields)
        self._content(message, role, fields)
        self._text(message, "refusal", role, fields)
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise Problem(422, "tool_calls of a message must be a list")
        for call in calls:
            self._checked(
                call, {"id": name, "type": lambda v: v == "function", "index": number},
                ("function",), fields,
            )  # fmt: skip
            self._checked(call.get("function"), {"name": name}, ("arguments",), fields)
            self._text(call["function"], "arguments", role, fields, ARGUMENTS)

    def _item(self, item: Any, fields: RequestFields) -> None:
        kind = item.get("type", "message") if isinstance(item, dict) else None
        rules: dict[str, Rule] = {"type": word, "id": name, "status": word, "call_id": name}
        if kind == "message":
            role = item.get("role")
            if role not in ROLES:
                raise Problem(422, f"role of an item must be one of {', '.join(ROLES)}")
            self._checked(item, rules | {"role": word}, ("content",), fields)
            self._content(item, role, fields)
        elif kind == "function_call":
            self._checked(item, rules | {"name": name}, ("arguments",), fields)
            self._text(item, "arguments", "assistant", fields, ARGUMENTS)
        elif kind == "function_call_output":
            self._checked(item, rules, ("output",), fields)
            self._text(item, "output", "tool", fields)
        else:
            self._pass(kind, fields)

    def _content(self, message: dict[str, Any], role: str, fields: RequestFields) -> None:
        content = message.get("content")
        if not isinstance(content, list):
            self._text(message, "content", role, fields)
            return
        for part in content:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind in ("text", "input_text", "output_text"):
                rules = {"type": word, "annotations": nothing, "logprobs": nothing}
                self._checked(part, rules, ("text",), fields)
                self._text(part, "text", role, fields)
            elif kind == "refusal":
                self._checked(part, {"type": word}, ("refusal",), fields)
                self._text(part, "refusal", role, fields)
            else:
                self._pass(kind, fields)

    def _text(
        self, holder: dict[str, Any], key: str, role: str, fields: RequestFields, form: str = TEXT
    ) -> None:
        value = holder.get(key)
        if value is None:
            return
        if not isinstance(value, str):
            raise Problem(422, f"{key} of the request must be a text")
        if role in self._roles:
            fields.slots.append(Slot(holder, key, role, form))
        else:
            fields.passed.add(f"messages of the role {role}")


def _parts(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else [{"text": content}]


def canonical(arguments: str) -> str:
    """Arguments of a call in one spelling, however a client wrote them again."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
