"""Columns written as a table: csv, tsv, jsonl or parquet, as the name of the file says."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.files import check_ending, check_place, written_whole
from discreet.text.formats import DELIMITERS

_ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")


def check_table(path: Path, *, force: bool = False) -> None:
    """Refuse a place that a table cannot be written to, before any work is done."""
    check_ending(path, _ENDINGS, "a table")
    check_place(path, force=force)


def write_table(path: Path, columns: Mapping[str, Sequence[Any]], *, force: bool = False) -> None:
    """Write columns of one length under their names, whole or not at all."""
    check_table(path, force=force)
    ending = path.suffix.lower()
    with written_whole(path) as temporary:
        if ending == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table(dict(columns)), temporary)
            return
        rows = zip(*columns.values(), strict=True)
        with temporary.open("w", encoding="utf-8", newline="") as file:
            if ending == ".jsonl":
                objects = (dict(zip(columns, row, strict=True)) for row in rows)
                file.writelines(json.dumps(each, ensure_ascii=False) + "\n" for each in objects)
            else:
                writer = csv.writer(file, delimiter=DELIMITERS[ending[1:]])
                writer.writerow(columns)
                writer.writerows(rows)
