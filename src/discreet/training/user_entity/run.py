"""Training for users and entities from a file to a folder."""

import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from discreet.arrays import Progress
from discreet.devices import AUTO, CPU, array_of
from discreet.errors import BudgetExceeded, InvalidValue
from discreet.files import plain_json, private_folder, written_whole
from discreet.ledger.book import Reservation
from discreet.ledger.charge import Charge
from discreet.ledger.dataset import DatasetLedger
from discreet.ledger.entries import RESERVED
from discreet.models.language import AdaptedLanguageModel
from discreet.models.vocabulary import Vocabulary
from discreet.receipt import FOLDER_RECEIPT, Receipt
from discreet.release.booked import commit_receipt, with_entry
from discreet.staging import PRIVATE
from discreet.tensors import save_tensors
from discreet.training.user_entity.build import KIND, MODEL, VOCABULARY, built_network
from discreet.training.user_entity.checkpoints import charged_steps, salt_of
from discreet.training.user_entity.earlier_runs import (
    AGAIN_CAVEAT,
    STATE,
    UserMarks,
    mark_users,
    require_same_book,
)
from discreet.training.user_entity.idle import refuse_idle
from discreet.training.user_entity.model_card import CARD, model_card
from discreet.training.user_entity.publishing import finish, is_ready, make_ready, put_in_place
from discreet.training.user_entity.records import read_users
from discreet.training.user_entity.settings import (
    PUBLISHED,
    NetworkSettings,
    Records,
    RuleOptions,
    RunSettings,
)
from discreet.training.user_entity.trainer import TrainingOutcome, UserEntityTrainer, quality
from discreet.training.user_entity.users import UserText
from discreet.wording import counted

