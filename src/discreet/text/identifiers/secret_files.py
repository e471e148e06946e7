"""Files that only their owner may read: the key of consistent surrogates, and kept mappings."""

import os
import stat
from pathlib import Path

from discreet.errors import InputError, NotFound, OutputError

KEY_BYTES = 32
_MOST_BYTES = 2**30
_MAKE_KEY = {
    True: f"(umask 077; head -c {KEY_BYTES} /dev/urandom > KEY)",
    False: f"python -c \"import os; open('KEY', 'wb').write(os.urandom({KEY_BYTES}))\"",
}
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_secret(path: Path, what: str) -> bytes:
    """The content of a file that nobody but its owner can read; others are refused."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())  # of what was opened, not of what is there by now
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{path} is not an ordinary file; a {what} is one")
            if os.name == "posix" and status.st_mode & _OTHERS:
                raise InputError(
                    f"others than its owner can open {path}, which is to be a {what}; stop that "
                    f"with: chmod 600 {path}"
                )
            if status.st_size > _MOST_BYTES:
                raise InputError(f"{path} is too large for a {what}")
            return file.read()
    except FileNotFoundError:
        raise NotFound(f"there is no {what} {path}; check the path") from None
    except (IsADirectoryError, PermissionError):
        raise InputError(
            f"{path} cannot be read as a {what}; check the path and its permissions"
        ) from None


def read_key(path: Path) -> bytes:
    """A secret key: at least 32 bytes, in a file that only its owner can read."""
    key = read_secret(path, "key file")
    if len(key) < KEY_BYTES:
        raise InputError(
            f"the key in {path} has {len(key)} bytes and needs at least {KEY_BYTES}; make one "
            f"with: {_MAKE_KEY[os.name == 'posix']}"
        )
    return key


def write_secret(path: Path, content: bytes) -> None:
    """Write a new file that only its owner can read; one that is there is never replaced."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise OutputError(f"{path} exists already, and is not replaced; name another") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
