"""The options that say how sentences become released vectors, defined once for every command."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet import check
from discreet.cli._terminal import progress_bar
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.encoders.encoder import Encoder
    from discreet.encoders.maps import PublicMap
    from discreet.release.sentences import LabelMechanism, SentenceEmbedder, SentenceMechanism

MECHANISMS = ("purkayastha", "planar-laplace", "gaussian")
LABEL_MECHANISMS = ("randomized-response", "prior-response", "none")
DIMENSION = 16

_TRAINED = "trained:"
_PCA_WORDS = 5000

Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        help="Privacy loss allowed: per radian for purkayastha, per unit of distance for "
        "planar-laplace, between any two sentences for gaussian.",
    ),
]
Mechanism = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        "-m",
        help="One of: " + ", ".join(MECHANISMS) + "; for 'embed --unit document' sentence-votes, "
        "learned-votes, deep-candidate, vote-histogram or truncation. The first unless given.",
    ),
]
Delta = Annotated[float | None, typer.Option("--delta", help="gaussian: failure probability.")]
Dimension = Annotated[
    int | None,
    typer.Option(
        "--dim",
        help=f"Dimensions to map to before noise is added; {DIMENSION} unless given. A trained map "
        "has its own.",
    ),
]
Map = Annotated[
    str,
    typer.Option(
        "--map",
        help="The public map to these dimensions. random: fixed directions, the same in every "
        "run; pca: principal directions of public text; trained:PATH: from 'discreet train map'.",
    ),
]
Public = Annotated[
    Path | None,
    typer.Option(
        "--public",
        help="pca: a file of PUBLIC text; without it, frequent words of the starter space.",
    ),
]
PublicField = Annotated[
    str, typer.Option("--public-field", help="pca: column or field of --public with the text.")
]
EncoderName = Annotated[
    str,
    typer.Option(
        "--encoder",
        help="Sentence-transformers or transformers model: a directory, or a name in the local "
        "cache. Nothing is downloaded.",
    ),
]
Pooling = Annotated[
    str | None,
    typer.Option("--pooling", help="mean or cls; what the model was made with unless given."),
]


@dataclass(frozen=True)
class VectorChoice:
    """The encoder, the map and the mechanism that a command line asks for."""

    epsilon: Epsilon = None
    mechanism: Mechanism = None
    delta: Delta = None
    dim: Dimension = None
    map: Map = "random"
    public: Public = None
    public_field: PublicField = "text"
    encoder: EncoderName = "all-MiniLM-L6-v2"
    pooling: Pooling = None

    @property
    def of_sentences(self) -> str:
        """The name of the mechanism for sentences."""
        return self.mechanism or MECHANISMS[0]

    def embedder(
        self,
        labels: Sequence[str] | None = None,
        label_mechanism: "LabelMechanism | None" = None,
    ) -> "SentenceEmbedder":
        """Load and make everything; what is quick to check is checked first."""
        from discreet.encoders.encoder import load_encoder
        from discreet.release.sentences import SentenceEmbedder

        trained = self._trained()
        dimension = self._dimension(trained)
        mechanism = self._built(dimension)
        encoder = load_encoder(self.encoder, pooling=self.pooling)
        return SentenceEmbedder(
            encoder,
            trained or self._made(encoder, dimension),
            mechanism,
            None if labels is None else tuple(labels),
            label_mechanism,
        )

    def _trained(self) -> "PublicMap | None":
        if self.public is not None and self.map != "pca":
            raise InvalidValue("--public belongs to --map pca; leave it out")
        if not self.map.startswith(_TRAINED):
            check.one_of(self.map, ("random", "pca", "trained:PATH"), "--map")
            return None
        from discreet.encoders.maps import PublicMap

        return PublicMap.load(Path(self.map.removeprefix(_TRAINED)))

    def _dimension(self, trained: "PublicMap | None") -> int:
        if self.dim is not None:
            check.whole(self.dim, "--dim", at_least=2)
        if trained is None:
            return self.dim or DIMENSION
        if self.dim is not None and self.dim != trained.dimension:
            raise InvalidValue(
                f"--dim must be that of the trained map, {trained.dimension}, or left out; "
                f"got {self.dim}"
            )
        return trained.dimension

    def _built(self, dimension: int) -> "SentenceMechanism":
        name = check.one_of(self.of_sentences, MECHANISMS, "--mechanism")
        if self.epsilon is None:
            raise InvalidValue(f"{name} needs --epsilon")
        from discreet.mechanisms.sentence import PlanarLaplace, Purkayastha, SphereGaussian

        if name == "gaussian":
            if self.delta is None:
                raise InvalidValue("gaussian needs --delta")
            return SphereGaussian(dimension, self.epsilon, self.delta)
        if self.delta is not None:
            raise InvalidValue(f"--delta is not an option of {name}; leave it out")
        kind = Purkayastha if name == "purkayastha" else PlanarLaplace
        return kind(dimension, self.epsilon)

    def _made(self, encoder: "Encoder", dimension: int) -> "PublicMap":
        from discreet.encoders.maps import PublicMap

        if self.map == "random" or dimension > encoder.dimension:  # the latter is refused there
            return PublicMap.random(encoder.dimension, dimension)
        from discreet.encoders.encoder import encoded_once
        from discreet.files import cache_directory
        from discreet.spaces import load_space
        from discreet.text.readers import open_documents

        with progress_bar("encoding public text") as show:
            if self.public is None:
                words = load_space("starter").words[:_PCA_WORDS]
                vectors = encoded_once(encoder, words, cache_directory() / "encoded", progress=show)
                source = f"the {_PCA_WORDS:,} most frequent words of the starter space"
            else:
                with open_documents(self.public, text_field=self.public_field) as reader:
                    texts = [text for batch in reader for text in batch.texts if text.strip()]
                vectors = encoder.encode(texts, progress=show)
                source = self.public.name
        return PublicMap.pca(vectors, dimension, encoder=encoder.fingerprint, source=source)


def label_mechanism(
    name: str, labels: Sequence[str], epsilon: float | None, prior: str | None
) -> "LabelMechanism | None":
    """The label mechanism of a command line; None releases labels as they are."""
    check.one_of(name, LABEL_MECHANISMS, "--label-mechanism")
    if (prior is not None) != (name == "prior-response"):
        raise InvalidValue(
            "--label-mechanism prior-response needs --label-prior, and no other takes it"
        )
    if name == "none":
        if epsilon is not None:
            raise InvalidValue(
                "--label-epsilon has no use with --label-mechanism none; leave it out"
            )
        return None
    if epsilon is None:
        raise InvalidValue(f"{name} needs --label-epsilon")
    from discreet.mechanisms.label import PriorResponse, RandomizedResponse

    if prior is None:
        return RandomizedResponse(labels, epsilon)
    try:
        chances = [float(part) for part in prior.split(",")]
    except ValueError as error:
        raise InvalidValue("--label-prior must be numbers with commas between them") from error
    if len(chances) != len(labels):
        raise InvalidValue(
            f"--label-prior must be a number for each of the {len(labels)} labels; "
            f"got {len(chances)}"
        )
    return PriorResponse(chances, epsilon)
