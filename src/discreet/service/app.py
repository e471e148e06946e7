"""The ASGI application: routes, and the layers around them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.service import endpoints, openapi
from discreet.service.guard import Guard
from discreet.service.policy import Policy
from discreet.service.problems import Problem
from discreet.service.service import Service

Endpoint = Callable[[Request], Awaitable[Response]]


def application(policy: Policy | Service) -> ASGIApp:
    """The service as an ASGI application, for uvicorn or any other server.

    Args:
        policy: what holds, or a service that was made from it.

    >>> app = application(Policy.from_dict({"profiles": {"default": {"epsilon": 8.0}}}))
    """
    service = policy if isinstance(policy, Service) else Service(policy)
    handlers: dict[str, tuple[str, endpoints.Handler]] = {
        "/v1/sanitize": ("POST", endpoints.sanitize),
        "/v1/embed": ("POST", endpoints.embed),
        "/v1/explain": ("POST", endpoints.explained),
        "/v1/restore": ("POST", endpoints.restored),
        "/v1/budget": ("GET", endpoints.budget),
        "/v1/mechanisms": ("GET", endpoints.mechanisms),
        "/healthz": ("GET", endpoints.health),
        "/readyz": ("GET", endpoints.ready),
        "/metrics": ("GET", endpoints.metrics),
        "/openapi.json": ("GET", openapi.document),
        "/docs": ("GET", openapi.page),
    }
    if service.policy.gateway is not None:
        from discreet.service.gateway.routes import Gateway

        gateway = Gateway(service, service.policy.gateway)
        handlers |= {path: ("POST", each) for path, each in gateway.handlers().items()}
    direct = {
        path: (method, endpoints.answering(service, handler))
        for path, (method, handler) in handlers.items()
    }
    routes = [Route(path, each, methods=[method]) for path, (method, each) in direct.items()]
    # The page asks for no key, so it is there only where anybody on this machine may ask.
    if service.settings.keys is None:
        from discreet.service import playground

        routes += playground.routes()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        async with service.running():
            yield

    app: ASGIApp = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: _refused},
    )
    app = _Direct(direct, app)
    if origins := service.settings.origins:
        app = CORSMiddleware(
            app,
            allow_origins=sorted(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
        )
    return Guard(app, direct, service.settings.hosts, service.metrics)


class _Direct:
    """Calls what answers a path; anything else, and every mistake, goes to the framework.

    The framework's layers and its search for a route take as long as an answer of ours. Paths here
    are whole and endpoints never raise, so that a request that is as it should be needs neither.

    Args:
        endpoints: by path, each with its method.
        rest: the framework, which has the same routes.
    """

    def __init__(self, endpoints: Mapping[str, tuple[str, Endpoint]], rest: ASGIApp) -> None:
        self._endpoints, self._rest = endpoints, rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        endpoint = self._endpoints.get(scope["path"]) if scope["type"] == "http" else None
        if endpoint is None or endpoint[0] != scope["method"]:
            await self._rest(scope, receive, send)
            return
        response = await endpoint[1](Request(scope, receive, send))
        await response(scope, receive, send)


async def _refused(request: Request, error: Exception) -> Response:  # noqa: ARG001
    """What the framework refuses, in our words: its own repeat the path."""
    status = getattr(error, "status_code", 404)
    if status == 405:
        return Problem(405, "this route is called with another method; see /docs").response()
    return Problem(404, "there is no such route; see /docs").response()
