"""Two cores are better than one: run array work in a few threads (NumPy releases the lock).

While threads of ours are at work, the matrix library is held to one thread each: otherwise its own
threads and ours fight for the same cores.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")

WORKERS = max(1, min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2))


def use_threads(count: int) -> None:
    """Use so many threads from now on, where several processes share the cores."""
    global WORKERS
    WORKERS = max(1, count)


def in_threads(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """``[function(item) for item in items]`` with a thread per core, in order."""
    return list(ahead(function, items)) if len(items) > 1 else [function(x) for x in items]


def in_single_threads(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """As :func:`in_threads`, with products of one thread each also where there is one item.

    How a product is shared out among threads shows in its last bits. Here it never is, so that the
    result of an item does not depend on how many others there are.
    """
    with _one_thread_per_product():
        return list(ahead(function, items))


def ahead(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """``map(function, items)`` with a thread per core; a few results are computed in advance.

    What is waiting to be taken is bounded, so results may be large.
    """
    left = iter(items)
    first = list(islice(left, 2))
    if len(first) < 2 or WORKERS < 2:
        yield from map(function, first)
        yield from map(function, left)
        return
    with _one_thread_per_product(), ThreadPoolExecutor(WORKERS) as pool:
        waiting: deque[Future[R]] = deque(pool.submit(function, item) for item in first)
        waiting.extend(pool.submit(function, item) for item in islice(left, WORKERS - 1))
        try:
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(pool.submit(function, item) for item in islice(left, 1))
                yield result
        finally:
            for each in waiting:
                each.cancel()


def _one_thread_per_product() -> Any:
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    import numpy  # noqa: F401 - its matrix library must be loaded before it can be found

    return ThreadpoolController()
