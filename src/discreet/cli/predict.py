"""``discreet predict``: what a trained model says of each row of a file."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import echo_json, say
from discreet.evaluation.predictions import PredictionSettings, predict_file
from discreet.report.training import score_lines
from discreet.settings import Setting
from discreet.text.tables import check_table, write_table
from discreet.wording import counted


def predict(
    source: Annotated[
        Path,
        argument(
            "INPUT",
            "Vectors released by 'discreet embed' (a file or a folder), or texts (- is standard "
            "input), in the way that the model was trained for.",
        ),
    ],
    model: Annotated[
        Path,
        Setting(
            "From 'discreet train embeddings' or 'train classify' (.safetensors), or the folder of "
            "'train user-entity --label-field'."
        ),
    ],
    output: Annotated[
        Path, Setting("A prediction per row: .csv, .tsv, .jsonl or .parquet.", short="-o")
    ],
    settings: PredictionSettings,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict the class or the score of each row; with labels, say how good the predictions are.

    The input must be protected like the training data: vectors of new texts go through 'discreet
    embed' with the same encoder, map, mechanism and epsilon, which their receipts prove. A model of
    'train user-entity' reads texts as they are, and what its training guarantees is said.
    Predicting costs no more privacy.

    Example: discreet predict test.parquet --model model.safetensors -o predictions.csv
    """
    check_table(output, force=force)
    predicted = predict_file(source, model, settings=settings)
    write_table(output, predicted.columns, force=force)
    rows = len(predicted)
    say(*predicted.notes, f"Predicted {counted(rows, 'row')}.")
    # With a note, it tells why the scores may be low.
    say(*score_lines(predicted.scores, rows, advise=not predicted.notes), f"Written: {output}")
    say(*predicted.trained_lines())
    if as_json:
        echo_json(predicted.to_dict())
