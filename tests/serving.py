"""Real servers on loopback ports, for tests: the service, and an upstream that it stands before."""

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn

from discreet.service.logs import LOGGER, JsonLines
from discreet.service.policy import Policy
from discreet.service.run import address, bound, server
from discreet.service.service import Service


@dataclass
class Served:
    """A running service: its address, a client, and all that was logged."""

    service: Service
    url: str
    client: httpx.Client
    lines: list[str] = field(default_factory=list)

    def post(self, path: str, body: Any, **more: Any) -> httpx.Response:
        return self.client.post(path, json=body, **more)


class _Kept(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines
        self.setFormatter(JsonLines())

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))


@contextlib.contextmanager
def running(made: uvicorn.Server, listener: socket.socket) -> Iterator[None]:
    """A server in a thread of its own, until the block ends."""
    thread = threading.Thread(target=made.run, args=([listener],), daemon=True)
    thread.start()
    while not made.started and thread.is_alive():
        time.sleep(0.01)
    assert made.started
    try:
        yield
    finally:
        made.should_exit = True
        thread.join(300)
        listener.close()


@contextlib.contextmanager
def served(values: dict[str, Any], **service_settings: Any) -> Iterator[Served]:
    """The service of a policy, on a free port; with time enough on a machine that is busy."""
    service = Service(Policy.from_dict(values, **{"port": 0, "timeout": 300.0, **service_settings}))
    lines: list[str] = []
    logger = logging.getLogger(LOGGER)
    kept = _Kept(lines)
    logger.addHandler(kept)
    logger.setLevel(logging.INFO)
    listener = bound(service)
    url = address(service, listener)
    try:
        made = server(service)
    except BaseException:
        listener.close()
        raise
    try:
        with running(made, listener), httpx.Client(base_url=url, timeout=300) as client:
            yield Served(service, url, client, lines)
    finally:
        logger.removeHandler(kept)


@contextlib.contextmanager
def upstream(app: Any) -> Iterator[str]:
    """Any ASGI application on a free loopback port."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    plain = {"log_config": None, "access_log": False, "ws": "none"}
    made = uvicorn.Server(uvicorn.Config(app, **plain, timeout_keep_alive=300))
    with running(made, listener):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
