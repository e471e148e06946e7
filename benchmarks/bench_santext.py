"""SanText from file to file, against the way its authors' code does it, in one run.

The baseline is what the public script does: distances between all words, a softmax over every row
(a V x V matrix), then one ``numpy.random.choice`` per token. It computes in place and holds one
such matrix where the original holds several, which is kinder. Its time per token is constant, so it
is measured on a part of the text and scaled; ours is the whole command, interpreter included.

Without --text a corpus is made up: as many tokens, distinct words and documents as SST-2's training
set has, with frequencies by Zipf's law. Cold means that nothing is cached for the space; warm that
``discreet spaces build`` was run once. Needs the encoder space (30,522 x 384) and 8 GB of memory
for the baseline; with less, its rows stay empty.
"""

import contextlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.managers import BaseManager
from pathlib import Path

import corpus
import numpy as np
import pytest
from figures import Call, Row, Timed
from pytest_benchmark.fixture import BenchmarkFixture

from discreet.randomness import secure_generator
from discreet.report.plots import Plot
from discreet.spaces import EmbeddingSpace, load_space
from discreet.spaces.saved_files import save_space
from discreet.text.tokens import TokenBatch, tokenizer_for

COMMAND = Path(sys.executable).with_name("discreet")
EPSILON = 8.0
BASELINE = "authors' way, V x V in place"
BASELINE_TOKENS, BASELINE_ROUNDS = 6_000, 4
COLD, WARM = "cold", "warm"
SIZES, QUICK_SIZES = ("text", 100_000, 2_000_000, 10_000_000), ("text", 2_000)
# What has to be reached: on the text itself, and on ten million tokens.
TARGETS = {("text", WARM): 100.0, ("text", COLD): 40.0, (10_000_000, COLD): 100.0}
ROUNDS, WORTH_REPEATING = 5, 2_000_000
PLOT = Plot(
    name="tokens",
    title="SanText, file to file",
    x="tokens",
    y="seconds",
    curves=(),
    alternative="Seconds over tokens: ours is nearly flat until the distinct words are done, "
    "then rises with the tokens, far below the authors' way and above the floors",
)


@dataclass(frozen=True)
class Setting:
    """The text and the space that all runs share; why the baseline cannot be run, if it cannot."""

    folder: Path
    name: str
    space: EmbeddingSpace
    texts: list[str]
    whole: TokenBatch
    shortage: str


@dataclass(frozen=True)
class Source:
    """A text to sanitise: the whole one, or parts or repetitions with about so many tokens."""

    group: str
    size: int | str
    path: Path
    tokens: int
    distinct: int


class AuthorsWay:
    """Everything precomputed, then a choice per token."""

    def __init__(self, name: str) -> None:
        self.space = load_space(name)
        self.table = np.empty(0)

    def precompute(self) -> None:
        """The probabilities of all words for all words."""
        vectors = self.space.vectors.astype(np.float64)
        norms = (vectors**2).sum(axis=1)
        # The symmetric routine crashes at this size.
        table = vectors @ np.ascontiguousarray(vectors.T)
        table *= -2
        table += norms
        table += norms[:, None]
        np.sqrt(np.maximum(table, 0, out=table), out=table)
        np.fill_diagonal(table, 0.0)
        table *= -EPSILON / 2
        np.exp(table, out=table)
        table /= table.sum(axis=1, keepdims=True)
        self.table = table

    def choose(self, ids: np.ndarray) -> str:
        """A text for a text."""
        words, table = np.arange(len(self.space)), self.table
        drawn = [self.space.words[np.random.choice(words, 1, p=table[i])[0]] for i in ids]  # noqa: NPY002
        return " ".join(drawn)


class Elsewhere(BaseManager):
    """A process of its own, whose memory is not counted as ours."""


Elsewhere.register("authors_way", AuthorsWay)


def environment(cache: Path) -> dict[str, str]:
    """A user's: with a cache of its own, and compiled modules, as an installed package has them."""
    kept = {name: value for name, value in os.environ.items() if "DONTWRITEBYTECODE" not in name}
    return kept | {"DISCREET_CACHE": str(cache)}


def sanitize(source: Path, output: Path, space: str, cache: Path) -> float:
    """Run the whole command; the most gigabytes that it held."""
    child = subprocess.Popen(
        [COMMAND, "sanitize", source, "-o", output, "--space", space,
         "--mechanism", "santext", "--epsilon", str(EPSILON), "--calibration", "published"],
        stderr=subprocess.DEVNULL, env=environment(cache),
    )  # fmt: skip
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, "the command failed"
    return usage.ru_maxrss / 2**20


def available_memory() -> float:
    """Bytes that a process can have; what caches hold counts where the system tells."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024.0 * int(next(line for line in lines if "MemAvailable" in line).split()[1])
    return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every size, one after the other."""
    if "source" in metafunc.fixturenames:
        sizes = QUICK_SIZES if metafunc.config.getoption("quick") else SIZES
        metafunc.parametrize("source", sizes, indirect=True, scope="module")


