"""What the service and the gateway take: times and rates.

    python benchmarks/service_load.py [--mechanism near-words] [--epsilon 10] [--seconds 10]

Starts ``discreet serve`` on a loopback port and asks it over plain sockets; that nothing goes wrong
under load is what ``service_storm.py`` looks at. Everything is measured in this one run on this
machine: times are percentiles over requests, and what goes through is compared with the same work
inside a process.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TEXT = (
    "The doctor said that my left knee was very bad and that I should not run before the next "
    "summer, which made me sad."
)
MARKER = "quixotryzanzibar"
HOST = "127.0.0.1"


class Connection:
    """One client: a socket that stays open, and no more HTTP than is needed."""

    def __init__(self, port: int, key: str | None = None) -> None:
        self.port, self._key = port, key
        self._reader: asyncio.StreamReader | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        if self._reader is None:
            self._reader, self._writer = await asyncio.open_connection(HOST, self.port)
        key = f"Authorization: Bearer {self._key}\r\n" if self._key else ""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n{key}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answered = await self._reader.readuntil(b"\r\n\r\n")
        status = int(answered[9:12])
        length = int(re.search(rb"content-length: (\d+)", answered, re.I)[1])
        content = await self._reader.readexactly(length)
        if b"connection: close" in answered.lower():
            self.close()
        return status, content

    def close(self) -> None:
        if self._reader is not None:
            self._writer.close()
            self._reader = None


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return found.getsockname()[1]


class Running:
    """A server in a process of its own."""

    def __init__(self, *command: str, port: int, log: Path, environment=None) -> None:
        self.port, self.log = port, log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                command, stderr=file, stdout=file, env={**os.environ, **(environment or {})}
            )
        for _ in range(600):
            try:
                socket.create_connection((HOST, port), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit(log.read_text()) from None
                time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def memory_mb(self) -> float:
        return (
            int(
                re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())[
                    1
                ]
            )
            / 1024
        )

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def timed(port: int, clients: int, seconds: float, body: bytes, path="/v1/sanitize"):
    """Milliseconds of each request, and requests a second."""
    taken: list[float] = []
    end = time.perf_counter() + seconds

    async def client():
        connection = Connection(port)
        while (began := time.perf_counter()) < end:
            status, _ = await connection.post(path, body)
            assert status == 200, status
            taken.append(1000 * (time.perf_counter() - began))
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return sorted(taken), len(taken) / (time.perf_counter() - began)


def percentile(taken, share):
    return taken[min(len(taken) - 1, int(share * len(taken)))]


def serving(options, port, folder, *more, name="serve"):
    command = [sys.executable, "-m", "discreet", "serve", "--port", str(port)]
    if "--policy" not in more:
        command += ["--mechanism", options.mechanism, "--epsilon", str(options.epsilon)]
        command += ["--space", options.space]
    return Running(*command, *more, port=port, log=Path(folder, f"{name}.log"))


def measure_latency(options, folder):
    body = json.dumps({"documents": [TEXT]}).encode()
    for grid in ("0", "5"):
        port = free_port()
        with serving(options, port, folder, "--time-grid-ms", grid) as server:
            asyncio.run(timed(port, 8, 2, body))
            for clients in (1, 8, 64):
                before = server.cpu_seconds()
                taken, rate = asyncio.run(timed(port, clients, options.seconds, body))
                used = 1000 * (server.cpu_seconds() - before) / len(taken)
                print(
                    f"grid {grid} ms, {clients:2} clients: p50 {percentile(taken, 0.5):6.1f} ms, "
                    f"p99 {percentile(taken, 0.99):6.1f} ms, {rate:7.0f} requests/s, "
                    f"{used:.2f} ms of processor each, {server.memory_mb():.0f} MB",
                    flush=True,
                )


def measure_batches(options, folder):
    from discreet.service.policy import Policy
    from discreet.service.releasing import Job
    from discreet.service.service import Service

    profile = {"mechanism": options.mechanism, "epsilon": options.epsilon, "space": options.space}
    service = Service(Policy.from_dict({"profiles": {"default": profile}}))
    releaser, texts, runs = service.releasers["default"], [TEXT] * 256, 20
    for _ in range(3):
        releaser.release([Job(texts)])
    began, used = time.perf_counter(), time.process_time()
    for _ in range(runs):
        releaser.release([Job(texts)])
    inside = 256 * runs / (time.perf_counter() - began)
    own = (time.process_time() - used) / runs
    port = free_port()
    body = json.dumps({"documents": texts}).encode()
    with serving(options, port, folder) as server:
        asyncio.run(timed(port, 1, 1, body))
        before = server.cpu_seconds()
        taken, rate = asyncio.run(timed(port, 2, options.seconds, body))
        theirs = (server.cpu_seconds() - before) / len(taken)
    print(
        f"batches of 256: {256 * rate:,.0f} documents/s over HTTP, {inside:,.0f} inside a process: "
        f"ratio {256 * rate / inside:.2f}; by the processor's time {own / theirs:.2f}",
        flush=True,
    )


UPSTREAM = """
import asyncio, json, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route
async def chat(request):
    await request.json()
    async def parts():
        for number in range(8):
            choice = {"index": 0, "delta": {"content": "word "}, "finish_reason": None}
            yield "data: " + json.dumps({"choices": [choice]}) + "\\n\\n"
        yield "data: [DONE]\\n\\n"
    return StreamingResponse(parts(), media_type="text/event-stream")
