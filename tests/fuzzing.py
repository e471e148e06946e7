"""Every reader of a file that anybody may have written, and hostile files for it.

A reader may refuse a file only by an error of ours, in words that repeat nothing of the file; it
may not hang, and not take memory out of proportion. Files are made from small good ones, those in
``fuzz/corpus``, by changing bytes and, where a file is JSON or has a JSON header, by putting in
hostile values.
"""

import atexit
import json
import math
import random
import resource
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from discreet.encoders.candidate_store import CandidateStore
from discreet.encoders.maps import PublicMap
from discreet.errors import DiscreetError
from discreet.models.rewriter import Rewriter
from discreet.models.task import ReleasedAs, TaskModel
from discreet.receipt import Receipt, verified
from discreet.release.vectors import VectorSet, read_vectors
from discreet.report.page import write_page
from discreet.report.runs import overview, runs_in, section_of
from discreet.spaces.loaders import load_space
from discreet.statement import PrivacyStatement
from discreet.text.fields import labels_of
from discreet.text.json_objects import read_objects
from discreet.text.readers import open_documents
from discreet.training.texts.saved_models import load_text_model

CORPUS = Path(__file__).parent / "fuzz" / "corpus"
MARKER = "zanzibar"
"""A word of every text in the corpus; no message may repeat it."""
SECONDS = 20
"""No file of a few thousand bytes takes a reader longer."""
MEGABYTES = 700
"""Nor makes it take so much more memory."""


@dataclass(frozen=True)
class Target:
    """A reader, the ending of the files it reads, and how many of 10,000 inputs it gets."""

    read: Callable[[Path], object]
    ending: str
    share: int


def _documents(path: Path) -> None:
    labelled = path.suffix != ".txt" and path.stat().st_size % 2
    with open_documents(path, max_document_bytes=10_000, batch_documents=3) as reader:
        values = labels_of(reader, "label") if labelled else len
        for batch in reader:
            values(batch if labelled else batch.texts)


def _objects(path: Path) -> None:
    for lines, _, _ in read_objects(str(path), "text", compressed=False):
        assert all(isinstance(line.values, dict) for line in lines)


def _receipt(path: Path) -> None:
    receipt = Receipt.read(path)
    receipt.statement.lines()
    for ask in (lambda: receipt.labels, lambda: ReleasedAs.of(receipt), lambda: verified(path)):
        try:
            ask()
        except DiscreetError:
            continue


def _statement(path: Path) -> None:
    PrivacyStatement.from_json(path.read_text("utf-8", "replace"))


def _report(path: Path) -> None:
    runs = runs_in([path])
    sections = [section_of(*run) for run in runs]
    write_page(path.with_suffix(".html"), "t", [], [overview(runs), *sections])


def _task(path: Path) -> None:
    model = TaskModel.load(path)
    rows = np.ones((2, model.dimension), np.float32)
    model.predict(VectorSet(rows, rows if model.pairs else None))


def _bag(path: Path) -> None:
    load_text_model(path)


def _store(path: Path) -> None:
    folder = path.parent / "store"
    folder.mkdir(exist_ok=True)
    path.rename(folder / "store.safetensors")
    (folder / "texts.jsonl").write_bytes((CORPUS / "texts.jsonl").read_bytes())
    CandidateStore.load(folder)


def _rewriter(path: Path) -> None:
    Rewriter.load(path)


TARGETS = {
    "txt": Target(_documents, ".txt", 600),
    "csv": Target(_documents, ".csv", 1445),
    "csv-gz": Target(_documents, ".csv.gz", 300),
    "tsv": Target(_documents, ".tsv", 500),
    "jsonl": Target(_documents, ".jsonl", 1400),
    "objects": Target(_objects, ".jsonl", 500),
    "parquet": Target(_documents, ".parquet", 500),
    "receipt": Target(_receipt, ".csv.privacy.json", 1400),
    "statement": Target(_statement, ".json", 500),
    "report": Target(_report, ".json", 700),
    "record": Target(_report, ".json", 30),
    "vectors-npz": Target(read_vectors, ".npz", 250),
    "vectors-npy": Target(read_vectors, ".npy", 250),
    "vectors-parquet": Target(read_vectors, ".parquet", 250),
    "space-text": Target(lambda path: load_space(path, cache=False), ".txt", 400),
    "space-binary": Target(lambda path: load_space(path, cache=False), ".bin", 300),
    "space-saved": Target(load_space, ".safetensors", 300),
    "map": Target(PublicMap.load, ".safetensors", 150),
    "task": Target(_task, ".safetensors", 150),
    "store": Target(_store, ".safetensors", 150),
    "bag": Target(_bag, ".safetensors", 60),
    "rewriter": Target(_rewriter, ".safetensors", 25),
}


# -- hostile files -------------------------------------------------------------------------------

