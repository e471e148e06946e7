"""Where an output may go, how it is written whole, and where public data is kept between runs.

Only public data (vectors, neighbour indices, certificates) is ever cached; each file is named by
the SHA-256 of what it was derived from. Nothing derived from protected text is written here.
"""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from discreet.errors import OutputError


def cache_directory() -> Path:
    """``$DISCREET_CACHE``, else ``$XDG_CACHE_HOME/discreet``, else ``~/.cache/discreet``."""
    explicit = os.environ.get("DISCREET_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "discreet"


def refuse_existing(path: Path, *, force: bool) -> None:
    """Stop before long work if its result would have no place to go."""
    if path.exists() and not force:
        raise OutputError(
            f"{path} exists already; choose another name, or use --force to replace it"
        )


def check_place(path: Path, source: str | Path = "-", *, force: bool) -> None:
    """Refuse a place that is not ours to take, before any work is done.

    Args:
        path: Where the output is to go, in a directory that is there.
        source: The input, which is never replaced; ``-`` if it is no file.
        force: A file that exists may be replaced.
    """
    try:
        exists = path.exists()
        if exists and str(source) != "-" and Path(source).exists() and path.samefile(source):
            problem = "is the input itself; choose another name"
        elif path.is_dir():
            problem = "is a directory; name a file in it"
        elif exists and not path.is_file():
            problem = "is not an ordinary file; use - for standard output"
        elif not Path(os.path.realpath(path)).parent.is_dir():
            problem = "is in a directory that does not exist; create it first"
        else:
            refuse_existing(path, force=force)
            return
    except OutputError:
        raise
    except (OSError, ValueError):
        problem = "cannot be reached; check the path and its permissions"
    raise OutputError(f"{path} {problem}")


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
