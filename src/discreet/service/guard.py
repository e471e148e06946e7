"""The outermost layer: which hosts are ours, what is logged and counted, and the last net.

Plain ASGI, so that streams pass as they come.
"""

import time
from collections.abc import Collection
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.service.logs import log, log_error
from discreet.service.metrics import Metrics
from discreet.service.problems import Problem, problem_of

_ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class Guard:
    """Checks the host, counts and logs, and turns what nobody caught into a problem document.

    Args:
        app: what is guarded.
        routes: paths that are told by their name in logs and metrics; all others are "other".
        hosts: names that a request may call the service by, so that no web page can reach it under
            a name of its own; None for any.
        metrics: where to count.
    """

    def __init__(
        self, app: ASGIApp, routes: Collection[str], hosts: Collection[str] | None, metrics: Metrics
    ) -> None:
        self._app, self._routes, self._hosts, self._metrics = app, set(routes), hosts, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0
        route = scope["path"] if scope["path"] in self._routes else "other"
        told: dict[str, Any] = scope.setdefault("discreet", {})

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = list(message.get("headers", []))
                said = {name.lower() for name, _ in given}
                message["headers"] = given + [each for each in _ALWAYS if each[0] not in said]
            await send(message)

        try:
            if self._hosts is not None and _host(scope) not in self._hosts:
                problem = Problem(421, "this service is not called by that name")
                await problem.response()(scope, receive, watched)
            else:
                await self._app(scope, receive, watched)
        except Exception as error:
            log_error(error, route=route)
            if not status:
                await problem_of(error).response()(scope, receive, watched)
        finally:
            seconds = time.monotonic() - began
            self._metrics.count("discreet_requests_total", route=route, status=str(status))
            self._metrics.observe("discreet_request_seconds", seconds, route=route)
            log(
                "request",
                method=scope["method"] if scope["method"] in _METHODS else "other",
                route=route,
                status=status,
                ms=round(1000 * seconds, 1),
                **told,
            )


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def _host(scope: Scope) -> str:
    host: str = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name.lower()
