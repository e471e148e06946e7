"""Micro-batches: while one batch is being released, the next one gathers.

Batches are released one after the other. Whatever waits with the same settings goes into one call,
which costs little more than one text does. A request is checked before it comes here.

A batch that will take a few milliseconds is released in the event loop itself: beside a thread that
computes, every answer that the loop writes would wait for Python's lock. Whatever takes longer, and
the ledger, which waits for a disk or a network, has a thread.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from discreet.errors import DiscreetError
from discreet.service.problems import Problem, busy
from discreet.service.releasing import Job, JobRelease, TextReleaser

T = TypeVar("T")
_MOST_DOCUMENTS = 4096
_SHORT = 0.01
"""Seconds for which the event loop may be kept from its other work."""


Charge = Callable[
    [TextReleaser, Sequence[Job], Sequence[JobRelease]], Sequence[DiscreetError | None]
]
_Waiting = tuple[Job, "asyncio.Future[JobRelease]"]


class Batcher:
    """A queue for each releaser, and the one thread that serves them in turn.

    Args:
        most_waiting: requests that may wait; one more is told to come back.
        seconds: that a request may wait and be released in.
        charge: books what was released; what it refuses is not handed out. None without a ledger.
        seen: called with the number of requests in each batch.
    """

    def __init__(
        self, most_waiting: int, seconds: float, charge: Charge | None, seen: Callable[[int], None]
    ) -> None:
        self._most, self._seconds, self._charge, self._seen = most_waiting, seconds, charge, seen
        self._queues: dict[TextReleaser, list[_Waiting]] = {}
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "discreet-release")
        self._task: asyncio.Task[None] | None = None
        # What a request chose is let go of when others were chosen since, and not held by its time.
        self._took: WeakKeyDictionary[TextReleaser, tuple[float, int]] = WeakKeyDictionary()
        self.waiting = 0

    def start(self) -> None:
        """Begin to serve; in the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._serve())

    async def stop(self) -> None:
        """End when nothing waits any more."""
        while self.waiting:
            await asyncio.sleep(0.01)
        if self._task is not None:
            self._task.cancel()
        self._thread.shutdown()

    async def release(self, releaser: TextReleaser, job: Job) -> JobRelease:
        """Wait for a place in a batch, and for what it releases."""
        if self.waiting >= self._most:
            raise busy("too many requests are waiting; nothing was released, come back later")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[JobRelease] = loop.create_future()
        self._queues.setdefault(releaser, []).append((job, future))
        self.waiting += 1
        self._wake.set()
        late = loop.call_later(self._seconds, _give_up, future)
        try:
            return await future
        finally:
            late.cancel()
            self.waiting -= 1

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do something else in the one thread, in its turn."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _serve(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queues:
                releaser = next(iter(self._queues))
                batch = self._taken(releaser)
                if not batch:
                    continue
                self._seen(len(batch))
                jobs = [job for job, _ in batch]
                outcomes = await self._booked(releaser, jobs, await self._drawn(releaser, jobs))
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    if future.done():
                        continue  # nobody waits for it any more
                    if isinstance(outcome, Exception):
                        future.set_exception(outcome)
                    else:
                        future.set_result(outcome)

    async def _drawn(
        self, releaser: TextReleaser, jobs: Sequence[Job]
    ) -> list[JobRelease | Exception]:
        """Draw here if the last batch tells that it takes no time, else in the thread."""
        size = 1 + sum(len(text) for job in jobs for text in job.texts)
        took, of = self._took.get(releaser, (_SHORT, 1))
        if took * max(1.0, size / of) < _SHORT:
            drawn, seconds = _timed(releaser, jobs)
        else:
            loop = asyncio.get_running_loop()
            drawn, seconds = await loop.run_in_executor(self._thread, _timed, releaser, jobs)
        self._took[releaser] = (seconds, size)
        return drawn

    async def _booked(
        self, releaser: TextReleaser, jobs: Sequence[Job], drawn: list[JobRelease | Exception]
    ) -> list[JobRelease | Exception]:
        """What was drawn and paid for; one request's text cannot spoil another's answer."""
        good = {n: each for n, each in enumerate(drawn) if isinstance(each, JobRelease)}
        if self._charge is None or not good:
            return drawn
        paying = partial(self._charge, releaser, [jobs[n] for n in good], [*good.values()])
        refused: Sequence[Exception | None]
        try:
            refused = await self.in_thread(paying)
        except Exception as error:
            refused = [error] * len(good)
        paid = {n: no or good[n] for n, no in zip(good, refused, strict=True)}
        return [paid.get(n, each) for n, each in enumerate(drawn)]

    def _taken(self, releaser: TextReleaser) -> list[_Waiting]:
        """What goes into the next batch; the rest goes to the end of the line."""
        queue, taken, documents = self._queues.pop(releaser), list[_Waiting](), 0
        while queue and (not taken or documents + len(queue[0][0].texts) <= _MOST_DOCUMENTS):
            job, future = queue.pop(0)
            if not future.done():
                taken.append((job, future))
                documents += len(job.texts)
        if queue:
            self._queues[releaser] = queue
        return taken


def _give_up(future: "asyncio.Future[JobRelease]") -> None:
    if not future.done():
        future.set_exception(
            Problem(504, "the release took too long and was thrown away; send less text at once")
        )


def _timed(
    releaser: TextReleaser, jobs: Sequence[Job]
) -> tuple[list[JobRelease | Exception], float]:
    """What was drawn, and the processor's seconds: how busy the machine is decides nothing."""
    began = time.thread_time()
    return _drawn(releaser, jobs), time.thread_time() - began


def _drawn(releaser: TextReleaser, jobs: Sequence[Job]) -> list[JobRelease | Exception]:
    try:
        return list(releaser.release(jobs))
    except Exception as error:  # told by its kind alone
        if len(jobs) == 1:
            return [error]
    # What was drawn in the failed call was seen by nobody.
    return [_drawn(releaser, [job])[0] for job in jobs]
