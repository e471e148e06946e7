"""A guardrail for LiteLLM's proxy: what people say is sanitised before it leaves for a provider.

In the proxy's configuration::

    guardrails:
      - guardrail_name: discreet
        litellm_params:
          guardrail: discreet.integrations.litellm.SanitizingGuardrail
          mode: pre_call
          default_on: true
          epsilon: 8

A guardrail is handed the texts of messages and nothing else. Whatever else a request carries
(``user``, ``metadata``, names, tools) goes out as it is: strip it in the proxy, or use
``discreet serve``, which refuses it. LiteLLM's own logs are on your side, and hold the raw messages
if you let them.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from discreet.errors import InvalidValue, needs_extra
from discreet.integrations._conversation import Conversations, ReleasesMessages
from discreet.release.choice import chosen_sanitizer

with needs_extra("the guardrail of LiteLLM", "litellm"):
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.types.guardrails import GuardrailEventHooks

_PASS = ("system", "developer", "assistant")
_OPTIONS = (
    "mechanism", "space", "layout", "identifiers", "consistent", "repeat", "public", "polish",
    "accept_weak",
)  # fmt: skip


class SanitizingGuardrail(ReleasesMessages, CustomGuardrail):  # type: ignore[misc]
    """Sanitises the texts of requests; answers pass.

    Privacy: ``statement`` holds for each word that is sent. The system prompt and what the model
    said before are sent as they are. Pictures are refused.

    Args:
        epsilon: the privacy loss allowed.
        settings: other settings of the mechanism, by the names of its parameters.
        given: what :class:`discreet.Sanitizer` takes (``mechanism``, ``space``, ``layout``, ...),
            and what every guardrail takes (``guardrail_name``, ``default_on``, ...).
    """

    def __init__(
        self, epsilon: float = 8.0, settings: Mapping[str, Any] | None = None, **given: Any
    ) -> None:
        own = {name: given.pop(name) for name in _OPTIONS if name in given}
        sanitizer = chosen_sanitizer(epsilon=epsilon, **own, **(settings or {}))
        self._conversations = Conversations(sanitizer)
        given.setdefault("supported_event_hooks", [GuardrailEventHooks.pre_call])
        super().__init__(**given)

    async def apply_guardrail(
        self,
        inputs: Any,
        request_data: dict[str, Any],
        input_type: str,
        logging_obj: Any = None,  # noqa: ARG002 - nothing is logged
    ) -> Any:
        """The same inputs with the texts of people and tools released."""
        if input_type != "request":
            return inputs
        if inputs.get("images"):
            raise InvalidValue("a request holds a picture, which cannot be sanitised; leave it out")
        texts = list(inputs.get("texts") or [])
        roles = _roles(inputs.get("structured_messages") or [])
        if len(roles) != len(texts):  # it cannot be told who said what
            roles = ["user"] * len(texts)
        private = [place for place, role in enumerate(roles) if role not in _PASS]
        released = await asyncio.to_thread(
            self._conversations.released,
            [texts[place] for place in private],
            _conversation(request_data),
        )
        for place, text in zip(private, released, strict=True):
            texts[place] = text
        return {**inputs, "texts": texts}


def _roles(messages: list[Mapping[str, Any]]) -> list[str]:
    """Who said each of the texts, in the order in which a guardrail is handed them."""
    roles = []
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts = [
            part for part in parts if isinstance(part, Mapping) and part.get("text") is not None
        ]
        roles += [str(message.get("role"))] * len(texts)
    return roles


def _conversation(request: Mapping[str, Any]) -> str:
    """Whose conversation it is, so that equal messages of two people are drawn apart."""
    metadata = request.get("metadata") or request.get("litellm_metadata") or {}
    known = (metadata.get("user_api_key_hash"), metadata.get("session_id"), request.get("user"))
    return "\0".join(str(each) for each in known if each is not None)
