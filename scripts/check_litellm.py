"""What is made for LiteLLM against LiteLLM itself, in an environment of its own.

    python scripts/check_litellm.py [--venv /tmp/litellm]

LiteLLM wants other versions of some packages than ours, so it is installed beside: ``python -m venv
VENV`` and ``VENV/bin/pip install 'litellm[proxy]' .``. Two things are tried:

- the guardrail class, in LiteLLM's own handler of chat requests, which hands the messages to the
  guardrail and puts back what it returns, as it does before a request leaves for a provider;
- the service as the guardrail of LiteLLM's proxy, before and after each call, with an upstream of
  ours: the proxy is asked as a client would.

It ends with 1 if anything protected went out, if a value did not come back, or if the proxy lets a
request through while the service is away.
"""

import argparse
import asyncio
import contextlib
import copy
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MAIL, MARKER = "xqjane.roe@place.example", "qzanzibar"  # no word, no name of a surrogate
CONFIG = """
model_list:
  - model_name: tiny
    litellm_params: {{model: openai/tiny, api_base: {upstream}/v1, api_key: none}}
guardrails:
  - guardrail_name: discreet
    litellm_params:
      guardrail: generic_guardrail_api
      mode: [pre_call, post_call]
      api_base: {service}
      default_on: true
      streaming_transform_mode: incremental_diff
      streaming_sampling_rate: 2
litellm_settings: {{telemetry: false}}
"""
MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": f"my name is {MARKER} " * 3},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": [{"type": "text", "text": f"{MARKER} again"}]},
]
Found = dict[str, bool]


def the_class() -> Found:
    """In the environment of LiteLLM: what its handler makes of messages with our guardrail."""
    from importlib.metadata import version

    from litellm.llms.openai.chat.guardrail_translation.handler import OpenAIChatCompletionsHandler

    from discreet import DiscreetError
    from discreet.integrations.litellm import SanitizingGuardrail

    guardrail = SanitizingGuardrail(
        epsilon=8.0, guardrail_name="discreet", event_hook="pre_call", default_on=True
    )
    handler = OpenAIChatCompletionsHandler()

    def sent(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        data = {"model": "any", "messages": copy.deepcopy(messages)}
        return asyncio.run(handler.process_input_messages(data, guardrail))["messages"]

    first = sent(MESSAGES)
    again = sent([*MESSAGES, {"role": "user", "content": "and more"}])
    picture = {"type": "image_url", "image_url": {"url": "data:,x"}}
    refused = False
    try:
        sent([{"role": "user", "content": [{"type": "text", "text": "x"}, picture]}])
    except DiscreetError:
        refused = True
    print(f"LiteLLM {version('litellm')}")
    return {
        "no text went out as it was": MARKER not in str(first),
        "the model's side is as it was": [first[0], first[2]] == [MESSAGES[0], MESSAGES[2]],
        "every word of the user was released": len(first[1]["content"].split()) == 12,
        "the history was not released a second time": again[:4] == first,
        "a picture was refused": refused,
    }


def the_proxy(venv: Path) -> Found:
    """What goes through LiteLLM's proxy with the service as its guardrail."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
    from echo_model import Model
    from serving import served, upstream

    model, found = Model(), Found()
    profile = {"mechanism": "near-words", "epsilon": 10.0}
    with upstream(model.app) as url:
        policy = {"profiles": {"default": profile}, "gateway": {"upstream": f"{url}/v1"}}
        with served(policy) as up, proxy(venv, CONFIG.format(upstream=url, service=up.url)) as port:
            answer = asked(port)
            found["answered"] = answer.status_code == 200 and len(model.bodies) == 1
            found["nothing protected reached the upstream"] = not any(
                each in model.sent for each in (MAIL, MARKER)
            )
            found["the system's message passed"] = "Be kind." in model.sent
            found["the value came back"] = MAIL in answer.text
            parts = streamed(port)
            found["a stream came in parts"] = len(parts) > 2
            found["the value came back in a stream"] = MAIL in "".join(parts)
            found["nothing protected reached the upstream by a stream"] = (
                MAIL not in model.sent and len(model.bodies) == 2
            )
            up.service.stopping = True
            refused = asked(port)
            found["blocked while the service stops"] = (
                refused.status_code >= 400 and len(model.bodies) == 2
            )
    return found


@contextlib.contextmanager
def proxy(venv: Path, config: str, port: int = 4555) -> Iterator[int]:
    """LiteLLM's proxy, while it runs; what it logged is shown if anything goes wrong."""
    import httpx

    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder, "config.yaml"), Path(folder, "proxy.log")
        path.write_text(config)
        plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [venv / "bin/litellm", "--config", path, "--port", port, "--host", "127.0.0.1"]
        with log.open("wb") as file:
            running = subprocess.Popen(
                [*map(str, command)],
                stdout=file,
                stderr=file,
                env={**plain, "LITELLM_MASTER_KEY": "sk-local", "LITELLM_TELEMETRY": "False"},
            )
        try:
            for _ in range(240):
                with contextlib.suppress(httpx.HTTPError):
                    httpx.get(f"http://127.0.0.1:{port}/health/liveliness", timeout=2)
                    break
                time.sleep(0.5)
            yield port
        except BaseException:
            print(log.read_text()[-3000:])
            raise
        finally:
            running.terminate()
            running.wait(30)


def asked(port: int) -> Any:
    """An answer in one piece."""
    import httpx

    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": f"The doctor from {MARKER} wrote to {MAIL} today"},
    ]
    return httpx.post(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json={"model": "tiny", "messages": messages},
        headers={"authorization": "Bearer sk-local"},
        timeout=60,
    )


def streamed(port: int) -> list[str]:
    """The parts of a streamed answer."""
    import httpx

    message = {"role": "user", "content": f"Please write to {MAIL} today"}
    parts = []
    with httpx.stream(
        "POST",
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json={"model": "tiny", "stream": True, "messages": [message]},
        headers={"authorization": "Bearer sk-local"},
        timeout=60,
    ) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                chunk = json.loads(line[6:])  # or an error, which is shown
                choices = chunk.get("choices", [{"delta": {"content": line}}])
                parts += [choice["delta"].get("content") or "" for choice in choices]
    return [part for part in parts if part]


def main() -> int:
    """Run both; 0 if all holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, default=Path("/tmp/litellm"))
    parser.add_argument("--class", action="store_true", dest="inside", help="the class, from there")
    options = parser.parse_args()
    if options.inside:
        found = the_class()
    else:
        plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [options.venv / "bin/python", __file__, "--class"]
        found = {"the class": subprocess.run(command, env=plain, check=False).returncode == 0}
        found |= the_proxy(options.venv)
    for what, holds in found.items():
        print("ok  " if holds else "FAIL", what, flush=True)
    return 0 if all(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
