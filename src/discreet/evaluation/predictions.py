"""What a trained model says of each row of a file, and how good that is."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from discreet.devices import AUTO, DEVICE
from discreet.errors import InputError, InvalidValue, NotFound
from discreet.models import task
from discreet.receipt import Receipt, receipt_path
from discreet.release.vectors import read_vectors
from discreet.settings import Setting, Settings, fields_as_keywords
from discreet.tensors import kind_of
from discreet.text.labelled import read_labelled
from discreet.training.scores import class_scores, number_scores

if TYPE_CHECKING:
    from discreet.training.texts.saved_models import TextModel


@dataclass(frozen=True)
class Predictions:
    """Predictions of a model, row by row.

    Attributes:
        columns: What there is of each row, by name: its ``prediction``, with vectors of classes a
            ``probability``, and the number of the ``row`` where it is known.
        scores: How good they are, if the file holds the truth.
        receipt: Of what was predicted from, if there is one.
        notes: What must be known to read the scores or to use the predictions, in sentences.
    """

    columns: dict[str, Any] = field(repr=False)
    scores: dict[str, float]
    receipt: Receipt | None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns["prediction"])

    def to_dict(self) -> dict[str, Any]:
        """How many there are and how good they are, ready for JSON."""
        values: dict[str, Any] = {"rows": len(self), "metrics": self.scores}
        if self.receipt is not None:
            values["statement"] = self.receipt.statement.to_dict()
            values["mechanism"] = dict(self.receipt.mechanism)
        return values


@dataclass(frozen=True, kw_only=True)
class PredictionSettings(Settings):
    """Where a file has texts and the truth, and where a network reads."""

    score_field: Annotated[
        str | None, Setting("Kept column with the true score, to measure against.")
    ] = None
    text_field: Annotated[str, Setting("Field that holds the text, where texts are predicted.")] = (
        "text"
    )
    pair_field: Annotated[str | None, Setting("Of pairs of texts: the second.")] = None
    label_field: Annotated[
        str | None, Setting("Field that holds the true label of a text, to measure against.")
    ] = None
    device: Annotated[str, DEVICE] = AUTO


@fields_as_keywords
def predict_file(source: Path, model: Path, *, settings: PredictionSettings) -> Predictions:
    """Predict the class or the score of each row of a file of vectors or of texts.

    What a model computes of a release costs nothing more. Vectors must have been released like
    those the model was trained on, which their receipt proves.

    Args:
        source: What the model was trained for: vectors with their receipt, or texts.
        model: From ``discreet train embeddings`` or ``discreet train classify``.
        settings: Where a file has texts and the truth; its fields are keywords, too.
    """
    if not model.is_file():
        raise NotFound(f"there is no file {model}; check the path")
    if kind_of(model) == task.KIND:
        return _of_vectors(source, task.TaskModel.load(model), settings.score_field)
    from discreet.training.texts.saved_models import load_text_model

    return _of_texts(source, load_text_model(model, device=settings.device), settings)


def _of_vectors(source: Path, model: task.TaskModel, score_field: str | None) -> Predictions:
    data, receipt = read_vectors(source), Receipt.beside(source)
    if model.released is not None:
        if receipt is None:
            raise InputError(
                f"{source} has no receipt beside it ({receipt_path(source).name}), so nothing says "
                "that it fits the model; release the vectors with 'discreet embed'"
            )
        model.released.require(task.ReleasedAs.of(receipt))
    predicted: Any = model.predict(data)
    columns: dict[str, Any] = {} if data.rows is None else {"row": data.rows.tolist()}
    columns["prediction"] = predicted
    scores: dict[str, float] = {}
    notes = []
    if model.labels is None:
        if score_field is not None:
            scores = number_scores(data.numbers(score_field), predicted)
    else:
        columns["probability"] = model.probabilities(data).max(axis=1).round(6).tolist()
        if data.labels is not None:
            scores = class_scores(data.labels, predicted)
            labels = None if receipt is None else receipt.labels
            if labels is not None and labels.epsilon is not None:
                notes.append(
                    "The labels in the file were randomised: the figures compare with released "
                    "labels."
                )
    return Predictions(columns, scores, receipt, tuple(notes))


def _of_texts(source: Path, loaded: "TextModel", settings: PredictionSettings) -> Predictions:
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
    )
    receipt = Receipt.of_texts(source, data.fields)
    notes: tuple[str, ...] = ()
    if loaded.about.get("receipt") is not None and receipt is None:
        notes = (
            "The model was trained on sanitised text and no receipt covers these texts: sanitise "
            "them in the same way, or the predictions are unprotected.",
        )
    predicted: Any = loaded.predict(data.texts, data.seconds)
    scores: dict[str, float] = {}
    if data.labels is not None:
        if loaded.head.classes is None:
            scores = number_scores(data.numbers(), predicted)
        else:
            scores = class_scores(data.labels, predicted)
    columns = {"row": list(range(1, len(data) + 1)), "prediction": predicted}
    return Predictions(columns, scores, receipt, notes)
