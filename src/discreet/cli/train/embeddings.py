"""``discreet train embeddings``: a model from released vectors, or by the paper's loop."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import echo_json, progress_bar, say
from discreet.encoders.settings import EncoderSettings
from discreet.report.training import task_lines
from discreet.settings import Setting
from discreet.training.vectors.settings import PublishedTask, TaskSettings


def embeddings(
    source: Annotated[
        Path,
        argument(
            "RELEASED",
            "Vectors and labels released by 'discreet embed', a file or a folder. With "
            "--published: raw text.",
        ),
    ],
    output: Annotated[Path, Setting("File for the model (.safetensors).", short="-o")],
    settings: TaskSettings,
    task: PublishedTask,
    encoder: EncoderSettings,
    score_field: Annotated[
        str | None,
        Setting("Learn a score instead of a class: a column of numbers that was kept as it is."),
    ] = None,
    published: Annotated[
        bool,
        Setting(
            "The paper's interactive loop: the map (M1) is trained too, with fresh noise "
            "every epoch. Nothing is guaranteed for the sentences: M1 needs them raw."
        ),
    ] = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Train a classifier, or a model of scores, on what was released: at no further cost.

    Labels that were randomised are corrected by the law in the receipt. Rows with two vectors are
    pairs. The model knows how its vectors were released, and 'discreet predict' takes no others.

    Example: discreet train embeddings train.parquet -o model.safetensors
    """
    from discreet.training.vectors.files import map_beside, task_from_release, task_from_text

    how: dict[str, Any] = {"score_field": score_field, "force": force, "announce": progress_bar}
    if published:
        trained = task_from_text(source, output, settings, task, encoder, **how)
        model, said = trained.model, trained.statement.lines()
        written = f"Written: {output} and the map M1, {map_beside(output)}"
        values = {"about": model.about, "statement": trained.statement.to_dict()}
    else:
        task.require_unused()
        settings = replace(settings, device=encoder.device)
        model, said = task_from_release(source, output, settings, **how), []
        written, values = f"Written: {output}", model.about
    say(*task_lines(model), *said, written)
    if as_json:
        echo_json(values)
