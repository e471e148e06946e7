"""Purkayastha draws per second, against sampling the way the paper describes it, in one run.

The baseline inverts the distribution function of the angle by bisection, for each vector anew: 24
halvings, each with two adaptive quadratures (up to the middle, and over the whole range), then a
tangent direction from a normal vector. It is measured on a few vectors and scaled; its time per
vector is constant. Ours is measured whole, with the secure generator, checks and rounding included.

    python benchmarks/purkayastha.py [--epsilon 10] [--output purkayastha.json]
"""

import argparse
import math
from pathlib import Path

import numpy as np
from figures import Figures, Row, best_of, peak_gigabytes
from scipy.integrate import quad

from discreet.evaluation.exhibits import Curve, Plot
from discreet.mechanisms.sentence import Purkayastha, unit_rows
from discreet.randomness import secure_generator

STEPS = 24
FLOOR_NUMBERS = 2**22


def bisected_angle(dimension: int, epsilon: float, rng: np.random.Generator) -> float:
    """One angle by bisection on a quadrature, as published."""

    def density(t: float) -> float:
        return math.sin(t) ** (dimension - 2) * math.exp(-epsilon * t)

    wanted, low, high = rng.random(), 0.0, math.pi
    for _ in range(STEPS):
        middle = (low + high) / 2
        share = quad(density, 0.0, middle)[0] / quad(density, 0.0, math.pi)[0]
        low, high = (middle, high) if share < wanted else (low, middle)
    return (low + high) / 2


def published(vectors: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """A draw for each vector, one after the other."""
    out = np.empty_like(vectors)
    for i, x in enumerate(vectors):
        angle = bisected_angle(len(x), epsilon, rng)
        tangent = rng.standard_normal(len(x))
        tangent -= (x @ tangent) * x
        tangent /= np.linalg.norm(tangent)
        out[i] = math.cos(angle) * x + math.sin(angle) * tangent
    return out


def rows(count: int, dimension: int) -> np.ndarray:
    """Random directions, in 32 bits as encoders give them."""
    drawn = np.random.default_rng(0).standard_normal((count, dimension), dtype=np.float32)
    return unit_rows(drawn).astype(np.float32)


def rates(count: int, dimension: int, epsilon: float, few: int) -> dict[str, float]:
    """Vectors per second: ours, as published, and the floor."""
    vectors = rows(count, dimension)
    part = vectors[:few].astype(np.float64)
    slow = best_of(3, lambda: published(part, epsilon, np.random.default_rng(0)))
    mechanism, rng = Purkayastha(dimension, epsilon), secure_generator()
    mechanism.release(vectors[:1000], rng)
    fast = best_of(3, lambda: mechanism.release(vectors, rng))
    # A direction that is uniform on the sphere takes as many normal numbers as it has coordinates.
    block = max(1, FLOOR_NUMBERS // dimension)
    floor = best_of(3, lambda: rng.standard_normal((block, dimension)))
    moved = best_of(3, lambda: vectors.copy())
    return {
        "dimension": dimension,
        "vectors": count,
        "ours": count / fast,
        "published": few / slow,
        "numbers": block / floor,
        "bytes": count / moved,
        "acceptance": mechanism.law.acceptance,
    }


def measure(options: argparse.Namespace) -> Figures:
    """The two sizes that are asked for, then the curve."""
    figures = Figures(details={"epsilon": options.epsilon, "runs": []})
    sizes = ((16, 2_000), (768, 200)) if options.quick else ((16, 1_000_000), (768, 50_000))
    few = 2 if options.quick else options.baseline_vectors
    for dimension, count in sizes:
        found = rates(count, dimension, options.epsilon, few)
        figures.details["runs"].append(found)
        figures.rows.append(
            Row(
                subject=f"Purkayastha, d = {dimension}, {count:,} vectors",
                baseline="as published, by bisection",
                unit="vectors/s",
                ours=found["ours"],
                theirs=found["published"],
                target=50.0,
                gigabytes=peak_gigabytes(),
                floor=found["numbers"],
                floor_is="as many normal numbers as coordinates, from the secure generator",
            )
        )
        print("  ".join(figures.rows[-1].cells()), flush=True)
    dimensions = (4, 8) if options.quick else (4, 16, 64, 256, 768, 1536)
    for dimension in dimensions:
        count = max(200, (FLOOR_NUMBERS // 10 if options.quick else FLOOR_NUMBERS) // dimension)
        figures.details["runs"].append(rates(count, dimension, options.epsilon, max(2, few // 4)))
    curve = figures.details["runs"][len(sizes) :]
    labels = {
        "ours": "discreet",
        "published": "as published",
        "numbers": "floor: random numbers",
        "bytes": "floor: bytes copied",
    }
    figures.plots.append(
        Plot(
            name="dimensions",
            title="Purkayastha",
            x="dimensions",
            y="vectors per second",
            curves=tuple(
                Curve(label, tuple(map(float, dimensions)), tuple(run[key] for run in curve))
                for key, label in labels.items()
            ),
            alternative="Vectors per second over dimensions: ours falls with the dimension as the "
            "random numbers do, a small factor below them; the published way is far below",
            log_x=True,
            log_y=True,
        )
    )
    return figures


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--baseline-vectors", type=int, default=40)
    parser.add_argument("--quick", action="store_true", help="a smoke test on few vectors")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    figures = measure(options)
    if options.output:
        figures.write(options.output)


if __name__ == "__main__":
    main()
