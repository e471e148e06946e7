"""Training on released vectors and labels: once released, as often as one likes.

:func:`train_on_release` sees releases alone, so it costs nothing more, however many epochs it runs.
:func:`train_published` is the paper's interactive loop, which pays for every epoch.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Progress
from discreet.encoders.maps import PublicMap
from discreet.errors import InvalidValue
from discreet.models.layers import layers_of, network
from discreet.models.sphere_noise import sphere_mechanism, through_noise
from discreet.models.task import ReleasedAs, TaskModel, features
from discreet.randomness import SEEDED_CAVEAT, generator
from discreet.release.vectors import VectorSet
from discreet.statement import PrivacyStatement
from discreet.training.descent import descend, seeded

_FEATURE = "training on vectors"
_FEWEST = 10
NOT_COVERED = (
    "M1 was trained together with the model: its gradient needs the raw vectors, so neither M1 nor "
    "its updates are covered by this statement, which is for the noisy vectors alone"
)
MAP_NOT_PUBLIC = (
    "the map was trained on protected vectors by the published loop and is not public: what it "
    "tells of them is not covered by this statement"
)


@dataclass(frozen=True)
class TaskSettings:
    """How to train a task model.

    Attributes:
        hidden: What M2 restores the dimension to.
        epochs: How often all rows are seen.
        batch: Rows to a step.
        rate: The highest learning rate.
        seed: Sets the first weights and the order of rows.
    """

    hidden: int = 64
    epochs: int = 20
    batch: int = 256
    rate: float = 5e-3
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("hidden", "epochs", "batch"):
            check.whole(getattr(self, name), f"{name} of a task model", at_least=1)
        check.positive(self.rate, "rate of a task model")
        check.whole(self.seed, "seed")


@dataclass(frozen=True)
class Target:
    """What a model learns of each row: a class, perhaps randomised, or a score.

    Attributes:
        labels: The possible classes, in order; None for scores.
        values: The class index of each row, or its score.
        transition: Row y is the law of the release of class y; None if labels are as they were.
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
    ) -> "Target":
        """Classes.

        Args:
            values: The label of each row, as released.
            labels: The possible ones, in the order of ``transition``; by default those that occur.
            transition: The law of the labels' release, from its receipt.
        """
        known = tuple(sorted(set(values))) if labels is None else tuple(labels)
        places = {label: index for index, label in enumerate(known)}
        codes = np.array([places.get(value, -1) for value in values], dtype=np.int64)
        wrong = np.flatnonzero(codes < 0)
        if wrong.size:
            raise InvalidValue(
                f"labels must be among the {len(known)} possible ones; {wrong.size} of "
                f"{len(codes)} are not, the first in row {int(wrong[0]) + 1}"
            )
        if len(np.unique(codes)) < 2:
            raise InvalidValue(
                f"a classifier needs labels of at least 2 classes; the {len(codes)} rows have "
                f"{len(np.unique(codes))}"
            )
        law = None if transition is None else np.asarray(transition, dtype=np.float64)
        if law is not None:
            square = law.shape == (len(known), len(known))
            if not square or (law < 0).any() or np.abs(law.sum(axis=1) - 1).max() > 1e-6:
                raise InvalidValue(
                    f"transition must be {len(known)} rows of {len(known)} probabilities"
                )
        return cls(known, codes, law)

    @classmethod
    def scores(cls, values: Sequence[float]) -> "Target":
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
            wanted = torch.from_numpy((self.values[rows] - self._mean) / self._spread)
            return torch.nn.functional.mse_loss(said[:, 0], wanted)
        codes = torch.from_numpy(self.values[rows])
        if self.transition is None:
            return torch.nn.functional.cross_entropy(said, codes)
        law = torch.from_numpy(self.transition.astype(np.float32))
        released = torch.softmax(said, dim=1) @ law
        return torch.nn.functional.nll_loss(torch.log(released.clamp_min(1e-12)), codes)

    def unscaled(self, layers: Any) -> Any:
        """The task layers with the scale of the scores put into the last one."""
        if self.labels is not None:
            return layers
        *before, (weight, bias) = layers
        last = (weight * self._spread, bias * self._spread + self._mean)
        return (*before, tuple(part.astype(np.float32) for part in last))

    @property
    def _mean(self) -> np.float32:
        return np.float32(self.values.mean())

    @property
    def _spread(self) -> np.float32:
        return np.float32(self.values.std())


def train_on_release(
    released: VectorSet,
    target: Target,
    *,
    settings: TaskSettings | None = None,
    made: ReleasedAs | None = None,
    progress: Progress | None = None,
) -> TaskModel:
    """M2 and the task layers from released vectors: post-processing, at no further cost.

    Privacy: the statement of the release holds for the model, for any number of epochs.

    Args:
        released: Vectors as released, of single sentences or of pairs.
        target: What to learn; see :class:`Target`.
        settings: See :class:`TaskSettings`.
        made: How the vectors were released; the model then refuses others.
        progress: Called with (epochs done, epochs).
    """
    settings = settings or TaskSettings()
    rng = seeded(settings.seed, _FEATURE)
    import torch

    _check_rows(len(released), target)
    sides = [released.vectors] + ([] if released.second is None else [released.second])
    tensors = [torch.from_numpy(np.ascontiguousarray(side)) for side in sides]
    restore, head = _layers(released.dimension, len(sides), target, settings)

    def loss(rows: NDArray[np.int64]) -> torch.Tensor:
        picked = torch.from_numpy(rows)
        seen = features([torch.tanh(restore(side[picked])) for side in tensors])
        value: torch.Tensor = target.loss(head(seen), rows)
        return value

    _descend([restore, head], loss, len(released), settings, rng, progress)
    about = {"trained": "on vectors released once", **_about(released, target, settings)}
    return TaskModel(
        layers_of(restore),
        target.unscaled(layers_of(head)),
        target.labels,
        released.second is not None,
        made,
        about,
    )


