"""Amplification by shuffling: what n private releases protect once nobody knows whose is whose.

Let R be any epsilon0-private local release, R0 and R1 its laws on one person's two inputs. The
clones reduction (Feldman, McMillan and Talwar, FOCS 2021) writes

    R0 = w Q0 + (1 - w) Q1,   R1 = (1 - w) Q0 + w Q1,   w = e^epsilon0 / (e^epsilon0 + 1),

with two probability laws Q0, Q1, and the law of every other person as Q0 and Q1 with probability
e^-epsilon0 / 2 each, something else otherwise. So after shuffling an observer learns at most how
often Q0 and Q1 were used: with C ~ Binomial(n - 1, e^-epsilon0) clones, A ~ Binomial(C, 1/2) of
them from Q0 and one more from Q0 with probability w (or 1 - w). The distance of these two pairs of
counts is computed here, rounded upwards; nothing is simulated.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet import check
from discreet.arrays import Floats
from discreet.errors import InvalidValue
from discreet.search import last_that_holds
from discreet.statement import Notion, PrivacyStatement, odds

# Larger ranges of the number of clones are cut into this many groups.
_GROUPS = 2**12
_TAIL = 90.0
# Covers the rounding of the binomial probabilities.
_MARGIN = 1e-9
_PRECISION = 1e-6
# Above this nobody is ever a clone of anybody, and e^epsilon leaves the range of a number.
_HOPELESS = 500.0


def shuffle_delta(epsilon0: float, n: int, epsilon: float) -> float:
    """The delta at ``epsilon`` of n shuffled releases, each ``epsilon0``-private, rounded upwards.

    >>> shuffle_delta(2.0, 1000, 2.0), 0 < shuffle_delta(2.0, 1000, 0.5) < 1e-3
    (0.0, True)
    """
    epsilon0 = check.non_negative(epsilon0, "epsilon0 of shuffling")
    n = check.whole(n, "n of shuffling", at_least=1)
    epsilon = check.non_negative(epsilon, "epsilon of shuffling")
    if epsilon >= epsilon0:
        return 0.0
    if epsilon0 > _HOPELESS:
        return -math.expm1(epsilon - epsilon0)
    fewest, weights = _clones(epsilon0, n)
    return min(1.0, float(weights @ _delta_given(fewest, epsilon0, epsilon)) * (1 + _MARGIN))


def shuffle_epsilon(epsilon0: float, n: int, delta: float) -> float:
    """The epsilon at ``delta`` of n shuffled releases, each ``epsilon0``-private.

    Rounded upwards by one part in a million, and never above ``epsilon0``. Holds for every pure
    local release; a metric one is made pure first, at its largest distance.

    >>> 0.1 < shuffle_epsilon(2.0, 10_000, 1e-6) < 0.3
    True
    """
    epsilon0 = check.non_negative(epsilon0, "epsilon0 of shuffling")
    n = check.whole(n, "n of shuffling", at_least=1)
    delta = check.probability(delta, "delta of shuffling")
    if epsilon0 == 0.0 or epsilon0 > _HOPELESS:
        return epsilon0
    fewest, weights = _clones(epsilon0, n)

    def enough(epsilon: float) -> bool:
        reached = float(weights @ _delta_given(fewest, epsilon0, epsilon))
        return reached * (1 + _MARGIN) <= delta

    if enough(0.0):
        return 0.0
    return last_that_holds(enough, epsilon0, 0.0, relative=_PRECISION)


def shuffle_closed_form(epsilon0: float, n: int, delta: float) -> float | None:
    """The published bound in closed form, for comparison; None where its proof does not reach.

    ``ln(1 + (e^e0 - 1)/(e^e0 + 1) * (8 sqrt(e^e0 ln(4/delta) / n) + 8 e^e0 / n))`` for epsilon0 of
    at most ``ln(n / (16 ln(4/delta)))``.

    >>> shuffle_closed_form(2.0, 100, 1e-6) is None
    True
    """
    epsilon0 = check.non_negative(epsilon0, "epsilon0 of shuffling")
    n = check.whole(n, "n of shuffling", at_least=1)
    delta = check.probability(delta, "delta of shuffling")
    log = math.log(4.0 / delta)
    if epsilon0 > math.log(n / (16.0 * log)):
        return None
    power = math.exp(epsilon0)
    clones = 8.0 * math.sqrt(power * log / n) + 8.0 * power / n
    return math.log1p(math.tanh(epsilon0 / 2) * clones)


@dataclass(frozen=True)
class ShuffledReleases:
    """What n releases, each ``epsilon0``-private, guarantee once they were shuffled."""

    epsilon0: float
    n: int
    delta: float
    epsilon: float
    closed_form: float | None
    """By the closed form of the paper; None where that does not reach."""

    @classmethod
    def of(cls, epsilon0: float, n: int, delta: float) -> "ShuffledReleases":
        """Computed numerically, beside the closed form."""
        closed = shuffle_closed_form(epsilon0, n, delta)
        return cls(epsilon0, n, delta, shuffle_epsilon(epsilon0, n, delta), closed)

    def lines(self) -> list[str]:
        """In plain words."""
        closed = self.closed_form
        published = "does not reach here" if closed is None else f"gives {closed:.6g}"
        return [
            f"Shuffled among {self.n:,}, releases of epsilon0 = {self.epsilon0:.6g} have "
            f"epsilon = {self.epsilon:.6g} at delta = {self.delta:.3g}.",
            f"  before the shuffle: odds change by at most {odds(self.epsilon0)}; after it: "
            f"{odds(self.epsilon)}, at delta = {self.delta:.3g}",
            f"  the closed form of the paper {published}",
        ]


def shuffled(statement: PrivacyStatement, n: int, delta: float) -> PrivacyStatement:
    """The guarantee towards whoever sees n such releases only after they were shuffled.

    Args:
        statement: a pure guarantee of each release (``to_pure`` makes one of a metric one).
        n: how many people release, one unit each.
        delta: probability with which the loss may be larger, between 0 and 1.
    """
    if statement.notion is not Notion.PURE:
        raise InvalidValue(
            f"shuffling must start from a pure statement; got a {statement.notion} one; "
            "convert a metric statement with to_pure(diameter=...)"
        )
    return replace(
        statement,
        notion=Notion.APPROXIMATE,
        epsilon=shuffle_epsilon(statement.epsilon, n, delta),
        delta=delta,
        public=(*statement.public, f"that {n} people took part"),
        caveats=(
            *statement.caveats,
            f"holds after a trusted shuffle of all {n} releases, made by the same mechanism; "
            f"whoever sees a release before it has the local epsilon {statement.epsilon:.6g}",
        ),
    )


def _clones(epsilon0: float, n: int) -> tuple[Floats, Floats]:
    """Values of the number of clones and their probabilities, never too many clones.

    More clones hide better: from the counts with C clones those with C + 1 can be made by adding
    a coin toss. So a group of values may be replaced by its smallest.
    """
    from scipy.stats import binom  # takes a second to import, which no help need wait for

    p = math.exp(-epsilon0)
    if n <= _GROUPS:
        every = np.arange(n, dtype=np.float64)
        return every, np.asarray(binom.pmf(every, n - 1, p))
    # Bernstein's inequality: all but exp(-_TAIL) of the mass is within this reach of the mean.
    mean = (n - 1) * p
    reach = _TAIL / 3 + math.sqrt((_TAIL / 3) ** 2 + 2 * _TAIL * mean * -math.expm1(-epsilon0))
    first, last = max(0, math.floor(mean - reach)), min(n - 1, math.ceil(mean + reach))
    edges = np.unique(np.linspace(first, last + 1, _GROUPS + 1).astype(np.int64))[:-1]
    fewest = np.concatenate([[0], edges]) if first > 0 else edges
    # The mass of [fewest, next); the last group holds everything above.
    below = binom.cdf(fewest - 1.0, n - 1, p)
    above = binom.sf(fewest - 1.0, n - 1, p)
    lower = np.diff(np.append(below, 1.0))
    upper = -np.diff(np.append(above, 0.0))
    weights = np.where(below < 0.5, lower, upper)
    return fewest.astype(np.float64), np.maximum(weights, 0.0)


def _delta_given(clones: Floats, epsilon0: float, epsilon: float) -> Floats:
    """The delta for each number of clones.

    With c = clones + 1 counts in all, b of them Q1, the ratio of the two worlds falls with b and
    passes e^epsilon at
    ``b / c = (1 - e^(epsilon - epsilon0)) / ((1 + e^epsilon) (1 - e^-epsilon0))``.
    Summing the difference below that leaves one binomial probability and one tail.
    """
    from scipy.stats import binom

    counts = clones + 1.0
    # Counted from this end, because the other share is 1 to all digits when epsilon is large.
    rest = math.expm1(epsilon - epsilon0) / ((1.0 + math.exp(epsilon)) * math.expm1(-epsilon0))
    threshold = counts + 1.0 - np.maximum(np.ceil(counts * rest), 1.0)
    first = -math.expm1(epsilon - epsilon0) / (1.0 + math.exp(-epsilon0))
    delta = first * binom.pmf(threshold - 1.0, clones, 0.5)
    delta -= math.expm1(epsilon) * binom.sf(threshold - 1.0, clones, 0.5)
    return np.maximum(delta, 0.0)
