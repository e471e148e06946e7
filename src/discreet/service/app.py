"""The ASGI application: routes, and the layers around them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from discreet.service import endpoints, openapi
from discreet.service.guard import Guard
from discreet.service.policy import Policy
from discreet.service.problems import Problem
from discreet.service.service import Service

_PLAYGROUND = "discreet.service.playground"


def application(policy: Policy | Service) -> ASGIApp:
    """The service as an ASGI application, for uvicorn or any other server.

    Args:
        policy: what holds, or a service that was made from it.

    >>> app = application(Policy.from_dict({"profiles": {"default": {"epsilon": 8.0}}}))
    """
    service = policy if isinstance(policy, Service) else Service(policy)
    routes = [
        _route(service, "/v1/sanitize", endpoints.sanitize, "POST"),
        _route(service, "/v1/embed", endpoints.embed, "POST"),
        _route(service, "/v1/explain", endpoints.explained, "POST"),
        _route(service, "/v1/restore", endpoints.restored, "POST"),
        _route(service, "/v1/budget", endpoints.budget),
        _route(service, "/v1/mechanisms", endpoints.mechanisms),
        _route(service, "/healthz", endpoints.health),
        _route(service, "/readyz", endpoints.ready),
        _route(service, "/metrics", endpoints.metrics),
        _route(service, "/openapi.json", openapi.document),
        _route(service, "/docs", openapi.page),
    ]
    routes += _gateway(service)
    named = [route.path for route in routes]
    # The page asks for no key, so it is there only where anybody on this machine may ask.
    if service.settings.keys is None and find_spec(_PLAYGROUND) is not None:
        routes += import_module(_PLAYGROUND).routes()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        async with service.running():
            yield

    app: ASGIApp = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: _refused},
    )
    if origins := service.settings.origins:
        app = CORSMiddleware(
            app,
            allow_origins=sorted(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
        )
    return Guard(app, named, service.settings.hosts, service.metrics)


def _route(service: Service, path: str, handler: endpoints.Handler, method: str = "GET") -> Route:
    return Route(path, endpoints.answering(service, handler), methods=[method])


def _gateway(service: Service) -> list[Route]:
    if service.policy.gateway is None:
        return []
    from discreet.service.gateway.routes import Gateway

    gateway = Gateway(service)
    service.closing.append(gateway.close)
    return [_route(service, path, each, "POST") for path, each in gateway.handlers().items()]


async def _refused(request: Request, error: Exception) -> Response:  # noqa: ARG001
    """What the framework refuses, in our words: its own repeat the path."""
    status = getattr(error, "status_code", 404)
    if status == 405:
        return Problem(405, "this route is called with another method; see /docs").response()
    return Problem(404, "there is no such route; see /docs").response()