_CURVE = "curve.json"


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
        refuse_idle(rules, records, self._run)
        made = rules.rules()
        records.require_entities(rules.algorithm)
        network = network or NetworkSettings()
        if self._run.federated is not None:
            if network.device not in (AUTO, CPU):
                raise InvalidValue(
                    "--federated simulates its clients on the processor: use --device cpu"
                )
            network = replace(network, device=CPU)
        self._classes = records.classes
        self._built = built_network(network, self._classes)

        def read(name: str) -> tuple[UserText, ...]:
            masked = rules.algorithm == "de-identified" and name == source
            return read_users(name, records, self._built.words, masked=masked)

        self._public = None if self._run.evaluate is None else read(self._run.evaluate)
        users = read(source)
        # The search takes seconds, so it waits until everything that can be refused has been read.
        if rules.epsilon is not None:
            made = made.calibrated(self._run.steps, self._left(rules.epsilon))
        self.trainer = UserEntityTrainer(
            made,
            users,
            self._built.network,
            seed=seed,
            strict=self._run.strict,
            spent=self._built.spent,
            sensitive=records.sensitive,
        )

    def train(
        self, progress: Progress | None = None, ledger: DatasetLedger | None = None
    ) -> tuple[TrainingOutcome, Receipt]:
        """Make the steps and write the model with its receipt, which is given back as well.

        Args:
            progress: Called with steps done and in all.
            ledger: Where all steps are booked before the first is made. What a run has booked it
                keeps, also if it fails: its checkpoints may be gone on with. A run that goes on to
                the same number of steps is not charged again.
        """
        settings = self._run
        book = "" if ledger is None else ledger.ledger.named(ledger.dataset)
        if settings.resume:
            require_same_book(self._output, book)
            if is_ready(self._output) and (done := self._finished(ledger)) is not None:
                return done
        elif self._counts:
            mark_users(
                self._output,
                [user.name for user in self.trainer.users],
                start=self._built.start,
                again=settings.again,
                book=book,
            )
        reservation = None if ledger is None else self._reserved(ledger)

        def made_by(trainer: UserEntityTrainer) -> TrainingOutcome:
            return trainer.run(
                settings.steps,
                budget=settings.budget,
                folder=self._output / STATE,
                resume=settings.resume,
                unwritten=settings.resume and self._is_unwritten,
                checkpoint_every=settings.checkpoint_every,
                evaluate=None if self._public is None else self._measured,
                evaluate_every=settings.evaluate_every,
                progress=progress,
            )

        if settings.federated is None:
            outcome = made_by(self.trainer)
            return outcome, self._write(outcome, self._receipt(outcome), reservation)
        from discreet.training.user_entity.simulation import simulated, simulation_section

        outcome, missing = simulated(
            self.trainer, settings.federated, made_by, drop_out=settings.drop_out
        )
        section = simulation_section(settings.federated, missing)
        receipt = self._receipt(outcome).with_section("federated", section)
        return outcome, self._write(outcome, receipt, reservation)

    def _finished(self, ledger: DatasetLedger | None) -> tuple[TrainingOutcome, Receipt] | None:
        """What a run that was stopped while it was written has come to, and was to come to."""
        with self.trainer.kept_in(self._output / STATE, resume=True):
            receipt = finish(self._output, ledger)
        steps = receipt.about["steps"]
        if steps["planned"] != self._run.steps:
            return None
        outcome = TrainingOutcome(
            steps["made"],
            steps["charged"],
            self.trainer.most_steps(self._run.steps, self._run.budget) < self._run.steps,
            receipt.statement,
            self.trainer.rules.loss(steps["charged"]),
            plain_json((self._output / _CURVE).read_bytes()),
        )
        return outcome, receipt

    @property
    def _is_unwritten(self) -> bool:
        """Whether the model in the folder, if there is one, has spent less than the run has."""
        place = self._output / FOLDER_RECEIPT
        if not place.is_file():
            return True
        written = int(Receipt.read(place).about["steps"]["charged"])
        return charged_steps(self._output / STATE) > written

    @property
    def _counts(self) -> bool:
        """Whether what is spent is to be added up: a guarantee, and a model for release."""
        return self.trainer.rules.private and self.trainer.seed is None

    def _reserved(self, ledger: DatasetLedger) -> tuple[Reservation, Charge]:
        """The budget for all steps that this run may make."""
        steps = self.trainer.most_steps(self._run.steps, self._run.budget)
        charge = Charge(
            dataset=ledger.dataset,
            command=ledger.command,
            statement=self.trainer.statement(steps),
            mechanism=self.trainer.rules.algorithm,
            units=len(self.trainer.users),
        )
        state = self._output / STATE
        private_folder(state)
        reservation = ledger.ledger.reserve(charge, request=f"{salt_of(state)} {steps}")
        if reservation.state != RESERVED:  # another model would be a second release for one charge
            raise BudgetExceeded(
                "this run, or one that its folder is a copy of, is in the ledger as released after "
                f"{counted(steps, 'step')}, and nothing more can be done for that charge; ask for "
                "more steps, which are charged"
            )
        return reservation, charge

    def _left(self, epsilon: float) -> float:
        """What the start leaves of an epsilon that is meant for the model."""
        spent = 0.0 if self._built.spent is None else self._built.spent.epsilon
        if epsilon <= spent:
            raise BudgetExceeded(
                f"the model that is begun with has spent epsilon = {spent:.4g}, which leaves "
                f"nothing of {epsilon:g}"
            )
        return epsilon - spent

    def _measured(self) -> dict[str, float]:
        figures = asdict(quality(self._built.network, self._public or ()))
        return {name: value for name, value in figures.items() if value is not None}

    def _receipt(self, outcome: TrainingOutcome) -> Receipt:
        """What was done and what holds; nothing that was measured on the input."""
        rules, users = self.trainer.rules, self.trainer.users
        figures: dict[str, Any] = {}
        if outcome.loss is not None:
            values = asdict(outcome.loss)
            figures = {name: None if math.isinf(loss) else loss for name, loss in values.items()}
        if rules.algorithm in PUBLISHED:
            sensitive = sum(int((user.cell >= 0).sum()) for user in users)
            paper = rules.published(outcome.charged, sensitive / sum(len(user) for user in users))
            figures["published"] = {
                "claimed": paper.claimed,
                "at_least": paper.at_true_rate,
                "faults": list(paper.faults),
            }
        planned, last = self._run.steps, outcome.curve[-1]
        about = {
            "figures": figures,
            "rules": asdict(rules),
            "steps": {"planned": planned, "made": outcome.steps, "charged": outcome.charged},
            "model": json.loads(self.trainer.model.description),
            "vocabulary": self._built.vocabulary,
            "classes": list(self._classes) or None,
            "start": None if self._built.spent is None else self._built.spent.to_dict(),
            "public_evaluation": {k: v for k, v in last.items() if k not in ("step", "norm")},
        }
        marks = UserMarks.read(self._output) if self._counts else None
        caveats = (AGAIN_CAVEAT,) if marks is not None and marks.again else ()
        return Receipt(outcome.statement.with_caveats(*caveats), about)

    def _model_files(self, receipt: Receipt) -> dict[str, bytes]:
        """The trained weights; of a transformers model, a folder that it opens, or that peft does.

        Where all weights are trained, the model's own file has them.
        """
        network = self._built.network
        language = network if isinstance(network, AdaptedLanguageModel) else None
        files: dict[str, bytes] = {}
        if language is None or not language.whole:
            arrays = {n: array_of(p) for n, p in network.weights().items()}
            about = {"model": receipt.about["model"], "statement": receipt.statement.to_dict()}
            files = self._made(lambda folder: save_tensors(folder / MODEL, KIND, arrays, about))
        if language is None or language.base is None:
            return files
        card = model_card(receipt, language.base, generates=language.classes is None)
        whole = partial(language.save_model, classes=self._classes)
        files |= self._made(whole if language.whole else language.save_adapter)
        return files | {CARD: card.encode()}

    def _made(self, write: Callable[[Path], None]) -> dict[str, bytes]:
        """The files that something writes into a folder, by name; nobody else can look into it."""
        private_folder(self._output / STATE)
        with tempfile.TemporaryDirectory(dir=self._output / STATE) as folder:
            write(Path(folder))
            return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}

    def _write(
        self,
        outcome: TrainingOutcome,
        receipt: Receipt,
        booked: tuple[Reservation, Charge] | None = None,
    ) -> Receipt:
        """Write the model and what goes with it, each file whole, and last the receipt for them.

        All wait in the state of the run until the ledger, if there is one, has it in writing: what
        it refuses is not written. A run that is stopped meanwhile can be gone on with.
        """
        files = self._model_files(receipt)
        files[_CURVE] = f"{json.dumps(outcome.curve, indent=1)}\n".encode()
        if isinstance(self._built.words, Vocabulary):
            files[VOCABULARY] = ("\n".join(self._built.words.words) + "\n").encode()
        with written_whole(self._output / STATE / "dropped.json", mode=PRIVATE) as temporary:
            temporary.write_text(json.dumps(asdict(self.trainer.dropped)) + "\n", "utf-8")
        if booked is not None:
            receipt = with_entry(receipt, *booked)
        receipt = make_ready(self._output, files, receipt)
        if booked is not None:
            commit_receipt(booked[0], receipt)
        put_in_place(self._output)
        return receipt
