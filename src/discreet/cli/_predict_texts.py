"""``discreet predict`` for models of texts."""

from pathlib import Path
from typing import Any

from discreet.cli._terminal import say
from discreet.errors import InvalidValue


def on_texts(
    source: Path,
    model: Path,
    *,
    text_field: str,
    pair_field: str | None,
    label_field: str | None,
) -> tuple[dict[str, Any], dict[str, float], Any]:
    """The columns to write, how good they are (with labels), and the statement of the texts."""
    from discreet.release.vectors import read_receipt
    from discreet.text.labelled import read_labelled
    from discreet.training.scores import class_scores, number_scores
    from discreet.training.texts.saved_models import load_text_model

    loaded = load_text_model(model)
    if loaded.pairs != (pair_field is not None):
        raise InvalidValue(
            "this model reads pairs of texts; name the second with --pair-field"
            if loaded.pairs
            else "this model reads single texts; leave out --pair-field"
        )
    data = read_labelled(
        source, text_field=text_field, second_field=pair_field, label_field=label_field
    )
    receipt = read_receipt(source)
    if loaded.about.get("receipt") is not None and receipt is None:
        say(
            "The model was trained on sanitised text and these texts have no receipt: sanitise "
            "them in the same way, or the predictions are unprotected."
        )
    predicted: Any = loaded.predict(data.texts, data.seconds)
    scores: dict[str, float] = {}
    if data.labels is not None:
        if loaded.head.classes is None:
            scores = number_scores(data.numbers(), predicted)
        else:
            scores = class_scores(data.labels, predicted)
    columns = {"row": list(range(1, len(data) + 1)), "prediction": predicted}
    return columns, scores, None if receipt is None else receipt.get("statement")