@dataclass(frozen=True)
class Published:
    """What the interactive loop gives.

    Attributes:
        model: M2 and the task layers.
        map: M1. Trained on protected vectors: not public, see the statement.
        statement: For the noisy vectors of all epochs together.
    """

    model: TaskModel
    map: PublicMap
    statement: PrivacyStatement


def train_published(
    raw: VectorSet,
    target: Target,
    *,
    epsilon: float,
    dimension: int,
    encoder: str,
    mechanism: str = "purkayastha",
    settings: TaskSettings | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Published:
    """The paper's interactive loop: M1, M2 and the task layers, with fresh noise in every epoch.

    Privacy: unit sentence, metric notion. In every epoch each sentence is released anew, so k
    epochs cost k times epsilon. The gradient with respect to M1 needs the raw vector and is *not*
    covered; the statement carries that as a caveat. Prefer :func:`train_on_release` with a map
    trained on public text: it pays once and everything is covered.

    Paper: Du et al., WWW 2023, section 3.3. Where we differ: the encoder is frozen, and what the
    loop costs is said.

    Args:
        raw: UNPROTECTED vectors of the encoder.
        target: What to learn; randomised labels are drawn once, before the loop.
        epsilon: Of each epoch.
        dimension: M1 maps to it.
        encoder: Fingerprint of the encoder.
        mechanism: ``purkayastha`` or ``planar-laplace``.
        settings: The paper has 3 epochs.
        rng: Of the noise; leave it out unless this is an experiment.
        progress: Called with (epochs done, epochs).
    """
    settings = settings or TaskSettings(epochs=3)
    order = seeded(settings.seed, _FEATURE)
    import torch

    _check_rows(len(raw), target)
    if check.whole(dimension, "dimension", at_least=2) > raw.dimension:
        raise InvalidValue(
            f"dimension must be at most that of the encoder, {raw.dimension}; got {dimension}"
        )
    noise = sphere_mechanism(mechanism, dimension, epsilon)
    secure = rng is None
    drawn = generator(None) if rng is None else rng
    sides = [raw.vectors] + ([] if raw.second is None else [raw.second])
    tensors = [torch.from_numpy(np.ascontiguousarray(side)) for side in sides]
    mapped = network([raw.dimension, dimension])
    restore, head = _layers(dimension, len(sides), target, settings)

    def loss(rows: NDArray[np.int64]) -> torch.Tensor:
        picked = torch.from_numpy(rows)
        units = [torch.nn.functional.normalize(mapped(side[picked])) for side in tensors]
        noisy = [through_noise(noise, side, drawn) for side in units]
        value: torch.Tensor = target.loss(
            head(features([torch.tanh(restore(side)) for side in noisy])), rows
        )
        return value

    _descend([mapped, restore, head], loss, len(raw), settings, order, progress)
    about = {
        "trained": "by the published loop, on protected vectors",
        "epsilon of an epoch": epsilon,
        "epsilon of all epochs": epsilon * settings.epochs,
        **_about(raw, target, settings),
    }
    public_map = PublicMap.of_layers(
        layers_of(mapped),
        encoder=encoder,
        about={"made": "trained on PROTECTED vectors: not public", "caveat": MAP_NOT_PUBLIC},
    )
    made = ReleasedAs(mechanism, float(epsilon), dimension, encoder, public_map.fingerprint)
    model = TaskModel(
        layers_of(restore),
        target.unscaled(layers_of(head)),
        target.labels,
        raw.second is not None,
        made,
        about,
    )
    statement = noise.statement.repeated(settings.epochs).with_caveats(
        NOT_COVERED,
        f"released in {settings.epochs} epochs with fresh noise, at {epsilon:g} each; the angle of "
        "an epoch is that after the map of that epoch",
        "the noise is added inside the training, in 32-bit numbers and not on the public grid",
        *([] if secure else [SEEDED_CAVEAT]),
    )
    return Published(model, public_map, statement)


def _layers(dimension: int, sides: int, target: Target, settings: TaskSettings) -> Any:
    seen = settings.hidden * (1 if sides == 1 else 4)
    return network([dimension, settings.hidden]), network([seen, settings.hidden, target.outputs])


def _descend(
    modules: Any,
    loss: Any,
    rows: int,
    settings: TaskSettings,
    rng: np.random.Generator,
    progress: Progress | None,
) -> None:
    descend(
        modules,
        loss,
        rows=rows,
        epochs=settings.epochs,
        batch=settings.batch,
        rate=settings.rate,
        rng=rng,
        progress=progress,
    )


def _about(data: VectorSet, target: Target, settings: TaskSettings) -> dict[str, Any]:
    return {
        "rows": len(data),
        "corrected for randomised labels": target.transition is not None,
        "settings": asdict(settings),
    }


def _check_rows(rows: int, target: Target) -> None:
    if rows != len(target.values):
        raise InvalidValue(f"{rows} vectors need as many labels; got {len(target.values)}")
    if rows < _FEWEST:
        raise InvalidValue(f"a model needs at least {_FEWEST} rows; got {rows}")
