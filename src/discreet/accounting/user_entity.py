"""What training costs with respect to a user, an entity, and both: certified, and as published.

Certified: in each step users are drawn with rate ``user_rate`` and entities with rate
``entity_rate``. One more user and one more entity move the sum of clipped updates by at most
``b + a * n * cells * cell_ratio`` in units of the user's clipping norm, where b tells whether the
new user was drawn, a whether the new entity was, and n how many of its holders were. n has the same
law in both worlds, so revealing it costs nothing and the loss of a step is a mixture over n of the
loss of a mixture of Gaussians; dp-accounting knows the latter.

Where every user has one cell at most (``one_cell``), a holder of the entity is gone with it as a
whole. Then nobody else's draw tells n, it need not be revealed, and the loss of a step is that of
one mixture of Gaussians over b, a and n together, which is less.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Annotated, Any

from discreet import check
from discreet.errors import InvalidValue
from discreet.search import last_whole_that_holds, smallest_within
from discreet.settings import Setting, Settings

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# The best order is looked for among every so many, ever closer.
_APART = (256, 64, 16, 4, 1)
# Width of the loss grid; rounding on it is pessimistic, and costs less than 0.01 in epsilon.
_GRID = 1e-3
_COARSE_GRID = 5e-3
# A step's losses are on at most so many points of it: with little noise it is wider.
_POINTS = 2**15
# Where even that is not wide enough, a loss is told as infinite: it would be one of millions.
_WIDEST_GRID = 100.0
# Losses rarer than exp(-32) are counted as infinite.
_LOG_TRUNCATION = -32.0
# Numbers of drawn holders that are together this improbable are counted as all of them.
_NEGLIGIBLE = 1e-9
# Runs with very little noise are slow to account for.
_LEAST_NOISE, _MOST_NOISE = 0.1, 1000.0
_NOISE_PRECISION = 0.005

PUBLISHED_FAULTS = (
    "a step is affected when the user or the entity is drawn, not only when both are",
    "the sensitivity uses the expected number of drawn users, not the largest",
    "two clipped vectors can differ by twice the bound that the proof uses",
    "a sentence with a drawn and an undrawn entity is used, so the undrawn one acts too",
    "weights and normalisers change with the data",
)


@dataclass(frozen=True, kw_only=True)
class UserEntityTraining(Settings):
    """The public constants of a training run; what it costs follows from them.

    >>> run = UserEntityTraining(user_rate=0.05, entity_rate=0.5, noise=2.0, steps=50, holders=0)
    >>> run.user_epsilon(1e-5) == run.joint_epsilon(1e-5)
    True
    """

    user_rate: Annotated[float, Setting("Chance of a user in a step.", above=0, at_most=1)]
    entity_rate: Annotated[float, Setting("Chance of an entity in a step.", above=0, at_most=1)]
    noise: Annotated[
        float, Setting("Noise, as a deviation in units of the user's clipping norm.", above=0)
    ]
    steps: Annotated[int, Setting("Number of steps.", at_least=1)]
    holders: int = Setting(
        "An entity occurs in the text of at most this many users.", at_least=0
    ).default(10)
    cells: int = Setting(
        "An entity occurs in at most this many cells of each user.", at_least=1
    ).default(1)
    cell_ratio: float = Setting(
        "Clipping norm of a cell (the sentences of one user that name the same entities) "
        "over that of a user.",
        above=0,
        at_most=1,
    ).default(0.1)
    one_cell: bool = Setting(
        "Each user has one cell, or no entity at all: holders are drawn in secret, too."
    ).default(False)

    def user_epsilon(self, delta: float) -> float:
        """Loss of one user more or less."""
        return self._epsilon(delta, user=True, entity=False)

    def entity_epsilon(self, delta: float) -> float:
        """Loss of one entity more or less, with every sentence that holds it."""
        if self.holders == 0:
            return 0.0  # an entity that nobody may hold changes nothing
        return self._epsilon(delta, user=False, entity=True)

    def joint_epsilon(self, delta: float) -> float:
        """Loss of one user and one entity more or less, together."""
        return self._epsilon(delta, user=True, entity=self.holders > 0)

    def joint_delta(self, epsilon: float) -> float:
        """Failure probability at an epsilon, for one user and one entity together."""
        epsilon = check.non_negative(epsilon, "epsilon")
        entity = self.holders > 0
        if self._grid(user=True, entity=entity) > _WIDEST_GRID:
            return 1.0
        return float(self._loss(user=True, entity=entity).get_delta_for_epsilon(epsilon))

    def loss(self, delta: float) -> "TrainingLoss":
        """All three."""
        return TrainingLoss(
            self.user_epsilon(delta), self.entity_epsilon(delta), self.joint_epsilon(delta)
        )

    def steps_within(self, epsilon: float, delta: float) -> int:
        """How many of the steps can be made before the joint loss exceeds ``epsilon``.

        >>> run = UserEntityTraining(user_rate=0.05, entity_rate=0.5, noise=2.0, steps=50)
        >>> run.steps_within(100.0, 1e-5), run.steps_within(0.01, 1e-5)
        (50, 0)
        """
        epsilon = check.positive(epsilon, "epsilon")

        def within(steps: int) -> bool:
            return replace(self, steps=steps).joint_epsilon(delta) <= epsilon

        # The whole run first: most runs fit.
        return self.steps if within(self.steps) else last_whole_that_holds(within, 0, self.steps)

    def _epsilon(self, delta: float, *, user: bool, entity: bool) -> float:
        return _epsilon_of(self, check.probability(delta, "delta"), user, entity)

    def _loss(self, *, user: bool, entity: bool) -> "PrivacyLossDistribution":
        """The loss of the whole run."""
        # The step is the same whatever their number.
        return _step_loss(replace(self, steps=1), user, entity).self_compose(self.steps)

    def _drawn_holders(self, entity: bool) -> dict[int, float]:
        """Binomial law of how many holders of the entity are drawn; its tail joins the last."""
        if not entity:
            return {0: 1.0}
        from scipy.stats import binom  # takes a second to import, which no help need wait for

        law = binom(self.holders, self.user_rate)
        few = [n for n in range(self.holders) if law.sf(n) > _NEGLIGIBLE]
        kept = {n: float(law.pmf(n)) for n in few if law.pmf(n) > 0}
        # All that is left is taken at the largest number: more loss, never less.
        return {**kept, self.holders: float(law.sf(len(few) - 1))}

    def _one_step(
        self, drawn: dict[int, float], *, user: bool, entity: bool
    ) -> "PrivacyLossDistribution":
        """The loss of a step in which so many holders are drawn, and nobody is told how many."""
        from dp_accounting.pld.privacy_loss_distribution import identity

        from discreet.accounting._mixtures import mixture_of_gaussians

        chances: dict[float, float] = {}
        users, entities = _drawn(self.user_rate, user), _drawn(self.entity_rate, entity)
        for (b, p), (a, q), (n, r) in product(users, entities, drawn.items()):
            shift = b + a * n * self._of_holder
            chances[shift] = chances.get(shift, 0.0) + p * q * r
        where = sorted(at for at, chance in chances.items() if chance > 0)
        grid = self._grid(user=user, entity=entity)
        if where == [0.0]:
            return identity(value_discretization_interval=grid)  # nothing of it was drawn
        return mixture_of_gaussians(
            self.noise,
            where,
            [chances[at] for at in where],
            grid=grid,
            log_truncation=_LOG_TRUNCATION,
        )

    @property
    def _of_holder(self) -> float:
        """By how much one drawn holder of the entity can move the sum."""
        return (1 if self.one_cell else self.cells) * self.cell_ratio

    def _grid(self, *, user: bool, entity: bool) -> float:
        """The width of the loss grid: fine, but with little noise never of too many points."""
        largest = user + entity * self.holders * self._of_holder
        reach = largest / self.noise
        losses = reach**2 / 2 + math.sqrt(-2 * _LOG_TRUNCATION) * reach
        grid = _COARSE_GRID if entity else _GRID
        return grid * 2.0 ** max(0, math.ceil(math.log2(losses / grid / _POINTS)))


@dataclass(frozen=True)
class TrainingLoss:
    """Epsilon for one user, one entity, and both together, more or less."""

    user: float
    entity: float
    joint: float

    def lines(self) -> list[str]:
        """In plain words."""
        return [
            f"  one user more or less:            {self.user:.4g}",
            f"  one entity more or less:          {self.entity:.4g}",
            f"  one user and one entity together: {self.joint:.4g}",
        ]


@lru_cache(maxsize=256)  # a run asks again for its plan, its statement, its receipt and its report
def _epsilon_of(run: UserEntityTraining, delta: float, user: bool, entity: bool) -> float:
    if run._grid(user=user, entity=entity) > _WIDEST_GRID:
        return math.inf
    return float(run._loss(user=user, entity=entity).get_epsilon_for_delta(delta))


@lru_cache(maxsize=8)
def _step_loss(step: UserEntityTraining, user: bool, entity: bool) -> "PrivacyLossDistribution":
    law = step._drawn_holders(entity)
    if step.one_cell:
        return step._one_step(law, user=user, entity=entity)
    return _mixed(
        [(step._one_step({n: 1.0}, user=user, entity=entity), chance) for n, chance in law.items()]
    )


def _drawn(rate: float, present: bool) -> list[tuple[int, float]]:
    return [(0, 1.0 - rate), (1, rate)] if present else [(0, 1.0)]


def _mixed(parts: "list[tuple[PrivacyLossDistribution, float]]") -> "PrivacyLossDistribution":
    """The loss of a mechanism that reveals which part was drawn and then runs it."""
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    def mixture(direction: str) -> Any:
        (mixed, weight), *others = [(getattr(part, direction), chance) for part, chance in parts]
        for pmf, chance in others:
            share = weight / (weight + chance)
            mixed = mixed.to_dense_pmf().compute_mixture(pmf.to_dense_pmf(), share)
            weight += chance
        return mixed

    return PrivacyLossDistribution(mixture("_pmf_remove"), mixture("_pmf_add"))


# -- as published --------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublishedFigures:
    """The paper's epsilon, and what its sampling alone already costs."""

    claimed: float
    at_true_rate: float
    """Epsilon when a step counts as affected as soon as the user or the entity is drawn. A lower
    bound of what holds: the other faults are not counted."""
    faults: tuple[str, ...] = PUBLISHED_FAULTS

    def lines(self) -> list[str]:
        """In plain words."""
        return [
            f"The paper's accounting claims {self.claimed:.4g}. Its sampling alone costs at least "
            f"{self.at_true_rate:.4g}, because:",
            *(f"  - {fault}" for fault in self.faults),
        ]


