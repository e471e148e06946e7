"""Structured logs: a JSON object a line, from a fixed set of fields, none of which can hold text.

A request is logged by its route (never its path or query), its status, counts and time. An error is
logged by its kind and by where in the code it arose; its message is not, since the messages of
libraries may quote what they were given.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

LOGGER = "discreet.service"
_logger = logging.getLogger(LOGGER)


class JsonLines(logging.Formatter):
    """A record as one line of JSON; of an error, its kind and place alone."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        values: dict[str, Any] = {"at": at, "level": record.levelname.lower()}
        own = getattr(record, "fields", None)
        # Of a library that logs through us only where it did so is kept: it may quote a request.
        values |= own or {"event": "library", "from": f"{record.name}:{record.lineno}"}
        return json.dumps(values)


def log_to_standard_error() -> None:
    """Send our lines, and those of the server, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in (LOGGER, "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == LOGGER else logging.WARNING)
    # They log the addresses that they call, and what a server said.
    for name in ("httpx", "httpcore", "psycopg"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def log(event: str, **fields: str | int | float | None) -> None:
    """Log an event with fields that were chosen here: names, counts, times."""
    # A record made here: the logger's own method would first look for who called it.
    if _logger.isEnabledFor(logging.INFO):
        record = logging.LogRecord(LOGGER, logging.INFO, "", 0, event, None, None)
        record.fields = {"event": event, **fields}
        _logger.handle(record)


def log_error(error: BaseException, **fields: str | int | float | None) -> None:
    """Log that something went wrong, by its kind and place."""
    where = traceback.extract_tb(error.__traceback__)
    last = f"{where[-1].filename.rpartition('/')[2]}:{where[-1].lineno}" if where else ""
    told = {"event": "error", "kind": type(error).__name__, "place": last, **fields}
    _logger.error("error", extra={"fields": told})
