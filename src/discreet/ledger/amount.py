"""Amounts as whole numbers, so that sums neither drift nor depend on their order.

Epsilon is counted in units of 1e-9 and delta in units of 1e-18. What is spent is rounded up, a
limit is rounded down: rounding never lets through what the exact numbers would not.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from discreet import check

_EPSILON, _DELTA = Decimal(10**9), Decimal(10**18)
# Both stay far below what a 64-bit column holds, however many are added.
LARGEST_EPSILON = 1e8
"""The largest epsilon of one charge; whatever is larger protects nothing."""


@dataclass(frozen=True)
class Amount:
    """An epsilon and a delta, and how many releases of which nothing is proven.

    >>> Amount.spent(0.1, 1e-6) + Amount.spent(0.2)
    Amount(epsilon=0.3, delta=1e-06)
    >>> Amount.spent(1e-10).nano, Amount.allowed(1e-10).nano
    (1, 0)
    """

    nano: int = 0
    """Epsilon, in units of 1e-9."""
    atto: int = 0
    """Delta, in units of 1e-18."""
    unbounded: int = 0
    """Releases that bound nothing between any two units."""

    @classmethod
    def spent(cls, epsilon: float, delta: float = 0.0) -> "Amount":
        """What a release costs: rounded up."""
        epsilon = check.in_range(
            epsilon, "epsilon of a charge", at_least=0, at_most=LARGEST_EPSILON
        )
        delta = check.in_range(delta, "delta of a charge", at_least=0, below=1)
        return cls(_whole(epsilon, _EPSILON, ROUND_CEILING), _whole(delta, _DELTA, ROUND_CEILING))

    @classmethod
    def allowed(cls, epsilon: float, delta: float = 0.0) -> "Amount":
        """A limit: rounded down."""
        epsilon = check.in_range(epsilon, "epsilon of a limit", at_least=0, at_most=LARGEST_EPSILON)
        delta = check.in_range(delta, "delta of a limit", at_least=0, below=1)
        return cls(_whole(epsilon, _EPSILON, ROUND_FLOOR), _whole(delta, _DELTA, ROUND_FLOOR))

    @property
    def epsilon(self) -> float:
        """For people; the whole number is what counts."""
        return self.nano / 10**9

    @property
    def delta(self) -> float:
        """For people; the whole number is what counts."""
        return self.atto / 10**18

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            self.nano + other.nano, self.atto + other.atto, self.unbounded + other.unbounded
        )

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(
            self.nano - other.nano, self.atto - other.atto, self.unbounded - other.unbounded
        )

    def within(self, limit: "Amount") -> bool:
        """Whether a limit allows this much; never if nothing is proven of a part."""
        return self.unbounded == 0 and self.nano <= limit.nano and self.atto <= limit.atto

    def __repr__(self) -> str:
        more = f", unbounded={self.unbounded}" if self.unbounded else ""
        return f"Amount(epsilon={self.epsilon:g}, delta={self.delta:g}{more})"

    def __str__(self) -> str:
        said = f"epsilon {self.epsilon:.6g}"
        if self.atto:
            said += f", delta {self.delta:.3g}"
        if self.unbounded:
            said += f", and {self.unbounded:,} without any guarantee"
        return said

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"epsilon": self.epsilon, "delta": self.delta, "unbounded": self.unbounded}


UNBOUNDED = Amount(unbounded=1)
"""What a release without a guarantee costs."""


def _whole(number: float, unit: Decimal, rounding: str) -> int:
    # The decimal number that prints: 0.1 is a tenth, not the binary number just above it, so that
    # ten charges of 0.1 are within a limit of 1.
    return int((Decimal(repr(float(number))) * unit).to_integral_value(rounding))
