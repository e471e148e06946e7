"""What a request is told when it is refused: problem documents (RFC 9457), and nothing of its text.

Every sentence here is written in advance or names a field, a limit or a count. Whatever else goes
wrong is told as "something went wrong" and logged by its kind and place alone.

A document also has the member ``error`` in the form of OpenAI's API: a client of that API shows its
users nothing else.
"""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from discreet.errors import BudgetExceeded, DiscreetError, LedgerUnavailable

_KINDS = {
    400: ("not-readable", "The request cannot be read"),
    401: ("no-key", "Not authenticated"),
    403: ("not-allowed", "Not allowed"),
    404: ("not-found", "Not found"),
    405: ("method", "Method not allowed"),
    408: ("slow", "Too slow"),
    413: ("too-large", "Too large"),
    415: ("not-json", "Not JSON"),
    421: ("wrong-host", "Not this host"),
    422: ("not-valid", "The request cannot be fulfilled as it is"),
    429: ("rate", "Too many requests"),
    500: ("failed", "Something went wrong here"),
    502: ("upstream", "The upstream failed"),
    503: ("busy", "Not now"),
    504: ("time", "Took too long"),
}
"""What each status means: for programs, and for people."""
# What a client of OpenAI's API knows; the rest of 4xx is the request, the rest of 5xx the server.
_OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
NO_BUDGET = "no-budget"


class Problem(Exception):
    """A refusal: what the client is told, in words that hold nothing of what it sent.

    Args:
        status: of HTTP.
        detail: what is wrong and what to do.
        kind: a short name for programs; by the status unless given.
        headers: such as Retry-After.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.kind = kind or _KINDS[status][0]
        self.headers = dict(headers or {})

    def document(self) -> dict[str, Any]:
        """The members of the problem document."""
        return {
            "type": f"urn:discreet:problem:{self.kind}",
            "title": _KINDS[self.status][1],
            "status": self.status,
            "detail": self.detail,
            "error": self.error(),
        }

    def error(self) -> dict[str, Any]:
        """The same in the form of OpenAI's API."""
        general = "invalid_request_error" if self.status < 500 else "server_error"
        kind = _OPENAI_TYPES.get(self.status, general)
        if self.kind == NO_BUDGET:
            kind = "insufficient_quota"
        return {"message": self.detail, "type": kind, "param": None, "code": self.kind}

    def response(self) -> Response:
        """The document as a response."""
        return Response(
            json.dumps(self.document()),
            self.status,
            headers={"Cache-Control": "no-store", **self.headers},
            media_type="application/problem+json",
        )


def busy(detail: str, seconds: int = 1) -> Problem:
    """A refusal for now, which says when to come back."""
    return Problem(503, detail, headers={"Retry-After": str(seconds)})


def problem_of(error: Exception) -> Problem:
    """The refusal that an error stands for; what is not ours says nothing of itself."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, BudgetExceeded):
        return Problem(403, f"{error}; nothing was released", kind=NO_BUDGET)
    if isinstance(error, LedgerUnavailable):
        return busy("the ledger cannot be reached or written; nothing was released", 5)
    if isinstance(error, DiscreetError):
        return Problem(422, f"{error}; nothing was released")
    return Problem(500, "nothing was released; the log has the kind of the error and its place")
