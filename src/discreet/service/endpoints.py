"""What the service answers: one function for each route."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from discreet.evaluation.explanation import example_words, explain
from discreet.ledger import Charge
from discreet.mechanisms.registry import entries
from discreet.release.whole import Copies
from discreet.service.keys import ApiKey
from discreet.service.logs import log_error
from discreet.service.problems import Problem, busy, problem_of
from discreet.service.releasing import Job, TextReleaser
from discreet.service.requests import (
    Gone,
    documents_of,
    field_of,
    json_body,
    only_fields,
    require_scope,
)
from discreet.service.service import Service
from discreet.text.identifiers import SurrogateMapping

Handler = Callable[[Service, Request], Awaitable[Response]]
_MOST_EXPLAINED = 20
_CHOICE = ("profile", "mechanism", "epsilon", "readable")
_NO_STORE = {"Cache-Control": "no-store"}


def answering(service: Service, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that never raises: whatever goes wrong is a problem document."""

    async def endpoint(request: Request) -> Response:
        try:
            return await handler(service, request)
        except Gone:
            return Response(status_code=400)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                log_error(error)
            return problem.response()

    return endpoint


def admitted(service: Service, request: Request, scope: str) -> ApiKey:
    """Who asks, noted for the log."""
    if service.stopping:
        raise busy("the service is stopping; nothing was released", 5)
    key = service.door.admit(request.headers, scope)
    request.scope["discreet"]["key"] = key.name
    return key


