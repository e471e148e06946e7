"""Models of texts from files to files, and the public text that others are trained on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InvalidValue
from discreet.files import file_sha256, refuse_existing
from discreet.models.bert import MaskedModel, load_masked_model, refuse_no_model
from discreet.protocols import WordMechanism
from discreet.receipt import Receipt
from discreet.spaces import EmbeddingSpace
from discreet.text.labelled import Labelled, read_labelled
from discreet.text.readers import open_documents
from discreet.training.kept_state import RunState
from discreet.training.progress import Announce, silently
from discreet.training.scores import class_scores, number_scores
from discreet.training.settings import Resumption
from discreet.training.texts.bag_of_words import fit_bag_of_words
from discreet.training.texts.classifier import fine_tune
from discreet.training.texts.masked_lm import Pretrained, pretrain
from discreet.training.texts.saved_models import TextModel
from discreet.training.texts.settings import BAG, FineTuning, LabelledText, Pretraining
from discreet.wording import counted


def train_text_model(
    source: str,
    output: Path,
    model: str,
    text: LabelledText,
    settings: FineTuning,
    *,
    when: Resumption | None = None,
    force: bool = False,
    announce: Announce = silently,
) -> tuple[TextModel, int]:
    """Train a model for texts or pairs on a file and write it with the receipt of its texts.

    ``model`` is ``bag-of-words``, or a BERT-style model as for ``load_masked_model``; the run of
    the latter can be resumed. Gives the model, whose ``about`` has the receipt, the rows and the
    figures of the test, and how many rows were tested on.
    """
    refuse_existing(output, force=force)
    layered = settings.frozen or settings.mixed or (when is not None and when.resume)
    if model == BAG and layered:
        raise InvalidValue(
            "--frozen, --mixed and --resume are for BERT-style models; leave them out"
        )

    def read(path: str) -> Labelled:
        return read_labelled(
            path,
            text_field=text.text_field,
            second_field=text.pair_field,
            label_field=text.label_field,
        )

    examples = read(source)
    tested = None if text.test is None else read(text.test)
    if text.rows is not None and text.rows < len(examples):
        rng = np.random.default_rng(settings.seed)
        examples = examples.part(rng.choice(len(examples), text.rows, replace=False))
    about = {
        "task": "regression" if text.regression else "classification",
        "rows": len(examples),
        "receipt": _receipt_of(source, examples),
        "test_receipt": None if tested is None else _receipt_of(str(text.test), tested),
    }
    trained: TextModel
    if model == BAG:
        trained = fit_bag_of_words(
            examples, regression=text.regression, penalty=settings.penalty, about=about
        )
    else:
        loaded = load_masked_model(model, device=settings.device)
        with announce("training") as show:
            trained = fine_tune(
                loaded,
                examples,
                settings,
                regression=text.regression,
                about={**about, "pretrained": loaded.about or None},
                output=output,
                # Only in the state, which is gone when the model is there.
                data=file_sha256(Path(source)) if source != "-" else "",
                when=when,
                progress=show,
            )
    scores = None
    if tested is not None:
        predicted: Any = trained.predict(tested.texts, tested.seconds)
        scores = (
            number_scores(tested.numbers(), predicted)
            if text.regression
            else class_scores(tested.labels or [], predicted)
        )
    trained.about["test"] = scores
    trained.save(output, force=force)
    RunState.beside(output).unlink(missing_ok=True)  # not before: the model is in its place now
    return trained, len(tested or ())


def _receipt_of(source: str, read: Labelled) -> dict[str, Any] | None:
    """The receipt that 'discreet sanitize' left beside a file, if it is for what was read."""
    receipt = None if source == "-" else Receipt.of_texts(source, read.fields)
    return None if receipt is None else receipt.to_dict()


def read_public_text(
    source: str, *, text_field: str, most: int | None = None
) -> tuple[list[str], dict[str, Any]]:
    """The first so many PUBLIC documents of a file or ``-``, and where they come from, for JSON."""
    texts: list[str] = []
    with open_documents(source, text_field=text_field) as reader:
        for batch in reader:
            texts += batch.texts
            if most is not None and len(texts) >= most:
                break
    about = {"name": "standard input"}
    if source != "-":
        about = {"name": Path(source).name, "sha256": file_sha256(Path(source))}
    return texts[:most], about


def pretrain_on_file(
    source: str,
    output: Path,
    model: str,
    make: Callable[[MaskedModel], tuple[EmbeddingSpace, WordMechanism | None]],
    settings: Pretraining,
    *,
    text_field: str = "text",
    when: Resumption | None = None,
    force: bool = False,
    announce: Announce = silently,
    say: Callable[[str], None] = lambda _line: None,
) -> Pretrained:
    """Prepare a model for sanitised text, on the PUBLIC text of a file.

    Args:
        source: txt, csv, tsv, jsonl (each also .gz) or parquet; ``-`` is standard input.
        output: Directory for the model.
        model: The BERT-style model to begin with, as for ``load_masked_model``.
        make: The space and the mechanism that users will use, for the model that was loaded;
            None in its place leaves the text as it is.
        settings: How it is trained.
        text_field: Column or field that holds the text.
        when: When the state is saved, and whether to go on from it.
        force: Replace a directory that exists.
        announce: Shows how far it is.
        say: Told what begins, in a sentence.
    """
    refuse_no_model(output, force=force)
    texts, about = read_public_text(source, text_field=text_field)
    loaded = load_masked_model(model, device=settings.device)
    space, mechanism = make(loaded)
    how = "" if mechanism is None else f", sanitised with {mechanism.name}"
    say(f"Training {loaded.name} on {counted(len(texts), 'public document')}{how}.")
    with announce("training") as show:
        return pretrain(
            loaded,
            texts,
            space,
            mechanism,
            settings,
            source=about,
            output=output,
            when=when,
            force=force,
            progress=show,
        )
