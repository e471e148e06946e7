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

_TITLES = {
    400: "The request cannot be read",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    413: "Too large",
    415: "Not JSON",
    421: "Not this host",
    422: "The request cannot be fulfilled as it is",
    429: "Too many requests",
    500: "Something went wrong here",
    502: "The upstream failed",
    503: "Not now",
    504: "Took too long",
}
_KINDS = {
    400: "not-readable",
    401: "no-key",
    403: "not-allowed",
    404: "not-found",
    405: "method",
    413: "too-large",
    415: "not-json",
    421: "wrong-host",
    422: "not-valid",
    429: "rate",
    500: "failed",
    502: "upstream",
    503: "busy",
    504: "time",
}
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
        extra: further members of the document.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.kind = kind or _KINDS[status]
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})

    def document(self) -> dict[str, Any]:
        """The members of the problem document."""
        return {
            "type": f"urn:discreet:problem:{self.kind}",
            "title": _TITLES[self.status],
            "status": self.status,
            "detail": self.detail,
            "error": self.error(),
            **self.extra,
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
