"""Maps and models of released vectors, from files to files."""

from dataclasses import replace
from pathlib import Path

from discreet.encoders.maps import PublicMap
from discreet.encoders.settings import EncoderSettings
from discreet.errors import InputError, InvalidValue
from discreet.files import refuse_existing
from discreet.mechanisms.label import RandomizedResponse
from discreet.models.task import ReleasedAs, TaskModel
from discreet.randomness import secure_generator
from discreet.receipt import Receipt, receipt_path
from discreet.release.vectors import VectorSet, read_vectors
from discreet.text.labelled import read_labelled
from discreet.training.progress import Announce, silently
from discreet.training.vectors.maps import MapTrainer
from discreet.training.vectors.settings import (
    PUBLISHED_DIMENSION,
    MapText,
    MapTrainingSettings,
    PublishedTask,
    TaskSettings,
)
from discreet.training.vectors.task import (
    PublishedTraining,
    TaskTarget,
    train_on_release,
    train_published,
)


def map_from_text(
    source: str,
    output: Path,
    settings: MapTrainingSettings,
    text: MapText,
    encoder: EncoderSettings,
    *,
    force: bool = False,
    announce: Announce = silently,
) -> PublicMap:
    """Train a map on a file of PUBLIC text (and further text) and write it.

    The dimensions to try are those of ``text``. ``announce`` is called with the label of each part.
    """
    refuse_existing(output, force=force)
    settings = replace(settings, dimensions=text.dimensions, device=encoder.device)
    names = [source] if text.more is None else [source, text.more]
    public = [
        read_labelled(name, text_field=text.text_field, label_field=text.label_field)
        for name in names
    ]
    model = encoder.load()
    with announce("encoding public text") as show:
        vectors = [model.encode(some.texts, progress=show) for some in public]
    with announce("training through noise") as show:
        trainer = MapTrainer(
            vectors[0],
            public[0].labels,
            encoder=model.fingerprint,
            source=", ".join(Path(name).name for name in names),
            more=vectors[1] if len(vectors) > 1 else None,
            more_labels=public[1].labels if len(public) > 1 else None,
        )
        trained = trainer.train(settings, show)
    trained.save(output, force=force)
    return trained


def task_from_release(
    source: Path,
    output: Path,
    settings: TaskSettings,
    *,
    score_field: str | None = None,
    force: bool = False,
    announce: Announce = silently,
) -> TaskModel:
    """Train on vectors that ``discreet embed`` released and write the model: at no further cost.

    With a ``score_field``, a kept column of numbers is learnt instead of the labels.
    """
    refuse_existing(output, force=force)
    data, receipt = read_vectors(source), Receipt.beside(source)
    if receipt is None:
        raise InputError(
            f"{source} has no receipt beside it ({receipt_path(source).name}); 'discreet embed' "
            "writes one, and training needs it to know how labels and vectors were released"
        )
    made, label = ReleasedAs.of(receipt), receipt.labels
    if score_field is not None:
        target = TaskTarget.scores(data.numbers(score_field))
    elif data.labels is None or label is None:
        raise InputError(
            f"{source} has no labels; release them with 'discreet embed --label-field ... "
            "--labels ...', or name a kept column of numbers with --score-field"
        )
    else:  # under the law in the receipt
        law = None if label.epsilon is None else label.transition
        target = TaskTarget.classes(data.labels, label.labels, law)
    with announce("training") as show:
        model = train_on_release(data, target, settings=settings, made=made, progress=show)
    model.save(output, force=force)
    return model


def task_from_text(
    source: Path,
    output: Path,
    settings: TaskSettings,
    task: PublishedTask,
    encoder: EncoderSettings,
    *,
    score_field: str | None = None,
    force: bool = False,
    announce: Announce = silently,
) -> PublishedTraining:
    """The paper's interactive loop on PROTECTED text; writes the model, and M1 beside it.

    For the sentences nothing holds, and the statement of the result says so.
    """
    refuse_existing(output, force=force)
    if task.epsilon is None or (task.labels is None) == (score_field is None):
        raise InvalidValue("--published needs --epsilon, and --labels or --score-field")
    examples = read_labelled(
        source,
        text_field=task.text_field,
        second_field=task.pair_field,
        label_field=score_field or task.label_field,
    )
    law = None
    if task.classes is None:
        target = TaskTarget.scores(examples.numbers())
    else:
        target = TaskTarget.classes(examples.labels or [], task.classes)
        if task.label_epsilon is not None:
            law = RandomizedResponse(task.classes, task.label_epsilon)
            drawn = law.release(target.values, secure_generator())
            target = TaskTarget(target.labels, drawn, law.transition)
    model = encoder.load()
    with announce("encoding") as show:
        first = model.encode(examples.texts, progress=show)
        second = None if examples.seconds is None else model.encode(examples.seconds, progress=show)
    refuse_existing(map_beside(output), force=force)
    with announce("training") as show:
        trained = train_published(
            VectorSet(first, second),
            target,
            epsilon=task.epsilon,
            dimension=PUBLISHED_DIMENSION if task.dim is None else task.dim,
            encoder=model.fingerprint,
            mechanism=task.mechanism or MapTrainingSettings.mechanism,
            settings=replace(settings, device=encoder.device),
            progress=show,
        )
    if law is None:
        statement = trained.statement.with_public(
            "the labels or scores, which are used as they are"
        )
    else:
        alone = f"only the labels are protected: each was drawn once, at epsilon = {law.epsilon:g}"
        statement = trained.statement.with_caveats(alone)
    trained.model.about["statement"] = statement.to_dict()
    trained.map.save(map_beside(output), force=force)
    trained.model.save(output, force=force)
    return replace(trained, statement=statement)


def map_beside(output: Path) -> Path:
    """Where M1 of the interactive loop goes."""
    return output.with_name(output.name.removesuffix(".safetensors") + ".map.safetensors")
