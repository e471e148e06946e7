"""The playground: a page on which a text is tried with every word mechanism, on this machine.

Nothing is stored and nothing leaves: texts come in the bodies of requests, answers are not cached,
and no message, log or address holds a word of them. Trying is not releasing: draws are not kept and
no receipt is written.
"""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.release.text import LAYOUTS
from discreet.service._playground_mechanisms import LEAST, MOST, PageSetting, Workshop
from discreet.service._playground_text import guesses, outcomes, told, tried
from discreet.service.logs import log_error
from discreet.service.problems import Problem, problem_of
from discreet.service.requests import Gone, json_body

MOST_CHARACTERS = 5000
"""Of a text; what is longer is for ``discreet sanitize``."""
_MOST_BYTES = 2**19
_HERE = Path(__file__).parent
_FILES = {
    "/": ("playground.html", "text/html"),
    "/playground/page.css": ("playground.css", "text/css"),
    "/playground/page.js": ("playground.js", "text/javascript"),
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_POLL_SECONDS = 0.2

Answer = Callable[[Request, dict[str, Any]], Awaitable[dict[str, Any]]]


class _AttackStopped(Exception):
    """Whoever asked is gone."""


def routes(space: str | None = None) -> list[Route]:
    """The page at ``/`` and what it asks for under ``/playground``.

    Args:
        space: name or path of the public words for every mechanism; unless given, each has one
            whose public tables ship with the package.

    >>> [route.path for route in routes()][0]
    '/'
    """
    playground = _Playground(Workshop(space))
    answers: dict[str, Answer] = {
        "try": playground.tried,
        "outcomes": playground.outcomes,
        "attack": playground.attack,
        "frontier": playground.frontier,
    }
    return [
        *(Route(path, _file(*file), methods=["GET"]) for path, file in _FILES.items()),
        Route("/playground/choices", playground.choices, methods=["GET"]),
        *(
            Route(f"/playground/{name}", _answered(answer), methods=["POST"])
            for name, answer in answers.items()
        ),
    ]


class _Playground:
    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._long = threading.Semaphore(1)

    async def choices(self, _: Request) -> Response:
        """What can be chosen."""
        return _json(
            {
                "mechanisms": [each.to_dict() for each in self._shop.variants.values()],
                "epsilon": {"least": LEAST, "most": MOST},
                "characters": MOST_CHARACTERS,
            }
        )

    async def tried(self, _: Request, body: dict[str, Any]) -> dict[str, Any]:
        """A text drawn once, beside itself, and the guarantee."""
        setting, text = self._setting(body), body.get("text")
        if not isinstance(text, str):
            raise Problem(422, "text must be a string")
        if len(text) > MOST_CHARACTERS:
            raise Problem(
                413,
                f"the playground takes {MOST_CHARACTERS:,} characters; use discreet sanitize for "
                "longer texts",
            )
        return await run_in_threadpool(self._tried, setting, text)

    def _tried(self, setting: PageSetting, text: str) -> dict[str, Any]:
        result = tried(self._shop, setting, text)
        drawn = ~result.passed
        count = int(drawn.sum())
        same = int((result.ids == result.released)[drawn].sum())
        return {
            "pieces": result.pieces,
            "text": result.text,
            "ids": result.ids.tolist(),
            "released": result.released.tolist(),
            "passed": result.passed.tolist(),
            "words": self._words(setting, *result.ids.tolist(), *result.released.tolist()),
            "unknown": self._shop.space(setting.variant).unknown,
            "identifiers": result.identifiers,
            "counts": {"drawn": count, "passed": int((~drawn).sum()), "same": same},
            "guarantee": told(self._shop, setting, count),
        }

    def _words(self, setting: PageSetting, *ids: int) -> dict[str, str]:
        words = self._shop.space(setting.variant).words
        return {str(each): words[each] for each in sorted({*ids})}

    async def outcomes(self, _: Request, body: dict[str, Any]) -> dict[str, Any]:
        """What a word could have become."""
        setting = self._setting(body)
        before = self._ids(setting, body, "released")
        word = self._ids(setting, {"word": [body.get("word")]}, "word")
        return await run_in_threadpool(outcomes, self._shop, setting, int(word[0]), before)

    async def attack(self, request: Request, body: dict[str, Any]) -> dict[str, Any]:
        """What the best attacker guesses, from what is released alone: the text is not sent."""
        setting = self._setting(body)
        released = self._ids(setting, body, "released")
        passed = body.get("passed")
        if (
            not isinstance(passed, list)
            or len(passed) != len(released)
            or not all(isinstance(each, bool) for each in passed)
        ):
            raise Problem(422, "passed must say true or false of each released word")
        stop = threading.Event()

        def goes_on(_done: int, _total: int) -> None:
            if stop.is_set():
                raise _AttackStopped

        def work() -> list[int]:
            public = np.array(passed, np.bool_)
            with self._long:  # one at a time: some take all pairs of words
                goes_on(0, 0)
                best: list[int] = guesses(self._shop, setting, released, public, goes_on).tolist()
                return best

        guessed = await _unless_gone(request, work, stop)
        return {"guesses": guessed, "words": self._words(setting, *guessed)}

    async def frontier(self, _: Request, body: dict[str, Any]) -> dict[str, Any]:
        """Epsilon against the attacker's success, and where the present setting stands."""
        return await run_in_threadpool(self._frontier, self._setting(body))

    def _frontier(self, setting: PageSetting) -> dict[str, Any]:
        mechanism = self._shop.prepared(setting).mechanism
        contextual = getattr(mechanism, "contextual", False)
        return {
            "points": self._shop.frontier(setting),
            **self._shop.point(setting),
            "contextual": contextual,
            "averaged": contextual and mechanism.expected_guess is not None,
        }

    def _setting(self, body: Mapping[str, Any]) -> PageSetting:
        variant = self._shop.variant(body.get("mechanism"))
        epsilon = body.get("epsilon")
        number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
        if not number or not LEAST <= float(epsilon or 0) <= MOST:
            raise Problem(422, f"epsilon must be a number from {LEAST:g} to {MOST:g}")
        layout = body.get("layout", "public")
        if layout not in tuple(LAYOUTS):
            raise Problem(422, "layout must be one of " + ", ".join(LAYOUTS))
        switches = {name: body.get(name, True) for name in ("public_words", "identifiers")}
        for name, value in switches.items():
            if not isinstance(value, bool):
                raise Problem(422, f"{name} must be true or false")
        return PageSetting(variant, float(epsilon or 0), layout, **switches)

    def _ids(self, setting: PageSetting, body: Mapping[str, Any], name: str) -> Any:
        ids = body.get(name)
        size = len(self._shop.space(setting.variant))
        if (
            not isinstance(ids, list)
            or len(ids) > MOST_CHARACTERS
            or not all(type(each) is int and 0 <= each < size for each in ids)
        ):
            raise Problem(422, f"{name} must be words by their numbers, from 0 to {size - 1}")
        return np.array(ids, np.int64)


async def _unless_gone(request: Request, work: Callable[[], Any], stop: threading.Event) -> Any:
    """Work in a thread, which is told to stop when whoever asked has gone."""
    task = asyncio.ensure_future(run_in_threadpool(work))
    try:
        while not (await asyncio.wait({task}, timeout=_POLL_SECONDS))[0]:
            if await request.is_disconnected():
                stop.set()
        return task.result()
    except asyncio.CancelledError:
        stop.set()
        raise


def _answered(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that takes JSON and says what is wrong without repeating any of it."""

    async def endpoint(request: Request) -> Response:
        try:
            return _json(await answer(request, await json_body(request, _MOST_BYTES)))
        except (Gone, _AttackStopped):
            response = Response(status_code=400)
        except Exception as error:  # its message may hold text
            problem = problem_of(error)
            if problem.status == 500:
                log_error(error)
            response = problem.response()
        response.headers.update(_HEADERS)
        return response

    return endpoint


def _json(values: Mapping[str, Any]) -> Response:
    content = json.dumps(values, ensure_ascii=False, allow_nan=False)
    return Response(content, headers=_HEADERS, media_type="application/json")


def _file(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = (_HERE / name).read_bytes()

    async def endpoint(_: Request) -> Response:
        return Response(content, headers=_HEADERS, media_type=kind)

    return endpoint
