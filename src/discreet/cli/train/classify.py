"""``discreet train classify``: a model for texts or pairs, on sanitised text or text as it is."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import echo, echo_json, progress_bar, say
from discreet.cli.train._kept_run import tells_of_kept_run
from discreet.report.training import text_model_lines
from discreet.settings import Setting
from discreet.training.texts.settings import BAG, FineTuning, FineTuningResumption, LabelledText


def classify(
    source: Annotated[
        str, argument("TRAIN", "Texts with labels: csv, tsv, jsonl (each also .gz) or parquet.")
    ],
    output: Annotated[Path, Setting("File for the model (.safetensors).", short="-o")],
    settings: FineTuning,
    text: LabelledText,
    when: FineTuningResumption,
    model: Annotated[
        str,
        Setting(
            "bag-of-words (seconds), or a BERT-style model: a directory such as 'discreet "
            "train pretrain' writes, a name in the local hub cache, or all-MiniLM-L6-v2."
        ),
    ] = BAG,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Train a classifier, or with --regression a scorer, of texts or of pairs of texts.

    A model trained on sanitised text is as private as that text: the receipt beside TRAIN
    (TRAIN.privacy.json) is copied into the model. Without one for the columns of the texts the
    model is treated as trained on unprotected text. Labels are not protected by word mechanisms.

    Example: discreet train classify out.csv -o model.safetensors --text-field review --test t.csv
    """
    from discreet.training.texts.files import train_text_model

    with tells_of_kept_run(output):
        trained, tested = train_text_model(
            source, output, model, text, settings, when=when, force=force, announce=progress_bar
        )
    about = trained.about
    said, scores = text_model_lines(model, about, tested)
    say(*said, f"Written: {output}")
    if as_json:
        values = {"model": str(output), "rows": about["rows"], "metrics": about["test"]}
        if about["receipt"] is not None:
            values |= {part: about["receipt"].get(part) for part in ("statement", "mechanism")}
        echo_json(values, indent=None)
    else:
        echo(*scores[:1])
    say(*scores[1:])
