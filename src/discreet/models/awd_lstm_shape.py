"""The shape of an AWD-LSTM: everything about it but its weights."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

from discreet.errors import InvalidValue
from discreet.settings import Setting, Settings

_dropout = partial(Setting, at_least=0, below=1)
PARTS = ("embedding", "lstm", "output")
"""What of a network can be trained by itself: word vectors, layers, and what scores words."""


@dataclass(frozen=True, kw_only=True)
class AwdLstmSizes(Settings):
    """What of the shape may be chosen freely."""

    heading: ClassVar[str] = "Network"

    hidden: int = Setting("Units of a layer.", at_least=1).default(128)
    layers: int = Setting("Layers of the AWD-LSTM.", at_least=1).default(1)
    weight_drop: float = _dropout("Share of recurrent weights left out.").default(0.0)
    output_drop: float = _dropout("Locked dropout on the last layer.").default(0.0)
    embedding_drop: float = _dropout("Share of words left out.").default(0.0)


@dataclass(frozen=True, kw_only=True)
class AwdLstmShape(AwdLstmSizes):
    """The whole shape.

    With ``tied`` the output uses the embedding's matrix, and the last layer has as many units as a
    word's vector has numbers. With ``classes`` sentences are classified; without, the next word is
    predicted.
    """

    words: Annotated[int, Setting("Size of the vocabulary.", at_least=1)]
    boundary: Annotated[int, Setting("The word before and after every sentence.", at_least=0)]
    embedding: int = Setting("Length of a word's vector.", at_least=1).default(100)
    tied: bool = True
    classes: int | None = Setting("How many.", at_least=2).default(None)
    input_drop: float = _dropout("Locked dropout on word vectors.").default(0.0)
    hidden_drop: float = _dropout("Locked dropout between layers.").default(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.boundary >= self.words:
            raise InvalidValue("boundary of an AWD-LSTM must be one of its words")

    @property
    def shares_matrix(self) -> bool:
        """True if the output layer uses the embedding's matrix."""
        return self.tied and self.classes is None

    def widths(self, layer: int) -> tuple[int, int]:
        """Inputs and units of a layer."""
        inputs = self.embedding if layer == 0 else self.hidden
        last = layer == self.layers - 1
        return inputs, self.embedding if last and self.shares_matrix else self.hidden
