"""Parts released by the tasks of Spark, a part each; and a data frame through ``mapInArrow``.

Spark runs a task again when its executor is lost, when it seems slow, and whenever a result is
asked for that it no longer has. A part's task finds the record of its part if there is one, and
what was drawn never passes through Spark: tasks write files and give back a number.
"""

import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import pyarrow as pa

from discreet.engines.addresses import refuse_silence
from discreet.engines.local import LOST, MOST_LOSSES
from discreet.engines.plan import Part
from discreet.engines.tasks import PartOutcome, run_task
from discreet.errors import NotFound, needs_extra
from discreet.parallel import WORKERS
from discreet.release.tables import ROWS
from discreet.release.text import Sanitizer

with needs_extra("--engine spark", "spark"):
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_STANDALONE = "spark://"
_LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java only hands out tasks here, and compiling it well would take longer than it saves."""
_JOBS_AT_ONCE = 3
"""A job has a task for each worker; while its last ones run, others begin those of the next."""


class SparkEngine:
    """Tasks of Spark, a core each.

    Args:
        address: the master: ``local[N]``, ``spark://HOST:7077``, ``yarn``. Without it the session
            of this process is used, or one is started on this machine.
        workers: how many tasks at the same time; as many as Spark has cores unless given.
    """

    name = "spark"

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        running = SparkSession.getActiveSession()
        self._is_ours = running is None
        self._session = running or _started(address, workers)
        self.workers = workers or self._session.sparkContext.defaultParallelism

    def run(self, parts: Sequence[Part], work: str, folder: str) -> Iterator[PartOutcome]:
        """The outcomes, in the order they come; jobs overlap, so that no core waits for another."""
        context = self._session.sparkContext
        group = f"discreet {secrets.token_hex(8)}"

        def released(part: str) -> PartOutcome:
            return run_task(Part.from_dict(json.loads(part)), work, folder)

        def job(some: Sequence[str]) -> list[PartOutcome]:
            context.setJobGroup(group, "parts of a folder", interruptOnCancel=True)
            try:
                outcomes: list[PartOutcome] = (
                    context.parallelize(some, len(some)).map(released).collect()
                )
                return outcomes
            except Exception as error:
                # Not in its own words: Spark's are pages long.
                lost = type(error).__name__.startswith("Py4J")
                reason = LOST.format(count=MOST_LOSSES) if lost else type(error).__name__
                return [{"number": -1, "error": f"Spark gave up: {reason}"}]

        told = [json.dumps(part.to_dict()) for part in parts]
        jobs = [told[first : first + self.workers] for first in range(0, len(told), self.workers)]
        with ThreadPoolExecutor(_JOBS_AT_ONCE) as pool:
            running = [pool.submit(job, some) for some in jobs]
            try:
                for done in as_completed(running):
                    yield from done.result()
            finally:
                for each in running:
                    each.cancel()
                context.cancelJobGroup(group)

    def close(self) -> None:
        """Stop Spark if it was started here."""
        if self._is_ours:
            self._session.stop()


def sanitize(df: Any, sanitizer: Sanitizer, *, text: str | Sequence[str] = "text") -> Any:
    """A Spark ``DataFrame`` whose texts are sanitised when it is computed; other columns stay.

    WRITE IT AT ONCE, ONCE. A data frame of Spark is a plan: every action on it (``show``,
    ``count``, ``write``) draws anew, so the same text is then released more than once. Do
    ``sanitize(df, ...).write.parquet(folder)`` and read that folder from then on; neither cache it,
    from which Spark drops what it can compute again, nor turn on speculation.
    :func:`discreet.engines.sanitize_folder` with ``--engine spark`` has none of these traps.

    Args:
        df: a ``pyspark.sql.DataFrame``.
        sanitizer: of a space and a mechanism that are known by name.
        text: the column that holds the texts, or several.
    """

    def release(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _gathered(batches):
            yield from sanitizer.sanitize_batch(table, text).to_batches()

    return df.mapInArrow(release, _bare(df.schema))


def _bare(schema: StructType) -> StructType:
    """The columns without the comments on them, which Spark would write into its files."""

    def without(values: dict[str, Any]) -> dict[str, Any]:
        return values | ({"metadata": {}} if "metadata" in values else {})

    return StructType.fromJson(json.loads(schema.json(), object_hook=without))


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Spark hands over 10,000 rows at a time; more at once cost less."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _started(address: str | None, workers: int | None) -> SparkSession:
    if address is not None and address.startswith(_STANDALONE):
        # Several masters may stand by for each other.
        masters = address.removeprefix(_STANDALONE).split(",")
        rule = "--address of Spark must have a port, as in spark://HOST:7077"
        refuse_silence(masters, rule, _no_spark(address, "nobody answers"))
    java = os.environ.get("JAVA_HOME")
    program = shutil.which("java") if java is None else shutil.which("java", path=f"{java}/bin")
    if program is None:
        raise NotFound(
            "Spark needs Java 17 or newer, and there is none: install it (on Debian: apt-get "
            "install openjdk-17-jre-headless), or say where it is in JAVA_HOME"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.speculation": "false",
        "spark.task.maxFailures": str(MOST_LOSSES),
    }
    if address is None:
        address = f"local[{workers or WORKERS},{MOST_LOSSES}]"
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.authenticate": "true",  # by a secret of its own: others may be on this machine
            "spark.driver.extraJavaOptions": _LIGHT,
        }
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        session: SparkSession = builder.master(address).appName("discreet").getOrCreate()
    except Exception as error:
        raise _no_spark(address, type(error).__name__) from None
    return session


def _no_spark(address: str, why: str) -> NotFound:
    return NotFound(
        f"there is no Spark at {address} ({why}); check the address, or leave --address out to use "
        "this machine"
    )
