"""What an observer can tell from releases alone: a lower bound on the loss, or on delta.

For a pair of inputs, half of the releases are used to choose an event, the other half to judge it.
Clopper-Pearson bounds in both directions give a loss that the mechanism certainly has (but for a
stated probability of error). Nothing is assumed about the mechanism. Finding little proves little:
only the law can show that a claim holds.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Generator, Ids
from discreet.audit.chance import at_least, at_most
from discreet.audit.pairs import Pair
from discreet.audit.subject import Subject
from discreet.statement import Notion

Array = NDArray[Any]

_EVENTS = 2
_THRESHOLDS = 256


@dataclass(frozen=True)
class LowerBound:
    """What a pair of inputs certainly loses."""

    first: int
    second: int
    shown: float
    """Loss (or delta, for the approximate notion) shown; at least 0."""
    allowed: float

    @property
    def broken(self) -> bool:
        """True if more is lost than allowed."""
        return self.shown > self.allowed


def lower_bounds(
    subject: Subject, pairs: Iterable[Pair], draws: int, level: float, rng: Generator
) -> list[LowerBound]:
    """A lower bound for each pair in both directions, from so many releases of each input.

    All hold together except with probability ``level``.
    """
    ordered = [both for x, y in pairs for both in ((x, y), (y, x))]
    inputs = list(dict.fromkeys(x for pair in ordered for x in pair))
    whose = np.repeat(np.array(inputs), draws)
    whose = whose[rng.permutation(len(whose))]
    released = subject.release(whose, rng)
    samples = {x: released[whose == x] for x in inputs}
    each = level / max(1, len(ordered) * _EVENTS)
    return [_bound(subject, first, second, samples, each) for first, second in ordered]


def _bound(
    subject: Subject, first: int, second: int, samples: dict[int, Array], level: float
) -> LowerBound:
    learn, judge = (
        [samples[x][i * (len(samples[x]) // 2) :][: len(samples[x]) // 2] for x in (first, second)]
        for i in (0, 1)
    )
    trials = len(judge[0])
    approximate = subject.statement.notion is Notion.APPROXIMATE
    epsilon = subject.statement.epsilon if approximate else None
    best = 0.0
    for scores in _scores(subject, first, second, learn, judge):
        limit = _threshold(scores[0], scores[1], level, epsilon)
        hits = [int((scores[i] >= limit).sum()) for i in (2, 3)]
        low = float(at_least(hits[0], trials, level / 2))
        high = float(at_most(hits[1], trials, level / 2))
        best = max(best, float(_lost(np.array([low]), np.array([high]), epsilon)[0]))
    allowed = (
        subject.statement.delta
        if approximate
        else float(subject.allowed(np.array([first]), np.array([second]))[0])
    )
    return LowerBound(first, second, best, allowed)


def _lost(low: Floats, high: Floats, epsilon: float | None) -> Floats:
    """Loss, or with an epsilon the delta, that an event of these probabilities shows."""
    if epsilon is None:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(low) - np.log(high))
    return np.asarray(low - np.exp(min(epsilon, 700.0)) * high)


def _threshold(first: Floats, second: Floats, level: float, epsilon: float | None) -> float:
    """The threshold of a score that shows most on the learning half."""
    rising = np.sort(np.concatenate([first, second]))
    rising = rising[np.isfinite(rising)]
    values = np.unique(rising)
    if not values.size:
        return math.inf
    if len(values) > _THRESHOLDS:
        evenly = np.linspace(0, len(rising) - 1, _THRESHOLDS // 2)
        to_the_top = len(rising) - np.geomspace(1, len(rising), _THRESHOLDS // 2)
        values = np.unique(rising[np.concatenate([evenly, to_the_top]).astype(np.int64)])
    hits = [len(some) - np.searchsorted(np.sort(some), values, "left") for some in (first, second)]
    low = at_least(hits[0], len(first), level / 2)
    high = at_most(hits[1], len(second), level / 2)
    return float(values[int(_lost(low, high, epsilon).argmax())])


def _scores(
    subject: Subject, first: int, second: int, learn: list[Array], judge: list[Array]
) -> list[list[Floats]]:
    """Ways to score outputs; high scores speak for the first input.

    Each is a list: the scores of the learning halves of both inputs, then of the judged halves.
    """
    if subject.discrete or subject.vectors is None:
        return _counted_scores(learn, judge, subject.sensitive)
    everything, width = [*learn, *judge], learn[0].shape[1]
    x, y = subject.vectors[[first, second]].astype(np.float64)
    # What goes in may have no place among what comes out; where they come out on average has.
    alike = width == len(x)
    way = x - y if alike else learn[0].mean(axis=0) - learn[1].mean(axis=0)
    along = [outputs @ way for outputs in everything]
    if subject.stage is not None and subject.stage.centres.shape[1] == width:
        density = subject.stage.log_density_of
        ends = subject.stage.at(np.array([first, second]))
        rated = [density(ends[0], outputs) - density(ends[1], outputs) for outputs in everything]
        return [[np.nan_to_num(scores, nan=0.0) for scores in rated], along]
    if not alike:
        return [along]
    middle, reach = (x + y) / 2, np.abs(way) / 2
    return [
        [np.clip(outputs - middle, -reach, reach) @ np.sign(way) for outputs in everything],
        along,
    ]


def _counted_scores(
    learn: list[Array], judge: list[Array], protected: NDArray[np.bool_] | None
) -> list[list[Floats]]:
    """By how much more often an output came out of the first input; and the best single output."""
    outputs = np.unique(np.concatenate(learn))
    if protected is not None:
        # What comes out unprotected is disclosed, and the statement says so.
        outputs = outputs[protected[outputs]]
    if not outputs.size:
        return []
    known = [sample[np.isin(sample, outputs)] for sample in learn]
    counts = [np.bincount(np.searchsorted(outputs, some), minlength=len(outputs)) for some in known]
    ratio = np.log(counts[0] + 0.5) - np.log(counts[1] + 0.5)
    n = len(learn[0])
    single = _lost(at_least(counts[0], n, 1e-3), at_most(counts[1], n, 1e-3), None)
    champion = (np.arange(len(outputs)) == int(single.argmax())).astype(np.float64)

    def looked_up(table: Floats, sample: Array) -> Floats:
        place: Ids = np.minimum(np.searchsorted(outputs, sample), len(outputs) - 1)
        # An output that was not met while learning speaks for nobody.
        return np.where(outputs[place] == sample, table[place], -math.inf)

    everything = [*learn, *judge]
    return [[looked_up(table, some) for some in everything] for table in (ratio, champion)]
