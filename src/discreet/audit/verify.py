"""Does a finite law keep its promise? Exactly: from log-probabilities, for all pairs and outputs.

The functions take a statement, the rows of a law and a table of distances, and know nothing of
words. A result is a proof for the pairs that were given; which those are, the caller says.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Ids, row_blocks
from discreet.audit.subject import rate_of
from discreet.errors import InvalidValue
from discreet.parallel import in_threads
from discreet.statement import Notion, PrivacyStatement

RELATIVE = 1e-9
"""A claimed epsilon may be exceeded by this share: rounding, not a fault."""
OFF_ONE = 1e-6
"""How far from 1 a row may sum: what a law in float32 is off by."""

_CACHE_NUMBERS = 2**17


@dataclass(frozen=True)
class Worst:
    """The pair of rows that comes closest to breaking a statement, or that breaks it most."""

    first: int
    second: int
    output: int | None
    """The output at which the ratio is largest; none for delta."""
    loss: float
    """Largest log-ratio of the pair; for the approximate notion the divergence delta."""
    claimed: float
    """Epsilon (or delta) of the statement."""
    needed: float
    """The epsilon (or delta) that this pair needs."""

    @property
    def broken(self) -> bool:
        """True if the statement does not hold for this pair."""
        return self.needed > self.claimed * (1 + RELATIVE) + RELATIVE * (self.claimed == 0)


def row_sums(logs: Floats) -> Floats:
    """Total probability of each row; not a number where the row is none."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(logs).sum(axis=1))


def worst_pair(
    statement: PrivacyStatement,
    logs: Floats,
    distances: Floats | None = None,
    *,
    own: Ids | None = None,
    protected: NDArray[np.bool_] | None = None,
) -> Worst:
    """The worst of all ordered pairs of rows, over all outputs.

    Args:
        statement: what is claimed. Pure: every log-ratio is at most epsilon. Metric: at most
            epsilon times distance. Utility-optimised: the same plus the slack, for protected
            outputs; any other output may come from its own input only. Approximate: the
            hockey-stick divergence at epsilon is at most delta.
        logs: ``(rows, outputs)``, natural logarithms of probabilities, a row per input.
        distances: ``(rows, rows)`` for the metric notions.
        own: the output that stands for each row's own input (utility-optimised notion).
        protected: which outputs are protected (utility-optimised notion).
    """
    if statement.notion is Notion.APPROXIMATE:
        return _worst_divergence(statement, logs)
    columns = np.ones(logs.shape[1], dtype=np.bool_)
    reached = logs > -np.inf
    if statement.notion is Notion.UTILITY_OPTIMISED:
        if own is None or protected is None:
            raise InvalidValue("a utility-optimised law is checked with own and protected given")
        columns = protected
        stray = reached & ~protected
        stray[np.arange(len(logs)), own] = False
        if stray.any():
            # An unprotected output that another input reaches does not tell who it came from,
            # and is not covered by the inequality either.
            row, stranger = (int(i[0]) for i in np.nonzero(stray))
            return _infinite(statement, row, 1 if row == 0 else 0, stranger)
    shared = reached.all(axis=0)
    lonely = np.flatnonzero(columns & reached.any(axis=0) & ~shared)
    if lonely.size:
        column = reached[:, lonely[0]]
        return _infinite(statement, int(column.argmax()), int(column.argmin()), int(lonely[0]))
    kept = np.flatnonzero(columns & shared)
    table = np.ascontiguousarray(logs if len(kept) == logs.shape[1] else logs[:, kept])
    losses = _largest_ratios(table)
    rates = rate_of(statement, losses, distances)
    np.fill_diagonal(rates, -math.inf)
    first, second = (int(i) for i in np.unravel_index(first_largest(rates), rates.shape))
    output = int(kept[first_largest(table[first] - table[second])]) if kept.size else None
    return Worst(
        first=first,
        second=second,
        output=output,
        loss=float(losses[first, second]),
        claimed=statement.epsilon,
        needed=max(0.0, float(rates.max())),
    )


def first_largest(values: Floats) -> int:
    """Where the first of the largest is, those as large up to rounding: the same anywhere."""
    top = float(values.max())
    least = top - RELATIVE * abs(top) if math.isfinite(top) else top
    return int((values >= least).argmax())


def _infinite(statement: PrivacyStatement, first: int, second: int, output: int) -> Worst:
    return Worst(first, second, output, math.inf, statement.epsilon, math.inf)


def _largest_ratios(table: Floats) -> Floats:
    """``(rows, rows)``: the largest entry of row i minus row j, for all i and j."""
    rows, width = table.shape
    out = np.zeros((rows, rows))
    if not width:
        return out

    def compare(i: int) -> None:
        others, to_them, from_them = table[i + 1 :], out[i, i + 1 :], out[i + 1 :, i]
        for part in row_blocks(len(others), width, _CACHE_NUMBERS):
            gap = table[i] - others[part]
            to_them[part], from_them[part] = gap.max(axis=1), -gap.min(axis=1)

    in_threads(compare, range(rows))
    return out


def _worst_divergence(statement: PrivacyStatement, logs: Floats) -> Worst:
    deltas = divergences(logs, statement.epsilon)
    first, second = (int(i) for i in np.unravel_index(first_largest(deltas), deltas.shape))
    largest = float(deltas.max())
    return Worst(first, second, None, largest, statement.delta, largest)


def divergences(logs: Floats, epsilon: float) -> Floats:
    """``(rows, rows)``: the hockey-stick divergence of row i from row j at ``epsilon``.

    That is the sum over outputs of max(0, P_i - exp(epsilon) P_j), the smallest delta for which
    the pair satisfies (epsilon, delta) in this direction.
    """
    rows, width = logs.shape
    law = np.exp(logs)
    raised = np.exp(np.minimum(logs + epsilon, 700.0))  # above that nothing is left of P_i anyway
    out = np.zeros((rows, rows))
    parts = list(row_blocks(rows, width, numbers=_CACHE_NUMBERS))

    def compare(i: int) -> None:
        for part in parts:
            out[i, part] = np.maximum(law[i] - raised[part], 0.0).sum(axis=1)

    in_threads(compare, range(rows))
    np.fill_diagonal(out, 0.0)
    return out


def distance_table(distance: Callable[[Ids, Ids], Floats] | None, ids: Ids) -> Floats | None:
    """All distances between some inputs, a row at a time; nothing if there is no metric."""
    if distance is None:
        return None
    out = np.empty((len(ids), len(ids)))
    for row, x in enumerate(ids):
        out[row] = distance(np.full(len(ids), x), ids)
    return out
