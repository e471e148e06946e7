"""Small data sets in the form that recipes read."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tiny_bert import sentences


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Gzipped JSON lines."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def write_labelled(folder: Path, counts: dict[str, int]) -> Path:
    """Sentences of our own with labels, as many as said for each file; some are longer."""
    for seed, (name, count) in enumerate(counts.items()):
        texts, labels = sentences(count, seed)
        pairs = zip(texts, labels, strict=True)
        rows = [
            {"text": text + " very" * (row % 3), "label": label}
            for row, (text, label) in enumerate(pairs)
        ]
        write_rows(folder / f"{name}.jsonl.gz", rows)
    return folder