app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
"""


async def first_tokens(port: int, runs: int) -> list[float]:
    """Milliseconds to the first token, each of a conversation of its own."""
    taken = []
    for number in range(runs):
        reader, writer = await asyncio.open_connection(HOST, port)
        message = {"role": "user", "content": f"{TEXT} {number}"}
        body = json.dumps({"model": "m", "stream": True, "messages": [message]}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {HOST}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        began = time.perf_counter()
        writer.write(head.encode() + body)
        await reader.readuntil(b"word")
        taken.append(1000 * (time.perf_counter() - began))
        writer.close()
    return sorted(taken)


def measure_first_token(options, folder):
    port, upstream = free_port(), free_port()
    with (
        Running(
            sys.executable, "-c", UPSTREAM, str(upstream), port=upstream, log=Path(folder, "up.log")
        ),
        serving(options, port, folder, "--upstream", f"http://{HOST}:{upstream}/v1") as server,
    ):
        asyncio.run(first_tokens(port, 20))
        direct = asyncio.run(first_tokens(upstream, 200))
        before = server.cpu_seconds()
        through = asyncio.run(first_tokens(port, 200))
        used = 1000 * (server.cpu_seconds() - before) / 200
    print(f"the gateway takes {used:.1f} ms of processor for a whole stream of 8 parts")
    for share in (0.5, 0.99):
        one, other = percentile(through, share), percentile(direct, share)
        print(
            f"first token p{100 * share:.0f}: {one:.1f} ms through the gateway, {other:.1f} ms "
            f"without: {one - other:.1f} ms more",
            flush=True,
        )


def measure_timing(options, folder):
    """Whether the time of an answer tells a common from a rare word, with and without the grid."""
    from discreet.spaces import load_space

    words = load_space(options.space).words
    bodies = [json.dumps({"documents": [word]}).encode() for word in (words[300], words[-50])]

    async def times(port: int, runs: int = 600) -> list[list[float]]:
        connection, taken = Connection(port), [[], []]
        for _ in range(runs):
            for place in random.sample((0, 1), 2):
                began = time.perf_counter()
                await connection.post("/v1/sanitize", bodies[place])
                taken[place].append(time.perf_counter() - began)
        connection.close()
        return taken

    plus = argparse.Namespace(**{**vars(options), "mechanism": "santext-plus", "epsilon": 8.0})
    for grid in ("0", "5", "20"):
        port = free_port()
        with serving(plus, port, folder, "--time-grid-ms", grid):
            asyncio.run(times(port, 50))
            common, rare = asyncio.run(times(port))
        seen = sorted(common[::2] + rare[::2])
        score = [sum(x <= t for x in common[::2]) + sum(x > t for x in rare[::2]) for t in seen]
        best = max(score)
        threshold, turned = seen[score.index(best)], False
        if len(seen) - min(score) > best:
            threshold, turned = seen[score.index(min(score))], True
        right = sum(x <= threshold for x in common[1::2]) + sum(x > threshold for x in rare[1::2])
        share = right / (len(common[1::2]) + len(rare[1::2]))
        print(
            f"santext-plus, grid {grid} ms: a common and a rare word are told apart by the time of "
            f"the answer in {100 * (1 - share if turned else share):.0f} % (50 % is guessing)",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mechanism", default="near-words")
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--space", default="starter")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--only", default="latency,batches,first-token")
    options = parser.parse_args()
    parts = {
        "latency": measure_latency,
        "batches": measure_batches,
        "first-token": measure_first_token,
        "timing": measure_timing,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only.split(","):
            parts[name](options, folder)


if __name__ == "__main__":
    main()
