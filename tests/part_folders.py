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
from discreet import EmbeddingSpace, Receipt, Sanitizer, load_space, mechanism
from discreet.encoders.encoder import Encoder
from discreet.encoders.maps import PublicMap
from discreet.engines import EngineSettings, sanitize_folder
from discreet.engines.embed_work import EmbedWork
from discreet.engines.tasks import run_task
from discreet.engines.work import SanitizeWork
from discreet.mechanisms.sentence import Purkayastha
from discreet.release.sentences import SentenceEmbedder
from discreet.spaces.loaders import save_space
from discreet.text.fates import Fates

MARKER = "zanzibar"


def small_space(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    words = [UNKNOWN, *WORDS]
    space = EmbeddingSpace.from_arrays(words, rng.normal(size=(len(words), 4)), unknown=UNKNOWN)
    return save_space(space, folder / "space.safetensors")


class InThisProcess:
    """An engine without workers: what is tested is around them."""

    name, workers = "local", 1

    def run(self, parts, work, folder):
        return (run_task(part, work, folder) for part in parts)

    def close(self):
        pass


class Letters:
    """A made-up encoder: how often four letters occur, and 1."""

    def encode(self, texts):
        return np.array([[t.count(c) for c in "aeio"] + [1.0] for t in texts], dtype=np.float32)


def sanitizing(space: Path, fates: Fates, **options) -> SanitizeWork:
    """Texts with the words of a space, by its file."""
    made = mechanism("santext", space=load_space(space), epsilon=4.0)
    return SanitizeWork(sanitizer=Sanitizer(made), fates=fates, **options)


def embedding(**options) -> EmbedWork:
    """Vectors of the letters of documents."""
    encoder = Encoder("letters", "ab" * 32, 5, "a test", Letters())
    made = SentenceEmbedder(encoder, PublicMap.random(5, 3), Purkayastha(3, epsilon=4.0))
    work = {"mechanism": "purkayastha", "text_field": "body", "made_by": lambda: made}
    return EmbedWork(**work, **options)


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
    if not any(folder.rglob("*.partial")):  # which is soon seen, unlike what all processes hold
        return found
    for process in Path("/proc").glob("[0-9]*"):
        try:
            held = [Path(os.readlink(path)) for path in process.joinpath("fd").iterdir()]
        except OSError:
            continue
        parts = [path for path in held if path.suffix == ".partial" and folder in path.parents]
        if any(not list(path.parent.glob("*.json")) for path in parts):
            found.append(int(process.name))
    return found


def check_kills(
    folder: Path, sanitizer: Sanitizer, engine: EngineSettings, rows: int, times: int = 3
) -> Receipt:
    """Two files of so many rows are released once, though workers are killed meanwhile."""
    source = write(folder / "in", "parquet", files=2, rows=rows, group=engine.part_rows)
    out, stop, killed, done = folder / "out", threading.Event(), list[int](), list[tuple]()
    arguments = (folder / "out.unfinished", times, stop, killed)
    killer = threading.Thread(target=_kill_while_drawing, args=arguments)
    killer.start()
    try:
        sanitize_folder(
            source,
            out,
            sanitizer,
            engine,
            text_field="body",
            keep=["id"],
            others="drop",
            progress=lambda *progress: done.append(progress),
        )
    finally:
        stop.set()
        killer.join()
    receipt = check_whole(out, 2 * rows, 2 * words_of(rows))
    parts = 2 * rows // engine.part_rows
    assert len(killed) == times
    told = {"name": engine.engine, "parts": parts, "attempts": parts + times}
    assert receipt.about["engine"] == told
    assert any(f"{times} attempts" in caveat for caveat in receipt.statement.caveats)
    assert done == [(number, parts) for number in range(1, parts + 1)]
    return receipt


def _kill_while_drawing(folder: Path, times: int, stop: threading.Event, killed: list[int]) -> None:
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
