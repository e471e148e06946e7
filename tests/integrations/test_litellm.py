"""The guardrail of LiteLLM, against its interface; ``scripts/check_litellm.py`` tries the real one.

LiteLLM and Flower cannot be in one environment. What stands in for it here is its interface as of
1.106: ``CustomGuardrail.__init__`` and ``apply_guardrail``, and what its handler of chat
completions hands to a guardrail and takes back.
"""

import asyncio
import enum
import importlib
import sys
import types

import pytest

from command import MARKER
from discreet import DiscreetError

ASKED = f"{MARKER} " * 12


class GuardrailEventHooks(enum.StrEnum):
    pre_call = "pre_call"


class CustomGuardrail:
    def __init__(
        self, guardrail_name=None, supported_event_hooks=None, event_hook=None, default_on=False
    ):
        self.guardrail_name, self.default_on = guardrail_name, default_on
        self.supported_event_hooks, self.event_hook = supported_event_hooks, event_hook


@pytest.fixture
def guardrail(monkeypatch, settings):
    pieces = {
        "litellm": {},
        "litellm.integrations": {},
        "litellm.integrations.custom_guardrail": {"CustomGuardrail": CustomGuardrail},
        "litellm.types": {},
        "litellm.types.guardrails": {"GuardrailEventHooks": GuardrailEventHooks},
    }
    for name, members in pieces.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "discreet.integrations.litellm", raising=False)
    made = importlib.import_module("discreet.integrations.litellm").SanitizingGuardrail(
        **settings, guardrail_name="discreet", default_on=True
    )
    yield made
    sys.modules.pop("discreet.integrations.litellm", None)


def handled(guardrail, messages, kind="request", **request):
    """As LiteLLM's handler of chat completions does it."""
    texts = []
    for message in messages:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"text": content}]
        texts += [part["text"] for part in parts if part.get("text") is not None]
    inputs = {"texts": texts, "structured_messages": messages, "model": "m"}
    return asyncio.run(
        guardrail.apply_guardrail(
            inputs=inputs, request_data={"messages": messages, **request}, input_type=kind
        )
    )


def test_people_and_tools_are_sanitised_and_the_model_is_not(guardrail, is_released):
    parts = [{"type": "text", "text": ASKED}, {"type": "text", "text": ASKED}]
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": "Gladly."},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": ASKED},
        {"role": "user", "content": parts},
    ]
    texts = handled(guardrail, messages)["texts"]
    assert [texts[0], texts[2]] == ["Be kind.", "Gladly."]
    assert all(is_released(texts[place], 12) for place in (1, 3, 4, 5))
    again = handled(guardrail, [*messages, {"role": "user", "content": "more"}])["texts"]
    assert again[:6] == texts
    assert guardrail.units == 4 * 12 + 1
    assert handled(guardrail, messages, user="somebody else")["texts"][1] != texts[1]
    assert guardrail.statement.epsilon == 1.0
    assert guardrail.supported_event_hooks == ["pre_call"]
    assert guardrail.guardrail_name == "discreet"


def test_what_is_unclear_is_sanitised_and_pictures_are_refused(guardrail, is_released):
    apply = guardrail.apply_guardrail
    unclear = {"texts": [ASKED, ASKED], "structured_messages": [{"role": "system", "content": "x"}]}
    texts = asyncio.run(apply(unclear, {}, "request"))["texts"]
    assert all(is_released(text, 12) for text in texts)
    with pytest.raises(DiscreetError, match="picture") as refused:
        asyncio.run(apply({"texts": [ASKED], "images": [MARKER]}, {}, "request"))
    assert MARKER not in str(refused.value)
    # As many texts as messages, and others: who said them cannot be told.
    swapped = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": ASKED}]
    texts = asyncio.run(
        apply({"texts": [ASKED, "Be kind."], "structured_messages": swapped}, {}, "request")
    )["texts"]
    assert is_released(texts[0], 12)
    answer = {"texts": ["an answer"]}
    assert asyncio.run(apply(answer, {}, "response")) is answer


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": ASKED, "name": MARKER},
        {"role": "user", "content": [{"type": "file", "file": {"file_data": MARKER}}]},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": MARKER}}]},
        {"role": "user", "content": ASKED, MARKER: MARKER},
        {"role": MARKER, "content": ASKED},
    ],
)
def test_messages_with_anything_beside_text_are_refused(guardrail, message):
    with pytest.raises(DiscreetError, match="beside text") as refused:
        handled(guardrail, [{"role": "user", "content": "tea"}, message])
    assert MARKER not in str(refused.value)
    assert guardrail.units == 0
