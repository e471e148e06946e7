"""Processes of this machine: a thread of ours looks after each of them, and starts it again.

A worker is a fresh Python process that reads tasks from its standard input and writes outcomes to
its standard output, a line of JSON each. It ends when the other end of its input does: nothing of a
driver that was killed goes on drawing.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.engines.plan import Part
from discreet.engines.tasks import PartOutcome, run_task
from discreet.parallel import WORKERS

MOST_LOSSES = 5
"""A part whose worker is lost so often is given up: most likely it does not fit into memory."""
LOST = (
    "the worker of a part was lost {count} times, for lack of memory perhaps; use fewer --workers, "
    "or smaller row groups, and run the same command again"
)


class LocalEngine:
    """A pool of processes.

    Args:
        workers: how many; as many as there are cores unless given.
    """

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or WORKERS
        self._running: list[subprocess.Popen[str]] = []
        self._stopped = threading.Event()

    def run(self, parts: Sequence[Part], work: str, folder: str) -> Iterator[PartOutcome]:
        """The outcomes, in the order they come."""
        waiting: queue.SimpleQueue[Part] = queue.SimpleQueue()
        for part in parts:
            waiting.put(part)
        outcomes: queue.SimpleQueue[PartOutcome] = queue.SimpleQueue()
        first = json.dumps({"work": work, "folder": folder})
        threads = [
            threading.Thread(target=self._look_after, args=(first, waiting, outcomes), daemon=True)
            for _ in range(min(self.workers, len(parts)))
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in parts:
                yield outcomes.get()
        finally:
            self.close()

    def close(self) -> None:
        """End the workers."""
        self._stopped.set()
        for process in list(self._running):
            process.kill()

    def _look_after(
        self,
        first: str,
        waiting: "queue.SimpleQueue[Part]",
        outcomes: "queue.SimpleQueue[PartOutcome]",
    ) -> None:
        """Keep one worker busy; a part that was lost with it is done by the next."""
        process = None
        while not self._stopped.is_set():
            try:
                part = waiting.get_nowait()
            except queue.Empty:
                break
            outcome, losses = None, 0
            while outcome is None and losses < MOST_LOSSES and not self._stopped.is_set():
                process = process or self._started(first)
                if (outcome := _asked(process, part)) is None:
                    losses += 1
                    self._end(process)
                    process = None
            lost = {"number": part.number, "error": LOST.format(count=losses)}
            outcomes.put(lost if outcome is None else outcome)
        if process is not None:
            self._end(process)

    def _started(self, first: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self._running.append(process)
        if self._stopped.is_set():  # while it was started
            process.kill()
        _say(process, first)
        return process

    def _end(self, process: "subprocess.Popen[str]") -> None:
        with contextlib.suppress(OSError):
            process.communicate(timeout=10)
        process.kill()
        process.wait()
        with contextlib.suppress(ValueError):
            self._running.remove(process)


def _asked(process: "subprocess.Popen[str]", part: Part) -> PartOutcome | None:
    """The outcome of a part; None if the worker was lost over it."""
    _say(process, json.dumps(part.to_dict()))
    try:
        line = process.stdout.readline() if process.stdout else ""
        outcome: PartOutcome = json.loads(line)
    except (OSError, ValueError):
        return None
    return outcome


def _say(process: "subprocess.Popen[str]", line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # a worker that is gone shows when it is asked
        if process.stdin:
            process.stdin.write(line + "\n")
            process.stdin.flush()


def work_on_lines() -> None:
    """Do what standard input asks for, until it ends."""
    # Only outcomes may go to standard output, whatever a library prints.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read_on, args=(asked,), daemon=True).start()
    about = asked.get()
    while True:
        part = Part.from_dict(asked.get())
        outcome = run_task(part, about["work"], about["folder"])
        print(json.dumps(outcome), file=answers, flush=True)


def _read_on(asked: "queue.SimpleQueue[Any]") -> None:
    for line in sys.stdin:
        asked.put(json.loads(line))
    os._exit(0)  # the driver is done, or gone: whatever is under way is nobody's any more


if __name__ == "__main__":
    work_on_lines()
