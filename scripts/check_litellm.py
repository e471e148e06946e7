"""The guardrail route against LiteLLM's own proxy, in an environment of its own.

    python scripts/check_litellm.py [--venv /tmp/litellm-venv]

LiteLLM's proxy wants other versions of some packages than ours, so it is installed beside: ``python
-m venv VENV`` and ``VENV/bin/pip install 'litellm[proxy]'``. The script starts an upstream, the
service, and the proxy with the service as its guardrail before and after each call, and asks the
proxy as a client would. It ends with 1 if anything protected reached the upstream, if a value did
not come back, or if the proxy lets a request through while the service is away.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from echo_model import Model  # noqa: E402
from serving import served, upstream  # noqa: E402

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


def asked(port: int) -> httpx.Response:
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
    """Run it; 0 if all holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, default=Path("/tmp/litellm-venv"))
    options = parser.parse_args()
    model, found = Model(), dict[str, bool]()
    profile = {"mechanism": "near-words", "epsilon": 10.0}
    with (
        tempfile.TemporaryDirectory() as folder,
        upstream(model.app) as url,
    ):
        policy = {"profiles": {"default": profile}, "gateway": {"upstream": f"{url}/v1"}}
        with served(policy) as up:
            port = 4555
            config = Path(folder, "config.yaml")
            config.write_text(CONFIG.format(upstream=url, service=up.url))
            plain = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            command = [options.venv / "bin/litellm", "--config", config, "--port", str(port)]
            with Path(folder, "proxy.log").open("wb") as log:
                proxy = subprocess.Popen(
                    [*map(str, command), "--host", "127.0.0.1"],
                    stdout=log,
                    stderr=log,
                    env={**plain, "LITELLM_MASTER_KEY": "sk-local", "LITELLM_TELEMETRY": "False"},
                )
            try:
                for _ in range(240):
                    try:
                        httpx.get(f"http://127.0.0.1:{port}/health/liveliness", timeout=2)
                        break
                    except httpx.HTTPError:
                        time.sleep(0.5)
                answer = asked(port)
                print(answer.status_code, answer.text[:400])
                print("reached the upstream:", json.dumps(model.bodies)[:400])
                found["answered"] = answer.status_code == 200 and len(model.bodies) == 1
                found["nothing protected reached the upstream"] = not any(
                    each in model.sent for each in (MAIL, MARKER)
                )
                found["the system's message passed"] = "Be kind." in model.sent
                found["the value came back"] = MAIL in answer.text
                parts = streamed(port)
                print("streamed:", parts)
                found["a stream came in parts"] = len(parts) > 2
                found["the value came back in a stream"] = MAIL in "".join(parts)
                found["nothing protected reached the upstream by a stream"] = (
                    MAIL not in model.sent and len(model.bodies) == 2
                )
                up.service.stopping = True
                refused = asked(port)
                print(refused.status_code, refused.text[:200])
                found["blocked while the service stops"] = (
                    refused.status_code >= 400 and len(model.bodies) == 2
                )
            finally:
                proxy.terminate()
                proxy.wait(30)
                if not all(found.values()) or not found:
                    print(Path(folder, "proxy.log").read_text()[-3000:])
    for what, holds in found.items():
        print("ok  " if holds else "FAIL", what)
    return 0 if found and all(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
