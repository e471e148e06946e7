"""Run the installed command as a person would, on a small space, with a cache of its own."""

import contextlib
import io
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from discreet.cli import main
from discreet.encoders.bert import BertEncoder
from discreet.files import cache_directory
from discreet.mechanisms.label import RandomizedResponse
from discreet.receipt import Receipt, receipt_path
from discreet.staging import Digest

COMMAND = Path(sys.executable).with_name("discreet")
UNKNOWN = "<unk>"
# Words without digits and in no English text, so that any other word in an output is a leak.
WORDS = [a + b + "x" for a, b in itertools.product(("ba", "ko", "mi", "tu", "re"), repeat=2)]
WORDS += [word + "o" for word in WORDS]
WORDS += [word + "q" for word in WORDS[:9]]
MARKER = "zanzibar"


def but(usual, *given):
    """Usual options with their values, except those that are given, and then what is given."""
    pairs = zip(usual[::2], usual[1::2], strict=True)
    return [*(each for pair in pairs if pair[0] not in given for each in pair), *given]


@dataclass(frozen=True)
class Outcome:
    """What a run left in the terminal."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.decode().splitlines()


def environment(cache: Path) -> dict[str, str]:
    # A terminal of fixed width, no network by any name, and one thread unless there shall be more.
    plain = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    fixed = {"DISCREET_CACHE": str(cache), "HF_HUB_OFFLINE": "1", "COLUMNS": "100"}
    return {"OPENBLAS_NUM_THREADS": "1"} | plain | fixed


def share_public_tables(cache: Path) -> None:
    """Let a cache of one's own have what takes seconds and follows from public words alone.

    That is the encoder's vectors of words, and which outputs are near each word of a large space.
    They are kept where those tests keep them that have no cache of their own.
    """
    cache.mkdir(parents=True, exist_ok=True)
    for name in ("encoded", "nearest"):
        shared = cache_directory() / name
        shared.mkdir(parents=True, exist_ok=True)
        (cache / name).symlink_to(shared)


@contextlib.contextmanager
def each_text_encoded_once() -> Iterator[None]:
    """Commands that are called here share what an encoder makes of the same text.

    Its vector depends on that text alone, bit by bit: ``tests/relational/test_independence.py``.
    """
    encode, known = BertEncoder.encode, {}

    def remembered(self: BertEncoder, texts: Sequence[str]) -> np.ndarray:
        which = (self._norm.scale.tobytes(), self._how, self.max_seq_length)
        new = [text for text in dict.fromkeys(texts) if (which, text) not in known]
        if new:
            vectors = encode(self, new)
            known.update({(which, text): row for text, row in zip(new, vectors, strict=True)})
        return np.stack([known[which, text] for text in texts])

    with mock.patch.object(BertEncoder, "encode", remembered):
        yield


def discreet(
    *arguments: object,
    cache: Path,
    stdin: bytes = b"",
    stdout: int | None = None,
    before: Callable[[], None] | None = None,
) -> Outcome:
    """Run ``discreet`` with these arguments to its end."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        input=stdin,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE,
        env=environment(cache),
        preexec_fn=before,
        timeout=120,
        check=False,
    )
    return Outcome(done.returncode, done.stdout or b"", done.stderr.decode())


def called(*arguments: object, cache: Path, stdin: bytes = b"", together: bool = False) -> Outcome:
    """The same in this process, through the command's entry point: quicker, for what is alike.

    With ``together`` both streams are one, in order, as in a terminal.
    """
    out, code = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), -1
    err = out if together else io.StringIO()
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        with (
            mock.patch.object(sys, "argv", ["discreet", *map(str, arguments)]),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
            mock.patch.dict(os.environ, environment(cache)),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Outcome(code, out.buffer.getvalue(), "" if together else err.getvalue())


def vectors(count: int = 60, dimension: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, dimension)).round(3)


def write_space(path: Path, words: list[str] | None = None, seed: int = 0) -> Path:
    """A file of vectors in the GloVe layout, the unknown token first."""
    words = [UNKNOWN, *WORDS] if words is None else words
    lines = (
        f"{word} " + " ".join(map(str, row))
        for word, row in zip(words, vectors(len(words), seed=seed), strict=True)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def sanitised(path: Path, field: str | list[str] | None = "text") -> Path:
    """A file with the receipt of one that holds released text in some fields; none in txt."""
    statement = RandomizedResponse(2, epsilon=1.0).statement
    about = {"columns": {}, "input": {"text_field": field}}
    Receipt(statement, about).of_output(Digest.of(path)).write(receipt_path(path))
    return path


def law(kappa: float, words: int = 60, seed: int = 0) -> np.ndarray:
    """P(y | x) proportional to exp(-kappa d(x, y)), slowly and obviously."""
    v = vectors(words, seed=seed).astype(np.float32).astype(np.float64)
    distances = np.sqrt(((v[:, None, :] - v[None, :, :]) ** 2).sum(axis=2))
    weights = np.exp(-kappa * distances)
    return weights / weights.sum(axis=1, keepdims=True)
