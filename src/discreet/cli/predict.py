"""``discreet predict``: what a trained model says of each row of a file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import _options as options
from discreet.cli._terminal import counted, say
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.models.task import TaskModel
    from discreet.release.vectors import VectorSet


def predict(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="Vectors released by 'discreet embed', or texts, in the way that the model was "
            "trained for.",
        ),
    ],
    model: Annotated[
        Path,
        typer.Option(
            "--model", help="From 'discreet train embeddings' or 'train classify' (.safetensors)."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="A prediction per row: .csv, .tsv, .jsonl or .parquet."
        ),
    ],
    score_field: Annotated[
        str | None,
        typer.Option("--score-field", help="Kept column with the true score, to measure against."),
    ] = None,
    text_field: Annotated[
        str, typer.Option("--text-field", help="Of texts: the field that holds them.")
    ] = "text",
    pair_field: Annotated[
        str | None, typer.Option("--pair-field", help="Of pairs of texts: the second.")
    ] = None,
    label_field: Annotated[
        str | None,
        typer.Option("--label-field", help="Of texts: the true label, to measure against."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict the class or the score of each row; with labels, say how good the predictions are.

    The input must be protected like the training data: vectors of new texts go through 'discreet
    embed' with the same encoder, map, mechanism and epsilon, which their receipts prove. What a
    model computes of them costs nothing more.

    Example: discreet predict test.parquet --model model.safetensors -o predictions.csv
    """
    from discreet.errors import NotFound
    from discreet.models import task
    from discreet.tensors import kind_of, refuse_existing

    refuse_existing(output, force=force)
    _format(output)
    if not model.is_file():
        raise NotFound(f"there is no file {model}; check the path")
    kind = kind_of(model)
    if kind == task.KIND:
        columns, scores, statement = _on_vectors(source, task.TaskModel.load(model), score_field)
    else:
        from discreet.cli._predict_texts import on_texts

        columns, scores, statement = on_texts(
            source, model, text_field=text_field, pair_field=pair_field, label_field=label_field
        )
    _write(output, columns)
    rows = counted(len(columns["prediction"]), "row")
    say(f"Predicted {rows}.")
    for name, value in scores.items():
        say(f"  {name.replace('_', ' ')}: {value:.4f}")
    say(f"Written: {output}")
    if as_json:
        values: dict[str, Any] = {"rows": len(columns["prediction"]), "metrics": scores}
        if statement is not None:
            values["statement"] = statement
        typer.echo(json.dumps(values, indent=2))


def _on_vectors(
    source: Path, model: "TaskModel", score_field: str | None
) -> tuple[dict[str, Any], dict[str, float], Any]:
    """The columns to write, how good they are, and the statement of what was predicted from."""
    from discreet.models.task import ReleasedAs
    from discreet.release.vectors import read_receipt, read_vectors, receipt_path

    data = read_vectors(source)
    receipt = read_receipt(source)
    if model.released is not None:
        if receipt is None:
            raise InputError(
                f"{source} has no receipt beside it ({receipt_path(source).name}), so nothing says "
                "that it fits the model; release the vectors with 'discreet embed'"
            )
        model.released.require(ReleasedAs.of(receipt))
    predicted = model.predict(data)
    columns: dict[str, Any] = {} if data.rows is None else {"row": data.rows.tolist()}
    columns["prediction"] = predicted
    if model.labels is not None:
        columns["probability"] = model.probabilities(data).max(axis=1).round(6).tolist()
    scores = _scores(model, data, predicted, receipt, score_field)
    return columns, scores, None if receipt is None else receipt.get("statement")


def _scores(
    model: "TaskModel",
    data: "VectorSet",
    predicted: Sequence[Any],
    receipt: dict[str, Any] | None,
    score_field: str | None,
) -> dict[str, float]:
    from discreet.training.scores import class_scores, number_scores

    if model.labels is None:
        from discreet.training.vectors.files import kept_scores

        return (
            {} if score_field is None else number_scores(kept_scores(data, score_field), predicted)
        )
    if data.labels is None:
        return {}
    if ((receipt or {}).get("label") or {}).get("epsilon") is not None:
        say("The labels in the file were randomised: the figures compare with released labels.")
    return class_scores(data.labels, predicted)


def _format(path: Path) -> str:
    from discreet.errors import OutputError

    ending = path.suffix.lower()
    if ending not in (".csv", ".tsv", ".jsonl", ".parquet"):
        raise OutputError(f"{path} must end in .csv, .tsv, .jsonl or .parquet; rename it")
    if not path.parent.is_dir():
        raise OutputError(f"{path} is in a directory that does not exist; create it first")
    return ending


def _write(path: Path, columns: dict[str, Any]) -> None:
    import csv

    from discreet.files import written_whole

    with written_whole(path) as temporary:
        if _format(path) == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table(columns), temporary)
            return
        rows = zip(*columns.values(), strict=True)
        with temporary.open("w", encoding="utf-8", newline="") as file:
            if _format(path) == ".jsonl":
                file.writelines(
                    json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n"
                    for row in rows
                )
                return
            writer = csv.writer(file, delimiter="," if _format(path) == ".csv" else "\t")
            writer.writerow(columns)
            writer.writerows(rows)
