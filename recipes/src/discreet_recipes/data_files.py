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


def labelled_rows(data: Path, name: str) -> Labelled:
    """All rows of a part whose fields are text and label."""
    return read_labelled(data_file(data, name))
