"""A task as an engine sees it: two texts go in, one plain object comes out, and nothing is raised.

Engines write what a task raises into their logs, and run it again. An error of ours is therefore an
outcome: it is not logged, it is not tried again, and its words repeat nothing of the texts.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from discreet.engines.noise import RunKey
from discreet.engines.plan import Part
from discreet.engines.row_prints import RowKey, RowPrints
from discreet.engines.work import work_from
from discreet.errors import DiscreetError, kind_and_place
from discreet.parallel import use_threads

PartOutcome = dict[str, Any]
"""The number of the part, and what went wrong if anything did."""


class Engine(Protocol):
    """Runs a task for each part, wherever it likes."""

    name: str
    workers: int
    """How many parts it releases at the same time."""

    def run(self, parts: Sequence[Part], work: str, folder: str) -> Iterator[PartOutcome]:
        """The outcome of :func:`run_task` for each part, in any order.

        A task that is lost with its worker is run again, a few times.
        """
        ...

    def close(self) -> None:
        """Stop what was started for it."""
        ...


def target_of(folder: str | Path, part: Part) -> Path:
    """Where a part is written: in a folder of its own, where nothing else has to be looked through.

    As long as not all parts are there, that is.
    """
    return Path(folder, f"{part.number:06d}", part.name)


def run_task(part: Part, work: str, folder: str) -> PartOutcome:
    """Release one part with what ``work`` describes; public data is loaded once in each process."""
    use_threads(1)  # there is a task for every core
    try:
        does = _loaded(work)
        key = RunKey.read(Path(folder)) if does.keyed else None
        rows = RowKey.read(Path(folder))
        prints = None if rows is None else RowPrints(rows)
        does.release(part, target_of(folder, part), key, prints)
    except DiscreetError as error:
        return {"number": part.number, "error": str(error)}
    except Exception as error:
        told = f"{part.source} cannot be released ({kind_and_place(error)})"
        return {"number": part.number, "error": told}
    return {"number": part.number, "error": None}


_loaded = lru_cache(maxsize=2)(work_from)
