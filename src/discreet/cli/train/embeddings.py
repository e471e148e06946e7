"""``discreet train embeddings``: a model from released vectors, or by the paper's loop."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import counted, echo_json, progress_bar, say
from discreet.encoders.settings import EncoderSettings
from discreet.settings import Setting
from discreet.training.vectors.settings import PublishedTask, TaskSettings


def embeddings(
    source: Annotated[
        Path,
        argument(
            "RELEASED",
            "Vectors and labels released by 'discreet embed'. With --published: raw text.",
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
            "every epoch. Costs epochs times epsilon, and M1 is not covered."
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
    if not published:
        task.require_unused()
        settings = replace(settings, device=encoder.device)
        _on_release(source, output, settings, score_field, force=force, as_json=as_json)
        return
    from discreet.training.vectors.files import map_beside, task_from_text

    trained = task_from_text(
        source,
        output,
        settings,
        task,
        encoder,
        score_field=score_field,
        force=force,
        announce=progress_bar,
    )
    about = trained.model.about
    say(
        f"Trained on {counted(about['rows'], 'row')} in "
        f"{counted(about['settings']['epochs'], 'epoch')}: epsilon "
        f"{about['epsilon of an epoch']:g} each, {about['epsilon of all epochs']:g} in all.",
        *trained.statement.lines(),
        f"Written: {output} and the map M1, {map_beside(output)}",
    )
    if as_json:
        values = {"about": about, "statement": trained.statement.to_dict()}
        echo_json(values)


def _on_release(
    source: Path,
    output: Path,
    settings: TaskSettings,
    score_field: str | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    from discreet.training.vectors.files import task_from_release

    model = task_from_release(
        source, output, settings, score_field=score_field, force=force, announce=progress_bar
    )
    about = model.about
    what = "scores" if model.labels is None else f"{len(model.labels)} classes"
    corrected = about["corrected for randomised labels"]
    say(
        f"Trained on {counted(about['rows'], 'row')}: {what}"
        + (", corrected for the law of their release." if corrected else "."),
        f"{counted(about['settings']['epochs'], 'epoch')} over vectors that were released once: "
        "nothing was added to their privacy loss.",
        f"Written: {output}",
    )
    if as_json:
        echo_json(about)