@lru_cache(maxsize=8)
def published_figures(
    run: UserEntityTraining, delta: float, *, sensitive_share: float = 1.0
) -> PublishedFigures:
    """UeDP-Alg's own accounting: moments at a rate of user times entity (times sensitive share).

    Args:
        run: the constants; the bounds on entities play no part in the paper.
        delta: failure probability.
        sensitive_share: 1 for the simple estimator; the share of sensitive sentences for the
            optimised one.
    """
    share = check.share(sensitive_share, "sensitive share")
    rate = run.user_rate * run.entity_rate * share
    either = 1 - (1 - run.user_rate) * (1 - run.entity_rate)
    return PublishedFigures(
        claimed=moments_epsilon(rate, run.noise, run.steps, delta),
        at_true_rate=_subsampled_epsilon(either, run.noise, run.steps, delta),
    )


def moments_epsilon(
    rate: float, noise: float, steps: int, delta: float, *, largest_order: int = 512
) -> float:
    """The moments accountant with its classical conversion, as papers of its time print it.

    Args:
        rate: chance of what is protected in a step.
        noise: in units of the sensitivity.
        steps: how many.
        delta: failure probability.
        largest_order: moments beyond it are not looked at; lists of that time often ended at 63,
            below which no epsilon falls that is less than ``ln(1/delta) / 62``.
    """
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, rdp

    every = [1 + x / 10 for x in range(1, 1000)] + list(range(101, 513))
    orders = [order for order in every if order <= largest_order]
    event = PoissonSampledDpEvent(rate, GaussianDpEvent(noise))

    known: dict[int, float] = {}

    def best(places: range) -> int:
        if new := [place for place in places if place not in known]:
            accountant = rdp.RdpAccountant([orders[place] for place in new])
            accountant.compose(event, steps)
            for place, moment in zip(new, accountant._rdp, strict=True):
                known[place] = float(moment) + math.log(1 / delta) / (orders[place] - 1)
        return min(places, key=lambda place: known[place])

    # Log-moments are convex in the order, so that the figure falls and then rises: the smallest of
    # all is next to the smallest of a few.
    near = best(range(0, len(orders), _APART[0]))
    for wide, apart in pairwise(_APART):
        least = near - min(wide, near) // apart * apart
        near = best(range(least, min(len(orders), near + wide + 1), apart))
    return known[near]


def _subsampled_epsilon(rate: float, noise: float, steps: int, delta: float) -> float:
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, pld

    accountant = pld.PLDAccountant(value_discretization_interval=_GRID)
    accountant.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(noise)), steps)
    return float(accountant.get_epsilon(delta))


def noise_for(make: Callable[[float], UserEntityTraining], epsilon: float, delta: float) -> float:
    """The smallest noise at which the joint epsilon is at most ``epsilon``.

    Args:
        make: the run at a noise.
        epsilon: what must not be exceeded.
        delta: failure probability.
    """
    epsilon = check.positive(epsilon, "epsilon")
    noise = smallest_within(
        lambda noise: make(noise).joint_epsilon(delta),
        epsilon,
        least=_LEAST_NOISE,
        most=_MOST_NOISE,
        precision=_NOISE_PRECISION,
    )
    if noise is None:
        raise InvalidValue("no noise reaches that epsilon; take fewer steps or lower rates")
    return noise
