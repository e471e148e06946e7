"""What is there whenever a process is killed: its files at each of its file-system calls in turn.

A call is anything that opens, renames, removes, makes or changes the mode of a file, writes through
the ``os`` module or waits for the disk. A child process does the work once and copies the folder
before each of them. That is what ``kill -9`` would leave there: what is still in the memory of the
process is not copied, no handler runs, and nobody holds a lock of a copy.
"""

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"}
FAILED = 78


def crashes(folder: Path, work: Callable[[Path], object]) -> Iterator[tuple[int, Path]]:
    """For each call that ``work`` makes on a copy of ``folder``: its number, and what is left.

    The last one is what is there when nothing stops it. All are found in the same place.
    """
    place = folder.with_name(f"{folder.name}-killed")
    states = folder.with_name(f"{folder.name}-states")
    shutil.copytree(folder, place)
    states.mkdir()
    assert _worked(place, states, work) == 0, "the work itself failed"
    place.rename(states / str(len(list(states.iterdir())) + 1))
    for number in range(1, len(list(states.iterdir())) + 1):
        (states / str(number)).rename(place)
        yield number, place
        shutil.rmtree(place)
    states.rmdir()


def _pipes(folder: str, names: list[str]) -> list[str]:
    """What has nothing on the disk."""
    return [name for name in names if Path(folder, name).is_fifo()]


def _worked(place: Path, states: Path, work: Callable[[Path], object]) -> int:
    """Work in a child that copies the place before each of its calls there; how it ended."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of threads, which the child leaves alone
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        number, copying = 0, False

        def copy() -> None:
            nonlocal number, copying
            if not copying:
                copying, number = True, number + 1
                shutil.copytree(place, states / str(number), symlinks=True, ignore=_pipes)
                copying = False

        def copied(call: Callable[..., object]) -> Callable[..., object]:
            def copying_first(*arguments: object) -> object:
                copy()
                return call(*arguments)

            return copying_first

        os.fsync, os.write = copied(os.fsync), copied(os.write)

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            # What is imported meanwhile is no part of the work.
            if event in EVENTS and str(arguments[0]).startswith(str(place)):
                copy()

        sys.addaudithook(hook)
        work(place)
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(FAILED)
