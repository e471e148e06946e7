"""The data sets that recipes read: gzipped JSON lines in the folder that ``--data`` names."""

import gzip
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import NotFound

if TYPE_CHECKING:
    from discreet.arrays import Floats32
    from discreet.encoders.encoder import Encoder
    from discreet.text.labelled import Labelled

_ENCODED = 4000
"""Texts whose vectors are kept in one file: so many at most are encoded again after a stop."""

_PARTS = {
    "sst2": ("train", "dev", "test"),
    "imdb": ("train", "val", "test"),
    "20news": ("train", "test"),
    "reuters50": ("train", "test"),
    "conll2003": ("train", "valid", "test"),
    "yelp": ("dev", "test"),
    "agnews": ("dev", "test"),
}


def files_of(*data_sets: str) -> list[str]:
    """All files of some data sets, as :func:`data_file` takes them.

    >>> files_of("yelp")
    ['yelp-dev', 'yelp-test']
    """
    return [f"{name}-{part}" for name in data_sets for part in _PARTS[name]]


def missing_files(data: Path, names: Iterable[str]) -> list[str]:
    """Those of the files that are not in the folder, each once."""
    paths = (data / f"{name}.jsonl.gz" for name in dict.fromkeys(names))
    return [path.name for path in paths if not path.is_file()]


def short_files(data: Path, needed: Mapping[str, tuple[str, int]]) -> list[str]:
    """What each file lacks, in words, of the rows that an option asks for."""
    out = []
    for name, (option, most) in needed.items():
        path = data_file(data, name)
        with gzip.open(path) as lines:
            found = sum(1 for _ in islice(lines, most))
        if found < most:
            flag = "--" + option.replace("_", "-")
            out.append(f"{path.name} has {found:,} rows where {flag} asks for {most:,}")
    return out


def data_file(data: Path, name: str) -> Path:
    """The file of a part of a data set, such as ``sst2-dev``."""
    path = data / f"{name}.jsonl.gz"
    if not path.is_file():
        raise NotFound(f"there is no {path.name} in {data}; --data must name a folder that has it")
    return path


def labelled_rows(data: Path, name: str, most: int | None = None) -> "Labelled":
    """The first rows, or all, of a part whose fields are text and label."""
    from discreet.text.labelled import read_labelled  # slow to import: no help need wait for it

    rows = read_labelled(data_file(data, name))
    return rows if most is None else rows.part(range(min(most, len(rows))))


def encoded_texts(encoder: "Encoder", texts: Sequence[str], folder: Path) -> "Floats32":
    """Vectors of texts, kept in a folder part by part: these data sets are public."""
    import numpy as np  # as above

    from discreet.encoders.encoder import encoded_once

    starts = range(0, len(texts), _ENCODED)
    return np.concatenate([encoded_once(encoder, texts[a : a + _ENCODED], folder) for a in starts])
