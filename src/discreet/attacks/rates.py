"""How often an attacker is right, with a confidence interval that holds at every sample size."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.errors import InvalidValue


@dataclass(frozen=True)
class Rate:
    """A share of trials, with its Clopper-Pearson interval.

    >>> rate = Rate.of(np.array([True, False, False, False]))
    >>> rate.value, round(rate.low, 3), round(rate.high, 3)
    (0.25, 0.006, 0.806)
    >>> rate.other.value
    0.75
    """

    successes: int
    trials: int
    low: float
    high: float

    @classmethod
    def of(cls, hits: NDArray[np.bool_], *, confidence: float = 0.95) -> "Rate":
        """The rate at which an event occurred.

        Args:
            hits: Whether it occurred, for each trial.
            confidence: Of the interval.
        """
        from scipy import stats

        if not len(hits):
            raise InvalidValue("a rate needs at least 1 trial")
        confidence = check.probability(confidence, "confidence of a rate")
        found = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(confidence, "exact")
        return cls(int(hits.sum()), len(hits), float(found.low), float(found.high))

    @property
    def value(self) -> float:
        """The share."""
        return self.successes / self.trials

    @property
    def other(self) -> "Rate":
        """The rate of the opposite: of a success rate the defence rate, and back."""
        return Rate(self.trials - self.successes, self.trials, 1 - self.high, 1 - self.low)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high, "trials": self.trials}

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"
