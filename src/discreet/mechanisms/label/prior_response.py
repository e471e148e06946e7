"""Randomised response among the labels that a public prior makes likely."""

import math
from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Ids
from discreet.errors import InvalidValue
from discreet.mechanisms.label._classes import (
    LabelLaw,
    checked_indices,
    label_statement,
    possible_labels,
)
from discreet.randomness import bernoulli_exp

_TOLERANCE = 1e-6


class PriorResponse(LabelLaw):
    """Release a label by randomised response among its ``kept`` likeliest ones.

    A label among those comes out as itself with probability ``e^epsilon / (e^epsilon + kept - 1)``;
    one outside comes out as any of them, each equally often. ``kept`` is the number that makes a
    correct release likeliest under the prior. No mechanism of the same epsilon does better.

    Privacy: unit label, adjacency replace, pure notion. For any two labels y, y' and any output z,
    ``P(z|y) <= exp(epsilon) * P(z|y')``, whatever the prior. Only the label is covered, not what it
    is released with. The prior is public: it must not be counted on the labels being protected.

    Paper: Ghazi et al., "Deep Learning with Label Differential Privacy", NeurIPS 2021 (RRWithPrior,
    there one prior per example: :class:`PriorPerExample`). Where we differ: one prior for all
    labels of a batch. A flip keeps its probability also where that is below 2^-53.

    Args:
        prior: probability of each label, at least two, summing to 1.
        epsilon: loss allowed, at least 0.

    >>> mechanism = PriorResponse([0.6, 0.3, 0.05, 0.05], epsilon=1.0)
    >>> mechanism.kept.tolist(), mechanism.transition[3].round(3).tolist()
    ([0, 1], [0.5, 0.5, 0.0, 0.0])
    """

    name: ClassVar[str] = "prior-response"

    def __init__(self, prior: ArrayLike, epsilon: float) -> None:
        self.prior = _checked(prior)
        self.epsilon = check.non_negative(epsilon, "epsilon of PriorResponse")
        self.kept, self.expected_accuracy = _best_labels(self.prior, self.epsilon)
        super().__init__(len(self.prior), label_statement(self.epsilon, "the prior over labels"))

    @classmethod
    def from_labels(
        cls, labels: int | Sequence[Hashable], epsilon: float, prior: tuple[float, ...]
    ) -> "PriorResponse":
        """For a list of labels, with a public prior in its order.

        Args:
            labels: the possible labels, distinct and known in advance, or how many there are.
            epsilon: loss allowed, at least 0.
            prior: PUBLIC guess at the share of each label.
        """
        count = len(possible_labels(labels, "PriorResponse"))
        if len(prior) != count:
            raise InvalidValue(
                f"prior of PriorResponse must be a number for each of the {count} labels; "
                f"got {len(prior)}"
            )
        return cls(prior, epsilon)

    def release(self, indices: ArrayLike, rng: np.random.Generator) -> Ids:
        """An independent draw for each class index."""
        values = checked_indices(indices, self.classes, "PriorResponse")
        place = self._place[values]
        count = len(self.kept)
        if count == 1:
            return np.full(len(values), self.kept[0])
        exponent = float(np.logaddexp(0.0, self.epsilon - math.log(count - 1)))
        flip = bernoulli_exp(np.full(len(values), exponent), rng)
        shift = rng.integers(1, count, len(values))
        anywhere = rng.integers(0, count, len(values))
        inside = np.where(flip, (place + shift) % count, place)
        return self.kept[np.where(place < 0, anywhere, inside)]

    def log_probabilities(self, indices: ArrayLike) -> NDArray[np.float64]:
        """``(n, k)``: the law that :meth:`release` samples from; never released is minus infinity.

        The labels that never come out are the same for every input.
        """
        values = checked_indices(indices, self.classes, "PriorResponse")
        count = len(self.kept)
        keep = -math.log1p((count - 1) * math.exp(-self.epsilon))
        place = self._place[values]
        out = np.full((len(values), self.classes), -np.inf)
        out[:, self.kept] = np.where(place < 0, -math.log(count), keep - self.epsilon)[:, None]
        among = np.flatnonzero(place >= 0)
        out[among, values[among]] = keep
        return out

    @property
    def _place(self) -> Ids:
        """Where among the kept labels each label is; -1 if it is not."""
        place = np.full(self.classes, -1, dtype=np.int64)
        place[self.kept] = np.arange(len(self.kept))
        return place


def _checked(prior: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(prior)
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        raise InvalidValue(
            "prior of PriorResponse must be one probability per label; "
            f"got {array.ndim} dimensions of {array.dtype}"
        )
    if len(array) < 2:
        raise InvalidValue(
            f"prior of PriorResponse must be over at least 2 labels; got {len(array)}: with a "
            "single class there is nothing to protect"
        )
    array = array.astype(np.float64)
    total = float(array.sum())
    if not (np.isfinite(array).all() and (array >= 0).all() and abs(total - 1) <= _TOLERANCE):
        raise InvalidValue(
            "prior of PriorResponse must be probabilities that sum to 1; "
            f"got {len(array)} numbers with sum {total!r}"
        )
    array /= total
    array.flags.writeable = False
    return array


def _best_labels(prior: NDArray[np.float64], epsilon: float) -> tuple[Ids, float]:
    """The likeliest labels, as many as make a correct release likeliest, and its probability."""
    order = np.argsort(-prior, kind="stable")
    counts = np.arange(1, len(prior) + 1)
    correct = np.cumsum(prior[order]) / (1.0 + (counts - 1) * math.exp(-epsilon))
    best = int(correct.argmax())
    return order[: best + 1], float(correct[best])