def answer(
    values: Mapping[str, Any] | str, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON, or what becomes JSON, that nobody on the way may keep."""
    text = values if isinstance(values, str) else json.dumps(values)
    own = {**_NO_STORE, **(headers or {})}
    return Response(text, status, headers=own, media_type="application/json")


async def sanitize(service: Service, request: Request) -> Response:
    """Texts in; released texts, the statement and the receipt out."""
    began = time.monotonic()
    key = admitted(service, request, "sanitize")
    body = await json_body(request, service.settings.max_request_bytes)
    only_fields(body, "documents", "mapping", "persons", *_CHOICE)
    texts = documents_of(body, service.settings.max_documents)
    mapped = bool(field_of(body, "mapping", bool, False))
    releaser = await _chosen(service, key, body)
    if mapped and releaser.profile.identifiers is None:
        raise Problem(422, "mapping is for profiles that replace identifiers; leave it out")
    job = Job(
        texts,
        account=key.name,
        command="/v1/sanitize",
        persons=_persons(key, body, texts),
        mapped=mapped,
    )
    outcome = await service.release(releaser, job)
    mapping = f', "mapping": {json.dumps(outcome.entries)}' if mapped else ""
    request.scope["discreet"] |= {"documents": len(texts), "words": outcome.words}
    if len(texts) == 1:
        await service.on_the_grid(began)
    return answer(
        f'{{"documents": {outcome.documents}, "statement": {releaser.statement_json}, '
        f'"receipt": {outcome.receipt}{mapping}}}'
    )


async def _chosen(service: Service, key: ApiKey, body: Mapping[str, Any]) -> TextReleaser:
    """What releases texts as a request wants it, as far as the policy lets it choose."""
    kinds = (str, str, float, bool)
    return await service.releaser_for(
        key, *(field_of(body, name, kind) for name, kind in zip(_CHOICE, kinds, strict=True))
    )


def _persons(key: ApiKey, body: Mapping[str, Any], texts: list[str]) -> list[str] | None:
    """Whose each text is, if that is said by a key whose word is taken for it."""
    if body.get("persons") is None:
        return None
    require_scope(key, "persons")
    persons = documents_of(body, len(texts), "persons")
    if len(persons) != len(texts) or not all(persons):
        raise Problem(422, "persons must name one for each document")
    return persons


async def embed(service: Service, request: Request) -> Response:
    """Texts in; private vectors out."""
    began = time.monotonic()
    key = admitted(service, request, "embed")
    if service.embedder is None:
        raise Problem(404, "this service makes no vectors: its policy has no [embedding]")
    body = await json_body(request, service.settings.max_request_bytes)
    only_fields(body, "documents")
    texts = documents_of(body, service.settings.max_documents)
    embedder = service.embedder
    release = await service.within_time(lambda: embedder.release(texts))
    receipt = embedder.receipt(release)
    told = json.dumps(receipt.to_dict())
    copies = Copies()
    copies.add((texts, [1] * len(texts)))
    charge = Charge.of_draws(release.statement, copies.most, dataset=key.name, command="/v1/embed")
    charge = replace(charge, units=len(texts))
    (refused,) = await asyncio.to_thread(service.accounts.charge, [(charge, told)])
    if refused is not None:
        raise refused
    request.scope["discreet"] |= {"documents": len(texts)}
    if len(texts) == 1:
        await service.on_the_grid(began)
    return answer(
        {
            "vectors": release.values.vectors.tolist(),
            "statement": release.statement.to_dict(),
            "receipt": json.loads(told),
        }
    )


async def explained(service: Service, request: Request) -> Response:
    """What the settings of a profile mean, from its law and public words alone."""
    key = admitted(service, request, "explain")
    body = await json_body(request, service.settings.max_request_bytes)
    only_fields(body, "words", *_CHOICE)
    releaser = await _chosen(service, key, body)
    space = releaser.mechanism.space
    words = documents_of(body, _MOST_EXPLAINED, "words") if body.get("words") else []
    missing = [place for place, word in enumerate(words) if word not in space]
    if missing:
        raise Problem(422, f"words must be in the vocabulary; number {missing[0] + 1} is not")
    shown = words or example_words(space)
    explanation = await service.within_time(
        lambda: explain(releaser.mechanism, space.spread_words(), shown)
    )
    return answer(explanation.to_dict())


async def restored(service: Service, request: Request) -> Response:
    """Values put back where their surrogates stand, with the mapping that the client kept."""
    admitted(service, request, "restore")
    body = await json_body(request, service.settings.max_request_bytes)
    only_fields(body, "documents", "mapping", "by_row")
    texts = documents_of(body, service.settings.max_documents)
    by_row = bool(field_of(body, "by_row", bool, False))
    given = field_of(body, "mapping", list, [])
    try:
        rows = [(row, surrogate, value) for row, surrogate, value in given]
        for row, *said in rows:
            if type(row) is not int or not 0 <= row < 10**9 or list(map(type, said)) != [str, str]:
                raise TypeError
    except (TypeError, ValueError):
        raise Problem(422, "mapping must be the list that /v1/sanitize gave") from None
    mapping = SurrogateMapping()
    mapping.add(1 + max((row for row, _, _ in rows), default=0), rows)

    def put_back() -> list[Any]:
        return [
            mapping.restored(text, place if by_row else None) for place, text in enumerate(texts)
        ]

    done = await service.within_time(put_back)
    return answer(
        {
            "documents": [each.text for each in done],
            "replaced": sum(each.replaced for each in done),
            "ambiguous": sum(each.ambiguous for each in done),
        }
    )


async def budget(service: Service, request: Request) -> Response:
    """What the key that asks has spent, and what is left."""
    key = admitted(service, request, "budget")
    spending = await asyncio.to_thread(service.accounts.budget, key)
    return answer({"key": key.name, **spending})


async def mechanisms(service: Service, request: Request) -> Response:
    """The profiles of this service with their statements, and every word mechanism there is."""
    admitted(service, request, "explain")
    return answer(
        {
            "profiles": {name: _told(each) for name, each in service.releasers.items()},
            "mechanisms": {
                entry.name: {
                    "summary": entry.summary,
                    "settings": {each.name: each.setting.help for each in entry.settings},
                }
                for entry in entries("word")
            },
        }
    )


def _told(releaser: TextReleaser) -> dict[str, Any]:
    profile = releaser.profile
    return {
        "mechanism": profile.mechanism,
        "space": releaser.mechanism.space.name,
        "settings": dict(profile.settings),
        "readable": profile.readable,
        "layout": profile.layout,
        "identifiers": profile.identifiers,
        "choose": profile.choose,
        "statement": releaser.statement.to_dict(),
        "in_words": releaser.statement.lines(),
    }


async def health(service: Service, request: Request) -> Response:  # noqa: ARG001
    """That the service runs at all."""
    return answer({"status": "ok"})


async def ready(service: Service, request: Request) -> Response:  # noqa: ARG001
    """That a request would be served now."""
    if service.stopping:
        raise busy("the service is stopping", 5)
    if not await asyncio.to_thread(service.accounts.reachable):
        raise busy("the ledger cannot be reached", 5)
    return answer({"status": "ready"})


async def metrics(service: Service, request: Request) -> Response:
    """Counts and times for Prometheus."""
    admitted(service, request, "metrics")
    service.metrics.set("discreet_waiting", service.batcher.waiting)
    return PlainTextResponse(
        service.metrics.text(), media_type="text/plain; version=0.0.4", headers=_NO_STORE
    )
