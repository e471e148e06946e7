"""SanText from file to file, against the way its authors' code does it, in one run.

The baseline is what the public script does: distances between all words, a softmax over every row
(a V x V matrix), then one ``numpy.random.choice`` per token. It computes in place and holds one
such matrix where the original holds several, which is kinder. Its time per token is constant, so it
is measured on a part of the text and scaled; ours is the whole command, interpreter included.

    python benchmarks/santext.py [--text SST-2.jsonl.gz] [--epsilon 8] [--output santext.json]

Without --text a corpus is made up: as many tokens, distinct words and documents as SST-2's training
set has, with frequencies by Zipf's law. Cold means that nothing is cached for the space; warm that
``discreet spaces build`` was run once. Needs the encoder space (30,522 x 384) and 8 GB of memory
for the baseline; with less, its rows stay empty.
"""

import argparse
import contextlib
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import corpus
import numpy as np
from figures import Figures, Row, best_of

from discreet.embeddings import EmbeddingSpace, load_space
from discreet.embeddings.saved import save_space
from discreet.evaluation.exhibits import Curve, Plot
from discreet.randomness import secure_generator
from discreet.text.tokens import Tokenizer, tokenizer_for

COMMAND = Path(sys.executable).with_name("discreet")
BASELINE = "authors' way, V x V in place"
BASELINE_TOKENS, BASELINE_ROUNDS = 6_000, 4
COLD, WARM = "cold", "warm"
# What has to be reached: on the text itself, and on ten million tokens.
TARGETS = {("text", WARM): 100.0, ("text", COLD): 40.0, (10_000_000, COLD): 100.0}
WORTH_REPEATING = 2_000_000


@dataclass(frozen=True)
class Source:
    """A text to sanitise."""

    size: int | str
    path: Path
    ids: np.ndarray

    @property
    def distinct(self) -> int:
        """How many different tokens it has."""
        return len(np.unique(self.ids))


@dataclass(frozen=True)
class Floor:
    """What no program can avoid, in seconds."""

    product: float
    numbers: float
    bytes: float

    def seconds(self, state: str) -> float:
        """With an index there need be no product."""
        return self.numbers + self.bytes + (self.product if state == COLD else 0.0)


def environment(cache: Path) -> dict[str, str]:
    """A user's: with a cache of its own, and compiled modules, as an installed package has them."""
    kept = {name: value for name, value in os.environ.items() if "DONTWRITEBYTECODE" not in name}
    return kept | {"DISCREET_CACHE": str(cache)}


