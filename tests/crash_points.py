"""Kill a process at each of its file-system calls in turn, and look at what is there afterwards.

A call is anything that opens, renames, removes, makes or changes the mode of a file, writes through
the ``os`` module or waits for the disk. A child process ends at the k-th of them, before it is
made, as ``kill -9`` would end it: no handler runs, nothing is flushed.
"""

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}
KILLED, FAILED = 77, 78
MOST = 2_000


def crashes(folder: Path, work: Callable[[Path], object]) -> Iterator[tuple[int, Path]]:
    """For each call that ``work`` makes on a copy of ``folder``: its number, and what is left.

    The last one is what is there when nothing stops it.
    """
    for number in range(1, MOST):
        place = folder.with_name(f"{folder.name}-{number}")
        shutil.copytree(folder, place)
        ended = _killed_at(number, place, work)
        assert ended in (0, KILLED), f"the work itself failed at call {number}"
        yield number, place
        shutil.rmtree(place)
        if ended == 0:
            return
    raise AssertionError("the work does not end")


def _killed_at(number: int, place: Path, work: Callable[[Path], object]) -> int:
    """Run in a child that ends at its call of this number, in this place; how it ended."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of threads, which the child leaves alone
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        left = number

        def count() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os._exit(KILLED)

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def counting(*arguments: object) -> object:
                count()
                return call(*arguments)

            return counting

        os.fsync, os.write = counted(os.fsync), counted(os.write)

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            # What is imported meanwhile is no part of the work.
            if event in EVENTS and str(arguments[0]).startswith(str(place)):
                count()

        sys.addaudithook(hook)
        work(place)
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(FAILED)
