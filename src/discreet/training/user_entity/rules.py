"""The rules of a run: sampler, clipping, noise and accounting come from one set of numbers.

Nothing else decides what a step does or what it costs, so the two cannot disagree.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from discreet.accounting.user_entity import (
    PUBLISHED_FAULTS,
    PublishedFigures,
    TrainingLoss,
    UserEntityTraining,
    noise_for,
    published_figures,
)
from discreet.errors import InvalidValue
from discreet.settings import Setting
from discreet.statement import Adjacency, Notion, PrivacyStatement, Unit
from discreet.training.user_entity._draws import Rates, StepDraws
from discreet.training.user_entity._gradients import ActiveText
from discreet.training.user_entity.settings import CELL_RATIO, PRIVATE, PUBLISHED, SharedRules
from discreet.training.user_entity.users import UserText, holders_of

_PUBLIC = (
    "the rules of the run (rates, noise, norms, bounds, steps, learning rate, denominator)",
    "the vocabulary, the model's shape and its first weights",
)
_PROTECTED = {
    "certified": (
        Unit.USER_ENTITY,
        "the model after every step, towards whoever sees neither the text nor the draws; "
        "a user with all its sentences, a sensitive entity with every sentence that holds it",
    ),
    "user-level": (Unit.USER, "the model after every step; a user with all its sentences"),
    "sample-level": (
        Unit.SENTENCE,
        "the model after every step; one sentence. A user who wrote several sentences, "
        "or an entity in several, is protected less",
    ),
}
_PUBLISHED_CAVEATS = (*PUBLISHED_FAULTS, "the paper's figure is its own claim; see figures")
_CAVEATS = {
    "noiseless": ("a model can repeat the text it was trained on",),
    "de-identified": (
        "entities were masked; what they leave behind, entities that were not found, and users "
        "are not protected",
    ),
    **dict.fromkeys(PUBLISHED, _PUBLISHED_CAVEATS),
}


@dataclass(frozen=True, kw_only=True)
class Rules(SharedRules):
    """All public numbers of a run but how many steps it has; caps are of the published algorithms.

    A user with as many sentences as its cap, or more, has weight 1; so has an entity in so many
    sentences, and so have the sentences without an entity if there are so many.
    """

    noise: float = Setting("Standard deviation, in units of clip.", above=0).default(2.5)
    cell_clip: float = Setting("Norm of a cell's part, at most.", above=0).default(CELL_RATIO)
    user_cap: int = Setting("Sentences of a user.", at_least=1).default(15)
    entity_cap: int = Setting("Sentences with an entity.", at_least=1).default(10)
    sentence_cap: int = Setting("Sentences without one.", at_least=1).default(1000)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.algorithm in PUBLISHED:
            # The paper adds averaged updates as they are: its learning rate is the clients' own.
            object.__setattr__(self, "optimizer", "sgd")
        if self.algorithm == "certified" and self.cell_clip > self.clip:
            raise InvalidValue(
                f"cell clip must be at most clip, {self.clip:g}; got {self.cell_clip:g}"
            )

    @property
    def private(self) -> bool:
        """True if the algorithm has a guarantee that holds."""
        return self.algorithm in PRIVATE

    @property
    def noisy(self) -> bool:
        """True if noise is added, whatever it is worth."""
        return self.private or self.algorithm in PUBLISHED

    @property
    def rates(self) -> Rates:
        """The chances of the draws."""
        users = 1.0 if self.algorithm == "sample-level" else self.user_rate
        return Rates(users=users, entities=self.entity_rate, sentences=self.sentence_rate)

    @property
    def digest(self) -> str:
        """All numbers in one line: equal for equal rules only."""
        return json.dumps(asdict(self), sort_keys=True)

    def accounting(self, steps: int) -> UserEntityTraining:
        """What so many steps cost; for ``published`` what certified training would."""
        certified, sample = (self.algorithm == name for name in ("certified", "sample-level"))
        return UserEntityTraining(
            # At sample level a sentence takes the place of the user.
            user_rate=self.sentence_rate if sample else self.user_rate,
            entity_rate=1.0 if sample else self.entity_rate,
            noise=self.noise,
            steps=steps,
            holders=self.holders if certified else 0,
            cells=self.cells,
            cell_ratio=self.cell_clip / self.clip if certified else 1.0,
            one_cell=certified and self.one_cell,
        )

    def loss(self, steps: int) -> TrainingLoss | None:
        """The figures that hold after so many steps; None where there are none."""
        if not self.private:
            return None
        if steps == 0:
            return TrainingLoss(0.0, 0.0, 0.0)
        run = self.accounting(steps)
        if self.algorithm != "certified":
            return TrainingLoss(run.user_epsilon(self.delta), math.inf, math.inf)
        return run.loss(self.delta)

    def statement(self, steps: int) -> PrivacyStatement:
        """What is guaranteed after so many steps."""
        loss = self.loss(steps)
        if loss is None:
            return PrivacyStatement(
                notion=Notion.NONE,
                unit=Unit.USER_ENTITY,
                adjacency=Adjacency.ADD_REMOVE,
                public=_PUBLIC,
                caveats=_CAVEATS[self.algorithm],
            )
        unit, scope = _PROTECTED[self.algorithm]
        return PrivacyStatement(
            notion=Notion.APPROXIMATE,
            epsilon=loss.joint if self.algorithm == "certified" else loss.user,
            delta=self.delta,
            unit=unit,
            adjacency=Adjacency.ADD_REMOVE,
            scope=scope,
            public=_PUBLIC,
        )

    def published(self, steps: int, sensitive_share: float) -> PublishedFigures:
        """The paper's figure after so many steps, and what its sampling alone costs."""
        share = sensitive_share if self.algorithm == "published-optimized" else 1.0
        # With nothing sensitive the paper's rate is 0; its accountant wants one above.
        return published_figures(
            self.accounting(max(1, steps)), self.delta, sensitive_share=max(share, 1e-9)
        )

    def with_noise(self, noise: float) -> "Rules":
        """The same rules with another noise."""
        return replace(self, noise=noise)

    def calibrated(self, steps: int, epsilon: float) -> "Rules":
        """The same rules with the least noise at which so many steps cost at most ``epsilon``."""
        if not self.private:
            raise InvalidValue(
                f"epsilon cannot set the noise of {self.algorithm}, which has no guarantee that "
                "holds; give the noise"
            )
        return self.with_noise(
            noise_for(lambda z: self.with_noise(z).accounting(steps), epsilon, self.delta)
        )


