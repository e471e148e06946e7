"""What a trained model says of each row of a file, and how good that is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from discreet.devices import AUTO, DEVICE
from discreet.errors import InputError, InvalidValue
from discreet.models import task
from discreet.receipt import Receipt, receipt_path
from discreet.release.vectors import read_vectors
from discreet.settings import Setting, Settings, fields_as_keywords, said
from discreet.tensors import kind_of
from discreet.text.formats import STANDARD_STREAM
from discreet.text.labelled import read_labelled
from discreet.training.linear_head import decided
from discreet.training.scores import class_scores, number_scores

if TYPE_CHECKING:
    from discreet.training.texts.saved_models import TextModel
    from discreet.training.user_entity.classifier import SentenceClassifier

_OF_TEXTS = ("text_field", "pair_field", "label_field", "format", "base")
_NOT_SANITISED = (
    "The model was trained on sanitised text and no receipt covers these texts: sanitise them in "
    "the same way, or the predictions are unprotected and may be wrong."
)


@dataclass(frozen=True)
class Predictions:
    """Predictions of a model, row by row.

    Attributes:
        columns: What there is of each row, by name: its number (``row``), its ``prediction`` and,
            of classes, the model's ``probability`` for it.
        scores: How good they are, if the file holds the truth.
        receipt: Of what was predicted from, if there is one.
        trained: Of the model, if it was trained on raw text with a guarantee of its own.
        notes: What must be known to read the scores or to use the predictions, in sentences.
    """

    columns: dict[str, Any] = field(repr=False)
    scores: dict[str, float]
    receipt: Receipt | None
    trained: Receipt | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns["prediction"])

    def trained_lines(self) -> list[str]:
        """What the model guarantees to the people it was trained on, if it was on raw text."""
        if self.trained is None:
            return []
        lines = ["For the people in the text that the model was trained on:"]
        lines += self.trained.statement.lines()
        if self.receipt is None:
            lines.append(
                "Nothing protects the texts that were predicted for: a prediction tells of its own."
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """How many there are and how good they are, ready for JSON."""
        values: dict[str, Any] = {"rows": len(self), "metrics": self.scores}
        if self.receipt is not None:
            values["statement"] = self.receipt.statement.to_dict()
            values["mechanism"] = dict(self.receipt.mechanism)
        if self.trained is not None:
            values["model"] = {"statement": self.trained.statement.to_dict()}
        return values


@dataclass(frozen=True, kw_only=True)
class PredictionSettings(Settings):
    """Where a file has texts and the truth, and where a network reads."""

    score_field: str | None = Setting(
        "Kept column of vectors with the true score, to measure against."
    ).default(None)
    text_field: str = Setting("Field that holds the text, where texts are predicted.").default(
        "text"
    )
    pair_field: str | None = Setting("Of pairs of texts: the second.").default(None)
    label_field: str | None = Setting(
        "Field that holds the true label of a text, to measure against."
    ).default(None)
    format: str | None = Setting(
        "Format of texts, if their name does not show it: txt, csv, tsv, jsonl, parquet, or "
        "with .gz."
    ).default(None)
    base: str | None = Setting(
        "The model below that of a run with adapters, if it is not where training found it: a "
        "folder, a GGUF file or smollm2."
    ).default(None)
    device: str = DEVICE.default(AUTO)


@fields_as_keywords
def predict_file(source: str | Path, model: Path, *, settings: PredictionSettings) -> Predictions:
    """Predict the class or the score of each row of a file of vectors or of texts.

    What a model computes of a release costs nothing more. Vectors must have been released like
    those the model was trained on, which their receipt proves.

    Args:
        source: What the model was trained for: vectors with their receipt, or texts (``-`` is
            standard input).
        model: From ``discreet train embeddings`` or ``discreet train classify``, or the folder of
            ``discreet train user-entity --label-field``.
        settings: Where a file has texts and the truth; its fields are keywords, too.
    """
    if not model.is_dir() and kind_of(model) == task.KIND:
        _refuse(settings, _OF_TEXTS, "texts, and this model reads vectors, with their labels")
        return _of_vectors(Path(source), task.TaskModel.load(model), settings.score_field)
    _refuse(settings, ("score_field",), "vectors, and this model reads texts: see --label-field")
    if str(source) == STANDARD_STREAM and settings.format is None:
        raise InvalidValue(
            "nothing says what standard input is: give --format txt, csv, tsv or jsonl"
        )
    if model.is_dir():
        from discreet.training.user_entity.classifier import SentenceClassifier

        trained = SentenceClassifier.load(model, base=settings.base, device=settings.device)
        return _of_texts(source, trained, settings, trained=trained.receipt)
    _refuse(settings, ("base",), "the folder of a run, and this model is a file")
    from discreet.training.texts.saved_models import load_text_model

    loaded = load_text_model(model, device=settings.device)
    return _of_texts(source, loaded, settings, sanitised=loaded.about.get("receipt") is not None)


def _refuse(settings: PredictionSettings, names: Sequence[str], what: str) -> None:
    """Stop at a setting that would be ignored."""
    if given := [each.flag for name, each in said(settings).items() if name in names]:
        raise InvalidValue(f"{given[0]} is for {what}; leave it out")


def _columns(
    rows: Sequence[int], scores: NDArray[Any], classes: Sequence[str] | None
) -> dict[str, Any]:
    columns: dict[str, Any] = {"row": list(rows), "prediction": decided(scores, classes)}
    if classes is not None:
        chances = softmax(scores.astype(np.float64), axis=1)
        columns["probability"] = chances.max(axis=1, initial=0.0).round(6).tolist()
    return columns


def _of_vectors(source: Path, model: task.TaskModel, score_field: str | None) -> Predictions:
    if model.labels is not None and score_field is not None:
        raise InvalidValue("--score-field is for a model of scores; this one predicts classes")
    data, receipt = read_vectors(source), Receipt.beside(source)
    if model.released is not None:
        if receipt is None:
            raise InputError(
                f"{source} has no receipt beside it ({receipt_path(source).name}), so nothing says "
                "that it fits the model; release the vectors with 'discreet embed'"
            )
        model.released.require(task.ReleasedAs.of(receipt))
    rows = range(1, len(data) + 1) if data.rows is None else data.rows.tolist()
    columns = _columns(rows, model.scores(data), model.labels)
    predicted = columns["prediction"]
    scores: dict[str, float] = {}
    notes = []
    if score_field is not None:
        scores = number_scores(data.numbers(score_field), predicted)
    elif model.labels is not None and data.labels is not None:
        scores = class_scores(data.labels, predicted)
        labels = None if receipt is None else receipt.labels
        if labels is not None and labels.epsilon is not None:
            notes.append(
                "The labels in the file were randomised: the figures compare with released labels."
            )
    return Predictions(columns, scores, receipt, notes=tuple(notes))


def _of_texts(
    source: str | Path,
    loaded: "TextModel | SentenceClassifier",
    settings: PredictionSettings,
    *,
    trained: Receipt | None = None,
    sanitised: bool = False,
) -> Predictions:
    pair_field = settings.pair_field
    if loaded.pairs != (pair_field is not None):
        raise InvalidValue(
            "this model reads pairs of texts; name the second with --pair-field"
            if loaded.pairs
            else "this model reads single texts; leave out --pair-field"
        )
    data = read_labelled(
        source,
        text_field=settings.text_field,
        second_field=pair_field,
        label_field=settings.label_field,
        format=settings.format,
    )
    stream = str(source) == STANDARD_STREAM
    receipt = None if stream else Receipt.of_texts(source, data.fields)
    columns = _columns(
        range(1, len(data) + 1), loaded.scores(data.texts, data.seconds), loaded.classes
    )
    predicted = columns["prediction"]
    scores: dict[str, float] = {}
    if data.labels is not None:
        if loaded.classes is None:
            scores = number_scores(data.numbers(), predicted)
        else:
            scores = class_scores(data.labels, predicted)
    notes = (_NOT_SANITISED,) if sanitised and receipt is None else ()
    return Predictions(columns, scores, receipt, trained, notes)
