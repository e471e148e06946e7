"""Canaries against the figures that are claimed; the data is constructed."""

from collections.abc import Callable
from dataclasses import replace

from discreet.audit.training import audit_training
from discreet.training.user_entity.rules import Rules

_STEPS = 50
# The paper's constants; caps of 1 let a small crowd have the weights of a large one.
_ATTACKED = Rules(
    algorithm="published",
    user_rate=0.05,
    entity_rate=0.5,
    noise=2.0,
    population=60,
    user_cap=1,
    entity_cap=1,
    sentence_cap=1,
)

Rows = list[list[str | int | float | bool]]


def attacks(certified: Rules, steps: int, runs: int) -> dict[str, Callable[[], Rows]]:
    """By name: both published algorithms, and certified training of so many steps."""
    optimized = replace(_ATTACKED, algorithm="published-optimized")
    return {
        "simple": lambda: _attacked(_ATTACKED, _STEPS, 1, runs),
        "optimized": lambda: _attacked(optimized, _STEPS, 1, runs),
        f"certified-z{certified.noise:.4g}": lambda: _attacked(certified, steps, 100),
    }


def _attacked(rules: Rules, steps: int, canaries: int, runs: int = 1) -> Rows:
    audits = audit_training(rules, steps=steps, canaries=canaries, runs=runs, seed=1)
    return [
        [rules.algorithm, what, steps, one.claimed, one.lower, one.correct, one.guesses, one.broken]
        for what, one in audits.items()
    ]
