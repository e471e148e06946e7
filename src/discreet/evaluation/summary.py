"""A few figures for many: mean, quartiles and extremes, of values that may count several times."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InvalidValue


@dataclass(frozen=True)
class Summary:
    """How some values are spread."""

    mean: float
    lowest: float
    lower_quarter: float
    """A quarter of the values is at most this."""
    median: float
    upper_quarter: float
    highest: float

    @classmethod
    def of(cls, values: ArrayLike, weights: ArrayLike | None = None) -> "Summary":
        """Summarise values, each of which counts ``weights`` times.

        Quantiles are values that occur, never points between two of them: half a word is no answer.

        >>> Summary.of([5, 1, 3], weights=[1, 8, 1]).median
        1.0
        """
        numbers = np.asarray(values, dtype=np.float64)
        counts = np.ones(len(numbers)) if weights is None else np.asarray(weights, dtype=np.float64)
        if counts.shape != numbers.shape or (counts < 0).any() or not counts.sum() > 0:
            raise InvalidValue(
                "a summary needs values, and a weight of at least 0 for each of them"
            )
        order = np.argsort(numbers)
        order = order[counts[order] > 0]
        numbers, counts = numbers[order], counts[order]
        reached = np.cumsum(counts) / counts.sum()
        # Rounding must not carry a quantile past the value that reaches it.
        places = np.searchsorted(reached, np.array([0.25, 0.5, 0.75]) - 1e-12)
        low, middle, high = (float(numbers[place]) for place in places)
        mean = float(np.average(numbers, weights=counts))
        return cls(mean, float(numbers[0]), low, middle, high, float(numbers[-1]))

    def to_dict(self) -> Mapping[str, float]:
        """Plain values, ready for JSON."""
        return asdict(self)
