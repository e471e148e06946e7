"""Which sentence encoder reads texts, and which public map leads to what is released."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from discreet import check
from discreet.arrays import Progress
from discreet.devices import AUTO, DEVICE
from discreet.errors import InvalidValue
from discreet.files import cache_directory
from discreet.settings import Setting, Settings
from discreet.spaces import load_space
from discreet.text.readers import open_documents

if TYPE_CHECKING:
    from discreet.encoders.encoder import Encoder
    from discreet.encoders.maps import PublicMap

DEFAULT = "all-MiniLM-L6-v2"
POOLINGS = ("mean", "cls")
DIMENSION = 16

_TRAINED = "trained:"
_PCA_WORDS = 5000


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(Settings):
    """An encoder, and how it makes one vector of a text."""

    heading: ClassVar[str] = "Encoder"

    encoder: str = Setting(
        "Sentence-transformers or transformers model: a directory, or a name in the local "
        "cache. Nothing is downloaded."
    ).default(DEFAULT)
    pooling: str | None = Setting(
        "mean or cls; what the model was made with unless given.", choices=POOLINGS
    ).default(None)
    device: str = DEVICE.default(AUTO)

    def load(self) -> "Encoder":
        """The encoder itself."""
        from discreet.encoders.encoder import load_encoder

        return load_encoder(self.encoder, pooling=self.pooling, device=self.device)


@dataclass(frozen=True, kw_only=True)
class MapSettings(Settings):
    """A public map by name, its dimension, and the public text that it is made from."""

    heading: ClassVar[str] = "Map"

    dim: int | None = Setting(
        f"Dimensions to map to before noise is added; {DIMENSION} unless given. A trained map "
        "has its own.",
        at_least=2,
    ).default(None)
    map: str = Setting(
        "The public map to these dimensions. random: fixed directions, the same in every run; "
        "pca: principal directions of public text; trained:PATH: from 'discreet train map'."
    ).default("random")
    public: Path | None = Setting(
        "pca: a file of PUBLIC text; without it, frequent words of the starter space."
    ).default(None)
    public_field: str = Setting("pca: column or field of --public with the text.").default("text")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.public is not None and self.map != "pca":
            raise InvalidValue("--public belongs to --map pca; leave it out")
        if not self.map.startswith(_TRAINED):
            check.one_of(self.map, ("random", "pca", "trained:PATH"), "--map")

    @cached_property
    def trained(self) -> "PublicMap | None":
        """The map in the file that was named, if one was."""
        if not self.map.startswith(_TRAINED):
            return None
        from discreet.encoders.maps import PublicMap

        return PublicMap.load(Path(self.map.removeprefix(_TRAINED)))

    def used_otherwise(self, mechanism: str, epsilon: float | None) -> list[str]:
        """A sentence if the map was trained through other noise: it may be of less use."""
        trained = None if self.trained is None else self.trained.trained_for
        if trained in (None, (mechanism, epsilon)):
            return []
        return [
            "The map was trained for {} at epsilon {:g} and is used otherwise: what holds is the "
            "guarantee of this release, and a map trained for it may keep more.".format(*trained)
        ]

    @property
    def dimension(self) -> int:
        """Of what is released."""
        if self.trained is None:
            return self.dim or DIMENSION
        if self.dim not in (None, self.trained.dimension):
            raise InvalidValue(
                f"--dim must be that of the trained map, {self.trained.dimension}, or left out; "
                f"got {self.dim}"
            )
        return self.trained.dimension

    def map_for(self, encoder: "Encoder", progress: Progress | None = None) -> "PublicMap":
        """The map, made now unless it was trained.

        Args:
            encoder: whose vectors it takes.
            progress: called with (done, total) while public text is encoded.
        """
        if self.trained is not None:
            return self.trained
        from discreet.encoders.encoder import encoded_once
        from discreet.encoders.maps import PublicMap

        if self.map == "random" or self.dimension > encoder.dimension:  # the latter is refused
            return PublicMap.random(encoder.dimension, self.dimension)
        if self.public is None:
            words = load_space("starter").words[:_PCA_WORDS]
            folder = cache_directory() / "encoded"
            vectors = encoded_once(encoder, words, folder, progress=progress)
            source = f"the {_PCA_WORDS:,} most frequent words of the starter space"
        else:
            with open_documents(self.public, text_field=self.public_field) as reader:
                texts = [text for batch in reader for text in batch.texts if text.strip()]
            vectors = encoder.encode(texts, progress=progress)
            source = self.public.name
        return PublicMap.pca(vectors, self.dimension, encoder=encoder.fingerprint, source=source)
