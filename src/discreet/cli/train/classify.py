"""``discreet train classify``: a model for texts or pairs, on sanitised text or text as it is."""

from pathlib import Path
from typing import Annotated, Any

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import counted, echo, echo_json, progress_bar, say
from discreet.cli.train._kept_run import tells_of_kept_run
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
    (TRAIN.privacy.json) is copied into the model. Without a receipt the model is treated as trained
    on unprotected text. Labels are not protected by word mechanisms.

    Example: discreet train classify out.csv -o model.safetensors --text-field review --test t.csv
    """
    from discreet.training.learnt import scores_say_nothing
    from discreet.training.texts.files import train_text_model

    with tells_of_kept_run(output):
        trained, tested = train_text_model(
            source, output, model, text, settings, when=when, force=force, announce=progress_bar
        )
    rows, receipt, scores = (trained.about[name] for name in ("rows", "receipt", "test"))
    say(
        f"Trained {model} on {counted(rows, 'row')}, "
        + ("which has no receipt: unprotected text." if receipt is None else "sanitised text:"),
        *([] if receipt is None else receipt.get("in_words", [])[:1]),
        f"Written: {output}",
    )
    if as_json:
        values: dict[str, Any] = {"model": str(output), "rows": rows, "metrics": scores}
        if receipt is not None:
            values |= {part: receipt.get(part) for part in ("statement", "mechanism")}
        echo_json(values, indent=None)
    elif scores is not None:
        shown = ", ".join(f"{k.replace('_', ' ')} {v:.4f}" for k, v in scores.items())
        echo(f"On {counted(tested, 'test row')}: {shown}")
    if scores is not None and (nothing := scores_say_nothing(scores, tested)) is not None:
        say(nothing)
