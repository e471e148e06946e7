"""Where files derived from public data are kept between runs, and how they are written.

Only public data (vectors, neighbour indices, certificates) is ever cached; each file is named by
the SHA-256 of what it was derived from. Nothing derived from protected text is written here.
"""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path


def cache_directory() -> Path:
    """``$DISCREET_CACHE``, else ``$XDG_CACHE_HOME/discreet``, else ``~/.cache/discreet``."""
    explicit = os.environ.get("DISCREET_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "discreet"


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place only if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def folder_written_whole(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder`` that takes its place only if the block succeeds."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(8)
    new = folder.with_name(f".{folder.name}.{token}.partial")
    old = folder.with_name(f".{folder.name}.{token}.old")
    try:
        new.mkdir()
        yield new
        if folder.exists():
            os.replace(folder, old)
        os.replace(new, folder)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        if old.exists() and not folder.exists():
            os.replace(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
