"""LangChain: a middleware for agents, and a runnable for chains.

Only the text of messages is protected. What a tool is called, ids, and what the model itself said
are sent as they are, and so is the system prompt, which is the developer's. Tracing and
checkpoints are on your side of the release and hold the raw messages.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from discreet.errors import InvalidValue, needs_extra
from discreet.integrations._conversation import Conversations, ReleasesMessages
from discreet.release.choice import given_or_chosen
from discreet.release.text import TextSanitizer

with needs_extra("the middleware of LangChain", "langchain"):
    from langchain.agents.middleware import AgentMiddleware
    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
    from langchain_core.prompt_values import PromptValue
    from langchain_core.runnables import RunnableLambda
    from langgraph.config import get_config

_PASS = (AIMessage, SystemMessage)


class SanitizingMiddleware(ReleasesMessages, AgentMiddleware):  # type: ignore[misc]
    """Sanitises what people and tools say before it goes to the model's provider.

    Privacy: ``statement`` holds for each word that is sent. A message that is sent again with its
    conversation, from the start or with its id, is sent as it was released the first time.

    Args:
        sanitizer: a :class:`discreet.Sanitizer`; or
        options: what :func:`discreet.release.choice.chosen_sanitizer` takes, such as ``epsilon``.
    """

    def __init__(self, sanitizer: TextSanitizer | None = None, **options: Any) -> None:
        super().__init__()
        self._conversations = Conversations(given_or_chosen(sanitizer, options))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:
        """Send sanitised messages in place of those of the request."""
        return handler(self._released(request, _thread()))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """The same, while other requests go on."""
        return await handler(await asyncio.to_thread(self._released, request, _thread()))

    def _released(self, request: ModelRequest[Any], thread: str) -> ModelRequest[Any]:
        return request.override(
            messages=_released_messages(request.messages, self._conversations, thread)
        )


def sanitizing_runnable(sanitizer: TextSanitizer | None = None, **options: Any) -> Any:
    """A runnable that sanitises a text, a prompt or a list of messages: ``prompt | this | model``.

    Args:
        sanitizer: a :class:`discreet.Sanitizer`; or
        options: what :func:`discreet.release.choice.chosen_sanitizer` takes, such as ``epsilon``.

    >>> len(sanitizing_runnable(epsilon=8).invoke("The doctor saw me.").split())
    5
    """
    conversations = Conversations(given_or_chosen(sanitizer, options))

    def released(given: Any) -> Any:
        if isinstance(given, str):
            return conversations.released([given])[0]
        if isinstance(given, PromptValue):
            given = given.to_messages()
        if isinstance(given, list) and all(isinstance(each, BaseMessage) for each in given):
            return _released_messages(given, conversations, "")
        raise InvalidValue(
            "a text, a prompt or a list of messages is needed; got one of type "
            f"{type(given).__name__}"
        )

    return RunnableLambda(released, name="sanitize")


def _thread() -> str:
    """The conversation that a call belongs to, if the graph knows one."""
    try:
        return str(get_config().get("configurable", {}).get("thread_id", ""))
    except RuntimeError:  # outside a graph
        return ""


def _released_messages(
    messages: Sequence[BaseMessage], conversations: Conversations, thread: str
) -> list[Any]:
    """Messages with their texts released, and nothing else of them but what a provider needs."""
    private = [each for each in messages if not isinstance(each, _PASS)]
    parts = [(each.id, place, text) for each in private for place, text in enumerate(_texts(each))]
    ids = [own and f"{place} {own}" for own, place, _ in parts]
    new = iter(conversations.released([text for *_, text in parts], thread, ids))
    return [each if isinstance(each, _PASS) else _with_texts(each, new) for each in messages]


def _texts(message: BaseMessage) -> list[str]:
    if isinstance(message.content, str):
        return [message.content]
    return [part if isinstance(part, str) else _text_of(part) for part in message.content]


def _text_of(part: dict[str, Any]) -> str:
    text = part.get("text")
    if part.get("type") != "text" or not isinstance(text, str):
        raise InvalidValue(
            "a message holds something that is not text, such as a picture or a file, which cannot "
            "be sanitised; leave it out"
        )
    return text


def _with_texts(message: BaseMessage, new: Any) -> BaseMessage:
    content: Any = next(new) if isinstance(message.content, str) else None
    if content is None:
        content = [{"type": "text", "text": next(new)} for _ in message.content]
    if isinstance(message, ToolMessage):
        return ToolMessage(
            content, tool_call_id=message.tool_call_id, name=message.name, id=message.id
        )
    return type(message)(content=content, id=message.id)