@dataclass(frozen=True)
class TrainingPlan:
    """The rules applied to given users: who takes part with what, and how sums become steps.

    For the published algorithms this holds weights and normalisers, which depend on the data.
    """

    rules: Rules
    deviation: float
    """Standard deviation of the noise on the sum."""
    denominator: float
    gradient_scale: float = 1.0
    """What gradients are multiplied by before clipping: the published algorithm's local step."""
    step_size: float = 1.0
    user_weights: dict[str, float] | None = None
    entity_weights: dict[str, float] | None = None
    sentence_weight: float = 1.0

    @classmethod
    def of(cls, rules: Rules, users: Sequence[UserText]) -> "TrainingPlan":
        """The plan for these users; only the published algorithms look at them."""
        if rules.algorithm not in PUBLISHED:
            deviation = rules.noise * rules.clip if rules.noisy else 0.0
            sample = rules.algorithm == "sample-level"
            expected = (rules.sentence_rate if sample else rules.user_rate) * rules.population
            return cls(rules, deviation, expected, step_size=rules.learning_rate)
        sizes = {user.name: len(user) for user in users}
        weights = {name: min(size / rules.user_cap, 1.0) for name, size in sizes.items()}
        mentions = dict.fromkeys(holders_of(users), 0)
        for user in users:
            counts = np.bincount(user.cell[user.cell >= 0], minlength=len(user.cells))
            for entities, count in zip(user.cells, counts, strict=True):
                for entity in entities:
                    mentions[entity] += int(count)
        entity_weights = {e: min(n / rules.entity_cap, 1.0) for e, n in mentions.items()}
        plain = sum(int((user.cell < 0).sum()) for user in users)
        sentence_weight = min(plain / rules.sentence_cap, 1.0)
        second = rules.entity_rate * sum(entity_weights.values())
        if rules.algorithm == "published-optimized":
            second += rules.sentence_rate * plain * sentence_weight
        if second == 0:
            raise InvalidValue("the published algorithm needs a sensitive entity in the data")
        sensitivity = (rules.user_rate * len(users) + 1) * max(weights.values()) * rules.clip
        return cls(
            rules,
            deviation=rules.noise * sensitivity,
            denominator=rules.user_rate * sum(weights.values()) * second,
            gradient_scale=rules.learning_rate,
            user_weights=weights,
            entity_weights=entity_weights,
            sentence_weight=sentence_weight,
        )

    def active(self, user: UserText, draws: StepDraws) -> ActiveText | None:
        """The sentences of a user that take part in a step, or None if there is none."""
        if not draws.user(user.name):
            return None
        match self.rules.algorithm:
            case "certified":
                return _text(user, self._all_entities_drawn(user, draws))
            case "published" | "published-optimized":
                return self._any_entity_drawn(user, draws)
            case "sample-level":
                return _text(user, draws.sentences(user.name, len(user)))
        return _text(user, np.ones(len(user), dtype=np.bool_))

    def _all_entities_drawn(self, user: UserText, draws: StepDraws) -> np.ndarray:
        drawn = np.array([all(map(draws.entity, entities)) for entities in user.cells] + [False])
        plain = (user.cell < 0) & draws.sentences(user.name, len(user))
        return np.asarray(drawn[user.cell] | plain)

    def _any_entity_drawn(self, user: UserText, draws: StepDraws) -> ActiveText | None:
        """As the paper has it: a sentence counts once for each drawn entity in it."""
        entity_weights, user_weights = self.entity_weights or {}, self.user_weights or {}
        of_cell = [
            sum(entity_weights[entity] for entity in entities if draws.entity(entity))
            for entities in user.cells
        ]
        weights = np.array([*of_cell, 0.0])[user.cell]
        if self.rules.algorithm == "published-optimized":
            plain = (user.cell < 0) & draws.sentences(user.name, len(user))
            weights = np.where(plain, self.sentence_weight, weights)
        text = _text(user, weights > 0)
        if text is None:
            return None
        weights = weights[text.sentences] * self.gradient_scale
        return replace(text, weights=weights, scale=user_weights[user.name])


def _text(user: UserText, kept: np.ndarray) -> ActiveText | None:
    sentences = np.flatnonzero(kept)
    return ActiveText(user, sentences) if len(sentences) else None
