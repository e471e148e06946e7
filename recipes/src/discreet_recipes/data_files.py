"""The data sets that recipes read: gzipped JSON lines in the folder that ``--data`` names."""

from pathlib import Path

from discreet.errors import NotFound
from discreet.text.labelled import Labelled, read_labelled


def data_file(data: Path, name: str) -> Path:
    """The file of a part of a data set, such as ``sst2-dev``."""
    path = data / f"{name}.jsonl.gz"
    if not path.is_file():
        raise NotFound(f"there is no {path.name} in {data}; --data must name a folder that has it")
    return path


def labelled_rows(data: Path, name: str, most: int | None = None) -> Labelled:
    """The first rows, or all, of a part whose fields are text and label."""
    rows = read_labelled(data_file(data, name))
    return rows if most is None else rows.part(range(min(most, len(rows))))
