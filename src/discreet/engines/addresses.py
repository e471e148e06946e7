"""Whether a cluster is there: engines wait for minutes before they say that it is not."""

import socket
from collections.abc import Sequence
from contextlib import suppress

from discreet.errors import InvalidValue, NotFound

_PATIENCE = 10.0


def parted(place: str) -> tuple[str, int] | None:
    """Host and port of ``HOST:PORT``; None for anything else.

    >>> parted("head:6379"), parted("[::1]:7077"), parted("head")
    (('head', 6379), ('::1', 7077), None)
    """
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal():
        return None
    return host.strip("[]"), int(port)


def refuse_silence(places: Sequence[str], rule: str, silent: NotFound) -> None:
    """Refuse at once what an engine would wait for.

    Args:
        places: ``HOST:PORT``, one of which must answer.
        rule: what is said of a place of another form.
        silent: what is raised if nobody answers.
    """
    known = [place for place in map(parted, places) if place is not None]
    if len(known) < len(places):
        raise InvalidValue(rule)
    for place in known:
        with suppress(OSError, OverflowError), socket.create_connection(place, _PATIENCE):
            return
    raise silent
