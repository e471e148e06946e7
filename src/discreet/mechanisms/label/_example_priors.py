"""Randomised response with a prior of its own for each label."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Floats, Ids
from discreet.errors import InvalidValue
from discreet.mechanisms.label._classes import checked_indices, label_statement
from discreet.randomness import bernoulli_exp

_TOLERANCE = 1e-4


class PriorPerExample:
    """Release each label by randomised response among those that its own prior makes likely.

    The law of row i is that of :class:`PriorResponse` with the i-th prior.

    Privacy: unit label, adjacency replace, pure notion. For any two labels y, y' of a row and any
    output z, ``P(z|y) <= exp(epsilon) * P(z|y')``, whatever its prior. Only the label is covered.
    A prior must be a function of what is public or released already (a model of earlier releases,
    say, and the released vector of the same row), never of the label itself.

    Paper: Ghazi et al., "Deep Learning with Label Differential Privacy", NeurIPS 2021, RRWithPrior.
    Where we differ: nothing.

    Args:
        priors: ``(n, k)``, probabilities of the labels of each row.
        epsilon: loss allowed for each label, at least 0.

    >>> mechanism = PriorPerExample([[0.6, 0.3, 0.1], [0.0, 0.1, 0.9]], epsilon=1.0)
    >>> mechanism.kept.tolist()
    [[True, True, False], [False, False, True]]
    """

    def __init__(self, priors: ArrayLike, epsilon: float) -> None:
        rows = np.asarray(priors)
        self.epsilon = check.non_negative(epsilon, "epsilon of PriorPerExample")
        if rows.ndim != 2 or rows.shape[1] < 2 or rows.dtype.kind not in "fiu":
            raise InvalidValue(
                "priors of PriorPerExample must be a row of 2 or more numbers for each label"
            )
        rows = rows.astype(np.float64, copy=False)
        bad = ~(np.isfinite(rows).all(axis=1) & (rows >= 0).all(axis=1))
        bad |= ~(np.abs(rows.sum(axis=1) - 1) <= _TOLERANCE)
        if bad.any():
            raise InvalidValue(
                "priors of PriorPerExample must be probabilities that sum to 1; "
                f"{int(bad.sum())} of {len(rows)} rows are not, the first is row {bad.argmax()}"
            )
        order = np.argsort(-rows, axis=1, kind="stable")
        counts = np.arange(1, rows.shape[1] + 1)
        falling = np.take_along_axis(rows, order, axis=1)
        correct = np.cumsum(falling, axis=1) / (1.0 + (counts - 1) * np.exp(-self.epsilon))
        self._count = correct.argmax(axis=1) + 1
        self._order = order
        self._place = np.argsort(order, axis=1, kind="stable")  # of each label in that order
        self.kept: NDArray[np.bool_] = self._place < self._count[:, None]
        self.classes = rows.shape[1]
        """How many labels there are."""
        self.statement = label_statement(self.epsilon, "the prior over the labels of each row")
        """The guarantee for each released label."""

    def release(self, indices: ArrayLike, rng: np.random.Generator) -> Ids:
        """An independent draw for the class index of each row."""
        values = self._checked(indices)
        rows = np.arange(len(values))
        place, count = self._place[rows, values], self._count
        with np.errstate(divide="ignore"):
            exponent = np.logaddexp(0.0, self.epsilon - np.log(count - 1.0))
        flip = np.zeros(len(values), dtype=np.bool_)
        several = np.flatnonzero(count > 1)  # with one label kept there is nothing to draw
        flip[several] = bernoulli_exp(exponent[several], rng)
        shift = rng.integers(1, np.maximum(count, 2))
        inside = np.where(flip, (place + shift) % count, place)
        anywhere = rng.integers(0, count)
        chosen: Ids = self._order[rows, np.where(place < count, inside, anywhere)]
        return chosen

    def log_probabilities(self, indices: ArrayLike) -> Floats:
        """``(n, k)``: the law that :meth:`release` samples from."""
        values = self._checked(indices)
        rows, count = np.arange(len(values)), self._count[:, None]
        keep = -np.log1p((count - 1) * np.exp(-self.epsilon))
        among = self.kept[rows, values][:, None]
        out = np.where(self.kept, np.where(among, keep - self.epsilon, -np.log(count)), -np.inf)
        out[rows, values] = np.where(among, keep, -np.inf)[:, 0]
        return out

    @property
    def transitions(self) -> Floats:
        """``(n, k, k)``: the law of every release, row by row; what training corrects."""
        every = [
            np.exp(self.log_probabilities(np.full(len(self._order), label)))
            for label in range(self.classes)
        ]
        return np.stack(every, axis=1)

    def _checked(self, indices: ArrayLike) -> Ids:
        values = checked_indices(indices, self.classes, "PriorPerExample")
        if len(values) != len(self._order):
            raise InvalidValue(
                f"labels of PriorPerExample must be one for each of its {len(self._order)} priors; "
                f"got {len(values)}"
            )
        return values
