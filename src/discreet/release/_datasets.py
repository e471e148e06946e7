"""Datasets of Hugging Face: released in blocks by ``Dataset.map``, and never from its cache.

``map`` gives an old result back when it is asked for the same thing again. For a release that would
be an old draw, so every release gets a fingerprint of its own, drawn at random.
"""

import json
import secrets
from typing import Any

import numpy as np

from discreet.arrays import Generator
from discreet.errors import InvalidValue
from discreet.randomness import secure_generator
from discreet.release._kinds import Kind, kind_of, library_kinds
from discreet.release._plan import Plan
from discreet.release.rows import Tally
from discreet.text.fates import DROP

_LAZY = (("datasets", "IterableDataset"), ("datasets", "IterableDatasetDict"))
_DRAWS, _COUNTS = "__discreet_draws", "__discreet_counts"
_ROWS = 20_000


def is_dataset(data: object) -> bool:
    """Whether this is a dataset, or several by the names of their splits."""
    kinds = library_kinds(data)
    if kinds & set(_LAZY):
        raise InvalidValue(
            "an IterableDataset is read anew on every pass, and would be released on every pass; "
            "sanitise iter(dataset), whose rows come out once"
        )
    return bool(kinds & {("datasets", "Dataset"), ("datasets", "DatasetDict")})


class DatasetKind(Kind):
    """The columns of a dataset, for checks; its texts are read block by block, by ``map``."""

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        self._data = data.with_format(None)
        self.names = list(data.column_names)

    def values(self, name: str) -> list[Any]:
        return list(self._data[name])


class _ReleasedBlock:
    """What ``map`` calls; a copy in another process has a generator of its own."""

    def __init__(self, plan: Plan, rng: Generator) -> None:
        self._plan, self._rng = plan, rng

    def __call__(self, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        block = self._plan.block(kind_of(columns), self._rng)
        counts = json.dumps([dict(block.words), dict(block.identifiers)])
        told = {
            _DRAWS: block.draws.tolist(),
            _COUNTS: [counts, *[""] * (len(block.draws) - 1)],
        }
        return told | {name: column.to_pylist() for name, column in block.columns.items()}


def released_dataset(
    data: Any, plan: Plan, tally: Tally, rng: Generator | None, num_proc: int | None
) -> Any:
    """The dataset with its texts released, and the counts added to the tally."""
    if rng is not None and num_proc not in (None, 1):
        raise InvalidValue("rng is for one process; leave out num_proc, or rng")
    kind = DatasetKind(data)
    persons = plan.persons(kind)
    dropped = [name for name in kind.names if plan.fates.of(name) == DROP]
    if not len(data):
        return _bare(data.remove_columns(dropped))
    mapped = data.with_format(None).map(
        _ReleasedBlock(plan, secure_generator() if rng is None else rng),
        batched=True,
        batch_size=_ROWS,
        remove_columns=dropped,
        num_proc=num_proc,
        load_from_cache_file=False,
        new_fingerprint=secrets.token_hex(8),
        desc="sanitising",
    )
    draws = np.asarray(mapped[_DRAWS][:], dtype=np.int64)
    for counts in filter(None, mapped[_COUNTS][:]):
        words, identifiers = json.loads(counts)
        tally.words.update(words)
        tally.identifiers.update(identifiers)
    tally.count({}, {}, draws, persons)
    return _bare(mapped.remove_columns([_DRAWS, _COUNTS]))


def _bare(data: Any) -> Any:
    """Its rows and the types of its columns, without what else it says of itself."""
    from datasets import Dataset, DatasetInfo

    if not len(data):  # its table may still hold the rows that were filtered out
        empty: dict[str, list[Any]] = {name: [] for name in data.column_names}
        return Dataset.from_dict(empty, data.features, split=data.split)
    info, fingerprint = DatasetInfo(features=data.features), secrets.token_hex(8)
    return Dataset(data.data, info, data.split, fingerprint=fingerprint)