def ours(source: Path, space: str, epsilon: float, cache: Path) -> tuple[float, float]:
    """Seconds and peak gigabytes of the whole command, start to end."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        child = subprocess.Popen(
            [COMMAND, "sanitize", source, "-o", Path(folder) / "out.txt", "--space", space,
             "--epsilon", str(epsilon), "--calibration", "published"],
            stderr=subprocess.DEVNULL, env=environment(cache),
        )  # fmt: skip
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"the command failed with status {status}")
    return seconds, usage.ru_maxrss / 2**20


def baseline(texts: list[str], name: str, epsilon: float) -> dict[str, float]:
    """The authors' way: everything precomputed, then a choice per token."""
    space = load_space(name)
    start = time.perf_counter()
    vectors = space.vectors.astype(np.float64)
    norms = (vectors**2).sum(axis=1)
    table = vectors @ np.ascontiguousarray(vectors.T)  # the symmetric routine crashes at this size
    table *= -2
    table += norms
    table += norms[:, None]
    np.sqrt(np.maximum(table, 0, out=table), out=table)
    np.fill_diagonal(table, 0.0)
    table *= -epsilon / 2
    np.exp(table, out=table)
    table /= table.sum(axis=1, keepdims=True)
    precomputation = time.perf_counter() - start
    ids = tokenizer_of(space).encode(texts).ids[: BASELINE_TOKENS * BASELINE_ROUNDS]
    words = np.arange(len(space))

    def draw(part: np.ndarray) -> str:
        drawn = [space.words[np.random.choice(words, 1, p=table[i])[0]] for i in part]  # noqa: NPY002
        return " ".join(drawn)

    parts = [part for part in np.array_split(ids, BASELINE_ROUNDS) if len(part)]
    return {
        "precomputation": precomputation,
        "per_token": min(best_of(1, lambda part=part: draw(part)) / len(part) for part in parts),
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def baseline_elsewhere(texts: list[str], space: EmbeddingSpace, name: str, epsilon: float) -> dict:
    """In a process of its own, whose memory is not counted as ours; empty if memory is short."""
    needed = 1.1 * 8 * len(space) ** 2
    if available_memory() < needed:
        return {"why": f"the baseline needs {needed / 1e9:.0f} GB of free memory"}
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(baseline, (texts, name, epsilon))


def available_memory() -> float:
    """Bytes that a process can have; what caches hold counts where the system tells."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024.0 * int(next(line for line in lines if "MemAvailable" in line).split()[1])
    return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def floor_of(source: Source, space: EmbeddingSpace) -> Floor:
    """A float32 product of the distinct rows with all words, a number per token, the bytes."""
    right = np.ones((space.dimension, len(space)), dtype=np.float32)
    left = np.ones((512, space.dimension), dtype=np.float32)
    product = best_of(4, lambda: left @ right) / len(left) * source.distinct
    rng = secure_generator()
    numbers = best_of(2, lambda: rng.random(len(source.ids)))
    copy = source.path.with_suffix(".copy")
    moved = best_of(2, lambda: copy.write_bytes(source.path.read_bytes()))
    copy.unlink()
    return Floor(product, numbers, moved)


def tokenizer_of(space: EmbeddingSpace) -> Tokenizer:
    """The tokeniser that the command uses."""
    return tokenizer_for(space.words, space.unknown, space.subwords)


def sources_of(
    texts: list[str], space: EmbeddingSpace, sizes: list[int], folder: Path
) -> list[Source]:
    """The text itself, and parts or repetitions of it with about so many tokens."""
    whole = tokenizer_of(space).encode(texts)
    out = []
    for size in ["text", *sizes]:
        wanted = whole.tokens if size == "text" else size
        times, last = divmod(wanted, whole.tokens)
        part = int(np.searchsorted(whole.offsets, last))
        path = folder / f"{size}.txt"
        path.write_text("\n".join(texts * times + texts[:part]) + "\n")
        ids = np.concatenate([*([whole.ids] * times), whole.ids[: whole.offsets[part]]])
        out.append(Source(size, path, ids))
    return out


def measure(options: argparse.Namespace, folder: Path) -> Figures:
    """Everything, in one run."""
    name, tokens, distinct, sizes = options.space, corpus.TOKENS, corpus.DISTINCT, options.tokens
    repeats = 1 if options.quick else options.repeats
    if options.quick:
        small = load_space("starter", max_words=1000)
        name = str(save_space(small, folder / "small.safetensors"))
        tokens, distinct, sizes = 20_000, 500, [2_000]
    space = load_space(name)
    texts = corpus.texts_for(space, options.text, tokens, distinct)
    slow = baseline_elsewhere(texts, space, name, options.epsilon)
    print(f"baseline: {slow}", flush=True)
    warm = folder / "warm"
    subprocess.run(
        [COMMAND, "spaces", "build", name],
        check=True, capture_output=True, env=environment(warm),
    )  # fmt: skip
    figures = Figures(
        details={
            "text": "given" if options.text else "made up, frequencies by Zipf's law",
            "space": repr(space),
            "epsilon": options.epsilon,
            "baseline": slow,
            "runs": [],
        }
    )
    sources = sources_of(texts, space, sizes, folder)
    ours(min(sources, key=lambda source: len(source.ids)).path, name, options.epsilon, warm)
    for source in sources:
        floor = floor_of(source, space)
        for state in (COLD, WARM):
            runs = []
            for _ in range(repeats if len(source.ids) < WORTH_REPEATING else 1):
                with tempfile.TemporaryDirectory(dir=folder) as empty:
                    cache = warm if state == WARM else Path(empty)
                    runs.append(ours(source.path, name, options.epsilon, cache))
            figures.rows.append(row_of(source, state, runs, slow, floor))
            figures.details["runs"].append(
                {
                    "tokens": len(source.ids),
                    "distinct": source.distinct,
                    "cache": state,
                    "seconds": [seconds for seconds, _ in runs],
                    "floor": floor.__dict__,
                }
            )
            print("  ".join(figures.rows[-1].cells()), flush=True)
    figures.plots.append(plot_of(figures))
    return figures


def row_of(
    source: Source, state: str, runs: list[tuple[float, float]], slow: dict, floor: Floor
) -> Row:
    """The best run; the baseline's time is its precomputation and so many choices."""
    tokens = len(source.ids)
    theirs = None
    if "per_token" in slow:
        theirs = tokens / (slow["precomputation"] + tokens * slow["per_token"])
    return Row(
        subject=f"SanText, {state}, {tokens:,} tokens",
        baseline=BASELINE,
        unit="tokens/s",
        ours=tokens / min(seconds for seconds, _ in runs),
        theirs=theirs,
        target=TARGETS.get((source.size, state)),
        gigabytes=max(gigabytes for _, gigabytes in runs),
        floor=tokens / floor.seconds(state),
        floor_is="cold, a float32 product of the distinct words' rows with the vocabulary; always, "
        "a random number for each token, and reading and writing the bytes",
        note=str(slow.get("why", "")),
    )


def plot_of(figures: Figures) -> Plot:
    """Seconds over tokens."""
    runs = sorted(figures.details["runs"], key=lambda run: run["tokens"])
    slow = figures.details["baseline"]
    kinds = {state: [run for run in runs if run["cache"] == state] for state in (COLD, WARM)}
    tokens = tuple(float(run["tokens"]) for run in kinds[COLD])
    curves = [
        Curve(f"discreet, {state}", tokens, tuple(min(run["seconds"]) for run in some))
        for state, some in kinds.items()
    ]
    if "per_token" in slow:
        way = tuple(slow["precomputation"] + n * slow["per_token"] for n in tokens)
        curves.append(Curve("authors' way", tokens, way))
    names = {"product": "product of the distinct rows (cold)", "numbers": "random numbers"}
    for key, label in {**names, "bytes": "bytes read and written"}.items():
        floor = tuple(run["floor"][key] for run in kinds[COLD])
        curves.append(Curve(f"floor: {label}", tokens, floor))
    return Plot(
        name="tokens",
        title="SanText, file to file",
        x="tokens",
        y="seconds",
        curves=tuple(curves),
        alternative="Seconds over tokens: ours is nearly flat until the distinct words are done, "
        "then rises with the tokens, far below the authors' way and above the floors",
        log_x=True,
        log_y=True,
    )


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, help="jsonl with a field text, such as SST-2")
    parser.add_argument("--space", default="encoder")
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--tokens", type=int, nargs="+", default=[100_000, 2_000_000, 10_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a smoke test on a small space")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options, Path(folder))
    if options.output:
        figures.write(options.output)


if __name__ == "__main__":
    main()
