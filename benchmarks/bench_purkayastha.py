"""Purkayastha draws per second, against sampling the way the paper describes it, in one run.

The baseline inverts the distribution function of the angle by bisection, for each vector anew: 24
halvings, each with two adaptive quadratures (up to the middle, and over the whole range), then a
tangent direction from a normal vector. It is measured on a few vectors and scaled; its time per
vector is constant. Ours is measured whole, with the secure generator, checks and rounding included.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from figures import Call, Row, Timed
from scipy.integrate import quad

from discreet.mechanisms.sentence import Purkayastha, unit_rows
from discreet.randomness import secure_generator
from discreet.report.plots import Plot

EPSILON = 10.0
BASELINE = "as published, by bisection"
STEPS = 24
FLOOR_NUMBERS, QUICK_FLOOR_NUMBERS = 2**22, 2**16
# Dimensions and vectors of the rows; what only the curve has besides, with fewer vectors.
TABLE, CURVE, FEW = {16: 1_000_000, 768: 50_000}, (4, 64, 256, 1536), 40
QUICK_TABLE, QUICK_CURVE, QUICK_FEW = {16: 2_000, 768: 200}, (4,), 2
ROUNDS = 5
PLOT = Plot(
    name="dimensions",
    title="Purkayastha",
    x="dimensions",
    y="vectors per second",
    curves=(),
    alternative="Vectors per second over dimensions: ours falls with the dimension as the "
    "random numbers do, a small factor below them; the published way is far below",
)


@dataclass(frozen=True)
class Job:
    """So many vectors to draw for, and for the baseline the first few of them."""

    group: str
    vectors: np.ndarray
    few: int
    row: bool
    numbers: int
    """So many are drawn at once to time them, and so many coordinates have a curve's vectors."""


def bisected_angle(dimension: int, rng: np.random.Generator) -> float:
    """One angle by bisection on a quadrature, as published."""

    def density(t: float) -> float:
        return math.sin(t) ** (dimension - 2) * math.exp(-EPSILON * t)

    wanted, low, high = rng.random(), 0.0, math.pi
    for _ in range(STEPS):
        middle = (low + high) / 2
        share = quad(density, 0.0, middle)[0] / quad(density, 0.0, math.pi)[0]
        low, high = (middle, high) if share < wanted else (low, middle)
    return (low + high) / 2


def published(vectors: np.ndarray) -> np.ndarray:
    """A draw for each vector, one after the other."""
    out, rng = np.empty_like(vectors), np.random.default_rng(0)
    for i, x in enumerate(vectors):
        angle = bisected_angle(len(x), rng)
        tangent = rng.standard_normal(len(x))
        tangent -= (x @ tangent) * x
        tangent /= np.linalg.norm(tangent)
        out[i] = math.cos(angle) * x + math.sin(angle) * tangent
    return out


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The rows first, then the curve."""
    quick = metafunc.config.getoption("quick")
    dimensions = (*QUICK_TABLE, *QUICK_CURVE) if quick else (*TABLE, *CURVE)
    metafunc.parametrize("job", dimensions, indirect=True, scope="module")


@pytest.fixture(scope="module")
def job(request: pytest.FixtureRequest, quick: bool) -> Job:
    """Random directions, in 32 bits as encoders give them."""
    dimension, table, few = request.param, *((QUICK_TABLE, QUICK_FEW) if quick else (TABLE, FEW))
    row, numbers = dimension in table, QUICK_FLOOR_NUMBERS if quick else FLOOR_NUMBERS
    shape = table[dimension] if row else numbers // dimension, dimension
    drawn = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    vectors, few = unit_rows(drawn).astype(np.float32), few if row else max(2, few // 4)
    return Job(f"Purkayastha, d = {dimension}", vectors, few, row, numbers)


def test_published(timed: Timed, job: Job) -> None:
    """The baseline."""
    call = Call(job.group, "baseline", BASELINE, job.few)
    timed(call, ROUNDS, published, job.vectors[: job.few].astype(np.float64))


def test_ours(timed: Timed, job: Job) -> None:
    """All at once, warmed up."""
    count, dimension = job.vectors.shape
    row = Row(
        subject=f"Purkayastha, d = {dimension}, {count:,} vectors",
        baseline=BASELINE,
        unit="vectors/s",
        target=50.0,
        floor_is="as many normal numbers as coordinates, from the secure generator",
    )
    mechanism, rng = Purkayastha(dimension, EPSILON), secure_generator()
    mechanism.release(job.vectors[:1000], rng)
    rows = (row,) if job.row else ()
    call = Call(job.group, "ours", "discreet", count, rows, PLOT, dimension)
    timed(call, ROUNDS, mechanism.release, job.vectors, rng)


def test_numbers(timed: Timed, job: Job) -> None:
    """A direction that is uniform on the sphere takes as many normal numbers as coordinates."""
    dimension = job.vectors.shape[1]
    block = job.numbers // dimension
    call = Call(job.group, "floor", "floor: random numbers", block)
    timed(call, ROUNDS, secure_generator().standard_normal, (block, dimension))


def test_bytes(timed: Timed, job: Job) -> None:
    """Copying the vectors."""
    call = Call(job.group, "drawn", "floor: bytes copied", len(job.vectors))
    timed(call, ROUNDS, job.vectors.copy)
