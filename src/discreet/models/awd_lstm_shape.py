"""The shape of an AWD-LSTM: everything about it but its weights."""

from dataclasses import dataclass
from typing import Annotated

from discreet import check
from discreet.errors import InvalidValue
from discreet.settings import Setting, Settings

PARTS = ("embedding", "lstm", "output")
"""What of a network can be trained by itself: word vectors, layers, and what scores words."""


@dataclass(frozen=True, kw_only=True)
class AwdLstmSizes(Settings):
    """What of the shape may be chosen freely."""

    hidden: Annotated[int, Setting("Units of a layer.", at_least=1)] = 128
    layers: Annotated[int, Setting("Layers of the AWD-LSTM.", at_least=1)] = 1
    weight_drop: Annotated[
        float, Setting("Share of recurrent weights left out.", at_least=0, below=1)
    ] = 0.0
    output_drop: Annotated[
        float, Setting("Locked dropout on the last layer.", at_least=0, below=1)
    ] = 0.0
    embedding_drop: Annotated[float, Setting("Share of words left out.", at_least=0, below=1)] = 0.0


@dataclass(frozen=True, kw_only=True)
class AwdLstmShape(AwdLstmSizes):
    """The whole shape.

    Args:
        words: size of the vocabulary; id ``boundary`` stands before and after every sentence.
        boundary: that id.
        embedding: length of a word's vector.
        tied: the output uses the embedding's matrix; the last layer then has ``embedding`` units.
        classes: number of classes if sentences are classified; None to predict the next word.
        input_drop: locked dropout on word vectors.
        hidden_drop: locked dropout between layers.
    """

    words: int
    boundary: int
    embedding: int = 100
    tied: bool = True
    classes: int | None = None
    input_drop: float = 0.0
    hidden_drop: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("words", "embedding"):
            check.whole(getattr(self, name), f"{name} of an AWD-LSTM", at_least=1)
        if check.whole(self.boundary, "boundary of an AWD-LSTM") >= self.words:
            raise InvalidValue("boundary of an AWD-LSTM must be one of its words")
        if self.classes is not None:
            check.whole(self.classes, "classes of an AWD-LSTM", at_least=2)
        for name in ("input_drop", "hidden_drop"):
            check.in_range(getattr(self, name), f"{name} of an AWD-LSTM", at_least=0, below=1)

    @property
    def shares_matrix(self) -> bool:
        """True if the output layer uses the embedding's matrix."""
        return self.tied and self.classes is None

    def widths(self, layer: int) -> tuple[int, int]:
        """Inputs and units of a layer."""
        inputs = self.embedding if layer == 0 else self.hidden
        last = layer == self.layers - 1
        return inputs, self.embedding if last and self.shares_matrix else self.hidden
