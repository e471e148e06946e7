"""Purkayastha draws per second, against sampling the way the paper describes it, in one run.

The baseline inverts the distribution function of the angle by bisection, for each vector anew: 24
halvings, each with two adaptive quadratures (up to the middle, and over the whole range), then a
tangent direction from a normal vector. It is measured on a few vectors and scaled; its time per
vector is constant. Ours is measured whole, with the secure generator, checks and rounding included.

    python benchmarks/purkayastha.py [--epsilon 10] [--output purkayastha.json]
"""

import argparse
import json
import math
import resource
import time
from pathlib import Path

import numpy as np
from scipy.integrate import quad

from discreet.mechanisms.sentence import Purkayastha, unit_rows
from discreet.randomness import secure_generator

STEPS = 24


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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--baseline-vectors", type=int, default=40)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    epsilon = arguments.epsilon
    results = []
    for dimension, count in ((16, 1_000_000), (768, 50_000)):
        vectors = rows(count, dimension)
        few = vectors[: arguments.baseline_vectors].astype(np.float64)
        start = time.perf_counter()
        published(few, epsilon, np.random.default_rng(0))
        slow = len(few) / (time.perf_counter() - start)
        mechanism, rng = Purkayastha(dimension, epsilon), secure_generator()
        mechanism.release(vectors[:1000], rng)
        start = time.perf_counter()
        mechanism.release(vectors, rng)
        seconds = time.perf_counter() - start
        row = {
            "dimension": dimension,
            "vectors": count,
            "epsilon": epsilon,
            "seconds": seconds,
            "vectors_per_second": count / seconds,
            "baseline_vectors_per_second": slow,
            "ratio": count / seconds / slow,
            "acceptance": mechanism.law.acceptance,
            "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        }
        results.append(row)
        print(
            f"d = {dimension}: {count:,} vectors in {seconds:.2f} s, "
            f"{row['vectors_per_second']:,.0f} vectors/s; as published {slow:,.1f} vectors/s; "
            f"ratio {row['ratio']:,.0f}; {row['gigabytes']:.2f} GB at most so far"
        )
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
