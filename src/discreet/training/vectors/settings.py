"""How public maps and models of released vectors are trained."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from discreet import check
from discreet.devices import AUTO, DEVICE
from discreet.errors import InvalidValue
from discreet.settings import Setting, Settings

DIMENSIONS = (2, 3, 4, 8, 16, 32)
"""Dimensions of a map that are tried if none is asked for."""
PUBLISHED_DIMENSION = 16
EPOCHS, PUBLISHED_EPOCHS = 20, 3
_AUTO = "auto"


@dataclass(frozen=True)
class MapTrainingSettings(Settings):
    """How to train a map; the whole training is a function of this and of the public rows."""

    heading: ClassVar[str] = "Training"

    epsilon: Annotated[float, Setting("Epsilon of the noise that the map is for.", short="-e")]
    mechanism: str = Setting("purkayastha, priv-unit or planar-laplace.", short="-m").default(
        "purkayastha"
    )
    dimensions: tuple[int, ...] = DIMENSIONS
    """Candidates for the dimension it maps to; one alone is taken as it is."""
    hidden: int = Setting("Width of a tanh layer; 0: a linear map.", at_least=0).default(32)
    epochs: int = Setting("Passes over the text.", at_least=1).default(15)
    seed: int = Setting("Seed of the training.", at_least=0).default(0)
    device: str = replace(DEVICE, option=False).default(AUTO)

    def __post_init__(self) -> None:
        from discreet.models.sphere_noise import trainable

        super().__post_init__()
        if not self.dimensions:
            raise InvalidValue("dimensions of a map must be at least one candidate")
        for dimension in self.dimensions:
            trainable(self.mechanism, dimension, self.epsilon)


@dataclass(frozen=True, kw_only=True)
class MapText(Settings):
    """The public text that a map is trained on."""

    heading: ClassVar[str] = "Text and labels"

    text_field: str = Setting("Column or field that holds the text.").default("text")
    label_field: str | None = Setting(
        "PUBLIC class of each text: the map learns to keep classes apart. Without it, it "
        "learns to keep as much of the vector as it can."
    ).default(None)
    more: str | None = Setting(
        "Further PUBLIC text with the same fields, such as whole reviews where PUBLIC has "
        "sentences. Validation, on PUBLIC alone, says how much its labels weigh."
    ).default(None)
    dim: str = Setting("Dimensions to map to; auto tries several on held-out public text.").default(
        _AUTO
    )

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Those to try."""
        if self.dim == _AUTO:
            return DIMENSIONS
        try:
            number = int(self.dim)
        except ValueError as error:
            rule = "auto or a whole number of at least 2"
            raise check.fail("--dim", rule, self.dim) from error
        return (check.whole(number, "--dim", at_least=2),)


@dataclass(frozen=True, kw_only=True)
class TaskSettings(Settings):
    """How to train a model of released vectors."""

    heading: ClassVar[str] = "Training"

    hidden: int = Setting("Units of the layer that reads a released vector.", at_least=1).default(
        64
    )
    epochs: int | None = Setting(
        f"Passes over the rows, free of charge; {EPOCHS} unless given. With --published: "
        f"{PUBLISHED_EPOCHS} unless given.",
        at_least=1,
    ).default(None)
    seed: int = Setting("Seed of the training, not of the noise.", at_least=0).default(0)
    batch: int = Setting("Rows in a step.", at_least=1, option=False).default(256)
    rate: float = Setting("Highest learning rate.", above=0, option=False).default(5e-3)
    device: str = replace(DEVICE, option=False).default(AUTO)


@dataclass(frozen=True, kw_only=True)
class PublishedTask(Settings):
    """What the paper's interactive loop needs besides: it begins with raw text."""

    heading: ClassVar[str] = "As published, on raw text"

    epsilon: float | None = Setting("--published: noise of every epoch.", short="-e").default(None)
    mechanism: str | None = Setting(
        "--published: purkayastha, priv-unit or planar-laplace.", short="-m"
    ).default(None)
    dim: int | None = Setting(
        f"--published: dimensions; {PUBLISHED_DIMENSION} unless given."
    ).default(None)
    labels: str | None = Setting("--published: the possible labels, with commas.").default(None)
    label_epsilon: float | None = Setting(
        "--published: loss allowed for the label, drawn once; without it labels are public."
    ).default(None)
    text_field: str = Setting("--published: the text.").default("text")
    pair_field: str | None = Setting("--published: second text of a pair.").default(None)
    label_field: str = Setting("--published: the label.").default("label")

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The possible labels, if they were given."""
        return None if self.labels is None else check.labels(self.labels)

    def require_unused(self) -> None:
        """Stop if one of these was given to training that reads it off a receipt."""
        for name in ("epsilon", "mechanism", "dim", "labels", "label_epsilon"):
            if getattr(self, name) is not None:
                flag = "--" + name.replace("_", "-")
                raise InvalidValue(f"{flag} belongs to --published; the receipt says the rest")


@dataclass(frozen=True, kw_only=True)
class EndToEndSettings(Settings):
    """How an encoder, M1, M2 and the task layers are trained together, through the noise."""

    mechanism: str | None = Setting(
        "purkayastha, priv-unit or planar-laplace; none: without noise.", short="-m"
    ).default("purkayastha")
    epsilon: float | None = Setting(
        "Epsilon of every epoch; none without noise.", short="-e", above=0
    ).default(None)
    dimension: int = Setting("Dimensions that M1 maps to.", at_least=2, flag="--dim").default(
        PUBLISHED_DIMENSION
    )
    epochs: int = Setting("Passes over the rows; each costs epsilon.", at_least=1).default(
        PUBLISHED_EPOCHS
    )
    batch: int = Setting("Texts or pairs in a step.", at_least=1).default(64)
    learning_rate: float = Setting("Highest rate of the encoder.", above=0).default(2e-5)
    map_rate: float = Setting(
        "Highest rate of M1, M2 and the task layers, which are new.", above=0
    ).default(1e-3)
    max_tokens: int = Setting("Longer texts are cut.", at_least=3).default(128)
    frozen_layers: int = Setting(
        "Lowest layers of the encoder that stay as they are.", at_least=0
    ).default(0)
    seed: int = Setting("Of weights and order, not of the noise.", at_least=0).default(0)

    def __post_init__(self) -> None:
        from discreet.models.sphere_noise import trainable

        super().__post_init__()
        if (self.mechanism is None) != (self.epsilon is None):
            raise InvalidValue("training through noise needs a mechanism and its epsilon, or none")
        if self.mechanism is not None and self.epsilon is not None:
            trainable(self.mechanism, self.dimension, self.epsilon)
