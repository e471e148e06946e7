"""``discreet train embeddings``: a model from released vectors, or by the paper's loop."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import _options as options
from discreet.cli._terminal import counted, progress_bar, say
from discreet.cli._vectors import DIMENSION, EncoderName, Pooling
from discreet.errors import InputError, InvalidValue

if TYPE_CHECKING:
    from discreet.release.vectors import VectorSet
    from discreet.statement import PrivacyStatement
    from discreet.training.vectors.task import Published, Target, TaskSettings

_EPOCHS = 20
_PUBLISHED_EPOCHS = 3


def embeddings(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RELEASED",
            help="Vectors and labels released by 'discreet embed'. With --published: raw text.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File for the model (.safetensors).")
    ],
    score_field: Annotated[
        str | None,
        typer.Option(
            "--score-field",
            help="Learn a score instead of a class: a column of numbers that was kept as it is.",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs",
            help="Passes over the rows, free of charge; 20 unless given. With --published each "
            "costs epsilon; 3 unless given.",
            min=1,
        ),
    ] = None,
    hidden: Annotated[
        int,
        typer.Option("--hidden", help="Units of the layer that reads a released vector.", min=1),
    ] = 64,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="The paper's interactive loop: the map (M1) is trained too, with fresh noise "
            "every epoch. Costs epochs times epsilon, and M1 is not covered.",
        ),
    ] = False,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="--published: of every epoch.")
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", "-m", help="--published: purkayastha or planar-laplace."),
    ] = None,
    dim: Annotated[
        int | None,
        typer.Option("--dim", help=f"--published: dimensions; {DIMENSION} unless given."),
    ] = None,
    text_field: Annotated[
        str, typer.Option("--text-field", help="--published: the text.")
    ] = "text",
    pair_field: Annotated[
        str | None, typer.Option("--pair-field", help="--published: second text of a pair.")
    ] = None,
    label_field: Annotated[
        str, typer.Option("--label-field", help="--published: the label.")
    ] = "label",
    labels: Annotated[
        str | None,
        typer.Option("--labels", help="--published: the possible labels, with commas."),
    ] = None,
    label_epsilon: Annotated[
        float | None,
        typer.Option(
            "--label-epsilon",
            help="--published: loss allowed for the label, drawn once; without it labels are "
            "public.",
        ),
    ] = None,
    encoder: EncoderName = "all-MiniLM-L6-v2",
    pooling: Pooling = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Of the training; the noise is not seeded.", min=0)
    ] = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Train a classifier, or a model of scores, on what was released: at no further cost.

    Labels that were randomised are corrected by the law in the receipt. Rows with two vectors are
    pairs. The model knows how its vectors were released, and 'discreet predict' takes no others.

    Example: discreet train embeddings train.parquet -o model.safetensors
    """
    from discreet.tensors import refuse_existing
    from discreet.training.vectors.task import TaskSettings

    refuse_existing(output, force=force)
    default = _PUBLISHED_EPOCHS if published else _EPOCHS
    settings = TaskSettings(hidden=hidden, epochs=epochs or default, seed=seed)
    if not published:
        given = {"--epsilon": epsilon, "--mechanism": mechanism, "--dim": dim, "--labels": labels}
        _only_published({**given, "--label-epsilon": label_epsilon})
        _on_release(source, output, score_field, settings, force=force, as_json=as_json)
        return
    if epsilon is None or (labels is None) == (score_field is None):
        raise InvalidValue("--published needs --epsilon, and --labels or --score-field")
    raw, target, fingerprint = _raw(
        source,
        _Fields(text_field, pair_field, score_field or label_field),
        None if labels is None else tuple(part.strip() for part in labels.split(",")),
        label_epsilon,
        encoder,
        pooling,
    )
    from discreet.training.vectors.task import train_published

    beside = output.with_name(output.name.removesuffix(".safetensors") + ".map.safetensors")
    refuse_existing(beside, force=force)
    with progress_bar("training") as show:
        found = train_published(
            raw,
            target,
            epsilon=epsilon,
            dimension=DIMENSION if dim is None else dim,
            encoder=fingerprint,
            mechanism=mechanism or "purkayastha",
            settings=settings,
            progress=show,
        )
    statement = _joint(found, labels, label_epsilon)
    found.map.save(beside, force=force)
    found.model.save(output, force=force)
    say(
        f"Trained on {counted(len(raw), 'row')} in {counted(settings.epochs, 'epoch')}: "
        f"epsilon {epsilon:g} each, {epsilon * settings.epochs:g} in all.",
        *statement.lines(),
        f"Written: {output} and the map M1, {beside}",
    )
    if as_json:
        values = {"about": found.model.about, "statement": statement.to_dict()}
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))


