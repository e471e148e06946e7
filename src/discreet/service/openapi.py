"""The OpenAPI document, and a page that shows it without any resource from elsewhere."""

import html
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from discreet import __version__
from discreet.service.service import Service

_TEXTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
_CHOICE = {
    "profile": {"type": "string", "description": "A profile of the policy."},
    "mechanism": {"type": "string", "description": "Another mechanism, if the policy lets choose."},
    "epsilon": {"type": "number", "description": "Another epsilon, if the policy lets choose."},
    "readable": {
        "type": "boolean",
        "description": "Text that people read, or not, if the policy lets choose.",
    },
}
_PERSONS = {
    **_TEXTS,
    "description": "Whose each document is, for the ledger; of keys with the scope persons.",
}
_MAPPING = {
    "type": "array",
    "description": "For each identifier the number of its document, the surrogate, the value.",
    "items": {"type": "array"},
}
_RELEASED = {
    "documents": _TEXTS,
    "statement": {"type": "object", "description": "What holds for each word."},
    "receipt": {"type": "object", "description": "Mechanism, counts, and what holds for a text."},
    "mapping": _MAPPING,
}


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


_ROUTES: dict[str, tuple[str, str, dict[str, Any] | None, dict[str, Any]]] = {
    "/v1/sanitize": (
        "Release every word of some documents",
        "Each word becomes a differentially private draw. With mapping, the answer also says what "
        "each surrogate stands for: that part is as sensitive as the documents.",
        _object(
            {
                "documents": _TEXTS,
                **_CHOICE,
                "persons": _PERSONS,
                "mapping": {"type": "boolean", "description": "Say what each surrogate replaced."},
            },
            "documents",
        ),
        _object(_RELEASED, "documents", "statement", "receipt"),
    ),
    "/v1/embed": (
        "Release a private vector for each document",
        "Needs [embedding] in the policy.",
        _object({"documents": _TEXTS}, "documents"),
        _object({"vectors": {"type": "array"}, "statement": {}, "receipt": {}}),
    ),
    "/v1/explain": (
        "Say what a setting means",
        "From the law and public words alone; reads no text that is to be protected.",
        _object({**_CHOICE, "words": _TEXTS}),
        _object({"keep": {"type": "number"}, "statement": {}, "examples": {}}),
    ),
    "/v1/restore": (
        "Put values back where their surrogates stand",
        "The answer holds protected text again.",
        _object(
            {"documents": _TEXTS, "mapping": _MAPPING, "by_row": {"type": "boolean"}},
            "documents",
            "mapping",
        ),
        _object({"documents": _TEXTS, "replaced": {"type": "integer"}}),
    ),
    "/v1/budget": ("What the key has spent and has left", "", None, _object({})),
    "/v1/mechanisms": ("Profiles, statements and mechanisms", "", None, _object({})),
    "/healthz": ("Whether the service runs", "", None, _object({})),
    "/readyz": ("Whether it would serve a request now", "", None, _object({})),
}
_GATEWAY = {
    "/v1/chat/completions": "Chat completions, sanitised on the way out, restored in the answer",
    "/v1/responses": "Responses, sanitised on the way out, restored in the answer",
    "/v1/embeddings": "Embeddings of sanitised texts",
    "/beta/litellm_basic_guardrail_api": "The generic guardrail of LiteLLM",
}
_PROBLEM = _object(
    {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "error": _object(
            {each: {"type": ["string", "null"]} for each in ("message", "type", "param", "code")}
        ),
    }
)
_OPEN = ("/healthz", "/readyz")


def described(service: Service) -> dict[str, Any]:
    """The OpenAPI document of a service."""
    paths: dict[str, Any] = {}
    for path, (summary, about, takes, gives) in _ROUTES.items():
        paths[path] = _operation(summary, about, takes, gives, "get" if takes is None else "post")
        if path in _OPEN:
            next(iter(paths[path].values()))["security"] = []
    if service.policy.gateway is not None:
        for path, summary in _GATEWAY.items():
            paths[path] = _operation(summary, "As the upstream has it.", _object({}), {}, "post")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "discreet",
            "version": __version__,
            "description": "Differentially private text. Errors are problem documents (RFC 9457) "
            "that repeat nothing of what was sent.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [] if service.settings.keys is None else [{"key": []}],
    }


def _operation(
    summary: str, about: str, takes: dict[str, Any] | None, gives: dict[str, Any], method: str
) -> dict[str, Any]:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    operation: dict[str, Any] = {
        "summary": summary,
        "description": about,
        "responses": {
            "200": {"description": "Done", "content": {"application/json": {"schema": gives}}},
            "default": {"description": "A problem; nothing was released", "content": problem},
        },
    }
    if takes is not None:
        content = {"application/json": {"schema": takes}}
        operation["requestBody"] = {"required": True, "content": content}
    return {method: operation}


async def document(service: Service, request: Request) -> Response:  # noqa: ARG001
    """The OpenAPI document."""
    return Response(json.dumps(described(service)), media_type="application/json")


async def page(service: Service, request: Request) -> Response:  # noqa: ARG001
    """The same for people."""
    parts = []
    for path, methods in described(service)["paths"].items():
        for method, each in methods.items():
            body = each.get("requestBody", {}).get("content", {}).get("application/json", {})
            fields = body.get("schema", {}).get("properties", {})
            rows = "".join(
                f"<tr><td><code>{name}</code></td><td>{html.escape(_said(field))}</td></tr>"
                for name, field in fields.items()
            )
            parts.append(
                f"<section><h2><code>{method.upper()} {path}</code></h2>"
                f"<p>{html.escape(each['summary'])}. {html.escape(each['description'])}</p>"
                + (f"<table>{rows}</table>" if rows else "")
                + "</section>"
            )
    return HTMLResponse(
        _PAGE.format(version=__version__, parts="".join(parts)),
        headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"},
    )


def _said(field: dict[str, Any]) -> str:
    return " ".join(filter(None, (str(field.get("type", "")), field.get("description", ""))))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>discreet: the service</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto }}
body {{ padding: 0 1rem }}
section {{ border-top: 1px solid #8886; padding: .5rem 0 }}
h2 {{ font-size: 1.05rem }}
td {{ padding: .15rem .8rem .15rem 0; vertical-align: top }}
</style></head><body>
<h1>discreet {version}</h1>
<p>Differentially private text over HTTP. The same for programs:
<a href="/openapi.json">/openapi.json</a>. Send a key with <code>Authorization: Bearer KEY</code>
where the service has keys. Errors are problem documents (RFC 9457).</p>
{parts}
</body></html>
"""
