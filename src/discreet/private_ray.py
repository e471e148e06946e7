"""A Ray that is started on this machine for one run, and that nobody else can use or look into.

Ray listens on the network whatever it is told. Unless it is given a token, it lets in whoever can
reach it: to run code as the user who started it, who can read all the text. Its folder, with its
logs and the sockets to all that it holds, is open to every user of the machine unless it stands in
one that is not.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet.errors import needs_extra

_MODE, _TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
# The name of a socket, which has some 65 more characters, may not have more than about 100.
_LONGEST_PLACE = 22


@contextmanager
def private_ray() -> Iterator[dict[str, Any]]:
    """What to start Ray with, which must be stopped before the block ends.

    Whoever has set up Ray's authentication by its environment keeps that.
    """
    place = tempfile.gettempdir()
    if os.name == "posix" and len(place) > _LONGEST_PLACE:
        place = "/tmp"
    folder = tempfile.mkdtemp(prefix="discreet-", dir=place)  # for its owner alone
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    ours = _MODE not in os.environ
    try:
        if ours:
            os.environ |= {_MODE: "token", _TOKEN: secrets.token_hex(32)}
            _read_again()
        yield {
            "_temp_dir": os.path.join(folder, "r"),  # its own folder Ray opens to everybody
            "_node_ip_address": "127.0.0.1",
            "include_dashboard": False,
            "log_to_driver": False,
            "logging_level": "ERROR",
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if ours:
            del os.environ[_MODE], os.environ[_TOKEN]
            _read_again()


def _read_again() -> None:
    """Ray reads its environment when it is first imported, and its token once."""
    with needs_extra("a Ray of this machine that lets nobody else in", "ray"):
        # Compiled, without types; an older Ray has neither, nor tokens.
        from ray._raylet import (  # type: ignore[attr-defined, unused-ignore]
            AuthenticationTokenLoader,
            Config,
        )
    AuthenticationTokenLoader.instance().reset_cache()
    Config.initialize("")