_NESTED: Any = "deep"
for _ in range(300):
    _NESTED = [_NESTED]
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, -1e308, 5e-324, 2**31, 2**63, -(2**63), 10**400,
    math.nan, math.inf, -math.inf, "", "\ud800", "\x1b[2J", "\0", "a" * 3000, MARKER, "$\\bad{$",
    "../x", [], {}, [[]], [None], [1, "a"], {"a": None}, {"": {}}, _NESTED,
]  # fmt: skip
TOKENS = [
    b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\n", b"\r", b"\r\n", b'"', b",", b"\t", b"{", b"}",
    b"[", b"]", b":", b"\\", b"\\u0000", b"\\ud800", b"1e999", b"-", b"nan", b"inf", b"99999999999",
    b"[" * 2000, b'{"a":' * 2000, b"9" * 5000, b" " * 300, b"\xc0\x80", b"\xed\xa0\x80",
    b"\x7f\xff\xff\xff", b"\xff" * 8, b"\0" * 8, b"\x1f\x8b", b"text", b"label",
]  # fmt: skip


def mutated(seed: bytes, rng: random.Random) -> bytes:
    """A file like this one, changed in one to four places."""
    kind = rng.random()
    if kind < 0.6:
        for change in (_changed_tensors, _changed_json):
            made = change(seed, rng)
            if made is not None:
                return made
    data = bytearray(seed)
    for _ in range(rng.randint(1, 4)):
        _change_bytes(data, rng)
    return bytes(data[:20_000])


def _change_bytes(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    to = min(len(data), at + rng.choice((1, 1, 2, 4, 8, 40, 200)))
    match rng.randrange(7):
        case 0 if data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        case 1 if data:
            data[at % len(data)] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x22))
        case 2:
            del data[at:to]
        case 3:
            data[at:at] = data[at:to] * rng.choice((1, 3, 50))
        case 4:
            del data[at:]
        case 5:
            other = rng.randrange(len(data) + 1)
            data[other:other] = data[at:to]
        case _:
            data[at:at] = rng.choice(TOKENS)


def _changed_json(seed: bytes, rng: random.Random) -> bytes | None:
    """JSON, or one of several lines of it, with hostile values in it."""
    lines = seed.split(b"\n") if seed.count(b"\n{") else [seed]
    at = rng.randrange(len(lines))
    try:
        value = json.loads(lines[at])
    except (ValueError, UnicodeDecodeError, RecursionError):
        return None
    lines[at] = _dumped(_changed_value(value, rng), rng)
    return b"\n".join(lines)


def _changed_tensors(seed: bytes, rng: random.Random) -> bytes | None:
    """Safetensors with hostile values in the header, or in the description inside it."""
    size = int.from_bytes(seed[:8], "little")
    if len(seed) < 8 + size or seed[8:9] != b"{":
        return None
    header = json.loads(seed[8 : 8 + size])
    about = header.get("__metadata__", {}).get("discreet")
    if about is not None and rng.random() < 0.7:
        inner = _changed_value(json.loads(about), rng)
        header["__metadata__"]["discreet"] = _dumped(inner, rng).decode("utf-8", "replace")
    else:
        header = _changed_value(header, rng)
    written = _dumped(header, rng)
    return len(written).to_bytes(8, "little") + written + seed[8 + size :]


def _dumped(value: Any, rng: random.Random) -> bytes:
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    return text.encode("utf-8", "surrogatepass")


def _changed_value(value: Any, rng: random.Random) -> Any:
    """The value with one part of it, at any depth, replaced, removed, renamed or repeated."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        changed = dict(value)
        match rng.randrange(8):
            case 0:
                del changed[key]
            case 1:
                changed[rng.choice(("", "x", "statement", "files", "recipe"))] = changed.pop(key)
            case _:
                changed[key] = _changed_value(value[key], rng)
        return changed
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        match rng.randrange(6):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return [*value, value[at]]
            case _:
                return [*value[:at], _changed_value(value[at], rng), *value[at + 1 :]]
    return rng.choice(VALUES)


# -- one reading ---------------------------------------------------------------------------------


class TooSlow(BaseException):
    """A reading took longer than any may."""


@contextmanager
def _in_time() -> Iterator[None]:
    def stop(_number: int, _frame: object) -> None:
        raise TooSlow

    # Of the processor's time: on a busy machine the clock says nothing of the reader.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@cache
def _ready() -> None:
    """Import what the first model would import, before the clock and the memory are looked at."""
    import transformers.models.bert.modeling_bert  # noqa: F401


@cache
def _folder() -> str:
    folder = tempfile.mkdtemp(prefix="fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def fault_of(target: Target, data: bytes) -> str | None:
    """What is wrong about how a reader takes this file; None if all is well."""
    _ready()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    path = Path(_folder(), f"x{target.ending}")
    path.write_bytes(data)
    try:
        with _in_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of hostile figures
            target.read(path)
    except DiscreetError as error:
        if MARKER in str(error):
            return f"the message repeats the file: {error}"
    except TooSlow:
        return f"it took more than {SECONDS} s"
    except Exception:
        return "".join(traceback.format_exc().splitlines(keepends=True)[-6:])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    return f"it took {grown:.0f} MB" if grown > MEGABYTES else None


def seeds(name: str) -> list[bytes]:
    """The files of the corpus for a target, in a fixed order."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def inputs(name: str, count: int, seed: int = 0) -> Iterator[bytes]:
    """The corpus as it is, and then as many changed files."""
    known = seeds(name)
    yield from known
    rng = random.Random(f"{name}-{seed}")
    for _ in range(count):
        yield mutated(rng.choice(known), rng)
