"""Training on released vectors and labels: once released, as often as one likes.

:func:`train_on_release` sees releases alone, so it costs nothing more, however many epochs it runs.
:func:`train_published` is the paper's interactive loop, for which nothing is guaranteed.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Ids, Progress
from discreet.devices import find_device, moved, room_for
from discreet.encoders.layers import Layers, affine_network, layers_of
from discreet.encoders.maps import PublicMap, require_dimension
from discreet.errors import InvalidValue
from discreet.models.sphere_noise import Trainable, through_noise, trainable
from discreet.models.task import ReleasedAs, TaskModel, features
from discreet.randomness import SEEDED_CAVEAT, generator
from discreet.release.vectors import VectorSet
from discreet.statement import Notion, PrivacyStatement
from discreet.text.labelled import codes_of
from discreet.training.linear_head import classes_of
from discreet.training.loop import ShuffledRows, one_cycle, seeded_weights, train_on_rows
from discreet.training.vectors.settings import (
    EPOCHS,
    PUBLISHED_EPOCHS,
    MapTrainingSettings,
    TaskSettings,
)
from discreet.wording import counted

_FEWEST = 10
NOT_COVERED = (
    "M1 was trained together with the model, by gradients that need the raw vectors: from the "
    "second step on it carries each sentence into what is released of all others, so that no "
    "epsilon holds for the noisy vectors, and none for M1"
)
MAP_NOT_PUBLIC = (
    "the map was trained on protected vectors by the published loop and is not public: this "
    "statement is for sentences that it was not trained on, and for the others nothing holds"
)


@dataclass(frozen=True)
class TaskTarget:
    """What a model learns of each row: a class, perhaps randomised, or a score.

    Attributes:
        labels: The possible classes, in order; None for scores.
        values: The class index of each row, or its score.
        transition: Row y is the law of the release of class y; None if labels are as they were.
            With a law of its own for each row of the data, ``(n, k, k)``.
    """

    labels: tuple[str, ...] | None
    values: NDArray[Any]
    transition: NDArray[np.float64] | None = None

    @classmethod
    def classes(
        cls,
        values: Sequence[str],
        labels: Sequence[str] | None = None,
        transition: ArrayLike | None = None,
    ) -> "TaskTarget":
        """Classes.

        Args:
            values: The label of each row, as released.
            labels: The possible ones, in the order of ``transition``; by default those that occur.
            transition: The law of the labels' release, from its receipt.
        """
        known = tuple(sorted(set(values))) if labels is None else tuple(labels)
        codes = codes_of(values, known)
        classes_of(values)  # of which there must be two
        law = None if transition is None else np.asarray(transition, dtype=np.float64)
        if law is not None:
            square = law.shape == (len(known), len(known))
            if not square or (law < 0).any() or np.abs(law.sum(axis=1) - 1).max() > 1e-6:
                raise InvalidValue(
                    f"transition must be {len(known)} rows of {len(known)} probabilities"
                )
        return cls(known, codes, law)

    @classmethod
    def scores(cls, values: Sequence[float]) -> "TaskTarget":
        """Numbers, for regression."""
        numbers = np.asarray(values, dtype=np.float32)
        bad = ~np.isfinite(numbers)
        if bad.any():
            raise InvalidValue(f"scores must be finite; that of row {int(bad.argmax()) + 1} is not")
        if len(numbers) and float(numbers.std()) == 0.0:
            raise InvalidValue("scores must differ; these are all one number")
        return cls(None, numbers)

    @property
    def outputs(self) -> int:
        """Columns that the task layers give."""
        return 1 if self.labels is None else len(self.labels)

    def loss(self, said: Any, rows: NDArray[np.int64]) -> Any:
        """Of the task layers' outputs for some rows.

        Randomised labels are corrected forward: the model's probabilities go through the known law
        of the labels' release before they are compared with what was released (Patrini et al.
        2017), so that it is the true labels that it learns to predict.
        """
        import torch

        if self.labels is None:
            mean, spread = self._scale
            wanted = moved((self.values[rows] - mean) / spread, said.device)
            return torch.nn.functional.mse_loss(said[:, 0], wanted)
        codes = moved(self.values[rows], said.device)
        if self.transition is None:
            return torch.nn.functional.cross_entropy(said, codes)
        laws = self.transition if self.transition.ndim == 2 else self.transition[rows]
        law = moved(laws.astype(np.float32), said.device)
        released = (torch.softmax(said, dim=1)[:, None, :] @ law)[:, 0]
        return torch.nn.functional.nll_loss(torch.log(released.clamp_min(1e-12)), codes)

    def unscaled(self, layers: Any) -> Any:
        """The task layers with the scale of the scores put into the last one."""
        if self.labels is not None:
            return layers
        (*before, (weight, bias)), (mean, spread) = layers, self._scale
        last = (weight * spread, bias * spread + mean)
        return (*before, tuple(part.astype(np.float32) for part in last))

    @property
    def _scale(self) -> tuple[np.float32, np.float32]:
        return np.float32(self.values.mean()), np.float32(self.values.std())


def train_on_release(
    released: VectorSet,
    target: TaskTarget,
    *,
    settings: TaskSettings | None = None,
    made: ReleasedAs | None = None,
    progress: Progress | None = None,
) -> TaskModel:
    """M2 and the task layers from released vectors: post-processing, at no further cost.

    Privacy: the statement of the release holds for the model, for any number of epochs.

    Args:
        released: Vectors as released, of single sentences or of pairs.
        target: What to learn; see :class:`TaskTarget`.
        settings: See :class:`TaskSettings`.
        made: How the vectors were released; the model then refuses others.
        progress: Called with (done, total) steps.
    """
    settings = settings or TaskSettings()
    settings = replace(settings, epochs=settings.epochs or EPOCHS)
    _, model = _trained(released, target, settings, released.dimension, None, progress)
    about = {"trained": "on vectors released once", **model.about}
    return replace(model, released=made, about=about)


@dataclass(frozen=True)
class PublishedTraining:
    """What the interactive loop gives.

    Attributes:
        model: M2 and the task layers.
        map: M1. Trained on protected vectors: not public, see the statement.
        statement: That nothing holds, and why; with what the paper claims.
    """

    model: TaskModel
    map: PublicMap
    statement: PrivacyStatement


def train_published(
    raw: VectorSet,
    target: TaskTarget,
    *,
    epsilon: float,
    dimension: int,
    encoder: str,
    mechanism: str = MapTrainingSettings.mechanism,
    settings: TaskSettings | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> PublishedTraining:
    """The paper's interactive loop: M1, M2 and the task layers, with fresh noise in every epoch.

    Privacy: none. In every epoch each sentence is released anew, which would cost k times epsilon
    for k epochs if M1 were fixed. But the gradient with respect to M1 needs the raw vectors: what
    is released of one sentence depends, through M1, on all the others, and no epsilon bounds that.
    Use :func:`train_on_release` with a map trained on public text: it pays once, and it holds.

    Paper: Du et al., WWW 2023, section 3.3. Where we differ: the encoder is frozen (with it:
    ``train_end_to_end``), and what does not hold is said.

    Args:
        raw: UNPROTECTED vectors of the encoder.
        target: What to learn; randomised labels are drawn once, before the loop.
        epsilon: Of each epoch.
        dimension: M1 maps to it.
        encoder: Fingerprint of the encoder.
        mechanism: ``purkayastha``, ``priv-unit`` or ``planar-laplace``.
        settings: See :class:`TaskSettings`; the paper has 3 epochs.
        rng: Of the noise; leave it out unless this is an experiment.
        progress: Called with (done, total) steps.
    """
    require_dimension(dimension, raw.dimension)
    noise = trainable(mechanism, dimension, epsilon)
    drawn = generator(None) if rng is None else rng
    settings = settings or TaskSettings()
    epochs = settings.epochs or PUBLISHED_EPOCHS
    layers, model = _trained(
        raw,
        target,
        replace(settings, epochs=epochs),
        dimension,
        lambda units: through_noise(noise, units, drawn),
        progress,
    )
    public_map = PublicMap.of_layers(
        layers,
        encoder=encoder,
        about={"made": "trained on PROTECTED vectors: not public", "caveat": MAP_NOT_PUBLIC},
    )
    statement = loop_statement(noise, epochs, NOT_COVERED, seeded=rng is not None)
    about = {
        "trained": "by the published loop, on protected vectors",
        "epsilon that the paper claims": epsilon * epochs,
        "statement": statement.to_dict(),
        **model.about,
    }
    made = ReleasedAs(mechanism, float(epsilon), dimension, encoder, public_map.fingerprint)
    return PublishedTraining(replace(model, released=made, about=about), public_map, statement)


def loop_statement(noise: Trainable, epochs: int, why: str, *, seeded: bool) -> PrivacyStatement:
    """What holds for the vectors that the published loop releases: nothing.

    Args:
        noise: On every vector, in every epoch.
        epochs: How many there were.
        why: What trained along carries one sentence into what is released of others.
        seeded: The noise came from a seed.
    """
    one = noise.statement
    return PrivacyStatement(
        notion=Notion.NONE,
        unit=one.unit,
        adjacency=one.adjacency,
        public=one.public,
        caveats=(
            why,
            f"epsilon = {one.repeated(epochs).epsilon:g} for {counted(epochs, 'epoch')} is what "
            "the paper claims; it would hold if nothing before the noise were trained",
            "the noise is added inside the training, in 32-bit numbers and not on the public grid",
            *([SEEDED_CAVEAT] if seeded else []),
        ),
    )


def _trained(
    data: VectorSet,
    target: TaskTarget,
    settings: TaskSettings,
    dimension: int,
    noise: Callable[[Any], Any] | None,
    progress: Progress | None,
) -> tuple[Layers, TaskModel]:
    """M1 (no layers unless there is noise to come after it), and a model of M2 and the task layers.

    All are trained together, on rows of this dimension.
    """
    if len(data) != len(target.values):
        raise InvalidValue(f"{len(data)} vectors need as many labels; got {len(target.values)}")
    if len(data) < _FEWEST:
        raise InvalidValue(f"a model needs at least {_FEWEST} rows; got {len(data)}")
    sides = [data.vectors] + ([] if data.second is None else [data.second])
    hidden = settings.hidden
    seen = hidden if len(sides) == 1 else 4 * hidden
    device = find_device(settings.device)
    memory = room_for("training on so many vectors", "use fewer, or --device cpu")
    with seeded_weights(settings.seed, "training on vectors"), memory:
        mapped = affine_network([] if noise is None else [data.dimension, dimension]).to(device)
        restore = affine_network([dimension, hidden]).to(device)
        head = affine_network([seen, hidden, target.outputs]).to(device)
        tensors = [moved(np.ascontiguousarray(side), device) for side in sides]
    import torch

    def loss(rows: Ids) -> Any:
        picked = moved(rows, device)
        read = [side[picked] for side in tensors]
        if noise is not None:
            units = [torch.nn.functional.normalize(mapped(side)) for side in read]
            read = [noise(side) for side in units]
        restored = features([torch.tanh(restore(side)) for side in read])
        return target.loss(head(restored), rows)

    order = np.random.default_rng(settings.seed)
    train_on_rows(
        [mapped, restore, head],
        loss,
        rows=ShuffledRows(np.arange(len(data)), settings.batch, order),
        epochs=settings.epochs or EPOCHS,
        schedule=one_cycle(settings.rate),
        progress=progress,
    )
    about = {
        "rows": len(data),
        "corrected for randomised labels": target.transition is not None,
        "settings": asdict(settings),
    }
    task_layers = target.unscaled(layers_of(head))
    pairs = data.second is not None
    return layers_of(mapped), TaskModel(
        layers_of(restore), task_layers, target.labels, pairs, None, about
    )
