"""Labels in stages: what is released of some people's labels becomes the prior for the next.

Each label is released once, so each keeps its own epsilon however many stages there are. The prior
of a stage is a function of earlier releases, never of the labels themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet import check
from discreet.arrays import Floats, Ids
from discreet.errors import InvalidValue
from discreet.mechanisms.label._classes import checked_indices
from discreet.mechanisms.label.prior_response import PriorResponse


@dataclass(frozen=True)
class Stage:
    """The released labels of one part, and the mechanism that released them."""

    released: Ids
    mechanism: PriorResponse


def refine_prior(released: ArrayLike, transition: ArrayLike) -> Floats:
    """The frequencies of the true labels, estimated from released ones and their known law.

    The estimate solves ``frequencies of releases = transition^T frequencies of labels``, which is
    unbiased, and moves it to the nearest probabilities. It sees releases only, so it costs nothing.

    >>> law = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> refine_prior([0] * 68 + [1] * 32, law).round(3).tolist()
    [0.8, 0.2]
    """
    return pooled_prior([(released, transition)])


def pooled_prior(parts: Sequence[tuple[ArrayLike, ArrayLike]]) -> Floats:
    """:func:`refine_prior` from several parts, each released by a law of its own."""
    rows: list[Floats] = []
    wanted: list[Floats] = []
    for released, transition in parts:
        law = _stochastic(transition)
        values = checked_indices(released, len(law), "refine_prior")
        if values.size == 0:
            raise InvalidValue("released labels of refine_prior must be at least 1; got 0")
        weight = np.sqrt(len(values))
        rows.append(weight * law.T)
        wanted.append(weight * np.bincount(values, minlength=len(law)) / len(values))
    if not rows or len({len(row) for row in rows}) > 1:
        raise InvalidValue("parts of refine_prior must be at least 1, all over the same labels")
    matrix = np.concatenate(rows)
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise InvalidValue(
            "transition of refine_prior must tell all labels apart; this one does not, because "
            "some labels are never released: add a part that was released with all of them"
        )
    estimate = np.linalg.lstsq(matrix, np.concatenate(wanted), rcond=None)[0]
    return _nearest_probabilities(np.asarray(estimate, dtype=np.float64))


def multi_stage(
    parts: Sequence[ArrayLike], classes: int, epsilon: float, rng: np.random.Generator
) -> list[Stage]:
    """Release disjoint parts of a data set one after the other, each with a better prior.

    The first part is released under a uniform prior, which is plain randomised response.

    Args:
        parts: class indices of each part; no person's label may be in two of them.
        classes: how many labels there are.
        epsilon: loss allowed for each label.
        rng: the randomness.
    """
    classes = check.whole(classes, "classes of multi_stage", at_least=2)
    stages: list[Stage] = []
    prior: Floats = np.full(classes, 1.0 / classes)
    for part in parts:
        mechanism = PriorResponse(prior, epsilon)
        stages.append(Stage(mechanism.release(part, rng), mechanism))
        prior = pooled_prior([(s.released, s.mechanism.transition) for s in stages])
    return stages


def _stochastic(transition: ArrayLike) -> Floats:
    law = np.asarray(transition)
    square = law.ndim == 2 and law.shape[0] == law.shape[1] and len(law) > 0
    numbers = square and law.dtype.kind in "fiu"
    if not numbers or not (law >= 0).all() or np.abs(law.sum(axis=1) - 1).max() > 1e-6:
        raise InvalidValue(
            "transition of refine_prior must be a square matrix whose rows are probabilities"
        )
    return law.astype(np.float64, copy=False)


def _nearest_probabilities(values: Floats) -> Floats:
    """The Euclidean projection on the probability simplex."""
    falling = np.sort(values)[::-1]
    surplus = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(falling > surplus)[-1])
    weights = np.maximum(values - surplus[last], 0.0)
    return np.asarray(weights / weights.sum())
