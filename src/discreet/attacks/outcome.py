"""How an attack is reported: its success, what guessing gives, what no protection would give."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import row_blocks
from discreet.errors import InvalidValue

LEVEL = 0.95
"""Of every confidence interval here."""

_RESAMPLES = 1000


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class Rate(Estimate):
    """A share of trials, with its Clopper-Pearson interval, which holds at every sample size.

    >>> rate = Rate.of(np.array([True, False, False, False]))
    >>> rate.value, round(rate.low, 3), round(rate.high, 3)
    (0.25, 0.006, 0.806)
    >>> rate.other.value
    0.75
    """

    trials: int

    @classmethod
    def of(cls, hits: NDArray[np.bool_], *, confidence: float = LEVEL) -> "Rate":
        """The rate at which an event occurred in some trials."""
        from scipy.special import betaincinv

        if not len(hits):
            raise InvalidValue("a rate needs at least 1 trial")
        confidence = check.probability(confidence, "confidence of a rate")
        seen, trials, beside = int(hits.sum()), len(hits), (1 - confidence) / 2
        # Clopper and Pearson's interval.
        low = betaincinv(seen, trials - seen + 1, beside) if seen else 0.0
        high = betaincinv(seen + 1, trials - seen, 1 - beside) if seen < trials else 1.0
        return cls(float(hits.mean()), float(low), float(high), trials)

    @property
    def other(self) -> "Rate":
        """The rate of the opposite: of a success rate the defence rate, and back."""
        failures = self.trials - round(self.value * self.trials)
        return Rate(failures / self.trials, 1 - self.high, 1 - self.low, self.trials)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class AttackOutcome:
    """What one attack achieved, by one measure.

    Attributes:
        attack: What was attacked and how.
        measure: What the figures are.
        success: On the protected release.
        chance: Of whoever has not seen the release.
        unprotected: On the same without noise; None if it was not measured.
        targets: How many rows were attacked.
    """

    attack: str
    measure: str
    success: Estimate
    chance: float
    unprotected: Estimate | None
    targets: int

    def lines(self) -> list[str]:
        """In plain words."""
        without = "not measured" if self.unprotected is None else str(self.unprotected)
        if self.unprotected is not None and not self.unprotected.low > self.chance:
            without += ": BROKEN. It fails without protection too, so failing says nothing"
        seen = "above" if self.success.low > self.chance else "not above"
        return [
            f"{self.attack}: {self.measure} over {self.targets:,} targets",
            f"  protected    {self.success}",
            f"  unprotected  {without}",
            f"  chance       {self.chance:.3f}: the attack is {seen} it at a confidence of 95 %",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"level": LEVEL}


def share(hits: NDArray[np.bool_], *, together: int = 1) -> Estimate:
    """A share with its exact interval (Clopper and Pearson).

    Args:
        hits: Whether each trial succeeded.
        together: Narrow enough errors for so many intervals to hold at 95 % together.

    >>> print(share(np.arange(100) < 50))
    0.500 (0.398 to 0.602)
    """
    rate = Rate.of(hits, confidence=1 - (1 - LEVEL) / together)
    return Estimate(rate.value, rate.low, rate.high)


def mean_of_shares(*hits: NDArray[np.bool_]) -> Estimate:
    """The mean of shares that were counted apart, such as balanced accuracy.

    All their exact intervals hold together at 95 %, so that of the mean does too, whatever the
    shares are; it is a little too wide.
    """
    return mean_estimate([share(part, together=len(hits)) for part in hits])


def mean_estimate(each: Sequence[Estimate]) -> Estimate:
    """The mean of some figures, and of the ends of their intervals."""
    return Estimate(*map(float, np.mean([astuple(one) for one in each], axis=0)))


def bootstrapped(
    columns: Sequence[ArrayLike], figure: Callable[..., Any], rng: np.random.Generator
) -> Estimate:
    """A function of column sums, with the interval of its values when rows are drawn anew.

    Args:
        columns: A number for each row in each of them.
        figure: Takes the sums (or arrays of sums) and gives the figure.
        rng: The randomness.
    """
    table = np.stack([np.asarray(column, np.float64) for column in columns], axis=1)
    count = len(table)

    def resampled(times: int) -> Any:
        """Sums of as many rows as there are, drawn so many times."""
        places = rng.integers(count, size=(times, count)) + count * np.arange(times)[:, None]
        return np.bincount(places.ravel(), minlength=places.size).reshape(times, count) @ table

    parts = row_blocks(_RESAMPLES, count)
    drawn = np.concatenate([resampled(part.stop - part.start) for part in parts])
    outside = (1 - LEVEL) / 2
    low, high = np.quantile(figure(*drawn.T), [outside, 1 - outside])
    return Estimate(float(figure(*table.sum(axis=0))), float(low), float(high))
