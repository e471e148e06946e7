"""DeepCandidate documents per second, against a plain NumPy version of Algorithm 1, in one run.

The baseline projects the sentences, compares all candidates with all sentences on each projection,
counts, and draws from the exponential mechanism by ``choice``; projections of candidates are
computed once, as the paper allows. It is measured on a few documents; its time for one is constant.
Ours is measured on all, with the secure generator and checks included. Both are given the same
vectors and their depths are compared.

How fast ours is depends on how many candidates are deep, so there are three kinds of made up
vectors, and the share of scores above the lowest says where a row stands. As encoded: the sentences
of a document gather around a direction of its own and candidates are means of such documents; next
to none is deep. As recoded: documents belong to six classes far apart, and a candidate of the right
class is often deep. Most deep: sentences without a direction in common around candidates that
hardly differ.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from figures import Call, Row, Timed

from discreet.mechanisms.document import DeepCandidate
from discreet.randomness import secure_generator
from discreet.report.plots import Plot

CANDIDATES, PROJECTIONS, DIMENSION, SENTENCES = 5_000, 100, 384, 10
QUICK_CANDIDATES = 1_000
EPSILON = 10.0
CLASSES, APART, OWN = 6, 1.0, 0.05
ENCODED, RECODED, DEEP = "as encoded", "as recoded", "most deep"
TABLE = {ENCODED: 25_000, RECODED: 2_500, DEEP: 2_500}
QUICK_TABLE = {ENCODED: 200, RECODED: 64, DEEP: 64}
CURVE = (64, 250, 1_000, 4_000, 16_000)
BASELINE = "Algorithm 1 in plain NumPy"
FEW, QUICK_FEW, ROUNDS = 40, 10, 5
PLOT = Plot(
    name="documents",
    title="DeepCandidate",
    x="documents",
    y="seconds",
    curves=(),
    alternative="Seconds over documents: all rise in proportion, ours far below plain NumPy "
    "and above the product with the projections",
)


@dataclass(frozen=True)
class Case:
    """Documents and candidates of one kind; the first few documents are the baseline's."""

    kind: str
    documents: np.ndarray
    candidates: np.ndarray
    projections: np.ndarray
    few: int
    row: bool

    @property
    def group(self) -> str:
        """The comparison."""
        return f"DeepCandidate, {self.kind}, {len(self.documents)} documents"

    @property
    def sentences(self) -> np.ndarray:
        """Those of all documents."""
        return self.documents.reshape(-1, DIMENSION)


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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The rows first, then the curve; the baseline's time for a document is constant."""
    table = QUICK_TABLE if metafunc.config.getoption("quick") else TABLE
    jobs = list(table.items())
    if metafunc.function is not test_plain:
        jobs += [(ENCODED, count) for count in CURVE if count < table[ENCODED]]
    ids = [f"{kind}, {count}" for kind, count in jobs]
    metafunc.parametrize("case", jobs, ids=ids, indirect=True, scope="module")


@pytest.fixture(scope="module")
def kinds(quick: bool) -> dict[str, Case]:
    """All documents of each kind."""
    rng, table = np.random.default_rng(0), QUICK_TABLE if quick else TABLE
    candidates = QUICK_CANDIDATES if quick else CANDIDATES
    projections = rng.standard_normal((PROJECTIONS, DIMENSION), dtype=np.float32)
    projections /= np.linalg.norm(projections, axis=1, keepdims=True)
    centres = rng.standard_normal((CLASSES, DIMENSION), dtype=np.float32) * np.float32(APART)
    aimless = rng.standard_normal((table[DEEP], SENTENCES, DIMENSION), dtype=np.float32)
    central = rng.standard_normal((candidates, DIMENSION), dtype=np.float32) * np.float32(1e-3)
    encoded = documents(table[ENCODED], rng), documents(candidates, rng).mean(axis=1)
    classes = recoded(table[RECODED], centres, rng), recoded(candidates, centres, rng).mean(axis=1)
    made_up = {ENCODED: encoded, RECODED: classes, DEEP: (aimless, central)}
    few = QUICK_FEW if quick else FEW
    return {kind: Case(kind, *pair, projections, few, True) for kind, pair in made_up.items()}


@pytest.fixture(scope="module")
def case(request: pytest.FixtureRequest, kinds: dict[str, Case]) -> Case:
    """So many documents of one kind."""
    kind, count = request.param
    whole = kinds[kind]
    row = count == len(whole.documents)
    return replace(whole, documents=whole.documents[:count], row=row)


def test_plain(timed: Timed, case: Case) -> None:
    """The baseline, which counts for every number of documents of a kind."""
    projected = case.candidates @ case.projections.T
    call = Call(f"DeepCandidate, {case.kind}", "baseline", BASELINE, case.few)
    some = case.documents[: case.few]
    timed(call, ROUNDS, lambda: [plain(each, projected, case.projections) for each in some])


def test_ours(timed: Timed, case: Case) -> None:
    """All documents, after the depths of a few were compared."""
    mechanism = DeepCandidate(case.candidates, case.projections, EPSILON)
    count, projected = len(case.documents), case.candidates @ case.projections.T
    offsets = np.arange(count + 1) * SENTENCES
    fast = mechanism.scores(case.sentences[: offsets[case.few]], offsets[: case.few + 1])
    slow = [plain_scores(x, projected, case.projections) for x in case.documents[: case.few]]
    # Products in 32 bits, computed in different order, now and then turn a tie that is nearly one.
    apart = np.abs(fast - np.stack(slow))
    assert apart.max() <= 1, "the depths differ"
    assert np.count_nonzero(apart) <= 1e-4 * apart.size, "many depths differ"
    row = Row(
        subject=f"DeepCandidate, {case.kind}, {count:,} documents",
        baseline=BASELINE,
        unit="documents/s",
        target=50.0,
        floor_is="the float32 product of sentences and projections",
        note=f"{(fast > -SENTENCES / 2).mean():.1%} of the scores are above the lowest",
    )
    rows, plot = (row,) if case.row else (), PLOT if case.kind == ENCODED else None
    call = Call(case.group, "ours", "discreet", count, rows, plot, count)
    timed(call, ROUNDS, lambda: mechanism.select(case.sentences, secure_generator(), offsets))


def test_product(timed: Timed, case: Case) -> None:
    """Without it no depth is known."""
    name = "floor: product with the projections"
    call = Call(case.group, "floor", name, len(case.documents))
    timed(call, ROUNDS, np.matmul, case.sentences, case.projections.T)


def test_bytes(timed: Timed, case: Case) -> None:
    """Copying the vectors."""
    name = "floor: bytes of the vectors copied"
    timed(Call(case.group, "drawn", name, len(case.documents)), ROUNDS, case.documents.copy)
