"""Training on raw text with a guarantee for users and for the sensitive entities they mention.

A step has three parts that can run in three places:

1. *Draws* (:class:`StepDraws`): which users, entities and sentences take part. One key says it all.
2. *Contributions* (:func:`contributions`): for each drawn user the clipped sum of its clipped
   cells, a function of the model's parameters, that user's text and the draws.
3. *Release* (:class:`Server`): the sum, noise, a public denominator, the optimiser. The accountant
   is here, and is charged first.

:class:`UserEntityTrainer` puts them together in one process. What is protected, and for which data
sets: :mod:`discreet.training.user_entity._bounds`.
"""

import json
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from discreet import check
from discreet.accounting.user_entity import TrainingLoss
from discreet.arrays import Progress
from discreet.devices import array_of, exactly, in_halves, room_for
from discreet.errors import BudgetExceeded, IncompatibleStatements, InvalidValue
from discreet.files import private_folder
from discreet.models.factors import FactorModel, Parameters, Predicted, SentenceBatch
from discreet.models.padding import some_of
from discreet.randomness import SEEDED_CAVEAT, generator
from discreet.scope import Scope
from discreet.statement import Notion, PrivacyStatement
from discreet.tensors import Arrays
from discreet.training.loop import make_steps
from discreet.training.user_entity._bounds import Dropped, within_bounds
from discreet.training.user_entity._draws import StepDraws
from discreet.training.user_entity._gradients import (
    ActiveText,
    added_up,
    contributions,
    plain_sum,
    sentence_batch,
    together,
)
from discreet.training.user_entity._server import Server
from discreet.training.user_entity.checkpoints import Curve, RunFolder, fingerprint, salt_of
from discreet.training.user_entity.rules import Rules, TrainingPlan
from discreet.training.user_entity.settings import RunSettings
from discreet.training.user_entity.users import UserText

# Whether anything was dropped is a fact about the data, so the words are the same either way.
DROPPED_CAVEAT = (
    "the guarantee is for the data after sentences beyond the bounds on holders and cells, if "
    "there were any, had been dropped; which ones can depend on other users"
)
ONE_CELL_CAVEAT = (
    "each user takes part with the sentences that name one set of entities, or with those that "
    "name none; the others, if there were any, had been dropped before"
)


@dataclass(frozen=True)
class Quality:
    """How well a model predicts."""

    perplexity: float
    """exp of the mean loss of a prediction: of a word, or of a class."""
    error_rate: float
    """Share of predictions that are wrong."""
    entities: float | None = None
    """Perplexity of the words of entities, where they are marked,"""
    others: float | None = None
    """and of all others."""


@dataclass(frozen=True)
class TrainingOutcome:
    """What a run left, beside the parameters in the model."""

    steps: int
    """Steps that the parameters went through."""
    charged: int
    """Steps that count as spent: more than ``steps`` if some were lost in a crash."""
    stopped_by_budget: bool
    statement: PrivacyStatement
    loss: TrainingLoss | None
    curve: list[dict[str, Any]] = field(repr=False)
    """For each step: its number, the norm of its noisy average, and what ``evaluate`` said, which
    is asked before the first step, too."""


