"""New files and folders beside the places they will take: private, locked, and removed if left.

A process holds a lock on whatever it is writing. What a process that was killed has left behind is
no longer locked, and goes away with the next output for the same place.
"""

import contextlib
import hashlib
import io
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PRIVATE = 0o600
"""The mode of what holds protected text, or what only the keeper of a run may know."""
ANYONE = 0o666
"""The mode of anything else, within what the user's mask allows."""
_PARTIAL, _OLD = ".partial", ".old"


@dataclass(frozen=True)
class Digest:
    """The content of a file, told in a line: two files of one digest are the same."""

    sha256: str
    bytes: int

    @classmethod
    def of(cls, path: Path) -> "Digest":
        """Of a file as it is now."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return cls(digest.hexdigest(), file.tell())


class _Hashed(io.FileIO):
    """A file that is written from its beginning to its end, and its SHA-256 with it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w")
        self.sha256 = hashlib.sha256()
        self.size = 0

    def write(self, data: Any, /) -> int:
        written = super().write(data)
        self.sha256.update(memoryview(data)[:written])
        self.size += written
        return written


class Staged:
    """A new file beside its place, for nobody else to read before it is :meth:`put` there.

    Args:
        place: where the file will be.
        mode: who may read it then, within what the user's mask allows.
    """

    def __init__(self, place: Path, *, mode: int = ANYONE) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(place)
        self.place, self._mode = place, mode
        self._written: _Hashed | None = None
        self._is_put = False

        def make(path: Path) -> int:
            return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE)

        self.path, self._lock = _locked_new(place, make)

    def open(self) -> io.BufferedWriter:
        """The file to write, from its beginning to its end."""
        self._written = _Hashed(self.path)
        return io.BufferedWriter(self._written)

    @property
    def digest(self) -> Digest:
        """Of what was written and flushed."""
        if self._written is None:  # by a library, which knows the path only
            return Digest.of(self.path)
        return Digest(self._written.sha256.hexdigest(), self._written.size)

    def sync(self) -> None:
        """Wait until the content has reached the disk."""
        os.fsync(self._lock)

    def put(self) -> None:
        """Take the place."""
        if os.name != "posix":  # there, an open file cannot be moved
            self._unlock()
        os.replace(self.path, self.place)
        self._is_put = True
        allow(self.place, self._mode)

    def claim(self) -> bool:
        """Take the place if nobody has; of several that try, exactly one succeeds.

        The file system must know hard links.
        """
        try:
            os.link(self.path, self.place)
        except FileExistsError:
            return False
        self.path.unlink()
        self._is_put = True
        allow(self.place, self._mode)
        return True

    def take_back(self) -> None:
        """Leave the place again; nothing happens before :meth:`put`."""
        if self._is_put:
            self.place.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the file if it has not taken its place."""
        if not self._is_put:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


@contextlib.contextmanager
def folder_written_whole(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder`` that takes its place only if the block succeeds."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)

    def make(path: Path) -> int:
        path.mkdir(mode=0o700)
        return _opened(path)

    new, lock = _locked_new(folder, make)
    old, old_lock = new.with_suffix(_OLD), -1
    try:
        yield new
        if folder.exists():
            old_lock = _opened(folder)
            _wait_for_lock(old_lock)
            os.replace(folder, old)
        os.replace(new, folder)
        allow(folder, 0o777)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        if old.exists() and not folder.exists():
            os.replace(old, folder)
        raise
    finally:
        for descriptor in (lock, old_lock):
            if descriptor >= 0:
                os.close(descriptor)
    shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Hold a folder for the length of the block; False if another process does.

    Where there are no locks (not on POSIX) it is always ours.
    """
    descriptor = _opened(folder)
    try:
        yield descriptor < 0 or _take_lock(descriptor)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def remove_leftovers(place: Path) -> None:
    """Remove what killed processes have left beside a place.

    An old folder whose place nothing has taken comes back.
    """
    ours = re.compile(rf"\.{re.escape(place.name)}\.[0-9a-f]{{16}}(\{_PARTIAL}|\{_OLD})")
    if os.name != "posix":
        return  # there are no locks to tell by
    try:
        leftovers = [each for each in place.parent.iterdir() if ours.fullmatch(each.name)]
    except OSError:
        return  # a folder that can be written but not listed
    for path in leftovers:
        with contextlib.suppress(OSError):
            if not path.is_symlink() and path.stat().st_uid == os.getuid():
                _remove_if_unlocked(path, place)


def _remove_if_unlocked(path: Path, place: Path) -> None:
    lock = _opened(path)
    try:
        if not _take_lock(lock):
            return  # of a process that lives
        if path.suffix == _OLD and not place.exists():
            os.replace(path, place)
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    finally:
        os.close(lock)


def sync_folder(folder: Path) -> None:
    """Make a change of names last through a loss of power, where folders can be synced."""
    if os.name == "posix":
        descriptor = _opened(folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _locked_new(place: Path, make: Callable[[Path], int]) -> tuple[Path, int]:
    """A name beside a place, made and locked; another one if it was taken for a leftover."""
    while True:
        path = place.with_name(f".{place.name}.{secrets.token_hex(8)}{_PARTIAL}")
        lock = make(path)
        _wait_for_lock(lock)
        if path.exists():
            return path, lock
        if lock >= 0:
            os.close(lock)


def _opened(path: Path) -> int:
    # Elsewhere a folder cannot be opened, and there is no lock to hold by it.
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK) if os.name == "posix" else -1


def _take_lock(descriptor: int) -> bool:
    """Whether the lock is ours now; never where there are no locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _wait_for_lock(descriptor: int) -> None:
    # Nobody holds it for longer than it takes to remove a file. Without locks nothing is removed.
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def allow(path: Path, mode: int) -> None:
    """Let others see what is in its place, as far as the user's mask allows."""
    mask = os.umask(0o077)  # it can only be read by setting it: for the moment to the strictest
    os.umask(mask)
    os.chmod(path, mode & ~mask)
