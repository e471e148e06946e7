"""Run the service until it is told to stop."""

import signal
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from discreet.errors import InvalidValue, needs_extra
from discreet.service.app import application
from discreet.service.logs import log_to_standard_error
from discreet.service.service import Service

if TYPE_CHECKING:
    import uvicorn

_IDLE = 75
"""Seconds that a connection without a request is kept: longer than clients keep theirs, or now and
then a request would meet a connection that is just being closed."""


def server(service: Service) -> "uvicorn.Server":
    """A server for the service, with nothing on that would print a path or a header."""
    with needs_extra("discreet serve", "serve"):
        import uvicorn

        from discreet.service.transport import HttpProtocol
    settings = service.settings
    return uvicorn.Server(
        uvicorn.Config(
            application(service),
            log_config=None,
            access_log=False,  # it prints paths and queries
            server_header=False,
            proxy_headers=False,
            ws="none",
            http=HttpProtocol,
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=settings.stop_timeout,
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.certificate_key,
        )
    )


def serve(service: Service, listening: Callable[[str], None] = lambda _: None) -> None:
    """Listen and serve until SIGINT or SIGTERM; running requests are then finished first.

    Args:
        service: made from a policy.
        listening: called with the address once it listens.
    """
    made = server(service)
    log_to_standard_error()
    with bound(service) as listener:
        listening(address(service, listener))
        if threading.current_thread() is threading.main_thread():
            # The server raises a signal again once it has stopped, for whoever had it before.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda _number, _frame: None)
        made.run([listener])


def bound(service: Service) -> socket.socket:
    """A socket that has the service's address."""
    settings = service.settings
    listener = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise InvalidValue(
            f"cannot listen on {settings.host} port {settings.port} ({error.strerror}); choose "
            "another with --host and --port"
        ) from None
    return listener


def address(service: Service, listener: socket.socket) -> str:
    """Where a client finds it."""
    settings = service.settings
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    scheme = "http" if settings.certificate is None else "https"
    return f"{scheme}://{host}:{listener.getsockname()[1]}"
