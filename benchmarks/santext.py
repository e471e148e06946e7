"""SanText from file to file, against the way its authors' code does it, in one run.

The baseline is what the public script does: distances between all words, a softmax over every row
(a V x V matrix), then one ``numpy.random.choice`` per token. It reads and writes the same files
with the same tokeniser. Its time per token is constant, so it is measured on a part of the text and
scaled; everything of ours is measured whole.

    python benchmarks/santext.py TEXT.jsonl.gz [--epsilon 10] [--output santext.json]

TEXT is a jsonl file with a field "text" (SST-2's training set for the figures in the docs). Needs
the encoder space (30,522 x 384) and 8 GB of memory for the baseline; ``--skip-baseline`` leaves it
out.
"""

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from discreet.embeddings import load_space
from discreet.randomness import secure_generator
from discreet.text.readers import open_documents
from discreet.text.tokens import tokenizer_for

COMMAND = Path(sys.executable).with_name("discreet")
BASELINE_TOKENS = 20_000


def ours(source: Path, epsilon: float, calibration: str, cache: Path) -> tuple[float, float]:
    """Seconds and peak gigabytes of the whole command, start to end."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        child = subprocess.Popen(
            [COMMAND, "sanitize", source, "-o", Path(folder) / "out.txt", "--space", "encoder",
             "--epsilon", str(epsilon), "--calibration", calibration],
            stderr=subprocess.DEVNULL, env=os.environ | {"DISCREET_CACHE": str(cache)},
        )  # fmt: skip
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"the command failed with status {status}")
    return seconds, usage.ru_maxrss / 2**20


def baseline(texts: list[str], epsilon: float) -> dict[str, float]:
    """The authors' way: everything precomputed, then a choice per token."""
    space = load_space("encoder")
    tokenizer = tokenizer_for(space.words, space.unknown, space.subwords)
    start = time.perf_counter()
    vectors = space.vectors.astype(np.float64)
    norms = (vectors**2).sum(axis=1)
    # In place throughout, which is kinder than the original: it keeps several such matrices.
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
    ids = tokenizer.encode(texts).ids[:BASELINE_TOKENS]
    words = np.arange(len(space))
    start = time.perf_counter()
    drawn = [space.words[np.random.choice(words, 1, p=table[i])[0]] for i in ids]  # noqa: NPY002
    " ".join(drawn)
    return {
        "precomputation": precomputation,
        "per_token": (time.perf_counter() - start) / len(ids),
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def floor(ids: np.ndarray, dimension: int, count: int) -> tuple[float, float]:
    """Seconds for one float32 product of the distinct rows with all words, and for the noise."""
    distinct = len(np.unique(ids))
    right = np.ones((dimension, count), dtype=np.float32)
    left = np.ones((512, dimension), dtype=np.float32)
    left @ right
    start = time.perf_counter()
    for _ in range(4):
        left @ right
    product = (time.perf_counter() - start) / (4 * 512) * distinct
    rng = secure_generator()
    start = time.perf_counter()
    rng.random(len(ids))
    return product, time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[8.0, 14.0])
    parser.add_argument("--tokens", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--skip-baseline", action="store_true")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()

    with open_documents(arguments.text) as reader:
        texts = [text for batch in reader for text in batch.texts]
    space = load_space("encoder")
    tokenizer = tokenizer_for(space.words, space.unknown, space.subwords)
    whole = tokenizer.encode(texts)
    slow = None
    if not arguments.skip_baseline:
        # In a process of its own, whose memory is not counted as ours.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            slow = pool.apply(baseline, (texts, arguments.epsilon[0]))
    if slow:
        print(
            f"baseline: {slow['precomputation']:.0f} s before the first token, "
            f"{1 / slow['per_token']:,.0f} tokens/s, {slow['gigabytes']:.1f} GB"
        )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        sources = {"the text": (Path(folder) / "text.txt", whole.tokens, whole.ids)}
        sources["the text"][0].write_text("\n".join(texts) + "\n")
        for wanted in arguments.tokens:
            times, last = divmod(wanted, whole.tokens)
            part = int(np.searchsorted(whole.offsets, last))
            some = texts * times + texts[:part]
            ids = np.concatenate([*([whole.ids] * times), whole.ids[: whole.offsets[part]]])
            path = Path(folder) / f"{wanted}.txt"
            path.write_text("\n".join(some) + "\n")
            sources[f"{wanted:,}"] = (path, len(ids), ids)
        warm = Path(folder) / "warm"
        environment = os.environ | {"DISCREET_CACHE": str(warm)}
        subprocess.run(
            [COMMAND, "spaces", "build", "encoder"],
            check=True,
            capture_output=True,
            env=environment,
        )
        for epsilon in arguments.epsilon:
            for name, (path, tokens, ids) in sources.items():
                product, numbers = floor(ids, space.dimension, len(space))
                for state in ("cold", "warm"):
                    with tempfile.TemporaryDirectory() as empty:
                        cache = warm if state == "warm" else Path(empty)
                        seconds, gigabytes = ours(path, epsilon, "published", cache)
                    row = {
                        "text": name, "tokens": tokens, "distinct": len(np.unique(ids)),
                        "epsilon": epsilon, "cache": state, "seconds": seconds,
                        "tokens_per_second": tokens / seconds, "gigabytes": gigabytes,
                        "floor_seconds": product + numbers,
                    }  # fmt: skip
                    if slow:
                        row["baseline_seconds"] = (
                            slow["precomputation"] + tokens * slow["per_token"]
                        )
                        row["ratio"] = row["baseline_seconds"] / seconds
                    rows.append(row)
                    print(
                        f"{name:>12} eps {epsilon:<5g} {state}: {seconds:6.2f} s, "
                        f"{tokens / seconds:>10,.0f} tokens/s, {gigabytes:.2f} GB, "
                        f"floor {row['floor_seconds']:.2f} s, ratio {row.get('ratio', 0):,.0f}"
                    )
    if arguments.output:
        arguments.output.write_text(json.dumps({"baseline": slow, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