@pytest.fixture(scope="module")
def setting(quick: bool, pytestconfig: pytest.Config) -> Iterator[Setting]:
    """The encoder space and the text; in a smoke test small ones."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, name, tokens, distinct = Path(temporary), "encoder", corpus.TOKENS, corpus.DISTINCT
        if quick:
            small = save_space(load_space("starter", max_words=1000), folder / "small.safetensors")
            name, tokens, distinct = str(small), 20_000, 500
        space = load_space(name)
        texts = corpus.texts_for(space, pytestconfig.getoption("text"), tokens, distinct)
        whole = tokenizer_for(space.words, space.unknown, space.subwords).encode(texts)
        needed = 1.1 * 8 * len(space) ** 2
        short = available_memory() < needed
        shortage = f"the baseline needs {needed / 1e9:.0f} GB of free memory" if short else ""
        yield Setting(folder, name, space, texts, whole, shortage)


@pytest.fixture(scope="module")
def source(request: pytest.FixtureRequest, setting: Setting) -> Source:
    """A text of one of the sizes."""
    size, whole, texts = request.param, setting.whole, setting.texts
    times, last = divmod(whole.tokens if size == "text" else size, whole.tokens)
    part = int(np.searchsorted(whole.offsets, last))
    path = setting.folder / f"{size}.txt"
    path.write_text("\n".join(texts * times + texts[:part]) + "\n")
    rest = whole.ids[: whole.offsets[part]]
    tokens, distinct = times * whole.tokens + len(rest), np.unique(whole.ids if times else rest)
    return Source(f"SanText, {size}", size, path, tokens, len(distinct))


@pytest.fixture(scope="module")
def warm(setting: Setting) -> Path:
    """The cache of a user who built the space and has run the command before."""
    cache = setting.folder / WARM
    build = [COMMAND, "spaces", "build", setting.name]
    subprocess.run(build, check=True, capture_output=True, env=environment(cache))
    first = setting.folder / "first.txt"
    first.write_text("\n".join(setting.texts[:1000]) + "\n")
    sanitize(first, first.with_suffix(".out"), setting.name, cache)
    return cache


@pytest.fixture(scope="class")
def way(setting: Setting) -> Iterator[AuthorsWay]:
    """The baseline elsewhere; gone, with its memory, before ours is measured."""
    if setting.shortage:
        pytest.skip(setting.shortage)
    with Elsewhere(ctx=multiprocessing.get_context("spawn")) as elsewhere:
        yield elsewhere.authors_way(setting.name)


class TestAuthorsWay:
    """The baseline, for all sizes at once: what is computed first, then a part of the text."""

    def test_precomputation(self, timed: Timed, way: AuthorsWay) -> None:
        """For any number of tokens."""
        timed(Call("SanText", "baseline", BASELINE, 0), 1, way.precompute)

    def test_choices(self, timed: Timed, way: AuthorsWay, setting: Setting) -> None:
        """In each round another part of the text."""
        size = min(BASELINE_TOKENS, setting.whole.tokens // BASELINE_ROUNDS)
        parts = (setting.whole.ids[i * size : (i + 1) * size] for i in range(BASELINE_ROUNDS))
        call = Call("SanText", "baseline", BASELINE, size)
        timed(call, BASELINE_ROUNDS, way.choose, setup=lambda: ((next(parts),), {}))


def test_product(timed: Timed, setting: Setting, source: Source) -> None:
    """Without an index: a float32 product of the distinct words' rows with the vocabulary."""
    right = np.ones((setting.space.dimension, len(setting.space)), dtype=np.float32)
    left = np.ones((512, setting.space.dimension), dtype=np.float32)
    does = len(left) / source.distinct * source.tokens
    call = Call(
        f"{source.group}, {COLD}", "floor", "floor: product of the distinct rows (cold)", does
    )
    timed(call, 4, np.matmul, left, right)


def test_numbers(timed: Timed, source: Source) -> None:
    """A random number for each token."""
    call = Call(source.group, "floor", "floor: random numbers", source.tokens)
    timed(call, 2, secure_generator().random, source.tokens)


def test_bytes(timed: Timed, source: Source) -> None:
    """Reading and writing a file as long."""
    copy = source.path.with_suffix(".copy")
    call = Call(source.group, "floor", "floor: bytes read and written", source.tokens)
    timed(call, 2, lambda: copy.write_bytes(source.path.read_bytes()))


@pytest.mark.parametrize("state", [COLD, WARM])
def test_ours(
    timed: Timed,
    benchmark: BenchmarkFixture,
    setting: Setting,
    source: Source,
    warm: Path,
    state: str,
) -> None:
    """The whole command, start to end."""
    tokens, run, peaks = source.tokens, setting.folder / "run", []
    row = Row(
        subject=f"SanText, {state}, {tokens:,} tokens",
        baseline=BASELINE,
        unit="tokens/s",
        target=TARGETS.get((source.size, state)),
        floor_is="cold, a float32 product of the distinct words' rows with the vocabulary; always, "
        "a random number for each token, and reading and writing the bytes",
        note=setting.shortage,
    )
    group, name = f"{source.group}, {state}", f"discreet, {state}"

    def afresh() -> None:
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir()

    def command() -> None:
        cache = warm if state == WARM else run / "cache"
        peaks.append(sanitize(source.path, run / "out.txt", setting.name, cache))

    call = Call(group, "ours", name, tokens, (row,), PLOT, tokens)
    timed(call, ROUNDS if tokens < WORTH_REPEATING else 1, command, setup=afresh)
    benchmark.extra_info["gigabytes"] = max(peaks)
