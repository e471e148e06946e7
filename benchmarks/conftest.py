"""Options of the benchmarks, and the clock, which is pytest-benchmark's."""

import resource
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from figures import Call, Timed
from pytest_benchmark.fixture import BenchmarkFixture


def pytest_addoption(parser: pytest.Parser) -> None:
    """Those of run.py that concern a single benchmark."""
    group = parser.getgroup("discreet")
    group.addoption("--quick", action="store_true", help="a smoke test: its figures mean nothing")
    group.addoption("--text", type=Path, help="jsonl with a field text; else one is made up")
    group.addoption("--no-peer", action="store_true", help="do not install or run the peer")
    peer, kept = Path("out/benchmarks/peer"), "where the peer is installed and kept"
    group.addoption("--peer-environment", type=Path, default=peer, help=kept)


@pytest.fixture(scope="session")
def quick(pytestconfig: pytest.Config) -> bool:
    """Whether this is a smoke test."""
    return bool(pytestconfig.getoption("quick"))


@pytest.fixture
def timed(benchmark: BenchmarkFixture, quick: bool) -> Timed:
    """Time some rounds of a call; what it is for is kept beside the time, and the memory."""

    def run(
        call: Call,
        rounds: int,
        target: Callable[..., object],
        *arguments: object,
        setup: Callable[[], object] | None = None,
    ) -> None:
        def discarded(*given: object) -> None:  # else a result is held through the next round
            target(*given)

        benchmark.group = call.group
        benchmark.pedantic(discarded, arguments, setup=setup, rounds=1 if quick else rounds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        benchmark.extra_info.update(asdict(call) | {"gigabytes": peak})

    return run
