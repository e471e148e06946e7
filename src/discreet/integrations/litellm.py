"""A guardrail for LiteLLM's proxy: what people say is sanitised before it leaves for a provider.

In the proxy's configuration::

    guardrails:
      - guardrail_name: discreet
        litellm_params:
          guardrail: discreet.integrations.litellm.SanitizingGuardrail
          mode: pre_call
          default_on: true
          epsilon: 8

A guardrail is handed messages, and replaces their texts. Messages that hold anything else are
refused. The other fields of a request (``user``, ``metadata``, tools) go out as they are: strip
them in the proxy, or use the gateway of ``discreet serve``, which refuses them. A request without
any text is not shown to a guardrail: a picture alone goes out. LiteLLM's own logs are on your side,
and hold the raw messages if you let them.
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

    from discreet.service.gateway.fields import RequestReader
    from discreet.service.problems import Problem

_PROTECTED = ("user", "tool", "function")
_BESIDE_TEXT = (
    "a message holds something beside text, such as a picture, a file, sound or a name, which "
    "cannot be sanitised; leave it out"
)
_OPTIONS = (
    "mechanism", "space", "readable", "layout", "identifiers", "consistent", "repeat", "public",
    "polish", "accept_weak",
)  # fmt: skip


class SanitizingGuardrail(ReleasesMessages, CustomGuardrail):  # type: ignore[misc]
    """Sanitises the texts of requests; answers pass.

    Privacy: ``statement`` holds for each word that is sent. The system prompt and what the model
    said before are sent as they are. Messages with pictures, files, sound, names or anything else
    beside texts are refused.

    Args:
        epsilon: the privacy loss allowed; needed.
        settings: other settings of the mechanism, by the names of its parameters.
        given: what :class:`discreet.Sanitizer` takes (``mechanism``, ``space``, ``layout``, ...),
            and what every guardrail takes (``guardrail_name``, ``default_on``, ...).
    """

    def __init__(
        self, epsilon: float | None = None, settings: Mapping[str, Any] | None = None, **given: Any
    ) -> None:
        own = {name: given.pop(name) for name in _OPTIONS if name in given}
        sanitizer = chosen_sanitizer(epsilon=epsilon, **own, **(settings or {}))
        self._conversations = Conversations(sanitizer)
        self._reader = RequestReader(_PROTECTED)
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
        texts = list(inputs.get("texts") or [])
        if inputs.get("images"):
            raise InvalidValue(_BESIDE_TEXT)
        try:
            roles, _ = self._reader.handed_over(inputs.get("structured_messages"), texts)
        except Problem:
            raise InvalidValue(_BESIDE_TEXT) from None
        private = [place for place, role in enumerate(roles) if role in _PROTECTED]
        released = await asyncio.to_thread(
            self._conversations.released,
            [texts[place] for place in private],
            _conversation(request_data),
        )
        for place, text in zip(private, released, strict=True):
            texts[place] = text
        return {**inputs, "texts": texts}


def _conversation(request: Mapping[str, Any]) -> str:
    """Whose conversation it is, so that equal messages of two people are drawn apart."""
    metadata = request.get("metadata") or request.get("litellm_metadata") or {}
    known = (metadata.get("user_api_key_hash"), metadata.get("session_id"), request.get("user"))
    return "\0".join(str(each) for each in known if each is not None)
