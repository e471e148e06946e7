"""Small folders of documents with an id each, and what a release of them must look like."""

import contextlib
import csv
import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from command import UNKNOWN, WORDS
from discreet import EmbeddingSpace, Receipt
from discreet.spaces.loaders import save_space

MARKER = "zanzibar"


def small_space(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    words = [UNKNOWN, *WORDS]
    space = EmbeddingSpace.from_arrays(words, rng.normal(size=(len(words), 4)), unknown=UNKNOWN)
    return save_space(space, folder / "space.safetensors")


def documents(count: int, first: int = 0) -> pa.Table:
    rng = np.random.default_rng(first)
    words = np.array([*WORDS, MARKER], dtype=object)
    drawn = rng.choice(words, (count, 7)).tolist()
    texts = [" ".join(row[: 1 + i % 7]) for i, row in enumerate(drawn)]
    ids = np.arange(first, first + count)
    return pa.table({"id": ids, "body": texts, "who": [f"p{i}" for i in ids]})


def words_of(count: int) -> int:
    """How many words :func:`documents` have."""
    return sum(1 + i % 7 for i in range(count))


def write(folder: Path, format: str, files: int, rows: int, group: int = 10_000) -> Path:
    folder.mkdir(parents=True)
    for number in range(files):
        table = documents(rows, number * rows)
        path = folder / f"f{number}.{format}"
        if format == "parquet":
            pq.write_table(table, path, row_group_size=group)
        elif format == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        else:
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, table.column_names)
                writer.writeheader()
                writer.writerows(table.to_pylist())
    return folder


def check_whole(out: Path, rows: int, words: int) -> Receipt:
    """Every row is there exactly once, with released words only, and the receipt is of it."""
    receipt = Receipt.beside(out)
    assert receipt is not None
    table = pq.read_table(out)
    assert Counter(map(int, table.column("id").to_pylist())) == dict.fromkeys(range(rows), 1)
    released = " ".join(table.column("body").to_pylist()).split()
    assert len(released) == words
    assert set(released) <= {UNKNOWN, *WORDS}
    assert (receipt.counts["documents"], receipt.counts["words"]) == (rows, words)
    assert (out / "_SUCCESS").read_bytes() == b""
    assert not out.with_name(out.name + ".unfinished").exists()
    return receipt


def drawing(folder: Path) -> list[int]:
    """Processes that hold a part that has no record yet."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            held = [Path(os.readlink(path)) for path in process.joinpath("fd").iterdir()]
        except OSError:
            continue
        parts = [path for path in held if path.suffix == ".partial" and folder in path.parents]
        if any(not list(path.parent.glob("*.json")) for path in parts):
            found.append(int(process.name))
    return found


def kill_while_drawing(folder: Path, times: int, stop: threading.Event, killed: list[int]) -> None:
    """Kill so many processes, each while it draws a part."""
    while len(killed) < times and not stop.is_set():
        for process in drawing(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)  # what is seen now stays true
                is_drawing = process in drawing(folder)
                os.kill(process, signal.SIGKILL if is_drawing else signal.SIGCONT)
                if is_drawing and process not in killed:
                    killed.append(process)
                    break
        time.sleep(0.001)
