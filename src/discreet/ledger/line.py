"""The line of processes that write to one file; whoever is at its head writes for those behind.

SQLite has no line: whoever finds the file taken looks again after a while. Here a lock makes the
line. Who does not get it says in a pipe what is to be written, so that the head can do that in its
own transaction.

Nothing in here decides what is booked; the database does:

- A request that is lost, or that the head passes over, is written by its own process when its turn
  comes. That process first looks into the database whether it is there.
- An answer says that the transaction is in the file. Everybody, the head and those it served, then
  waits for the disk before a reservation is handed out.
- A process that dies loses its place: the system frees its lock. Those behind are woken when
  somebody leaves, and look by themselves twenty times a second. What a dead process had asked for
  may be booked; it counts as spent.
"""

import contextlib
import os
import select
import time
from collections.abc import Iterable
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LONGEST = 4096
"""Of a request, in bytes: what a pipe takes whole (PIPE_BUF)."""
_ANSWERS = 4096
_LOOK_AGAIN = 0.05
_PRIVATE = 0o600


class NoLine:
    """Nobody waits here, as where the database sees to it."""

    said = False
    """Whether others know what this process asked for last."""

    def reach_head(self, request: bytes | None, mark: bytes, seconds: float) -> bool:  # noqa: ARG002
        """Wait until this process is at the head, or until somebody ahead has done what it asked.

        Args:
            request: What others may do; None if nobody else can.
            mark: By which its answer is known.
            seconds: To wait at most.

        Returns:
            whether it is at the head, and must leave.

        Raises:
            TimeoutError: Those ahead stayed for too long.
        """
        return True

    def requests(self) -> bytes:
        """What those behind want done, one after the other; for the head only."""
        return b""

    def answer(self, marks: Iterable[bytes]) -> None:
        """Tell those behind what is done; for the head only."""

    def leave(self) -> None:
        """Make room for the next."""

    def close(self) -> None:
        """Let go of it."""


def line_at(folder: Path) -> NoLine:
    """A line in a folder; none where the system or the folder allows none."""
    if fcntl is not None and hasattr(select, "epoll"):
        for _ in range(3):  # somebody may tidy up just now
            with contextlib.suppress(OSError):
                return Line(folder)
    return NoLine()


class Line(NoLine):
    """A place in a line.

    Args:
        folder: Of the line; made where there is none, for its owner only.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._process = folder, os.getpid()
        self._open: list[int] = []
        flags = os.O_RDWR | os.O_CLOEXEC
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            place = self._opened(folder, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(place, fcntl.LOCK_SH)  # as long as anybody is here, nobody tidies up
            if not os.path.samestat(os.fstat(place), os.stat(folder)):
                raise FileNotFoundError
            for name in ("asked", "bell"):
                with contextlib.suppress(FileExistsError):
                    os.mkfifo(folder / name, _PRIVATE)
            self._head = self._opened(folder / "head", flags | os.O_CREAT)
            self._asked = self._opened(folder / "asked", flags | os.O_NONBLOCK)
            self._bell = self._opened(folder / "bell", flags | os.O_NONBLOCK)
            self._rings = select.epoll()
            self._rings.register(self._bell, select.EPOLLIN | select.EPOLLET)
        except BaseException:
            self._let_go()
            raise

    def _opened(self, path: Path, flags: int) -> int:
        self._open.append(os.open(path, flags, _PRIVATE))
        return self._open[-1]

    def _let_go(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def close(self) -> None:
        """Let go of it; who is the last tidies up."""
        if not self._open:
            return
        if self._process == os.getpid():  # what a child process has is its parent's
            with contextlib.suppress(OSError):
                fcntl.flock(self._open[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
                for name in ("asked", "bell", "head"):
                    (self._folder / name).unlink(missing_ok=True)
                self._folder.rmdir()
        self._rings.close()
        self._let_go()

    def reach_head(self, request: bytes | None, mark: bytes, seconds: float) -> bool:
        """Wait, with what is to be done said to those ahead."""
        self.said = False
        if self._is_free():
            return True
        self.said = request is not None and self._say(request)
        end = time.monotonic() + seconds
        while True:
            self._rings.poll(min(_LOOK_AGAIN, seconds))
            if self.said and mark in os.pread(self._head, _ANSWERS, 0):
                return False
            if self._is_free():
                return True
            if time.monotonic() > end:
                raise TimeoutError

    def _is_free(self) -> bool:
        try:
            fcntl.flock(self._head, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _say(self, request: bytes) -> bool:
        try:
            return len(request) <= LONGEST and os.write(self._asked, request) > 0
        except BlockingIOError:  # full
            return False

    def requests(self) -> bytes:
        """What those behind want done, one after the other; for the head only."""
        try:
            return os.read(self._asked, 1 << 16)
        except BlockingIOError:
            return b""

    def answer(self, marks: Iterable[bytes]) -> None:
        """Tell those behind what is done; for the head only."""
        told = b"".join(marks) + os.pread(self._head, _ANSWERS, 0)
        os.pwrite(self._head, told[:_ANSWERS], 0)

    def leave(self) -> None:
        """Make room, and ring."""
        fcntl.flock(self._head, fcntl.LOCK_UN)
        with contextlib.suppress(BlockingIOError):
            os.read(self._bell, LONGEST)  # a bell that was rung before would not ring
        with contextlib.suppress(BlockingIOError):
            os.write(self._bell, b"\0")
