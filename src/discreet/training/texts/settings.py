"""How models of texts are trained."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from discreet.devices import AUTO, DEVICE
from discreet.encoders.settings import DEFAULT
from discreet.settings import Setting, Settings
from discreet.training.settings import SAVE_EVERY, WARMUP, Resumption

BAG = "bag-of-words"
"""The model that is no network: weighted word counts and a linear layer."""


@dataclass(frozen=True, kw_only=True)
class FineTuning(Settings):
    """How a model for texts or pairs is trained."""

    heading: ClassVar[str] = "Training"

    frozen: Annotated[bool, Setting("Leave the encoder alone; fit a linear layer on top.")] = False
    epochs: Annotated[int, Setting("Passes with all weights.", at_least=1)] = 2
    batch: Annotated[int, Setting("Texts or pairs in a step.", at_least=1)] = 32
    learning_rate: Annotated[float, Setting("Highest rate of all weights.", above=0)] = 5e-5
    max_tokens: Annotated[int, Setting("Longer texts are cut.", at_least=3)] = 128
    penalty: Annotated[
        float, Setting("Penalty on the squared weights of a linear layer.", above=0)
    ] = 1.0
    seed: Annotated[int, Setting("The same seed gives the same model.", at_least=0)] = 0
    device: Annotated[str, DEVICE] = AUTO
    warmup: Annotated[float, Setting("Share of the steps.", above=0, below=1, option=False)] = (
        WARMUP
    )


@dataclass(frozen=True, kw_only=True)
class FineTuningResumption(Resumption):
    """The same as for others, saved less often: a step is short."""

    save_every: Annotated[int, SAVE_EVERY] = 500


@dataclass(frozen=True, kw_only=True)
class LabelledText(Settings):
    """What is learnt of a file, and what is tested on."""

    heading: ClassVar[str] = "Text and labels"

    text_field: Annotated[str, Setting("Column or field that holds the text.")] = "text"
    pair_field: Annotated[str | None, Setting("The second text, for tasks about pairs.")] = None
    label_field: Annotated[str, Setting("Column or field that holds the label.")] = "label"
    regression: Annotated[bool, Setting("Labels are numbers, not classes.")] = False
    test: Annotated[
        str | None, Setting("Examples to test on, with the same fields; sanitise them too.")
    ] = None
    rows: Annotated[int | None, Setting("Train on so many random rows.", at_least=2)] = None


@dataclass(frozen=True, kw_only=True)
class Pretraining(Settings):
    """How a model is pretrained; the seed is of the order, the masks and noise on PUBLIC text."""

    heading: ClassVar[str] = "Training"

    steps: Annotated[int, Setting("Steps with all weights.", at_least=0)] = 1000
    head_steps: Annotated[
        int | None,
        Setting(
            "Steps before that with the head alone, on the text as it is; by default 300 if the "
            "model comes without a head, else 0.",
            at_least=0,
        ),
    ] = None
    batch: Annotated[int, Setting("Windows of text in a step.", at_least=1)] = 32
    window: Annotated[int, Setting("Words in a window.", at_least=2)] = 64
    learning_rate: Annotated[float, Setting("Highest rate of all weights.", above=0)] = 1e-4
    warmup: Annotated[
        float, Setting("Share of the steps in which the rate rises.", above=0, below=1)
    ] = WARMUP
    share: Annotated[
        float, Setting("Share of the words to predict.", above=0, below=1, flag="--mask-share")
    ] = 0.15
    seed: Annotated[int, Setting("The same seed gives the same model.", at_least=0)] = 0
    device: Annotated[str, DEVICE] = AUTO
    head_learning_rate: Annotated[
        float, Setting("Highest rate of the head.", above=0, option=False)
    ] = 1e-3


BODIES = {"bilstm": 2e-3, "masked": 5e-4}
"""What a rewriter may be made of, and the learning rate of each."""


@dataclass(frozen=True, kw_only=True)
class RewriterTraining(Settings):
    """How a rewriter is trained."""

    heading: ClassVar[str] = "Training"

    body: Annotated[
        str,
        Setting(
            "bilstm: a bidirectional LSTM; masked: the layers of a BERT-style model.",
            choices=tuple(BODIES),
        ),
    ] = "bilstm"
    model: Annotated[str, Setting("--body masked: a directory, or a cached name.")] = DEFAULT
    epochs: Annotated[int, Setting("Passes over the text, each with fresh noise.", at_least=1)] = 4
    write_words: Annotated[int, Setting("Different words it may write.", at_least=1)] = 10_000
    seed: Annotated[int, Setting("Seed of the training.", at_least=0)] = 0
    device: Annotated[str, DEVICE] = AUTO
    hidden: Annotated[
        int, Setting("Of a bilstm: its size in each direction.", at_least=1, option=False)
    ] = 128
    learning_rate: Annotated[
        float | None,
        Setting("Highest learning rate; by default that of BODIES.", above=0, option=False),
    ] = None

    @property
    def rate(self) -> float:
        """The learning rate that is used."""
        return BODIES[self.body] if self.learning_rate is None else self.learning_rate