class UserEntityTrainer:
    """A run: rules, users and a model, in one process.

    Args:
        rules: what a step does and what it costs.
        users: their text; None if the sums come from elsewhere (:meth:`total` is another).
        model: what is trained, in place. It and its vocabulary must come from public data.
        seed: repeatable draws and noise, for experiments: not for release.
        strict: refuse data outside the bounds on entities instead of dropping sentences.
        spent: what the model's first weights have cost, if they come from protected text; it is
            added to every statement and counts towards a budget.
        sensitive: what counts as a sensitive entity, in words, for the statement; what was spent on
            entities of another kind is not added.

    Privacy: the model after each step, under the statement of ``rules``
    (:meth:`Rules.statement`) for the steps that were charged, and what was spent before.

    >>> from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
    >>> from discreet.training.user_entity.users import Sentence, gather
    >>> users = gather([Sentence(f"u{i}", [1, 2, 3], frozenset({"x"})) for i in range(3)])
    >>> model = AwdLstm(AwdLstmShape(words=5, boundary=0, embedding=3, hidden=4))
    >>> rules = Rules(user_rate=0.5, holders=3, population=3)
    >>> outcome = UserEntityTrainer(rules, users, model, seed=1).run(2)
    >>> outcome.charged, round(outcome.statement.epsilon, 2)
    (2, 1.58)
    """

    def __init__(
        self,
        rules: Rules,
        users: Sequence[UserText] | None,
        model: FactorModel,
        *,
        seed: int | None = None,
        strict: bool = False,
        spent: PrivacyStatement | None = None,
        sensitive: str = "",
    ) -> None:
        if users is not None and not users:
            raise InvalidValue("there are no users to train on")
        if len({user.name for user in users or ()}) < len(users or ()):
            # They would be drawn together, and one of them would be two contributions.
            raise InvalidValue("two users have the same name; give all sentences of a user at once")
        self.rules, self.model, self.seed, self.strict = rules, model, seed, strict
        self.users, self.dropped = tuple(users or ()), Dropped()
        self._elsewhere = users is None
        if rules.algorithm == "certified":
            self.users, self.dropped = within_bounds(
                self.users,
                holders=rules.holders,
                cells=rules.cells,
                one_cell=rules.one_cell,
                strict=strict,
            )
        self.plan = TrainingPlan.of(rules, self.users)
        self.server = Server(self.plan, model.trainable())
        self._rng = generator() if seed is None else None
        self.spent = spent
        self.sensitive = sensitive if rules.algorithm == "certified" else ""
        if spent is not None:
            self.statement(0)  # what cannot be added is refused before any step

    # -- one step --------------------------------------------------------------------------------

    def draws(self, step: int) -> StepDraws:
        """The draws of a step: from the operating system, or from the seed."""
        if self.seed is None:
            return StepDraws.fresh(self.rules.rates)
        return StepDraws.seeded(self.rules.rates, self.seed, step)

    def active(self, draws: StepDraws) -> list[ActiveText]:
        """The drawn users with the sentences that take part."""
        texts = (self.plan.active(user, draws) for user in self.users)
        return [text for text in texts if text is not None]

    def total(self, draws: StepDraws) -> Parameters:
        """The sum of all contributions, before noise: protected."""
        certified = self.rules.algorithm == "certified"
        texts = self.active(draws)
        if self.rules.algorithm == "sample-level":  # a sentence takes the place of the user
            texts = [alone for text in texts for alone in text.apart()]
        parts = contributions(
            self.model,
            texts,
            draws,
            clip=self.rules.clip,
            cell_clip=self.rules.cell_clip if certified else None,
            one_cell=certified and self.rules.one_cell,
        )
        return added_up(parts, self.server.empty_sum())

    def step(self, number: int) -> float:
        """Make one step, whatever it costs; returns the norm of the noisy average."""
        draws = self.draws(number)
        room = room_for(f"step {number + 1}", "use a smaller network, or --device cpu")
        with exactly(self.server.device), room:
            if not self.rules.noisy:
                texts = self.active(draws)
                if not texts:
                    return 0.0
                asked = sum(self.model.predictions(sentence_batch([text])) for text in texts)
                return self.server.apply(plain_sum(self.model, texts, draws), asked)
            rng = self._rng or np.random.default_rng([self.seed or 0, number])
            return self.server.release(self.total(draws), rng)

    # -- a run -----------------------------------------------------------------------------------

    def run(
        self,
        steps: int,
        *,
        budget: float | None = None,
        folder: Path | None = None,
        resume: bool = False,
        unwritten: bool = False,
        checkpoint_every: int = RunSettings.checkpoint_every,
        evaluate: Callable[[], dict[str, float]] | None = None,
        evaluate_every: int = RunSettings.evaluate_every,
        progress: Progress | None = None,
    ) -> TrainingOutcome:
        """Make steps until there are ``steps``, or the next would exceed the budget.

        Args:
            steps: how many in all, those of a resumed run included.
            budget: epsilon (of user and entity together, where both are protected) that must not be
                exceeded.
            folder: where the spent budget and checkpoints are kept; without it nothing is written.
            resume: go on with the run in ``folder``.
            unwritten: its model, after all steps that were charged, is not written yet: no step is
                missing then, and that is no error.
            checkpoint_every: steps between checkpoints.
            evaluate: figures on *public* text, for the curve.
            evaluate_every: steps between them.
            progress: called with steps done and in all.

        Raises:
            BudgetExceeded: Not one more step is possible.
        """
        check.whole(steps, "steps", at_least=1)
        check.whole(checkpoint_every, "checkpoint_every", at_least=1)
        limit = self.most_steps(steps, budget)
        if folder is None and resume:
            raise InvalidValue("resume needs the folder of a run")
        with (
            nullcontext(_Nowhere()) if folder is None else self.kept_in(folder, resume=resume)
        ) as kept:
            done = 0
            curve: list[dict[str, Any]] = []
            if resume and (saved := kept.load()) is not None:
                done, arrays, curve = saved
                self.server.restore(arrays)
            # Steps that were charged and lost count. With a seed a step that was lost is the same
            # step again, and no new release.
            lost = kept.charged - done if self.seed is None else 0
            total = limit - lost

            def make(number: int) -> None:
                kept.charge(number + lost + 1)
                point: dict[str, Any] = {"step": number + 1, "norm": self.step(number)}
                last = number + 1 == total
                if evaluate is not None and (last or (number + 1) % evaluate_every == 0):
                    point |= evaluate()
                curve.append(point)

            if evaluate is not None and not done and total > 0:
                curve = [{"step": 0} | evaluate()]
            make_steps(
                make,
                done=done,
                total=total,
                every=checkpoint_every,
                save=lambda behind: kept.save(behind, self.server.state(), curve),
                progress=progress,
            )
        if total < done or (total == done and not unwritten):
            why = f"{steps} were asked for in all"
            if limit < steps:
                why = f"a budget of {budget:g} allows {limit}"
            raise BudgetExceeded(
                f"steps spent so far: {kept.charged}, and {why}; nothing more can be done, and the "
                "model stays as it is"
            )
        return TrainingOutcome(
            total,
            kept.charged,
            limit < steps,
            self.statement(kept.charged),
            self.rules.loss(kept.charged),
            curve,
        )

    def statement(self, charged: int) -> PrivacyStatement:
        """What holds for the model after so many charged steps."""
        statement = self.rules.statement(charged).with_caveats(*self._caveats())
        if self.sensitive:
            statement = replace(
                statement,
                scope=f"{statement.scope}; {self.sensitive}",
                over=Scope(cut=self.sensitive),
            )
        if self.spent is None or statement.notion is Notion.NONE:
            return statement
        try:
            return self.spent + statement
        except IncompatibleStatements as error:
            raise InvalidValue(
                f"what the start has spent cannot be added to what this run spends: {error}"
            ) from error

    def _caveats(self) -> list[str]:
        caveats = [] if self.seed is None else [SEEDED_CAVEAT]
        if self.rules.algorithm == "certified" and not self.strict:
            caveats.append(DROPPED_CAVEAT)
            if self.rules.one_cell:
                caveats.append(ONE_CELL_CAVEAT)
        return caveats

    def most_steps(self, steps: int, budget: float | None) -> int:
        """How many of these steps a budget allows, lost ones included."""
        if budget is None:
            return steps
        if not self.rules.private:
            raise InvalidValue(
                f"a budget needs an algorithm with a guarantee; {self.rules.algorithm} has none"
            )
        left = budget - (0.0 if self.spent is None else self.spent.epsilon)
        if left <= 0:
            raise BudgetExceeded(f"the start has spent the whole budget of {budget:g}")
        return self.rules.accounting(steps).steps_within(left, self.rules.delta)

    def kept_in(self, folder: Path, *, resume: bool) -> RunFolder:
        """The state of this run on disk, to be held while it is used."""
        return RunFolder(folder, self._settings(folder), resume=resume)

    def _settings(self, folder: Path) -> str:
        private_folder(folder)
        data = "elsewhere" if self._elsewhere else fingerprint(self.users, salt_of(folder))
        about: dict[str, Any] = {
            "rules": self.rules.digest,
            "model": self.model.description,
            "seed": self.seed,
            "data": data,
        }
        if self.spent is not None:
            about["spent"] = self.spent.to_dict()
        return json.dumps(about, sort_keys=True)


