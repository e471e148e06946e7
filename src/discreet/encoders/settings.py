"""Which sentence encoder reads texts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from discreet.settings import Setting, Settings

if TYPE_CHECKING:
    from discreet.encoders.encoder import Encoder

DEFAULT = "all-MiniLM-L6-v2"


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(Settings):
    """An encoder, and how it makes one vector of a text."""

    encoder: Annotated[
        str,
        Setting(
            "Sentence-transformers or transformers model: a directory, or a name in the local "
            "cache. Nothing is downloaded."
        ),
    ] = DEFAULT
    pooling: Annotated[
        str | None, Setting("mean or cls; what the model was made with unless given.")
    ] = None

    def load(self) -> "Encoder":
        """The encoder itself."""
        from discreet.encoders.encoder import load_encoder

        return load_encoder(self.encoder, pooling=self.pooling)
