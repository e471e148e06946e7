"""``discreet train classify``: a model for texts or pairs, on sanitised text or text as it is."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import check
from discreet.cli import _options as options
from discreet.cli._terminal import counted, progress_bar, say
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.text.labelled import Labelled
    from discreet.training.texts.bag_of_words import BagOfWords
    from discreet.training.texts.classifier import TextClassifier

BAG = "bag-of-words"


def classify(
    source: Annotated[
        str,
        typer.Argument(
            metavar="TRAIN",
            help="Texts with labels: csv, tsv, jsonl (each also .gz) or parquet.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File for the model (.safetensors).")
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="bag-of-words (seconds), or a BERT-style model: a directory such as 'discreet "
            "train pretrain' writes, a name in the local hub cache, or all-MiniLM-L6-v2.",
        ),
    ] = BAG,
    frozen: Annotated[
        bool,
        typer.Option("--frozen", help="Leave the encoder as it is; fit a linear layer on top."),
    ] = False,
    text_field: options.TextField = "text",
    pair_field: Annotated[
        str | None, typer.Option("--pair-field", help="The second text, for tasks about pairs.")
    ] = None,
    label_field: Annotated[
        str, typer.Option("--label-field", help="Column or field that holds the label.")
    ] = "label",
    regression: Annotated[
        bool, typer.Option("--regression", help="Labels are numbers, not classes.")
    ] = False,
    test: Annotated[
        str | None,
        typer.Option(
            "--test", help="Examples to test on, with the same fields; sanitise them too."
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", help="Train on so many rows, drawn at random.")
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", help="Passes with all weights.")] = 2,
    batch: Annotated[int, typer.Option("--batch", help="Texts or pairs in a step.")] = 32,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", help="The highest, of all weights.")
    ] = 5e-5,
    max_tokens: Annotated[int, typer.Option("--max-tokens", help="Longer texts are cut.")] = 128,
    penalty: Annotated[
        float, typer.Option("--penalty", help="On the squared weights of a linear layer.")
    ] = 1.0,
    save_every: Annotated[
        int, typer.Option("--save-every", help="Steps between savings, for --resume.")
    ] = 500,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run of the same command that stopped.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", help="The same seed gives the same model.", min=0)
    ] = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Train a classifier, or with --regression a scorer, of texts or of pairs of texts.

    A model trained on sanitised text is as private as that text: the receipt beside TRAIN
    (TRAIN.privacy.json) is copied into the model. Without a receipt the model is treated as trained
    on unprotected text. Labels are not protected by word mechanisms.

    Example: discreet train classify out.csv -o model.safetensors --text-field review --test t.csv
    """
    from discreet.tensors import refuse_existing
    from discreet.text.labelled import read_labelled

    refuse_existing(output, force=force)
    if model == BAG and (frozen or resume):
        raise InvalidValue("--frozen and --resume are for BERT-style models; leave them out")

    def read(path: str) -> "Labelled":
        return read_labelled(
            path, text_field=text_field, second_field=pair_field, label_field=label_field
        )

    examples = read(source)
    tested = None if test is None else read(test)
    if rows is not None and check.whole(rows, "--rows", at_least=2) < len(examples):
        import numpy as np

        chosen = np.random.default_rng(seed).choice(len(examples), rows, replace=False)
        examples = examples.part(chosen)
    receipt = _receipt_of(source)
    about = {
        "task": "regression" if regression else "classification",
        "rows": len(examples),
        "receipt": receipt,
        "test_receipt": None if test is None else _receipt_of(test),
    }
    trained: BagOfWords | TextClassifier
    if model == BAG:
        from discreet.training.texts.bag_of_words import fit_bag_of_words

        trained = fit_bag_of_words(examples, regression=regression, penalty=penalty, about=about)
    else:
        from discreet.training.texts.classifier import FineTuning

        settings = FineTuning(
            frozen=frozen,
            epochs=epochs,
            batch=batch,
            learning_rate=learning_rate,
            max_tokens=max_tokens,
            penalty=penalty,
            seed=seed,
        )
        trained = _fine_tuned(
            model, examples, settings, regression, about, output, source, save_every, resume
        )
    scores = None if tested is None else _scores(trained, tested, regression)
    trained.about["test"] = scores
    trained.save(output, force=force)
    say(
        f"Trained {model} on {counted(len(examples), 'row')}, "
        + ("which has no receipt: unprotected text." if receipt is None else "sanitised text:"),
        *([] if receipt is None else receipt.get("in_words", [])[:1]),
        f"Written: {output}",
    )
    if as_json:
        values: dict[str, Any] = {"model": str(output), "rows": len(examples), "metrics": scores}
        if receipt is not None:
            values["statement"] = receipt.get("statement")
        typer.echo(json.dumps(values))
    elif scores is not None and tested is not None:
        shown = ", ".join(f"{k.replace('_', ' ')} {v:.4f}" for k, v in scores.items())
        typer.echo(f"On {counted(len(tested), 'test row')}: {shown}")


def _fine_tuned(
    model: str,
    examples: "Labelled",
    settings: Any,
    regression: bool,
    about: dict[str, Any],
    output: Path,
    source: str,
    save_every: int,
    resume: bool,
) -> "TextClassifier":
    from discreet.models.bert import load_masked_model
    from discreet.spaces.encoder_space import file_sha256
    from discreet.training.loop import state_beside
    from discreet.training.texts.classifier import fine_tune

    loaded = load_masked_model(model)
    state = state_beside(output)
    try:
        with progress_bar("training") as show:
            return fine_tune(
                loaded,
                examples,
                settings,
                regression=regression,
                about={**about, "pretrained": loaded.about or None},
                state=state,
                # Only in the state, which is gone when the model is there.
                data=file_sha256(Path(source)) if source != "-" else "",
                save_every=save_every,
                resume=resume,
                progress=show,
            )
    except BaseException:
        if state.exists():
            say(f"The run so far is kept in {state}: the same command with --resume goes on.")
        raise


def _scores(
    model: "BagOfWords | TextClassifier", tested: "Labelled", regression: bool
) -> dict[str, float]:
    from discreet.training.scores import class_scores, number_scores

    predicted: Any = model.predict(tested.texts, tested.seconds)
    if regression:
        return number_scores(tested.numbers(), predicted)
    return class_scores(tested.labels or [], predicted)


def _receipt_of(source: str) -> dict[str, Any] | None:
    """The receipt that 'discreet sanitize' left beside a file, if there is one."""
    from discreet.release.vectors import read_receipt

    return None if source == "-" else read_receipt(Path(source))
