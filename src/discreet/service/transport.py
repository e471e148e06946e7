"""Answers that leave in one piece: what is written within one turn of the loop is sent at once.

The server writes the head of an answer and its body one after the other. Each write is a call to
the operating system and a packet, and the second one wakes the client a second time.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


class OneWrite:
    """A transport that gathers what is written until the loop's next turn.

    Args:
        transport: what it is sent with.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send, at the loop's next turn."""
        if not self._held:
            asyncio.get_running_loop().call_soon(self._flush)
        self._held.append(data)

    def close(self) -> None:
        """Send what is held, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held and not self._transport.is_closing():
            self._transport.write(b"".join(held))


class HttpProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """The server's own protocol, on such a transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client is there."""
        super().connection_made(OneWrite(transport))
