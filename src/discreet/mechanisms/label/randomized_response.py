"""Randomised response: keep a label with a fixed probability, else any other."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Ids
from discreet.mechanisms.label._classes import (
    LabelLaw,
    checked_indices,
    indices_of,
    label_statement,
    possible_labels,
)
from discreet.randomness import bernoulli_exp


class RandomizedResponse(LabelLaw):
    """Release each of k labels as itself with probability ``e^epsilon / (e^epsilon + k - 1)``.

    Otherwise one of the other labels comes out, each equally often.

    Privacy: unit label, adjacency replace, pure notion. For any two labels y, y' and any output z,
    ``P(z|y) <= exp(epsilon) * P(z|y')``, with equality at z = y. Only the label is covered, not
    what it is released with. The number of labels is public.

    Paper: Warner, "Randomized Response", JASA 1965, in its k-ary form. Where we differ: nothing.
    A flip keeps its probability also where that is below 2^-53.

    Args:
        labels: the possible labels, distinct and known in advance, or how many there are; at least
            two. A list read off the protected labels is not public.
        epsilon: loss allowed, at least 0.

    >>> mechanism = RandomizedResponse(["good", "bad"], epsilon=2.0)
    >>> indices = mechanism.indices(["good", "good", "bad"])
    >>> mechanism.release(indices, np.random.default_rng(0)).shape
    (3,)
    >>> mechanism.transition.round(3).tolist()
    [[0.881, 0.119], [0.119, 0.881]]
    """

    name: ClassVar[str] = "randomized-response"

    def __init__(self, labels: int | Sequence[Hashable], epsilon: float) -> None:
        self.labels = possible_labels(labels, "RandomizedResponse")
        self.epsilon = check.non_negative(epsilon, "epsilon of RandomizedResponse")
        super().__init__(len(self.labels), label_statement(self.epsilon))

    def indices(self, values: Iterable[Hashable]) -> Ids:
        """The class index of each label."""
        return indices_of(values, self.labels, "RandomizedResponse")

    def release(self, indices: ArrayLike, rng: np.random.Generator) -> Ids:
        """An independent draw for each class index."""
        values = checked_indices(indices, self.classes, "RandomizedResponse")
        others = self.classes - 1
        # -ln of the probability of a flip, others / (e^epsilon + others)
        exponent = float(np.logaddexp(0.0, self.epsilon - math.log(others)))
        flip = bernoulli_exp(np.full(len(values), exponent), rng)
        shift = rng.integers(1, self.classes, len(values))
        return np.where(flip, (values + shift) % self.classes, values)

    def log_probabilities(self, indices: ArrayLike) -> NDArray[np.float64]:
        """``(n, k)``: the law that :meth:`release` samples from."""
        values = checked_indices(indices, self.classes, "RandomizedResponse")
        keep = -math.log1p((self.classes - 1) * math.exp(-self.epsilon))
        out = np.full((len(values), self.classes), keep - self.epsilon)
        out[np.arange(len(values)), values] = keep
        return out