class _Nowhere:
    """A run that is kept in memory only."""

    def __init__(self) -> None:
        self.charged = 0

    def charge(self, steps: int) -> None:
        self.charged = max(self.charged, steps)

    def load(self) -> None:
        return None

    def save(self, step: int, arrays: Arrays, curve: Curve) -> None:
        pass


def quality(model: FactorModel, users: Sequence[UserText]) -> Quality:
    """How well a model predicts text that is public, or that stays with its keeper.

    Where words of entities are marked, their perplexity and that of all others are told apart.
    """
    sums = np.zeros((2, 2))  # nats and predictions; of words of entities, and of others
    wrong = 0.0
    known = all(user.marked is not None for user in users)
    texts = [ActiveText(user, np.arange(len(user))) for user in users]
    for part in together(texts):
        predicted = _predicted(model, sentence_batch(part))
        losses = np.concatenate([array_of(each.losses) for each in predicted]).astype(np.float64)
        wrong += sum(float(each.wrong.sum()) for each in predicted)
        within = np.zeros(len(losses), dtype=np.bool_)
        if known and len(losses) == sum(text.words + len(text.sentences) for text in part):
            within = np.concatenate([_marked_predictions(text.user) for text in part])
        sums[0] += losses[within].sum(), within.sum()
        sums[1] += losses[~within].sum(), (~within).sum()
    nats, asked = sums.sum(axis=0)
    entities, others = (_perplexity(*some) if sums[0, 1] else None for some in sums)
    return Quality(_perplexity(nats, asked), wrong / asked, entities, others)


def _predicted(model: FactorModel, batch: SentenceBatch) -> list[Predicted]:
    """Of all sentences, in order; of fewer at a time where memory is short."""

    def work(rows: NDArray[np.int64]) -> Predicted:
        return model.predicted(some_of(batch, torch.from_numpy(rows)))

    return in_halves(work, np.arange(len(batch)), "a sentence")


def _marked_predictions(user: UserText) -> NDArray[np.bool_]:
    """Which predictions are words of an entity: every sentence is followed by its end."""
    return np.insert(np.asarray(user.marked), np.cumsum(user.lengths), values=False)


def _perplexity(nats: float, predictions: float) -> float:
    mean = nats / predictions
    return math.exp(mean) if mean < 700 else math.inf
