"""Games of canaries against user and entity training, on data made to show the most.

The model is the simplest there is: its loss is linear in its weights, so every sentence has a known
gradient, and each canary has a coordinate of its own. Everything else (draws, activation, clipping,
noise, the optimiser's step) is the training's own code. The data is constructed, as it may be: a
guarantee is for all data.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import torch
from scipy import special

from discreet import check
from discreet.arrays import Floats, Progress
from discreet.audit.canaries import ALARM, Bools, CanaryAudit, audit_canaries
from discreet.errors import InvalidValue, VerificationFailed
from discreet.models.factors import Factor, Masks, Parameters, Predicted, SentenceBatch
from discreet.randomness import SEEDED_CAVEAT
from discreet.training.user_entity.audit_settings import TrainingAuditSettings
from discreet.training.user_entity.rules import Rules, TrainingPlan
from discreet.training.user_entity.trainer import UserEntityTrainer
from discreet.training.user_entity.users import Sentence, UserText, gather
from discreet.wording import counted

PROTECTED = ("users", "entities", "both", "entities-with-partners")
MakePlan = Callable[[Rules, Sequence[UserText]], TrainingPlan]

# A word that says nothing: users who hold a canary entity are there with or without it.
_SILENT = 0
# Gradients are far longer than any clipping norm: what a sentence says is a direction.
_LOUD = 1e3
# Entities of the sentence that the published algorithm uses in nearly every step.
_ALWAYS_DRAWN = 12
# Sentences without an entity that each user of the optimised one has, and that say nothing.
_PLAIN = 20
_RARELY_MISSED = 0.1
_MOST_PARTNERS = 60


class KnownGradients:
    """A model whose loss is a weighted sum of its weights: the gradient of a word never changes.

    There are so many weights (``coordinates``); each word moves the one at its place, by its size.
    """

    description = "known gradients"

    def __init__(self, coordinates: int, place: Sequence[int], size: Sequence[float]) -> None:
        self._weights = torch.zeros(coordinates, 1)
        self._place = torch.tensor(place)
        self._size = torch.tensor(size)

    def trainable(self) -> Parameters:
        """The weights."""
        return {"weights": self._weights}

    def weights(self) -> Parameters:
        """The same."""
        return self.trainable()

    def factors(self, batch: SentenceBatch, _masks: Masks | None) -> list[Factor]:
        """A row for each word."""
        sentence = torch.repeat_interleave(torch.arange(len(batch)), batch.lengths)
        errors = self._size[batch.tokens][:, None]
        return [Factor("weights", errors, sentence, self._place[batch.tokens])]

    def predicted(self, batch: SentenceBatch) -> Predicted:
        """What each word adds to the loss; no word is right or wrong."""
        losses = self._size[batch.tokens] * self._weights[self._place[batch.tokens], 0]
        return Predicted(losses, torch.zeros_like(losses, dtype=torch.bool))

    def predictions(self, _batch: SentenceBatch) -> int:
        """Nothing is predicted."""
        return 0


@dataclass(frozen=True)
class TrainingGame:
    """Training with canaries: users, entities, or pairs of one of each.

    Args:
        rules: Of the training. For the published algorithms ``population`` is how many users there
            are.
        protected: What a canary is, one of :data:`PROTECTED`. With partners, every sentence of a
            canary entity holds so many other entities that one of them is nearly always drawn:
            training that then uses the sentence is caught.
        canaries: How many there are in a run.
        steps: How many steps a run has.
        plan: How rules become a plan; another one than the training's own plants a fault.
    """

    rules: Rules
    protected: str
    canaries: int
    steps: int
    plan: MakePlan | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check.one_of(self.protected, PROTECTED, "what is protected")
        check.whole(self.canaries, "canaries", at_least=1)
        check.whole(self.steps, "steps", at_least=1)
        if self.protected not in protected_by(self.rules):
            raise InvalidValue(
                f"{self.rules.algorithm} training is not audited for {self.protected}"
            )

    def play(self, included: Bools, rng: np.random.Generator) -> Floats:
        """Train once; for each canary a score of what was released.

        For the published algorithms the final weights alone are looked at. Otherwise it is the
        log-likelihood ratio of all weights that were released, step by step.
        """
        if _is_published(self.rules):
            return np.asarray(self._released(_crowd(self.rules, included), rng).sum(axis=0))
        released = self._released(_separate(self, included), rng)
        return _evidence(released, shift_law(self), self.rules.noise)

    def _released(self, users: Sequence[UserText], rng: np.random.Generator) -> Floats:
        """What the steps release of their noisy sums, in units of the clipping norm."""
        model = _model(self.canaries)
        # Whoever sees every model can undo any optimiser; plain descent shows the sum as it is.
        rules = replace(self.rules, optimizer="sgd")
        trainer = UserEntityTrainer(rules, users, model, seed=int(rng.integers(2**62)), strict=True)
        if self.plan is not None:
            trainer.plan = trainer.server.plan = self.plan(rules, trainer.users)
        scale = trainer.plan.denominator / trainer.plan.step_size / self.rules.clip
        weights = np.zeros((self.steps + 1, self.canaries))
        for step in range(self.steps):
            trainer.step(step)
            weights[step + 1] = model.trainable()["weights"][:, 0].double().numpy()
        return np.asarray(-np.diff(weights, axis=0) * scale)


def protected_by(rules: Rules) -> tuple[str, ...]:
    """What an algorithm claims to protect, as far as it can be audited here."""
    if _is_published(rules):
        return ("entities",)
    return {"certified": PROTECTED, "user-level": ("users",)}.get(rules.algorithm, ())


def audit_training(
    rules: Rules,
    *,
    steps: int,
    canaries: int,
    runs: int = 1,
    confidence: float = 0.95,
    seed: int | None = None,
    progress: Progress | None = None,
) -> dict[str, CanaryAudit]:
    """Audit all that an algorithm claims to protect, each in ``runs`` of its own.

    What is claimed: the certified figures; for the published algorithms the paper's figure, taken
    where it is largest (every canary in). Arguments are those of :class:`TrainingGame` and of
    :func:`discreet.audit.canaries.audit_canaries`.
    """
    names = protected_by(rules)
    if not names:
        raise InvalidValue(f"{rules.algorithm} training makes no claim for users or entities")
    audits = {}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are tiny: threads would only wait for each other
    try:
        for place, name in enumerate(names):

            def shown(done: int, total: int, place: int = place) -> None:
                if progress is not None:
                    progress(place * total + done, len(names) * total)

            audits[name] = audit_canaries(
                TrainingGame(rules, name, canaries, steps),
                claimed=claimed(rules, name, steps, canaries),
                delta=rules.delta,
                runs=runs,
                confidence=confidence,
                alarm=ALARM / len(names),
                seed=None if seed is None else seed + place,
                progress=shown,
            )
    finally:
        torch.set_num_threads(threads)
    return audits


@dataclass(frozen=True)
class TrainingAudit:
    """What canaries showed of a training, by what was protected."""

    settings: TrainingAuditSettings
    findings: Mapping[str, CanaryAudit]

    @classmethod
    def of(
        cls, settings: TrainingAuditSettings, progress: Progress | None = None
    ) -> "TrainingAudit":
        """Play the games; ``progress`` is called with (done, total)."""
        findings = audit_training(
            settings.rules(),
            steps=settings.chosen("steps"),
            canaries=settings.chosen("canaries"),
            runs=settings.chosen("runs"),
            confidence=settings.confidence,
            seed=settings.seed,
            progress=progress,
        )
        return cls(settings, findings)

    @property
    def broken(self) -> list[str]:
        """For what a claim is contradicted."""
        return [name for name, one in self.findings.items() if one.broken]

    def require(self) -> None:
        """Raise an error if a claim is contradicted."""
        if self.broken:
            raise VerificationFailed(
                f"{self.settings.algorithm} training does not keep its claim; contradicted for: "
                f"{', '.join(self.broken)}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        settings, steps = self.settings, self.settings.chosen("steps")
        statement = settings.rules().statement(steps)
        if settings.seed is not None:
            statement = statement.with_caveats(SEEDED_CAVEAT)
        return {
            "algorithm": settings.algorithm,
            "steps": steps,
            "passed": not self.broken,
            "seed": settings.seed,
            "statement": statement.to_dict(),
            "findings": {name: one.to_dict() for name, one in self.findings.items()},
        }

    def lines(self) -> list[str]:
        """In plain words."""
        settings, steps = self.settings, self.settings.chosen("steps")
        return [
            f"Audit of {settings.algorithm} training, {counted(steps, 'step')}, "
            f"delta {settings.delta:.3g}",
            *(
                f"  {'FAIL' if one.broken else 'PASS'}  {name:<22}  epsilon {one.claimed:.4g} "
                f"claimed, at least {one.lower:.4g} shown ({one.correct} of "
                f"{one.guesses} guesses right, "
                f"{one.canaries} canaries, {counted(one.runs, 'run')}; p-value {one.p_value:.2g})"
                for name, one in self.findings.items()
            ),
            f"Each bound holds with confidence {settings.confidence:.3g}. A bound below the claim "
            "proves nothing; true claims are contradicted at most once in 1,000 audits.",
        ]


def claimed(rules: Rules, protected: str, steps: int, canaries: int) -> float:
    """Epsilon that is claimed for one canary more or less."""
    if _is_published(rules):
        return rules.published(steps, canaries / (canaries + 1 + _PLAIN)).claimed
    run = rules.accounting(steps)
    figures = {"users": run.user_epsilon, "both": run.joint_epsilon}
    return figures.get(protected, run.entity_epsilon)(rules.delta)


def _is_published(rules: Rules) -> bool:
    return rules.algorithm.startswith("published")


def shift_law(game: TrainingGame) -> dict[float, float]:
    """By how much a canary that is in moves its coordinate of a step, and how probably.

    With partners: how it would be if one drawn entity were enough, which is what is looked for.
    """
    rules = game.rules
    entity_rate = rules.entity_rate
    if game.protected == "entities-with-partners":
        entity_rate = 1 - (1 - entity_rate) ** (1 + _partners(rules))
    holders = 0 if game.protected == "users" else rules.holders
    user_rate = 0.0 if game.protected.startswith("entities") else rules.user_rate
    from scipy.stats import binom  # takes a second to import, which no help need wait for

    law: dict[float, float] = {}
    drawn = binom.pmf(np.arange(holders + 1), holders, rules.user_rate)
    users, entities = ((1 - rate, rate) for rate in (user_rate, entity_rate))
    for (b, p), (a, q), (n, r) in product(*map(enumerate, (users, entities, drawn.tolist()))):
        shift = b + a * n * rules.cell_clip / rules.clip
        law[shift] = law.get(shift, 0.0) + p * q * r
    return {shift: chance for shift, chance in law.items() if chance > 0}


def _evidence(released: Floats, law: dict[float, float], noise: float) -> Floats:
    """The log-likelihood ratio of every canary being in, given all that was released."""
    total = np.zeros(released.shape[1])
    shifts = np.array(list(law))
    log_chances = np.log(list(law.values()))
    for step in released:
        gain = (2 * step[:, None] * shifts - shifts**2) / (2 * noise**2)
        total += special.logsumexp(gain + log_chances, axis=1)
    return total


# -- data ------------------------------------------------------------------------------------------


def _model(canaries: int) -> KnownGradients:
    """Word 0 is silent; word 1 + i speaks for canary i, word 1 + canaries + i against it."""
    places = [0, *range(canaries), *range(canaries)]
    return KnownGradients(canaries, places, [0.0, *[_LOUD] * canaries, *[-_LOUD] * canaries])


def _separate(game: TrainingGame, included: Bools) -> tuple[UserText, ...]:
    """Holders of the canary entities, who are there in any case, and the canary users.

    Each canary entity has as many holders as allowed, each with one cell of it; no two canaries
    share a user, so nobody's contribution is clipped for the sake of another canary. Where users
    have one cell, the canary's is all that its holders have.
    """
    rules = game.rules
    partners = _partners(rules) if game.protected == "entities-with-partners" else 0
    sentences = []
    for i in range(game.canaries):
        if game.protected != "users":
            entities = frozenset([f"canary {i}", *(f"partner {i} {j}" for j in range(partners))])
            for holder in range(rules.holders):
                name = f"holder {i} {holder}"
                if not rules.one_cell:
                    sentences.append(Sentence(name, [_SILENT]))
                if included[i]:
                    sentences.append(Sentence(name, [1 + i], entities))
        if included[i] and not game.protected.startswith("entities"):
            # Each sentence is clipped to the norm of a cell: so many reach that of a user.
            enough = math.ceil(rules.clip / rules.cell_clip) + 1
            sentences += [Sentence(f"user {i}", [1 + i])] * enough
    if not sentences:
        sentences.append(Sentence("somebody", [_SILENT]))
    return gather(sentences)


def _crowd(rules: Rules, included: Bools) -> tuple[UserText, ...]:
    """Everybody says much against every canary, and more for those that are in.

    Each user has a sentence against all canaries that is used in nearly every step, so that the
    user's clipped vector points one way. A canary entity has a sentence in every user's text that
    turns its coordinate round. So it acts whenever it is drawn, whoever else is; and it moves each
    clipped vector by up to twice the clipping norm.
    """
    m = len(included)
    against = [1 + m + i for i in range(m)]
    optimized = rules.algorithm == "published-optimized"
    # The simple algorithm uses sentences with entities only. With so many, one is always drawn; on
    # average half of them are, and the sentence counts once for each.
    always = frozenset() if optimized else frozenset(f"other {j}" for j in range(_ALWAYS_DRAWN))
    times = 2 if optimized else _ALWAYS_DRAWN
    sentences = []
    for user in range(rules.population):
        name = f"user {user}"
        sentences.append(Sentence(name, against, always))
        sentences += [
            Sentence(name, [1 + int(i)] * times, frozenset([f"canary {i}"]))
            for i in np.flatnonzero(included)
        ]
        if optimized:
            sentences += [Sentence(name, [_SILENT])] * _PLAIN
    return gather(sentences)


def _partners(rules: Rules) -> int:
    """So many that one of them is drawn in most steps."""
    if rules.entity_rate == 1:
        return 1
    return min(
        _MOST_PARTNERS, math.ceil(math.log(_RARELY_MISSED) / math.log(1 - rules.entity_rate))
    )
