"""Parts of a comparison: results that are done stay done, and several are made at a time.

A folder holds a JSON file for each finished part, named by what was measured and by a digest of
everything that the figures depend on: a run that was stopped goes on where it left off. Whatever
was made with other settings is not taken over.

Parts are made by processes that share what was made before. A process is a copy of this one, so
that nothing is read or learnt twice. It writes each part that it finishes into the folder, as a run
in one process does; only the name of the part comes back.
"""

import hashlib
import json
import multiprocessing
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any

from threadpoolctl import threadpool_limits

from discreet import __version__, parallel
from discreet.devices import CPU, find_device
from discreet.errors import DiscreetError, InputError
from discreet.files import plain_json, written_whole
from discreet.staging import PRIVATE

MOST = 4
"""Processes unless more are asked for: each needs memory for a language model."""

_LOOKS = 0.5  # seconds between looks whether the run is still there


@dataclass(frozen=True)
class Parts:
    """Finished parts of a run.

    Args:
        folder: Where they are kept. They may quote the texts: nobody else may read them.
        settings: Everything that the figures depend on, ready for JSON.
    """

    folder: Path
    settings: Mapping[str, Any]

    def path(self, name: str) -> Path:
        """Where a part is kept."""
        plain = re.sub(r"[^a-zA-Z0-9.]+", "-", name).strip("-")[:80]
        told = {"version": __version__, "name": name, **self.settings}
        digest = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
        return self.folder / f"{plain}-{digest[:12]}.json"

    def has(self, name: str) -> bool:
        """Whether it is done."""
        return self.path(name).is_file()

    def get(self, name: str, compute: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """The part, computed unless it was before."""
        path = self.path(name)
        if not path.is_file():
            result = compute()
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path, mode=PRIVATE) as temporary:
                temporary.write_text(json.dumps(result), "utf-8")
        try:
            values = plain_json(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path} is damaged; delete it and run again") from error
        if not isinstance(values, dict):
            raise InputError(f"{path} is damaged; delete it and run again")
        return values


Job = tuple[str, Parts, Callable[[], Mapping[str, Any]]]
"""A part: its name, where it is kept, and what computes it."""
_jobs: Sequence[Job] = ()


def usual_workers() -> int:
    """As many as there are cores, up to a few; one where a process cannot be copied."""
    return min(parallel.WORKERS, MOST) if _can_copy() else 1


def finished(
    jobs: Sequence[Job], workers: int = 1, prepare: Iterable[Callable[[], None]] = ()
) -> Iterator[tuple[str, bool]]:
    """Do what is not done yet; the name of each part when it is, and whether it was before.

    Args:
        jobs: What to do, in this order.
        workers: How many at a time.
        prepare: Each makes what all of them share; called if several are to work.
    """
    left = []
    for number, (name, parts, _) in enumerate(jobs):
        if parts.has(name):
            yield name, True
        else:
            left.append(number)
    if min(workers, len(left)) < 2 or not _can_copy():
        for number in left:
            yield _do(jobs[number]), False
        return
    with _single_threads():
        for make in prepare:
            make()
        yield from ((name, False) for name in _in_processes(jobs, left, workers))


def _in_processes(jobs: Sequence[Job], left: Sequence[int], workers: int) -> Iterator[str]:
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(workers, len(left)),
        mp_context=multiprocessing.get_context("fork"),
        initializer=_begin,
        initargs=(jobs, os.getpid()),  # a copied process has them: nothing is sent
    )
    try:
        with warnings.catch_warnings():
            # Newer Pythons warn of copies beside threads; ours have ended at this point.
            warnings.simplefilter("ignore", DeprecationWarning)
            waiting = [pool.submit(_numbered, number) for number in left]
        for done in as_completed(waiting):
            yield done.result()
    except BrokenProcessPool:
        raise DiscreetError(
            "a process that measured was lost, for lack of memory perhaps; run the same command "
            "again with --workers 1: it goes on where this one stopped"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.kill()  # a run that was stopped waits for none


def _can_copy() -> bool:
    """Whether a process may be copied: neither libraries of macOS nor other devices survive it."""
    return sys.platform == "linux" and find_device() == CPU


@contextmanager
def _single_threads() -> Iterator[None]:
    """One thread for everything, from now on: threads are not copied with a process."""
    before = parallel.WORKERS
    parallel.use_threads(1)
    set_threads: Callable[[int], None] | None = None
    threads = 1
    with suppress(ImportError):
        import torch

        threads, set_threads = torch.get_num_threads(), torch.set_num_threads
        set_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        parallel.use_threads(before)
        if set_threads is not None:
            set_threads(threads)


def _begin(jobs: Sequence[Job], parent: int) -> None:
    global _jobs
    _jobs = jobs
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """A process whose run was killed would wait for more work for ever."""
    while os.getppid() == parent:
        sleep(_LOOKS)
    os._exit(1)


def _numbered(number: int) -> str:
    return _do(_jobs[number])


def _do(job: Job) -> str:
    name, parts, compute = job
    parts.get(name, compute)
    return name
