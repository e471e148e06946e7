"""Where an output may go, how it is written whole, and where public data is kept between runs.

Only public data (vectors, neighbour indices, certificates) is ever cached; each file is named by
the SHA-256 of what it was derived from, and sealed with that of its content: what was altered is
not used. Nothing derived from protected text is written there.
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def check_ending(path: Path, endings: Sequence[str], holds: str) -> str:
    """The ending of an output's name, which says its format; another one is refused."""
    ending = path.suffix.lower()
    if ending not in endings:
        *most, last = endings
        listed = f"{', '.join(most)} or {last}" if most else last
        raise OutputError(f"{path} is to hold {holds}; end its name in {listed}")
    return ending


def check_folder(folder: Path, is_ours: Callable[[Path], bool], what: str, *, force: bool) -> None:
    """Refuse a folder that is there, unless it is ours to replace and that is asked for."""
    refuse_existing(folder, force=force)
    if folder.exists() and not is_ours(folder):
        raise OutputError(f"{folder} is there and is no {what}; choose another name")


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


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed_json(values: Mapping[str, Any]) -> str:
    """A JSON object with the SHA-256 of its entries among them."""
    return json.dumps({**values, "sha256": _json_sha256(values)})


def unsealed_json(text: str) -> dict[str, Any]:
    """What :func:`sealed_json` sealed; a ValueError if it was altered since."""
    values = json.loads(text)
    if not isinstance(values, dict) or values.pop("sha256", None) != _json_sha256(values):
        raise ValueError("this is not as it was written")
    return values


def _json_sha256(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Memo:
    """A result that took long, kept in the cache under what it was computed from.

    Args:
        folder: of the cache.
        key: all that the result depends on.
    """

    folder: str
    key: Mapping[str, str]

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return cache_directory() / self.folder / f"{_json_sha256(self.key)}.json"

    def read(self) -> dict[str, Any] | None:
        """The result; None if it is not there, or not what was written."""
        try:
            values = unsealed_json(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return values if {name: values.pop(name, None) for name in self.key} == self.key else None

    def write(self, result: Mapping[str, Any]) -> None:
        """Keep a result, ready for JSON."""
        # A cache that cannot be written costs time, not correctness.
        with contextlib.suppress(OSError), written_whole(self.path) as temporary:
            temporary.write_text(sealed_json({**self.key, **result}), "utf-8")


@dataclass(frozen=True)
class SealedFiles:
    """Large files that were made from public data, kept together under one name.

    Args:
        base: the place and the beginning of their names.
        endings: of each of them.
    """

    base: Path
    endings: tuple[str, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where they are."""
        return tuple(self.base.with_name(self.base.name + ending) for ending in self.endings)

    @property
    def intact(self) -> bool:
        """Whether all are there and as they were written."""
        try:
            return self._seal.read_text() == self._digest()
        except OSError:
            return False

    @contextlib.contextmanager
    def written(self) -> Iterator[tuple[Path, ...]]:
        """Temporary paths that take their places, and are sealed, if the block succeeds."""
        with contextlib.ExitStack() as files:
            yield tuple(files.enter_context(written_whole(path)) for path in self.paths)
        with written_whole(self._seal) as temporary:
            temporary.write_text(self._digest())

    @property
    def _seal(self) -> Path:
        return self.base.with_name(self.base.name + ".sha256")

    def _digest(self) -> str:
        together = "".join(map(file_sha256, self.paths))
        return hashlib.sha256(together.encode()).hexdigest()
