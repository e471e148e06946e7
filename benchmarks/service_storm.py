"""A storm on the service: many clients, one request in twenty broken, and nothing may go wrong.

    python benchmarks/service_storm.py [--seconds 300] [--clients 64] [--requests 100000]
                                       [--ledger postgresql://... --ledger-key FILE]

Starts ``discreet serve`` with keys and a ledger on a loopback port and asks it over plain sockets
until the time is over or so many requests were sent. Every twentieth is cut off, no UTF-8, of
another shape, too large, or left before its answer. It ends with 1 unless

- every answer is the one that the request asks for, and the only 5xx is 503 with Retry-After;
- no answer, log or file of the ledger holds a byte of a text;
- every release that was handed out is in the ledger once, with the digest of its receipt, and the
  ledger holds no other but those of clients that went away;
- the ledger's own check finds nothing;
- memory stops growing: the last third of the run has at most a twentieth more than the second.
"""

import argparse
import asyncio
import hashlib
import json
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from service_load import HOST, MARKER, TEXT, Connection, free_port, serving

PATH = "/v1/sanitize"
GOOD = json.dumps({"documents": [f"{TEXT} {MARKER}"]}).encode()
BAD = [
    (GOOD[:-9], 400),
    (b'{"documents": ["\xff' + MARKER.encode() + b'"]}', 400),
    (json.dumps({"documents": MARKER}).encode(), 422),
    (json.dumps({"documents": [MARKER], MARKER: 1}).encode(), 422),
    (json.dumps({"documents": [MARKER * 100_000]}).encode(), 413),
]
EVERY = 20
"""One request in so many is broken."""


class Storm:
    """What was asked, and what came back."""

    def __init__(self, port: int, key: str, seconds: float, requests: int) -> None:
        self.port, self._key = port, key
        self._seconds, self._left = seconds, requests
        self._until = 0.0
        self._number = 0
        self.seen: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.receipts: Counter[str] = Counter()

    @property
    def sent(self) -> int:
        return self._number

    async def run(self, clients: int) -> None:
        self._until = time.monotonic() + self._seconds
        await asyncio.gather(*(self._client() for _ in range(clients)))

    async def _client(self) -> None:
        connection = Connection(self.port, self._key)
        while time.monotonic() < self._until and self._number < self._left:
            self._number += 1
            number = self._number
            try:
                if number % EVERY:
                    self._check(*await connection.post(PATH, GOOD), 200)
                    continue
                # Of seven broken ones five are answered and two are left.
                kind = number // EVERY % (len(BAD) + 2)
                if kind < len(BAD):
                    body, wanted = BAD[kind]
                    self._check(*await connection.post(PATH, body), wanted)
                else:
                    await self._leave(whole=kind == len(BAD))
            except (OSError, asyncio.IncompleteReadError):
                # The server may close while a body that is too large is still on its way.
                self.seen["closed"] += 1
                if number % EVERY:
                    self.wrong["a good request was not answered"] += 1
                connection.close()
        connection.close()

    def _check(self, status: int, content: bytes, wanted: int) -> None:
        self.seen[str(status)] += 1
        if MARKER.encode() in content:
            self.wrong["an answer has text that was sent"] += 1
        if status == 200:
            receipt = content[content.index(b'"receipt": ') + len(b'"receipt": ') : -1]
            self.receipts[hashlib.sha256(receipt).hexdigest()] += 1
        if status != wanted and status != 503:
            self.wrong[f"{status} where {wanted} was due"] += 1

    async def _leave(self, *, whole: bool) -> None:
        """Send a request, or half of one, and go."""
        _, writer = await asyncio.open_connection(HOST, self.port)
        size = len(GOOD) if whole else 2 * len(GOOD)
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {self._key}\r\nContent-Length: {size}\r\n\r\n"
        )
        writer.write(head.encode() + GOOD)
        await writer.drain()
        writer.transport.abort()
        self.seen["left after the whole request" if whole else "left in the middle"] += 1


async def stormed(storm: Storm, clients: int, memory) -> list[tuple[int, float]]:
    """Run a storm; requests sent and megabytes, every second."""
    curve: list[tuple[int, float]] = []
    running = asyncio.create_task(storm.run(clients))
    while not (await asyncio.wait({running}, timeout=1.0))[0]:
        curve.append((storm.sent, memory()))
    running.result()
    curve.append((storm.sent, memory()))
    return curve


