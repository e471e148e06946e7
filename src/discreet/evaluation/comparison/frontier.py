"""Which settings nothing beats: no other is worth more while attackers get less."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.evaluation.comparison.run import Comparison, ComparisonRow

LIMITS = (0.2, 0.3, 0.5)
"""Shares of words that may be named, for which a setting is recommended."""

# No guarantee at all, or one that nothing of the text can pass.
_WORTHLESS = ("", "none", "any two words: 0")


@dataclass(frozen=True)
class Recommendation:
    """The most useful setting that keeps an attacker below a limit."""

    limit: float
    row: ComparisonRow | None
    next: ComparisonRow | None
    """The best of another mechanism."""


def beaten_by(
    row: ComparisonRow, rows: Sequence[ComparisonRow], measure: str
) -> ComparisonRow | None:
    """A setting that is worth at least as much while attackers name no more words, if there is one.

    Of several, the one that is worth most. One of the two must really be better. A peer beats
    nobody: what its attacker names is a lower bound.
    """
    use, attack = row.worth(measure), row.best_attacker
    if use is None or attack is None:
        return None
    better = []
    for other in rows:
        theirs, named = other.worth(measure), other.best_attacker
        if other is row or other.peer or theirs is None or named is None:
            continue
        gain, leak = theirs.value - use.value, named[1].value - attack[1].value
        if gain >= 0 and leak <= 0 and (gain > 0 or leak < 0):
            better.append((theirs.value, other))
    return max(better, key=lambda pair: pair[0])[1] if better else None


def clearly(row: ComparisonRow, other: ComparisonRow, measure: str) -> bool:
    """Whether both differences are larger than their intervals allow for."""
    use, attack = row.worth(measure), row.best_attacker
    theirs, named = other.worth(measure), other.best_attacker
    if use is None or attack is None or theirs is None or named is None:
        return False
    return theirs.low > use.high and named[1].high < attack[1].low


def recommendations(comparison: Comparison) -> list[Recommendation]:
    """For each limit what to take: only what is useful at all, has a guarantee, and was attacked by
    who knows its law."""
    recommended = []
    limits = LIMITS if comparison.at is None else (comparison.at + 0.03,)
    for limit in limits:
        good = [
            (use.value, row)
            for row in comparison.rows
            if not row.peer and row.statement not in _WORTHLESS
            if (use := row.worth(comparison.measure)) is not None and use.low > comparison.guessing
            if (best := row.best_attacker) is not None and best[1].value <= limit
        ]
        good.sort(key=lambda pair: -pair[0])
        first = good[0][1] if good else None
        others = [row for _, row in good if first is not None and row.label != first.label]
        recommended.append(Recommendation(limit, first, others[0] if others else None))
    return recommended
