"""Training for users and entities from a file to a folder."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from discreet.arrays import Progress
from discreet.files import written_whole
from discreet.models.vocabulary import Vocabulary
from discreet.receipt import Receipt
from discreet.tensors import save_tensors
from discreet.training.user_entity.build import KIND, MODEL, VOCABULARY, built_network
from discreet.training.user_entity.records import WordNumbers, read_users
from discreet.training.user_entity.settings import (
    PUBLISHED,
    NetworkSettings,
    Records,
    RuleOptions,
    RunSettings,
)
from discreet.training.user_entity.trainer import (
    TrainingOutcome,
    UserEntityTrainer,
    UserText,
    quality,
)

STATE = "state"
"""The folder, in that of a run, which is not for release."""


class UserEntityRun:
    """A run from a file to a folder: everything is read and refused here, :meth:`train` trains.

    Args:
        source: JSON lines, also ``.gz``; PROTECTED.
        output: the folder for the model, its receipt and the state of the run.
        rules: what a step does and what it may cost.
        records: how the file is read.
        network: what is trained.
        run: how long, and what is kept.
        seed: repeatable draws and noise, for experiments: not for release.

    Privacy: the statement in the receipt, which is written beside the model. The budget is written
    before each step. Nothing that is measured on the input is written.
    """

    def __init__(
        self,
        source: str,
        output: Path,
        *,
        rules: RuleOptions,
        records: Records,
        network: NetworkSettings | None = None,
        run: RunSettings | None = None,
        seed: int | None = None,
    ) -> None:
        self._output, self._run = output, run or RunSettings()
        made = rules.rules()
        records.require_entities(rules.algorithm)
        self._built = built_network(network or NetworkSettings(), records.classes)

        def read(name: str) -> tuple[UserText, ...]:
            masked = rules.algorithm == "de-identified" and name == source
            return read_users(name, records, self._built.words, masked=masked)

        self._public = None if self._run.evaluate is None else read(self._run.evaluate)
        users = read(source)
        # The search takes seconds, so it waits until everything that can be refused has been read.
        if rules.epsilon is not None:
            made = made.calibrated(self._run.steps, rules.epsilon)
        self.trainer = UserEntityTrainer(
            made, users, self._built.network, seed=seed, strict=self._run.strict
        )

    def train(self, progress: Progress | None = None) -> tuple[TrainingOutcome, Receipt]:
        """Make the steps and write the model with its receipt, which is given back as well."""
        settings = self._run

        def made_by(trainer: UserEntityTrainer) -> TrainingOutcome:
            return trainer.run(
                settings.steps,
                budget=settings.budget,
                folder=self._output / STATE,
                resume=settings.resume,
                checkpoint_every=settings.checkpoint_every,
                evaluate=None if self._public is None else self._measured,
                evaluate_every=settings.evaluate_every,
                progress=progress,
            )

        if settings.federated is None:
            outcome = made_by(self.trainer)
        else:
            from discreet.training.user_entity.federated import simulated

            outcome = simulated(self.trainer, settings.federated, made_by)
        receipt = receipt_of(self.trainer, outcome, self._built.vocabulary, settings.steps)
        write_results(self._output, self.trainer, outcome, receipt, self._built.words)
        return outcome, receipt

    def _measured(self) -> dict[str, float]:
        figures = asdict(quality(self._built.network, self._public or ()))
        return {name: value for name, value in figures.items() if value is not None}


def receipt_of(
    trainer: UserEntityTrainer, outcome: TrainingOutcome, vocabulary: Any, steps: int
) -> Receipt:
    """What was done and what holds; nothing that was measured on the input."""
    figures: dict[str, Any] = {}
    if outcome.loss is not None:
        values = asdict(outcome.loss)
        figures = {name: None if value == float("inf") else value for name, value in values.items()}
    if trainer.rules.algorithm in PUBLISHED:
        sentences = sum(len(user) for user in trainer.users)
        sensitive = sum(int((user.cell >= 0).sum()) for user in trainer.users)
        paper = trainer.rules.published(outcome.charged, sensitive / sentences)
        figures["published"] = {
            "claimed": paper.claimed,
            "at_least": paper.at_true_rate,
            "faults": list(paper.faults),
        }
    about = {
        "figures": figures,
        "rules": asdict(trainer.rules),
        "steps": {"planned": steps, "made": outcome.steps, "charged": outcome.charged},
        "model": json.loads(trainer.model.description),
        "vocabulary": vocabulary,
        "public_evaluation": {
            name: value for name, value in outcome.curve[-1].items() if name not in ("step", "norm")
        },
    }
    return Receipt(outcome.statement, about)


def write_results(
    folder: Path,
    trainer: UserEntityTrainer,
    outcome: TrainingOutcome,
    receipt: Receipt,
    words: WordNumbers,
) -> None:
    """Write the model and what goes with it, each file whole."""
    arrays = {n: p.detach().numpy() for n, p in trainer.model.weights().items()}
    about = {"model": receipt.about["model"], "statement": receipt.statement.to_dict()}
    save_tensors(folder / MODEL, KIND, arrays, about, force=True)
    files = {
        "privacy.json": receipt.to_json(),
        "curve.json": json.dumps(outcome.curve, indent=1) + "\n",
        f"{STATE}/dropped.json": json.dumps(asdict(trainer.dropped)) + "\n",
    }
    if isinstance(words, Vocabulary):
        files[VOCABULARY] = "\n".join(words.words) + "\n"
    for name, content in files.items():
        with written_whole(folder / name) as temporary:
            temporary.write_text(content, "utf-8")
