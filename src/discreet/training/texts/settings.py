"""How models of texts are trained."""

from dataclasses import dataclass
from typing import ClassVar

from discreet.devices import AUTO, DEVICE
from discreet.encoders.settings import DEFAULT
from discreet.errors import InvalidValue
from discreet.settings import Setting, Settings
from discreet.training.settings import MIXED, SAVE_EVERY, WARMUP, Resumption

BAG = "bag-of-words"
"""The model that is no network: weighted word counts and a linear layer."""


@dataclass(frozen=True, kw_only=True)
class FineTuning(Settings):
    """How a model for texts or pairs is trained."""

    heading: ClassVar[str] = "Training"

    frozen: bool = Setting("Leave the encoder alone; fit a linear layer on top.").default(False)
    epochs: int = Setting("Passes with all weights.", at_least=1).default(2)
    batch: int = Setting("Texts or pairs in a step.", at_least=1).default(32)
    learning_rate: float = Setting("Highest rate of all weights.", above=0).default(5e-5)
    max_tokens: int = Setting("Longer texts are cut.", at_least=3).default(128)
    penalty: float = Setting("Penalty on the squared weights of a linear layer.", above=0).default(
        1.0
    )
    seed: int = Setting("The same seed gives the same model.", at_least=0).default(0)
    device: str = DEVICE.default(AUTO)
    mixed: bool = MIXED.default(False)
    warmup: float = Setting("Share of the steps.", above=0, below=1, option=False).default(WARMUP)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frozen and self.mixed:
            raise InvalidValue("--mixed is for layers that are trained; leave out --frozen")


@dataclass(frozen=True, kw_only=True)
class FineTuningResumption(Resumption):
    """The same as for others, saved less often: a step is short."""

    save_every: int = SAVE_EVERY.default(500)


@dataclass(frozen=True, kw_only=True)
class LabelledText(Settings):
    """What is learnt of a file, and what is tested on."""

    heading: ClassVar[str] = "Text and labels"

    text_field: str = Setting("Column or field that holds the text.").default("text")
    pair_field: str | None = Setting("The second text, for tasks about pairs.").default(None)
    label_field: str = Setting("Column or field that holds the label.").default("label")
    regression: bool = Setting("Labels are numbers, not classes.").default(False)
    test: str | None = Setting(
        "Examples to test on, with the same fields; sanitise them too."
    ).default(None)
    rows: int | None = Setting("Train on so many random rows.", at_least=2).default(None)


@dataclass(frozen=True, kw_only=True)
class Pretraining(Settings):
    """How a model is pretrained; the seed is of the order, the masks and noise on PUBLIC text."""

    heading: ClassVar[str] = "Training"

    steps: int = Setting("Steps with all weights.", at_least=0).default(1000)
    head_steps: int | None = Setting(
        "Steps before that with the head alone, on the text as it is; by default 300 if the "
        "model comes without a head, else 0.",
        at_least=0,
    ).default(None)
    batch: int = Setting("Windows of text in a step.", at_least=1).default(32)
    window: int = Setting("Words in a window.", at_least=2).default(64)
    learning_rate: float = Setting("Highest rate of all weights.", above=0).default(1e-4)
    warmup: float = Setting(
        "Share of the steps in which the rate rises.", above=0, below=1
    ).default(WARMUP)
    share: float = Setting(
        "Share of the words to predict.", above=0, below=1, flag="--mask-share"
    ).default(0.15)
    seed: int = Setting("The same seed gives the same model.", at_least=0).default(0)
    device: str = DEVICE.default(AUTO)
    mixed: bool = MIXED.default(False)
    head_learning_rate: float = Setting("Highest rate of the head.", above=0, option=False).default(
        1e-3
    )


BODIES = {"bilstm": 2e-3, "masked": 5e-4}
"""What a rewriter may be made of, and the learning rate of each."""


@dataclass(frozen=True, kw_only=True)
class RewriterTraining(Settings):
    """How a rewriter is trained."""

    heading: ClassVar[str] = "Training"

    body: str = Setting(
        "bilstm: a bidirectional LSTM; masked: the layers of a BERT-style model.",
        choices=tuple(BODIES),
    ).default("bilstm")
    model: str = Setting("--body masked: a directory, or a cached name.").default(DEFAULT)
    epochs: int = Setting("Passes over the text, each with fresh noise.", at_least=1).default(4)
    write_words: int = Setting("Different words it may write.", at_least=1).default(10_000)
    seed: int = Setting("Seed of the training.", at_least=0).default(0)
    device: str = DEVICE.default(AUTO)
    mixed: bool = MIXED.default(False)
    hidden: int = Setting(
        "Of a bilstm: its size in each direction.", at_least=1, option=False
    ).default(128)
    learning_rate: float | None = Setting(
        "Highest learning rate; by default that of BODIES.", above=0, option=False
    ).default(None)

    @property
    def rate(self) -> float:
        """The learning rate that is used."""
        return BODIES[self.body] if self.learning_rate is None else self.learning_rate
