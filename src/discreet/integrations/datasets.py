"""Datasets of Hugging Face: ``dataset.map`` and friends, without an old release from the cache.

``datasets`` keeps what ``map`` made, and gives it back when it is asked for the same again: a
release would be replayed. :func:`sanitize_dataset` asks for something new each time.

Its cache also keeps the *raw* text that a dataset was loaded from, in clear, below
``~/.cache/huggingface`` or wherever ``HF_HOME`` says. No release changes that; delete it with
``dataset.cleanup_cache_files()`` and by hand when you no longer need it.
"""

from collections.abc import Sequence
from typing import Any

from discreet.errors import InvalidValue, needs_extra
from discreet.release.frames import sanitize

with needs_extra("datasets of Hugging Face", "datasets"):
    import datasets


def sanitize_dataset(
    dataset: Any, columns: str | Sequence[str], *, num_proc: int | None = None, **options: Any
) -> Any:
    """Sanitise the texts of a dataset, or of every split of a ``DatasetDict``.

    Args:
        dataset: it is read through ``map``, block by block, so that it may be larger than memory.
        columns: those that hold texts.
        num_proc: how many processes share the work; each draws its own noise.
        options: as of :func:`discreet.sanitize`.

    Returns:
        a release whose ``values`` is the new dataset.

    >>> rows = datasets.Dataset.from_dict({"text": ["The doctor saw me."], "label": [1]})
    >>> release = sanitize_dataset(rows, "text", keep=["label"], epsilon=8)
    >>> release.values.column_names, release.units
    (['text', 'label'], 5)
    """
    if not isinstance(dataset, datasets.Dataset | datasets.DatasetDict):
        raise InvalidValue(
            f"a Dataset or DatasetDict is needed; got one of type {type(dataset).__name__}; of an "
            "IterableDataset, discreet.sanitize takes iter(dataset)"
        )
    return sanitize(dataset, columns, num_proc=num_proc, **options)
