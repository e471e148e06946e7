"""The options that say how sentences become released vectors, defined once for every command."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import check
from discreet.cli._settings import Choice
from discreet.cli._terminal import progress_bar
from discreet.encoders.encoder import DEFAULT, POOLINGS
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import DEFAULTS, family_settings, find, names
from discreet.settings import Declared, Setting

if TYPE_CHECKING:
    from discreet.encoders.encoder import Encoder
    from discreet.encoders.maps import PublicMap
    from discreet.protocols import LabelMechanism, SentenceMechanism
    from discreet.release.sentences import SentenceEmbedder

LABEL_MECHANISMS = (DEFAULTS["label"], *sorted({*names("label")} - {DEFAULTS["label"]}), "none")
DIMENSION = 16

_TRAINED = "trained:"
_PCA_WORDS = 5000

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
_ENCODER = (
    Declared(
        "encoder",
        str,
        DEFAULT,
        Setting(
            "Sentence-transformers or transformers model: a directory, or a name in the local "
            "cache. Nothing is downloaded."
        ),
    ),
    Declared(
        "pooling",
        str | None,
        None,
        Setting("mean or cls; what the model was made with unless given.", choices=POOLINGS),
    ),
)
_OWN = (
    Declared(
        "mechanism",
        str | None,
        None,
        Setting(
            f"One of: {', '.join(names('sentence'))}; {DEFAULTS['sentence']} unless given. For "
            f"'embed --unit document': {', '.join(names('document'))}; {DEFAULTS['document']} "
            "unless given.",
            short="-m",
        ),
    ),
    Declared(
        "dim",
        int | None,
        None,
        Setting(
            f"Dimensions to map to before noise is added; {DIMENSION} unless given. A trained map "
            "has its own.",
            at_least=2,
        ),
    ),
    Declared(
        "map",
        str,
        "random",
        Setting(
            "The public map to these dimensions. random: fixed directions, the same in every run; "
            "pca: principal directions of public text; trained:PATH: from 'discreet train map'."
        ),
    ),
    Declared(
        "public",
        Path | None,
        None,
        Setting("pca: a file of PUBLIC text; without it, frequent words of the starter space."),
    ),
    Declared(
        "public_field", str, "text", Setting("pca: column or field of --public with the text.")
    ),
    *_ENCODER,
)


@dataclass(frozen=True)
class VectorChoice(Choice):
    """The encoder, the map and the mechanism that a command line asks for."""

    mechanism: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the mechanism, by the names of its parameters."""
    dim: int | None = None
    map: str = "random"
    public: Path | None = None
    public_field: str = "text"
    encoder: str = DEFAULT
    pooling: str | None = None

    @classmethod
    def declared(cls) -> Iterable[Declared]:
        """What there is to choose."""
        return [*family_settings("sentence"), *_OWN]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "VectorChoice":
        """What was chosen, by the name of the option."""
        own = {each.name: given[each.name] for each in _OWN}
        rest = {name: value for name, value in given.items() if name not in own}
        return cls(**own, settings={k: v for k, v in rest.items() if v is not None})

    @property
    def epsilon(self) -> float | None:
        """The privacy loss allowed, if one was given."""
        return self.settings.get("epsilon")

    @property
    def of_sentences(self) -> str:
        """The name of the mechanism for sentences."""
        return self.mechanism or DEFAULTS["sentence"]

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
        entry = find(self.of_sentences, "sentence", what="--mechanism")
        built: SentenceMechanism = entry.build(
            {"dimension": dimension, **self.settings},
            called=lambda key: "--" + key.replace("_", "-"),
        )
        return built

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
    try:
        chances = None if prior is None else tuple(float(part) for part in prior.split(","))
    except ValueError as error:
        raise InvalidValue("--label-prior must be numbers with commas between them") from error
    built: LabelMechanism = find(name, "label", what="--label-mechanism").build(
        {"labels": labels, "epsilon": epsilon, "prior": chances},
        called=lambda key: f"--label-{key}",
    )
    return built