def problems_of_log(lines: list[str]) -> Counter[str]:
    """What the service's log should not say."""
    found: Counter[str] = Counter()
    for line in lines:
        if MARKER in line or "doctor" in line:
            found["a log line has text"] += 1
        status = re.search(r'"status": (\d+)', line)
        if status and status[1].startswith("5") and status[1] != "503":
            found[f"the log has a {status[1]}"] += 1
        if '"event": "error"' in line or "Traceback" in line:
            found["the log has an error"] += 1
    return found


def problems_of_ledger(book, storm: Storm, released: int) -> Counter[str]:
    """What the ledger should not say: an entry lost, doubled, left open, or made up."""
    found: Counter[str] = Counter()
    entries = list(book.entries())
    booked = Counter(entry.receipt for entry in entries)
    if lost := storm.receipts - booked:
        found["releases that are not booked"] += lost.total()
    left = storm.seen["left after the whole request"]
    if (more := (booked - storm.receipts).total()) > left + storm.seen["closed"]:
        found["entries of no release that was handed out"] += more - left
    if len(entries) != released:
        found[f"{released} releases in the log and {len(entries)} entries"] += 1
    if still := sum(entry.state != "committed" for entry in entries):
        found["entries that are not committed"] += still
    for problem in book.verify():
        found[f"ledger: {problem}"] += 1
    return found


def grows(curve: list[tuple[int, float]], most: float = 0.05) -> bool:
    """Whether the last third takes more memory than the second."""
    last = curve[-1][0]
    second = [mb for sent, mb in curve if last / 3 <= sent <= 2 * last / 3]
    third = [mb for sent, mb in curve if sent > 2 * last / 3]
    return bool(second) and max(third) > (1 + most) * max(second)


def main(arguments: list[str] | None = None) -> int:
    """Run it; 0 if all holds."""
    from discreet.ledger import Ledger
    from discreet.service.keys import add_key

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mechanism", default="near-words")
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--space", default="starter")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--requests", type=int, default=10**9)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--ledger", help="A file beside the log unless given.")
    parser.add_argument("--ledger-key", type=Path)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder, "keys.toml")
        url = options.ledger or str(Path(folder, "ledger.db"))
        key, port = add_key(keys, "load"), free_port()
        more = ["--keys", str(keys), "--ledger", url, "--max-request-mb", "1"]
        if options.ledger_key is not None:
            more += ["--ledger-key", str(options.ledger_key)]
        storm = Storm(port, key, options.seconds, options.requests)
        with serving(options, port, folder, *more, name="storm") as server:
            began = time.monotonic()
            used = server.cpu_seconds()
            curve = asyncio.run(stormed(storm, options.clients, server.memory_mb))
            used = server.cpu_seconds() - used
            seconds = time.monotonic() - began
        lines = Path(folder, "storm.log").read_text().splitlines()
        released = sum(f'"route": "{PATH}", "status": 200' in line for line in lines)
        wrong = storm.wrong + problems_of_log(lines)
        with Ledger.open(url, key=options.ledger_key) as book:
            wrong += problems_of_ledger(book, storm, released)
        for file in Path(folder).glob("ledger.db*"):
            if MARKER.encode() in file.read_bytes():
                wrong["the ledger's files hold text"] += 1
        if grows(curve):
            wrong["memory grows"] += 1
    print(f"{storm.sent:,} requests of {options.clients} clients in {seconds:.0f} s")
    print(f"  answers: {dict(sorted(storm.seen.items()))}")
    print(f"  {1000 * used / max(1, storm.sent):.2f} ms of the service's processor time each")
    step = max(1, len(curve) // 10)
    told = ", ".join(f"{sent:,}: {mb:.0f}" for sent, mb in [*curve[::step], curve[-1]])
    print(f"  MB after so many requests: {told}")
    print(f"  {released:,} releases, as many entries" if not wrong else "")
    for what, number in sorted(wrong.items()):
        print(f"WRONG: {what} ({number:,} times)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
