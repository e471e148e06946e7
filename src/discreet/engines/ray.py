"""Parts released by the tasks of a Ray cluster, or of a Ray that is started on this machine.

One that is started here lets nobody else in (:mod:`discreet.private_ray`). A cluster that asks for
no token runs whatever anybody sends it: start it where nobody else can reach it. A task that is
lost with its worker is run again by Ray, and finds the record of its part if there is one. Nothing
that was drawn passes through Ray's object store: tasks write files and give back a number.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from discreet.engines.addresses import refuse_silence
from discreet.engines.local import LOST, MOST_LOSSES
from discreet.engines.plan import Part
from discreet.engines.tasks import PartOutcome, run_task
from discreet.errors import NotFound, needs_extra
from discreet.parallel import WORKERS
from discreet.private_ray import private_ray
from discreet.release.tables import ROWS
from discreet.release.text import Sanitizer

with needs_extra("--engine ray", "ray"):
    import ray


class RayEngine:
    """Tasks of Ray, a core each.

    Args:
        address: of a cluster: ``auto``, ``HOST:6379`` or ``ray://HOST:10001``. Without it the Ray
            that this process has is used, or one is started.
        workers: how many tasks at the same time; as many as there are cores unless given.
    """

    name = "ray"

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._is_ours = not ray.is_initialized()
        self._started = _started(address, workers) if self._is_ours else ExitStack()
        resources: Any = ray.cluster_resources  # which has no types
        self.workers = workers or max(1, int(resources().get("CPU", 1)))

    def run(self, parts: Sequence[Part], work: str, folder: str) -> Iterator[PartOutcome]:
        """The outcomes, in the order they come; no more tasks wait than workers can begin."""
        task = ray.remote(num_cpus=1, max_retries=MOST_LOSSES - 1)(run_task)
        left = iter(parts)
        running: dict[Any, Part] = {}
        try:
            while True:
                while len(running) < 2 * self.workers and (part := next(left, None)) is not None:
                    running[task.remote(part, work, folder)] = part
                if not running:
                    return
                (done, *_), _ = ray.wait(list(running))
                part = running.pop(done)
                try:
                    yield ray.get(done)
                except ray.exceptions.RayError:
                    yield {"number": part.number, "error": LOST.format(count=MOST_LOSSES)}
        finally:
            for each in running:
                with suppress(Exception):
                    ray.cancel(each, force=True)

    def close(self) -> None:
        """Stop Ray if it was started here."""
        self._started.close()


def sanitize(dataset: Any, sanitizer: Sanitizer, *, text: str | Sequence[str] = "text") -> Any:
    """A Ray ``Dataset`` whose texts are sanitised when it is read; other columns stay as they are.

    WRITE IT AT ONCE, ONCE. A dataset of Ray is a plan: whoever reads it twice, or asks for its
    schema, its count or its first rows, draws anew each time, and the same text is then released
    more than once. ``sanitize(dataset, ...).write_parquet(folder)``, and read that folder from then
    on. A block that Ray computes again after a failure is drawn again, too, and may leave both
    draws in the folder. :func:`discreet.engines.sanitize_folder` has none of these traps.

    Args:
        dataset: a ``ray.data.Dataset``.
        sanitizer: of a space and a mechanism that are known by name.
        text: the column that holds the texts, or several.
    """

    def release(batch: Any) -> Any:
        return sanitizer.sanitize_batch(batch, text)

    return dataset.map_batches(release, batch_format="pyarrow", batch_size=ROWS)


def _started(address: str | None, workers: int | None) -> ExitStack:
    """A Ray of this machine, or the connection to a cluster; to be closed."""
    common: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with ExitStack() as started:
        if address is None:
            options = started.enter_context(private_ray())
            started.callback(ray.shutdown)
            ray.init(address="local", num_cpus=workers or WORKERS, **options)
            return started.pop_all()
        if address != "auto":
            rule = "--address of Ray must be auto, HOST:6379 or ray://HOST:10001, with the port"
            refuse_silence([address.removeprefix("ray://")], rule, _no_cluster(address))
        try:
            ray.init(address=address, **common)
        except (ConnectionError, ValueError, RuntimeError, OSError):
            raise _no_cluster(address) from None
        started.callback(ray.shutdown)
        return started.pop_all()


def _no_cluster(address: str) -> NotFound:
    return NotFound(
        f"there is no Ray cluster at {address}; start one with 'ray start --head', check the "
        "address, or leave --address out to use this machine"
    )
