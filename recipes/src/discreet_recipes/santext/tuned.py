"""SanText with an encoder that is fine-tuned, as the paper has it: phrases, and joint pairs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.models.bert import load_masked_model
from discreet.release.text import Sanitizer
from discreet.spaces.space import EmbeddingSpace
from discreet.text.labelled import Labelled, read_labelled
from discreet.training.scores import class_scores, number_scores
from discreet.training.texts.classifier import fine_tune
from discreet.training.texts.settings import FineTuning
from discreet.training.vectors.reading import joint_tokens
from discreet_recipes.data_files import data_file, labelled_rows
from discreet_recipes.santext.data import SanTextSetting, settings_at
from discreet_recipes.santext.sizes import PAIRS_OF_QNLI_DEV, SanTextOptions

Examples = Callable[[int], tuple[Labelled, Labelled]]
READ_JOINTLY = "read jointly"
"""How pairs are read, as a setting: since 2 the encoder is told which text a piece is of."""


@dataclass(frozen=True)
class TunedBench:
    """The tasks of Table 1 with a fine-tuned encoder; training and test text are sanitised."""

    data: Path
    size: SanTextOptions
    space: EmbeddingSpace

    @property
    def tasks(self) -> tuple[str, ...]:
        """Those that can be run: phrases, pairs with a score, and questions if asked for."""
        asked = {
            "sst2": self.size.tuned_epsilons,
            self.size.pair_task: self.size.pair_epsilons if self.size.joint_pairs else (),
            "qnli": self.size.pair_epsilons if self.size.qnli else (),
        }
        return tuple(task for task, epsilons in asked.items() if epsilons)

    def settings(self, task: str) -> list[SanTextSetting]:
        """What a task is run with."""
        size = self.size
        return settings_at(size.tuned_epsilons if task == "sst2" else size.pair_epsilons)

    def uses(self, task: str) -> tuple[str, ...]:
        """The settings that a score depends on, beside the space and the seed."""
        steps = ("tuned_batch", "tuned_rate")
        rows = {
            "sst2": ("epochs", "tuned", "tuned_tests", *steps),
            "qnli": (READ_JOINTLY, "qnli_epochs", "qnli", *steps),
        }
        pairs = (
            READ_JOINTLY,
            "pair_epochs",
            "pair_task",
            "pairs",
            "pair_tests",
            "pair_batch",
            "pair_rate",
        )
        return ("encoder", *rows.get(task, pairs))

    def seeds(self, task: str) -> int:
        """How often the encoder is fine-tuned on a task."""
        return self.size.tuned_seeds if task == "sst2" else self.size.pair_seeds

    def score(self, task: str, setting: SanTextSetting, seed: int) -> float:
        """Accuracy, or Pearson's correlation."""
        examples = {"sst2": self._phrases, "qnli": self._questions}.get(task, self._scored)
        scored = task == self.size.pair_task
        epochs = {"sst2": self.size.epochs, "qnli": self.size.qnli_epochs}
        tuning = FineTuning(
            epochs=epochs.get(task, self.size.pair_epochs),
            batch=self.size.pair_batch if scored else self.size.tuned_batch,
            learning_rate=self.size.pair_rate if scored else self.size.tuned_rate,
            seed=seed,
        )
        return self._one(examples, setting, tuning, regression=scored)

    def _one(
        self, examples: Examples, setting: SanTextSetting, tuning: FineTuning, *, regression: bool
    ) -> float:
        mechanism = setting.build(self.space)
        seed = tuning.seed
        rng = np.random.default_rng([seed, 13])
        train, test = (sanitised(part, mechanism, rng) for part in examples(seed))
        model = load_masked_model(self.size.encoder)
        tuned = fine_tune(
            model,
            Labelled(train.texts, None, train.labels),
            tuning,
            regression=regression,
            tokens=(joint_tokens(model, train.texts, train.seconds), None),
        )
        said = tuned.predict_tokens(joint_tokens(model, test.texts, test.seconds))
        if regression:
            return number_scores(test.numbers(), [float(one) for one in said])["pearson"]
        return class_scores(test.labels or [], [str(one) for one in said])["accuracy"]

    def _phrases(self, seed: int) -> tuple[Labelled, Labelled]:
        every = labelled_rows(self.data, "sst2-train")
        few = min(self.size.tuned, len(every))
        train = every.part(np.random.default_rng(seed).choice(len(every), few, replace=False))
        return train, labelled_rows(self.data, "sst2-test", self.size.tuned_tests)

    def _scored(self, seed: int) -> tuple[Labelled, Labelled]:
        del seed  # the rows are the same, order and noise are not
        most = (("train", self.size.pairs), ("test", self.size.pair_tests))
        train, test = (
            _pairs(self.data, f"{self.size.pair_task}-{part}", rows, ("text1", "text2", "score"))
            for part, rows in most
        )
        return train, test

    def _questions(self, seed: int) -> tuple[Labelled, Labelled]:
        """Two thirds of the development part train, unless more is asked for than it has."""
        fields = ("question", "sentence", "label")
        if self.size.qnli > PAIRS_OF_QNLI_DEV:
            train = _pairs(self.data, "qnli-train", self.size.qnli, fields)
            return train, _pairs(self.data, "qnli-dev", PAIRS_OF_QNLI_DEV, fields)
        every = _pairs(self.data, "qnli-dev", self.size.qnli, fields)
        order = np.random.default_rng(seed).permutation(len(every))
        first = len(every) * 2 // 3
        return every.part(order[:first]), every.part(order[first:])


def sanitised(examples: Labelled, mechanism: Any, rng: np.random.Generator) -> Labelled:
    """The same examples with what the mechanism makes of their texts; None leaves them."""
    if mechanism is None:
        return examples
    sanitizer = Sanitizer(mechanism)
    texts = sanitizer.sanitize(examples.texts, rng).values
    seconds = None
    if examples.seconds is not None:
        seconds = sanitizer.sanitize(examples.seconds, rng).values
    return Labelled(texts, seconds, examples.labels)


def _pairs(data: Path, name: str, rows: int, fields: tuple[str, str, str]) -> Labelled:
    first, second, label = fields
    pairs = read_labelled(
        data_file(data, name), text_field=first, second_field=second, label_field=label
    )
    return pairs.part(range(min(rows, len(pairs))))
