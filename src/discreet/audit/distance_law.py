"""All pairs of a large vocabulary at once, for laws proportional to exp(-kappa * d(x, y)).

For such a law the worst log-ratio of a pair has a closed form: at most
kappa * d(x, x') + |ln Z(x) - ln Z(x')|, with equality if x may come out of itself. So all pairs can be
checked without going through all outputs. Nothing is taken from the mechanism's certificate: ln Z
comes from the law's own rows, each of which is also checked to be of this form at a few random
outputs, to sum to 1 and to reach every output.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.audit.subject import ROUNDING, Floats, Generator, Ids
from discreet.audit.verify import row_sums
from discreet.embeddings.distances import Distances, blocks
from discreet.embeddings.space import EmbeddingSpace
from discreet.parallel import in_threads

Progress = Callable[[int, int], None]

MOST_WORDS = 25_000
"""Beyond this a pass over all pairs takes too long for an audit by default."""

_BLOCK_NUMBERS = 2**22
_TRIED_OUTPUTS = 4
_FORM = 1e-8


@dataclass(frozen=True)
class DistanceLawCheck:
    """What a pass over all rows and all pairs found."""

    is_distance_law: bool
    """False if some row is not of the form that the closed form needs."""
    total_off: float
    """Largest difference of a row's sum from 1."""
    full_support: bool
    """True if every row reaches every target."""
    rate: float
    """Upper bound on the epsilon that any pair needs (exact if its words may come out)."""
    pair: tuple[int, int]


def check_distance_law(
    space: EmbeddingSpace,
    kappa: float,
    log_probabilities: Callable[[Ids], Floats],
    rng: Generator,
    *,
    targets: Ids | None = None,
    slack: float = 0.0,
    progress: Progress | None = None,
) -> DistanceLawCheck:
    """Check every row and every pair of a distance law.

    Args:
        space: the vocabulary.
        kappa: how fast the law claims to fall with distance.
        log_probabilities: the law's rows.
        rng: chooses the outputs at which each row's form is tried.
        targets: ids of the words that may come out of any word (all unless given).
        slack: loss allowed on top of epsilon times distance.
        progress: called with (done, total).
    """
    count = len(space)
    distances = Distances(space)
    every = np.arange(count)
    reachable = every if targets is None else targets
    log_z = np.empty(count)
    off, form, full = 0.0, 0.0, True
    for rows in blocks_of(count, count):
        ids = every[rows]
        logs = log_probabilities(ids)
        off = max(off, float(np.abs(row_sums(logs) - 1).max()))
        full = full and bool((logs[:, reachable] > -np.inf).all())
        outputs = rng.choice(reachable, (_TRIED_OUTPUTS + 1, len(ids)))
        if targets is None:
            outputs[0] = ids
        terms = [
            logs[np.arange(len(ids)), output] + kappa * distances.exact(ids, output)
            for output in outputs
        ]
        log_z[rows] = -terms[0]
        with np.errstate(invalid="ignore"):
            form = max(form, *(float(np.abs(term - terms[0]).max()) for term in terms[1:]))
        if progress:
            progress(rows.stop, 2 * count)
    # A not-a-number compares as false: a law that is none is not of this form either.
    if not (form <= _FORM * (1 + kappa) and np.isfinite(log_z).all() and full):
        return DistanceLawCheck(False, off, full, math.nan, (0, 1))
    slope, pair = steepest_pair(distances, log_z, slack, progress)
    return DistanceLawCheck(True, off, full, kappa + slope, pair)


def steepest_pair(
    distances: Distances, log_z: Floats, slack: float = 0.0, progress: Progress | None = None
) -> tuple[float, tuple[int, int]]:
    """The largest (|ln Z(x) - ln Z(x')| - slack) / d(x, x') over all pairs, and its pair.

    Float32 lower bounds of the distances rule out nearly all pairs; the rest is computed in
    float64. At least 0 is returned.
    """
    count = len(log_z)
    every = np.arange(count)
    best, pair = 0.0, (0, 1)
    # Sorted, so that the columns whose ln Z is close to the row's are skipped together.
    single = log_z.astype(np.float32)
    rounding = np.float32(2.0**-22 * max(1.0, float(np.abs(log_z).max())))
    for rows in blocks_of(count, count):
        table = distances.lower_squared(every[rows])[:, :count]

        def hopeful(part: slice, rows: slice = rows, table: object = table) -> tuple[Ids, Ids]:
            gap = np.abs(single[rows][part, None] - single[None, :])
            gap += np.float32(rounding - slack)
            np.maximum(gap, 0.0, out=gap)
            gap *= gap
            assert isinstance(table, np.ndarray)
            near = np.maximum(table[part], 0.0, out=table[part])
            near *= np.float32(best * best * (1 - 1e-6))
            x, y = np.nonzero(gap > near)
            return x + part.start + rows.start, y

        found = in_threads(hopeful, list(blocks(len(table), count)))
        first = np.concatenate([x for x, _ in found])
        second = np.concatenate([y for _, y in found])
        first, second = first[first < second], second[first < second]
        over = np.abs(log_z[first] - log_z[second]) - slack - ROUNDING
        first, second, over = first[over > 0], second[over > 0], over[over > 0]
        if first.size:
            with np.errstate(divide="ignore"):
                slopes = over / distances.exact(first, second)
            top = int(slopes.argmax())
            if slopes[top] > best:
                best, pair = float(slopes[top]), (int(first[top]), int(second[top]))
        if progress:
            progress(count + rows.stop, 2 * count)
    return best, pair


def blocks_of(count: int, width: int) -> list[slice]:
    """Slices of rows whose tables have about four million numbers."""
    step = max(1, _BLOCK_NUMBERS // max(1, width))
    return [slice(i, min(i + step, count)) for i in range(0, count, step)]
