"""What must hold for every mechanism with a finite law, checked exactly wherever it can be."""

import math

import numpy as np

from discreet.errors import InvalidValue
from discreet.protocols import FiniteMechanism
from discreet.statement import Notion, PrivacyStatement
from goodness import fits
from small_spaces import all_distances

TOLERANCE = 1e-9


def excess_loss(mechanism: FiniteMechanism, distances: np.ndarray) -> float:
    """Largest log-ratio minus what the statement allows, over all pairs and outputs."""
    statement = mechanism.statement
    logs = mechanism.log_probabilities(np.arange(len(distances)))
    worst = -math.inf
    for x, row in enumerate(logs):
        both = np.isfinite(row) & np.isfinite(logs)
        if statement.notion is not Notion.UTILITY_OPTIMISED:
            # A word that one input reaches and another does not is an infinite ratio.
            if not (np.isfinite(row) == np.isfinite(logs)).all():
                return math.inf
        else:
            # Outside the protected outputs only the word itself may come out.
            alone = np.isfinite(row) & ~np.isfinite(logs)
            alone[x] = False
            unprotected = set(np.flatnonzero(alone.any(axis=0)))
            if not unprotected <= {x}:
                return math.inf
            if unprotected:
                both[:, x] = False
        with np.errstate(invalid="ignore"):
            ratio = np.where(both, row - logs, -math.inf).max(axis=1)
        match statement.notion:
            case Notion.METRIC | Notion.UTILITY_OPTIMISED:
                allowed = statement.epsilon * distances[x] + statement.slack
            case Notion.PURE:
                allowed = np.full(len(distances), statement.epsilon)
            case other:
                raise AssertionError(f"no exact check for {other}")
        worst = max(worst, float((ratio - allowed).max()))
    return worst


def check_finite(mechanism: FiniteMechanism, seed: int) -> None:
    """Every promise of the protocol; ``mechanism.space`` must be small."""
    space = mechanism.space
    count = len(space)
    everything = np.arange(count)
    logs = mechanism.log_probabilities(everything)
    assert logs.shape == (count, count)
    assert np.abs(np.exp(logs).sum(axis=1) - 1).max() < 1e-12

    assert isinstance(mechanism, FiniteMechanism)
    assert PrivacyStatement.from_json(mechanism.statement.to_json()) == mechanism.statement
    assert excess_loss(mechanism, all_distances(space)) <= TOLERANCE

    rng = np.random.default_rng(seed)
    for x in (0, count // 2, count - 1):
        draws = mechanism.release(np.full(40_000, x), rng)
        assert fits(draws, np.exp(logs[x])), f"sampler of word {x} is off its law, seed {seed}"

    mixed = rng.integers(0, count, 5_000)
    out = mechanism.release(mixed, rng)
    assert out.shape == mixed.shape
    assert out.dtype.kind == "i"
    assert np.isfinite(logs[mixed, out]).all()
    assert len(mechanism.release(mixed[:0], rng)) == 0

    again = [mechanism.release(mixed, np.random.default_rng(s)) for s in (7, 7, 8)]
    assert (again[0] == again[1]).all()
    assert (again[0] != again[2]).any() or (again[0] == mixed).mean() > 0.999

    for bad in ([count], [-1], [0.5], [[0]], ["tea"]):
        try:
            mechanism.release(np.array(bad), rng)
        except InvalidValue:
            continue
        raise AssertionError(f"release took {bad}")
