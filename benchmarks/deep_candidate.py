"""DeepCandidate documents per second, against a plain NumPy version of Algorithm 1, in one run.

The baseline projects the sentences, compares all candidates with all sentences on each projection,
counts, and draws from the exponential mechanism by ``choice``; projections of candidates are
computed once, as the paper allows. It is measured on a few documents; its time for one is constant.
Ours is measured on all, with the secure generator and checks included. Both are given the same
vectors and their depths are compared.

How fast ours is depends on how many candidates are deep, so there are three kinds of made up
vectors, and the share of scores above the lowest says where a row stands. As encoded: the sentences
of a document gather around a direction of its own and candidates are means of such documents; next
to none is deep. As recoded: documents belong to six classes far
apart, and a candidate of the right class is often deep. Most deep: sentences without a direction in
common around candidates that hardly differ.

    python benchmarks/deep_candidate.py [--documents 25000] [--output deep_candidate.json]
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from figures import Figures, Row, best_of, peak_gigabytes

from discreet.evaluation.exhibits import Curve, Plot
from discreet.mechanisms.document import DeepCandidate
from discreet.randomness import secure_generator

CANDIDATES, PROJECTIONS, DIMENSION, SENTENCES = 5_000, 100, 384, 10
EPSILON = 10.0
CLASSES, APART, OWN = 6, 1.0, 0.05


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


def recoded(count: int, centres: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same around the centre of one of the classes, and around a smaller one of its own."""
    rows = rng.standard_normal((count, SENTENCES, DIMENSION), dtype=np.float32)
    rows += rng.standard_normal((count, 1, DIMENSION), dtype=np.float32) * np.float32(OWN)
    rows += centres[rng.integers(0, len(centres), count)][:, None, :]
    return rows


def cases(many: int, rng: np.random.Generator) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Documents and candidates of each kind."""
    tenth = max(64, many // 10)
    centres = rng.standard_normal((CLASSES, DIMENSION), dtype=np.float32) * np.float32(APART)
    aimless = rng.standard_normal((tenth, SENTENCES, DIMENSION), dtype=np.float32)
    central = rng.standard_normal((CANDIDATES, DIMENSION), dtype=np.float32) * np.float32(1e-3)
    return {
        "as encoded": (
            documents(many, rng),
            documents(CANDIDATES, rng).mean(axis=1),
        ),
        "as recoded": (
            recoded(tenth, centres, rng),
            recoded(CANDIDATES, centres, rng).mean(axis=1),
        ),
        "most deep": (aimless, central),
    }


def measure(options: argparse.Namespace) -> Figures:
    """All kinds; then, for the first, seconds over documents."""
    rng = np.random.default_rng(0)
    projections = rng.standard_normal((PROJECTIONS, DIMENSION), dtype=np.float32)
    projections /= np.linalg.norm(projections, axis=1, keepdims=True)
    few = 2 if options.quick else options.baseline_documents
    figures = Figures(details={"epsilon": EPSILON, "runs": []})
    for name, (given, candidates) in cases(options.documents, rng).items():
        part, projected = given[:few], candidates @ projections.T
        mechanism = DeepCandidate(candidates, projections, EPSILON)
        rows, offsets = given.reshape(-1, DIMENSION), np.arange(len(given) + 1) * SENTENCES
        slow = np.stack([plain_scores(document, projected, projections) for document in part])
        fast = mechanism.scores(rows[: few * SENTENCES], offsets[: few + 1])
        if not (fast == slow).all():
            raise SystemExit("the depths differ")
        baseline = few / best_of(
            2, lambda part=part, at=projected: [plain(x, at, projections) for x in part]
        )

        def seconds(count: int, mechanism=mechanism, rows=rows, offsets=offsets) -> float:
            some, ends = rows[: count * SENTENCES], offsets[: count + 1]
            return best_of(2, lambda: mechanism.select(some, secure_generator(), ends))

        count = len(given)
        product = best_of(2, lambda rows=rows: rows @ projections.T)
        ours = count / seconds(count)
        share = float((fast > -SENTENCES / 2).mean())
        figures.details["runs"].append({"case": name, "documents": count, "above_lowest": share})
        figures.rows.append(
            Row(
                subject=f"DeepCandidate, {name}, {count:,} documents",
                baseline="Algorithm 1 in plain NumPy",
                unit="documents/s",
                ours=ours,
                theirs=baseline,
                target=50.0,
                gigabytes=peak_gigabytes(),
                floor=count / product,
                floor_is="the float32 product of sentences and projections",
                note=f"{share:.1%} of the scores are above the lowest",
            )
        )
        print("  ".join(figures.rows[-1].cells()), flush=True)
        if not figures.plots:
            figures.plots.append(plot_of(count, seconds, baseline, rows, projections))
    return figures


def plot_of(
    most: int,
    seconds: Callable[[int], float],
    baseline: float,
    rows: np.ndarray,
    projections: np.ndarray,
) -> Plot:
    """Seconds over documents."""
    counts = [count for count in (64, 250, 1_000, 4_000, 16_000) if count < most] + [most]
    vectors = [rows[: count * SENTENCES] for count in counts]
    products = [best_of(2, lambda some=some: some @ projections.T) for some in vectors]
    moved = [best_of(2, lambda some=some: some.copy()) for some in vectors]
    x = tuple(map(float, counts))
    return Plot(
        name="documents",
        title="DeepCandidate",
        x="documents",
        y="seconds",
        curves=(
            Curve("discreet", x, tuple(map(seconds, counts))),
            Curve("plain NumPy", x, tuple(count / baseline for count in counts)),
            Curve("floor: product with the projections", x, tuple(products)),
            Curve("floor: bytes of the vectors copied", x, tuple(moved)),
        ),
        alternative="Seconds over documents: all rise in proportion, ours far below plain NumPy "
        "and above the product with the projections",
        log_x=True,
        log_y=True,
    )


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=25_000)
    parser.add_argument("--baseline-documents", type=int, default=40)
    parser.add_argument("--quick", action="store_true", help="a smoke test on few documents")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.quick:
        options.documents = 200
    figures = measure(options)
    if options.output:
        figures.write(options.output)


if __name__ == "__main__":
    main()
