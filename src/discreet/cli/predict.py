"""``discreet predict``: what a trained model says of each row of a file."""

from pathlib import Path
from typing import Annotated, Any

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import counted, echo_json, say
from discreet.devices import check_device
from discreet.evaluation.predictions import predict_file
from discreet.settings import Setting
from discreet.text.tables import check_table, write_table
from discreet.training.learnt import scores_say_nothing


def predict(
    source: Annotated[
        Path,
        argument(
            "INPUT",
            "Vectors released by 'discreet embed', or texts, in the way that the model was "
            "trained for.",
        ),
    ],
    model: Annotated[
        Path, Setting("From 'discreet train embeddings' or 'train classify' (.safetensors).")
    ],
    output: Annotated[
        Path, Setting("A prediction per row: .csv, .tsv, .jsonl or .parquet.", short="-o")
    ],
    score_field: Annotated[
        str | None, Setting("Kept column with the true score, to measure against.")
    ] = None,
    text_field: Annotated[
        str, Setting("Field that holds the text, where texts are predicted.")
    ] = "text",
    pair_field: Annotated[str | None, Setting("Of pairs of texts: the second.")] = None,
    label_field: Annotated[
        str | None, Setting("Field that holds the true label of a text, to measure against.")
    ] = None,
    device: options.Device = "auto",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict the class or the score of each row; with labels, say how good the predictions are.

    The input must be protected like the training data: vectors of new texts go through 'discreet
    embed' with the same encoder, map, mechanism and epsilon, which their receipts prove.
    Predicting costs no more privacy.

    Example: discreet predict test.parquet --model model.safetensors -o predictions.csv
    """
    check_device(device)
    check_table(output, force=force)
    predicted = predict_file(
        source,
        model,
        score_field=score_field,
        text_field=text_field,
        pair_field=pair_field,
        label_field=label_field,
        device=device,
    )
    write_table(output, predicted.columns, force=force)
    say(*predicted.notes, f"Predicted {counted(len(predicted), 'row')}.")
    for name, value in predicted.scores.items():
        say(f"  {name.replace('_', ' ')}: {value:.4f}")
    if (nothing := scores_say_nothing(predicted.scores, len(predicted))) is not None:
        say(nothing)
    say(f"Written: {output}")
    if as_json:
        values: dict[str, Any] = {"rows": len(predicted), "metrics": predicted.scores}
        if predicted.receipt is not None:
            values["statement"] = predicted.receipt.statement.to_dict()
            values["mechanism"] = dict(predicted.receipt.mechanism)
        echo_json(values)
