"""Whether a cluster is there: engines wait for minutes before they say that it is not."""

import socket

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


def listens(host: str, port: int) -> bool:
    """Whether anybody answers there."""
    try:
        with socket.create_connection((host, port), timeout=_PATIENCE):
            return True
    except (OSError, OverflowError):
        return False
