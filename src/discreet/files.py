"""Where an output may go, how it is written whole, and where public data is kept between runs.

Only public data (vectors, neighbour indices, certificates) is ever cached; each file is named by
the SHA-256 of what it was derived from, and sealed with that of its content: what was altered is
not used. Nothing derived from protected text is written there.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import InputError, NotFound, OutputError
from discreet.staging import ANYONE, Digest, Staged, sync_folder

_DEEPEST = 64
_LARGEST = 10**300


def cache_directory() -> Path:
    """``$DISCREET_CACHE``, else ``$XDG_CACHE_HOME/discreet``, else ``~/.cache/discreet``."""
    explicit = os.environ.get("DISCREET_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "discreet"


def require_file(path: Path, what: str) -> None:
    """Stop if a file that is to be read is not there, or is a folder.

    Args:
        path: where it was said to be.
        what: it is to hold, with its article: "a public map".
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file of {what}")
    if not path.is_file():
        raise NotFound(f"there is no file {path}; check the path")


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
def staged(place: Path, *, mode: int = ANYONE) -> Iterator[Staged]:
    """A file beside its place that is gone after the block, unless it was put there."""
    file = Staged(place, mode=mode)
    try:
        yield file
    finally:
        file.discard()


@contextlib.contextmanager
def written_whole(path: Path, *, mode: int = ANYONE) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place only if the block succeeds.

    The file is there already, empty, for nobody else to read; ``mode`` says who may in the end.
    """
    with staged(path, mode=mode) as file:
        yield file.path
        file.put()


def publish(output: Staged, about: Sequence[Staged], *, force: bool) -> None:
    """Put an output in its place, and then what speaks of it.

    What spoke of an older output is withdrawn first: whenever this is stopped, no file says of an
    output what holds for another.
    """
    for each in (output, *about):
        each.sync()
        refuse_existing(each.place, force=force)
    for each in about:
        withdraw(each.place)
    try:
        for each in (output, *about):
            each.put()
            sync_folder(each.place.parent)
    except BaseException:
        for each in (*about, output):
            each.take_back()
        raise


def withdraw(path: Path) -> None:
    """Remove what speaks of an output that is about to change, for good before it does."""
    if path.exists():
        path.unlink()
        sync_folder(path.parent)


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner can look into; one that is there becomes such a one."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    return Digest.of(path).sha256


def plain_json(text: bytes | str, *, once: bool = False) -> Any:
    """What a JSON text says, whoever wrote it; a ValueError for what no file of ours holds.

    That is what is not JSON in UTF-8, nesting that no code of ours would follow, a whole number
    that no float can hold, and half a surrogate pair, which could not be written again.

    Args:
        text: the JSON.
        once: no object may have a name twice: of the two, some readers take the first, and others
            the last.

    >>> plain_json('{"rows": [1, 2.5, null]}')
    {'rows': [1, 2.5, None]}
    """
    pairs = _each_once if once else None
    try:
        plain = text.decode("utf-8") if isinstance(text, bytes) else text
        value = json.loads(plain, object_pairs_hook=pairs)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level = [value]
    for _ in range(_DEEPEST):
        within: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                within += [*part, *part.values()]
            elif isinstance(part, list):
                within += part
            elif isinstance(part, str):
                part.encode("utf-8")  # half a pair is a UnicodeEncodeError, which is a ValueError
            elif isinstance(part, int) and abs(part) > _LARGEST:
                raise ValueError("a number is too large")
        level = [part for part in within if not isinstance(part, float)]
        if not level:
            return value
    raise ValueError("nested too deeply")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return values


def sealed_json(values: Mapping[str, Any]) -> str:
    """A JSON object with the SHA-256 of its entries among them."""
    return json.dumps({**values, "sha256": _json_sha256(values)})


def unsealed_json(text: str) -> dict[str, Any]:
    """What :func:`sealed_json` sealed; a ValueError if it was altered since."""
    values = plain_json(text)
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
