"""The data sets that recipes read: gzipped JSON lines in the folder that ``--data`` names."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import NotFound
from discreet.text.lines import LineBlocks, lines_of, open_bytes

if TYPE_CHECKING:
    from discreet.arrays import Floats32
    from discreet.encoders.encoder import Encoder
    from discreet.text.labelled import Labelled

_ENCODED = 4000
"""Texts whose vectors are kept in one file: so many at most are encoded again after a stop."""

_LONGEST_LINE = 64 * 2**20
PAIRS_OF_QNLI_DEV = 5463
"""Whoever asks for more needs its training part, which is then trained on."""

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


@dataclass(frozen=True)
class Rows:
    """So many rows that an option asks for, of a file or of several together."""

    files: tuple[str, ...]
    option: str
    most: int


def rows_of(name: str, **asked: int) -> list[Rows]:
    """What options ask of one file, each by its name; nothing is no asking.

    >>> rows_of("sst2-dev", public=300, tuned=0)
    [Rows(files=('sst2-dev',), option='public', most=300)]
    """
    return [Rows((name,), option, most) for option, most in asked.items() if most]


def short_files(data: Path, needed: Iterable[Rows]) -> list[str]:
    """What files lack, in words, of the rows that options ask for."""
    by_files: dict[tuple[str, ...], dict[str, int]] = {}
    for each in needed:
        asked = by_files.setdefault(each.files, {})
        asked[each.option] = max(each.most, asked.get(each.option, 0))
    out = []
    for names, asked in by_files.items():
        lines = chain.from_iterable(_lines(data, name) for name in names)
        found = sum(1 for _ in islice(lines, max(asked.values())))
        wanted = [
            f"--{option.replace('_', '-')} asks for {most:,}"
            for option, most in asked.items()
            if most > found
        ]
        if wanted:
            called = " and ".join(f"{name}.jsonl.gz" for name in names)
            has = "has" if len(names) == 1 else "together have"
            out.append(f"{called} {has} {found:,} rows where {' and '.join(wanted)}")
    return out


def _lines(data: Path, name: str) -> Iterator[str]:
    path = data_file(data, name)
    file, _ = open_bytes(path)
    with file:
        for _, block in LineBlocks(
            file,
            str(path),
            compressed=True,
            block_bytes=2**20,
            max_line_bytes=_LONGEST_LINE,
        ):
            yield from lines_of(block)


def mixed_files(data: Path, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Of pairs of files that are to be different text those that are mostly the same, in words.

    Some rows are in both by themselves, such as short phrases: most of a file are not.
    """
    out = []
    for public, protected in pairs:
        texts, others = (_texts(data, name) for name in (public, protected))
        known = set(others)
        both = sum(text in known for text in texts)
        if 2 * both > len(texts):
            out.append(
                f"{both:,} of the {len(texts):,} rows of {public}.jsonl.gz are in "
                f"{protected}.jsonl.gz too"
            )
    return out


def _texts(data: Path, name: str) -> list[str]:
    from discreet.text.labelled import read_labelled  # slow to import: no help need wait for it

    return read_labelled(data_file(data, name), label_field=None).texts


def data_file(data: Path, name: str) -> Path:
    """The file of a part of a data set, such as ``sst2-dev``."""
    path = data / f"{name}.jsonl.gz"
    if not path.is_file():
        raise NotFound(f"there is no {path.name} in {data}; --data must name a folder that has it")
    return path


def labelled_rows(data: Path, name: str, most: int | None = None) -> "Labelled":
    """The first rows, or all, of a part whose fields are text and label."""
    from discreet.text.labelled import read_labelled  # as above

    rows = read_labelled(data_file(data, name))
    return rows if most is None else rows.part(range(min(most, len(rows))))


def encoded_texts(encoder: "Encoder", texts: Sequence[str], folder: Path) -> "Floats32":
    """Vectors of texts, kept in a folder part by part: these data sets are public."""
    import numpy as np  # as above

    from discreet.encoders.encoder import encoded_once

    starts = range(0, len(texts), _ENCODED)
    return np.concatenate([encoded_once(encoder, texts[a : a + _ENCODED], folder) for a in starts])