@dataclass(frozen=True)
class _Fields:
    text: str
    second: str | None
    label: str


def _only_published(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            raise InvalidValue(f"{name} belongs to --published; the receipt says the rest")


def _on_release(
    source: Path,
    output: Path,
    score_field: str | None,
    settings: "TaskSettings",
    *,
    force: bool,
    as_json: bool,
) -> None:
    from discreet.models.task import ReleasedAs
    from discreet.release.vectors import read_receipt, read_vectors, receipt_path
    from discreet.training.vectors.task import train_on_release

    data, receipt = read_vectors(source), read_receipt(source)
    if receipt is None:
        raise InputError(
            f"{source} has no receipt beside it ({receipt_path(source).name}); 'discreet embed' "
            "writes one, and training needs it to know how labels and vectors were released"
        )
    made = ReleasedAs.of(receipt)
    target = released_target(data, receipt, score_field, source)
    with progress_bar("training") as show:
        model = train_on_release(data, target, settings=settings, made=made, progress=show)
    model.save(output, force=force)
    what = "scores" if target.labels is None else f"{len(target.labels)} classes"
    corrected = ", corrected for the law of their release" if target.transition is not None else ""
    say(
        f"Trained on {counted(len(data), 'row')}: {what}{corrected}.",
        f"{counted(settings.epochs, 'epoch')} over vectors that were released once: nothing was "
        "added to their privacy loss.",
        f"Written: {output}",
    )
    if as_json:
        typer.echo(json.dumps(model.about, indent=2, ensure_ascii=False))


def released_target(
    data: "VectorSet", receipt: dict[str, Any], score_field: str | None, source: Path
) -> "Target":
    """What to learn from a release: its labels under the law in the receipt, or a kept score."""
    from discreet.training.vectors.task import Target

    if score_field is not None:
        return Target.scores(scores_of(data, score_field))
    label = receipt.get("label")
    if data.labels is None or not isinstance(label, dict):
        raise InputError(
            f"{source} has no labels; release them with 'discreet embed --label-field ... "
            "--labels ...', or name a kept column of numbers with --score-field"
        )
    public = label.get("epsilon") is None
    return Target.classes(data.labels, label["labels"], None if public else label["transition"])


def scores_of(data: "VectorSet", name: str) -> list[float]:
    """A kept column as numbers."""
    if name not in data.kept:
        known = ", ".join(data.kept) or "none"
        raise InputError(f"there is no kept column {name}; kept are: {known}")
    out = []
    for row, value in enumerate(data.kept[name], 1):
        try:
            out.append(float(value))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the {name} of row {row} is not a number; correct it, or name another column"
            ) from error
    return out


def _raw(
    source: Path,
    fields: _Fields,
    labels: tuple[str, ...] | None,
    label_epsilon: float | None,
    encoder: str,
    pooling: str | None,
) -> "tuple[VectorSet, Target, str]":
    """The unprotected vectors of raw text, in memory only, and what to learn of them."""
    from discreet.encoders.encoder import load_encoder
    from discreet.mechanisms.label import RandomizedResponse
    from discreet.randomness import secure_generator
    from discreet.release.vectors import VectorSet
    from discreet.text.labelled import read_labelled
    from discreet.training.vectors.task import Target

    examples = read_labelled(
        source, text_field=fields.text, second_field=fields.second, label_field=fields.label
    )
    if labels is None:
        target = Target.scores(examples.numbers())
    else:
        target = Target.classes(examples.labels or [], labels)
        if label_epsilon is not None:
            law = RandomizedResponse(labels, label_epsilon)
            drawn = law.release(target.values, secure_generator())
            target = Target(target.labels, drawn, law.transition)
    model = load_encoder(encoder, pooling=pooling)
    with progress_bar("encoding") as show:
        first = model.encode(examples.texts, progress=show)
        second = None if examples.seconds is None else model.encode(examples.seconds, progress=show)
    return VectorSet(first, second), target, model.fingerprint


def _joint(
    found: "Published", labels: str | None, label_epsilon: float | None
) -> "PrivacyStatement":
    from discreet.accounting.compose import joint_statement
    from discreet.mechanisms.label import RandomizedResponse

    if label_epsilon is None or labels is None:
        return found.statement.with_public("the labels or scores, which are used as they are")
    law = RandomizedResponse(labels.split(","), label_epsilon)
    return joint_statement(found.statement, law.statement)
