"""Try the guardrail in the real LiteLLM, in an environment that has it and discreet.

    python -m venv /tmp/litellm && /tmp/litellm/bin/pip install ".[litellm]"
    /tmp/litellm/bin/python scripts/try_litellm.py

Nothing is sent anywhere: LiteLLM's own handler of chat requests hands the messages to the guardrail
and puts back what it returns, as it does before a request leaves for a provider.
"""

import asyncio
import contextlib
import copy
import sys
from importlib.metadata import version

from litellm.llms.openai.chat.guardrail_translation.handler import OpenAIChatCompletionsHandler

from discreet import DiscreetError
from discreet.integrations.litellm import SanitizingGuardrail

SECRET = "qzanzibar"  # in no vocabulary: it cannot be drawn by chance
MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": f"my name is {SECRET} " * 3},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": [{"type": "text", "text": f"{SECRET} again"}]},
]


def main() -> int:
    guardrail = SanitizingGuardrail(
        epsilon=8.0, guardrail_name="discreet", event_hook="pre_call", default_on=True
    )
    handler = OpenAIChatCompletionsHandler()

    def sent(messages: list[dict]) -> list[dict]:
        data = {"model": "any", "messages": copy.deepcopy(messages)}
        return asyncio.run(handler.process_input_messages(data, guardrail))["messages"]

    first = sent(MESSAGES)
    assert SECRET not in str(first), "a text went out as it was"
    assert [first[0], first[2]] == [MESSAGES[0], MESSAGES[2]], "the model's side was changed"
    assert len(first[1]["content"].split()) == 12
    again = sent([*MESSAGES, {"role": "user", "content": "and more"}])
    assert again[:4] == first, "the history was released a second time"
    picture = {"type": "image_url", "image_url": {"url": "data:,x"}}
    refused = [{"role": "user", "content": [{"type": "text", "text": "x"}, picture]}]
    with contextlib.suppress(DiscreetError):
        sent(refused)
        raise AssertionError("a picture went out")
    print(f"LiteLLM {version('litellm')}: the guardrail holds.")
    for message in first:
        print(" ", message["role"], message["content"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
