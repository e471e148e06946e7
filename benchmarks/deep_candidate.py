"""DeepCandidate documents per second, against a plain NumPy version of Algorithm 1, in one run.

The baseline projects the sentences, compares all candidates with all sentences on each projection,
counts, and draws from the exponential mechanism by ``choice``; projections of candidates are
computed once, as the paper allows. It is measured on a few documents; its time for one is constant.
Ours is measured on all, with the secure generator and checks included. Both are given the same
vectors and their depths are compared.

In the first row the sentences of a document gather around a direction of their own and candidates
are means of such documents, as an encoder gives them without a recoder: next to none is deep, which
is our best case. In the second, sentences have no direction in common and all candidates lie where
they do not differ, so that most are deep for every document: close to our worst. A recoder leads to
something between the two. The share of scores above the lowest says where a row stands.

    python benchmarks/deep_candidate.py [--documents 25000] [--output deep_candidate.json]
"""

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

from discreet.mechanisms.document import DeepCandidate
from discreet.randomness import secure_generator

CANDIDATES, PROJECTIONS, DIMENSION, SENTENCES = 5_000, 100, 384, 10
EPSILON = 10.0


def plain_scores(
    document: np.ndarray, candidates: np.ndarray, projections: np.ndarray
) -> np.ndarray:
    """Algorithm 1: the score of every candidate, with candidates projected already."""
    heights = document @ projections.T
    worst = np.zeros(len(candidates))
    for j in range(len(projections)):
        reach = (heights[:, j][None, :] >= candidates[:, j][:, None]).sum(axis=1)
        worst = np.maximum(worst, np.abs(reach - len(document) / 2))
    return -worst


def plain(document: np.ndarray, candidates: np.ndarray, projections: np.ndarray) -> int:
    """One candidate by the exponential mechanism."""
    weights = np.exp(EPSILON * plain_scores(document, candidates, projections) / 2)
    return int(np.random.default_rng().choice(len(weights), p=weights / weights.sum()))


def documents(count: int, rng: np.random.Generator) -> np.ndarray:
    """``(count, sentences, d)`` unit rows, those of a document near a direction of its own."""
    rows = rng.standard_normal((count, SENTENCES, DIMENSION), dtype=np.float32)
    rows += rng.standard_normal((count, 1, DIMENSION), dtype=np.float32) * np.float32(0.7)
    rows += np.float32(0.5)
    return rows / np.linalg.norm(rows, axis=2, keepdims=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=25_000)
    parser.add_argument("--baseline-documents", type=int, default=40)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    private = documents(arguments.documents, rng)
    public = documents(CANDIDATES, rng).mean(axis=1)
    projections = rng.standard_normal((PROJECTIONS, DIMENSION), dtype=np.float32)
    projections /= np.linalg.norm(projections, axis=1, keepdims=True)
    tenth = max(arguments.baseline_documents, arguments.documents // 10)
    aimless = rng.standard_normal((tenth, SENTENCES, DIMENSION), dtype=np.float32)
    central = rng.standard_normal((CANDIDATES, DIMENSION), dtype=np.float32) * np.float32(1e-3)
    cases = {
        "few candidates deep": (private, public),
        "most candidates deep": (aimless, central),
    }
    results = []
    for name, (given, candidates) in cases.items():
        few = given[: arguments.baseline_documents]
        projected = candidates @ projections.T
        mechanism = DeepCandidate(candidates, projections, EPSILON)
        count = len(given)
        rows = given.reshape(-1, DIMENSION)
        offsets = np.arange(count + 1) * SENTENCES
        slow = np.stack([plain_scores(document, projected, projections) for document in few])
        fast = mechanism.scores(rows[: len(few) * SENTENCES], offsets[: len(few) + 1])
        if not (fast == slow).all():
            raise SystemExit("the depths differ")
        start = time.perf_counter()
        for document in few:
            plain(document, projected, projections)
        baseline = len(few) / (time.perf_counter() - start)
        start = time.perf_counter()
        mechanism.select(rows, secure_generator(), offsets)
        seconds = time.perf_counter() - start
        row = {
            "case": name,
            "share_above_lowest": float((fast > -SENTENCES / 2).mean()),
            "documents": count,
            "seconds": seconds,
            "documents_per_second": count / seconds,
            "baseline_documents_per_second": baseline,
            "ratio": count / seconds / baseline,
            "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        }
        results.append(row)
        print(
            f"{name} ({row['share_above_lowest']:.1%} of scores above the lowest): "
            f"{count:,} documents in {seconds:.1f} s, "
            f"{row['documents_per_second']:,.0f} documents/s; plain NumPy {baseline:,.1f}; "
            f"ratio {row['ratio']:,.0f}; {row['gigabytes']:.2f} GB at most so far"
        )
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
