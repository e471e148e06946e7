"""Text in, released vectors out: encode, map, normalise, release; the labels beside them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.compose import joint_statement
from discreet.arrays import Floats32, Generator, Ids, Progress, row_blocks
from discreet.encoders.encoder import Encoder
from discreet.encoders.maps import PublicMap
from discreet.encoders.settings import EncoderSettings, MapSettings
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import described, find
from discreet.mechanisms.sentence import unit_rows
from discreet.protocols import LabelMechanism, Release, SentenceMechanism
from discreet.randomness import secure_generator
from discreet.receipt import Receipt
from discreet.release.vectors import VectorSet
from discreet.statement import PrivacyStatement, Unit
from discreet.text.labelled import codes_of

if TYPE_CHECKING:
    from discreet.text.kept import Frame

_BLOCK = 8192


@dataclass(frozen=True)
class SentenceEmbedder:
    """Releases the vector of each sentence, and its label if it has one.

    A sentence goes through the encoder and the map, both public, and its direction is what the
    mechanism protects. Vectors of protected text exist in memory only, a block at a time.

    Privacy: unit sentence, adjacency replace, in the mechanism's notion and metric. The metric is
    that of the vectors *after* the map, and its name carries the fingerprints of encoder and map:
    with another of either, distances are others. A map decides which sentences are far apart, a
    trained one on purpose; whatever it does, any two sentences lose at most epsilon times the
    largest distance, pi for angles. Sentence and label together: the two losses add.

    Args:
        encoder: From :func:`discreet.encoders.encoder.load_encoder`.
        map: Public, made for this encoder.
        mechanism: A sentence mechanism of the map's dimension.
        labels: The possible labels, known in advance; a list read off the protected labels is not
            public. None if no labels are released.
        label_mechanism: Over as many classes as there are labels; None releases labels as they are,
            and the statement says so.

    >>> from discreet.encoders.encoder import Encoder
    >>> from discreet.mechanisms.sentence import Purkayastha
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return np.array([[len(text), 1.0, 0.0] for text in texts], np.float32)
    >>> encoder = Encoder("lengths", "0" * 64, 3, "an example", Lengths())
    >>> embedder = SentenceEmbedder(encoder, PublicMap.random(3, 2), Purkayastha(2, epsilon=5.0))
    >>> release = embedder.release(["We waited two hours.", "Good."])
    >>> release.values.vectors.shape, release.units
    ((2, 2), 2)
    """

    encoder: Encoder
    map: PublicMap
    mechanism: SentenceMechanism
    labels: tuple[str, ...] | None = None
    label_mechanism: LabelMechanism | None = None

    def __post_init__(self) -> None:
        self.map.require(self.encoder.fingerprint)
        if self.map.inputs != self.encoder.dimension:
            raise InvalidValue(
                f"the map takes vectors of {self.map.inputs} dimensions and the encoder gives "
                f"{self.encoder.dimension}; use the encoder that the map was made for"
            )
        if self.map.dimension != self.mechanism.dimension:
            raise InvalidValue(
                f"the map gives {self.map.dimension} dimensions and the mechanism takes "
                f"{self.mechanism.dimension}; make them equal"
            )
        if self.labels is None:
            if self.label_mechanism is not None:
                raise InvalidValue("a label mechanism needs the list of possible labels")
            return
        if len(self.labels) < 2 or len(set(self.labels)) < len(self.labels):
            raise InvalidValue(
                "the possible labels must be at least 2 and all different; "
                f"got {len(self.labels)}, {len(set(self.labels))} of them different"
            )
        if self.label_mechanism is not None and self.label_mechanism.classes != len(self.labels):
            raise InvalidValue(
                f"the label mechanism is over {self.label_mechanism.classes} labels; "
                f"{len(self.labels)} are given"
            )

    @classmethod
    def from_names(
        cls,
        mechanism: str,
        settings: Mapping[str, Any],
        map: MapSettings | None = None,
        encoder: EncoderSettings | None = None,
        *,
        labels: Sequence[str] | None = None,
        label_mechanism: LabelMechanism | None = None,
        called: Callable[[str], str] = str,
        progress: Progress | None = None,
    ) -> "SentenceEmbedder":
        """Load and make everything; what is quick to check is checked first.

        Args:
            mechanism: Its name, such as ``"purkayastha"``.
            settings: Of the mechanism, by the names of its parameters, without the dimension.
            map: Which map; random directions unless given.
            encoder: Which one; the default encoder unless given.
            labels: See the class.
            label_mechanism: See the class.
            called: How messages call a setting.
            progress: Called with (done, total) while public text is encoded for a map.
        """
        chosen = map or MapSettings()
        entry = find(mechanism, "sentence", what=called("mechanism"))
        built: SentenceMechanism = entry.build(
            {"dimension": chosen.dimension, **settings}, called=called
        )
        model = (encoder or EncoderSettings()).load()
        public = chosen.map_for(model, progress)
        return cls(model, public, built, None if labels is None else tuple(labels), label_mechanism)

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each sentence, and its label with it."""
        statement = self.mechanism.statement.with_public("the order of the sentences")
        metric = statement.metric
        if metric is not None:
            name = (
                f"{metric.name}, after encoder {self.encoder.fingerprint[:12]} "
                f"and map {self.map.fingerprint[:12]}"
            )
            statement = replace(statement, metric=replace(metric, name=name))
        if self.map.caveat is not None:
            statement = statement.with_caveats(self.map.caveat)
        if self.label_mechanism is not None:
            statement = joint_statement(statement, self.label_mechanism.statement)
        elif self.labels is not None:
            statement = statement.with_public("the labels, which are released as they are")
        if metric is None:
            return statement
        most = statement.epsilon * metric.farthest + statement.slack
        return statement.with_caveats(
            "distances are those after the map, which decides what is far apart (a trained map: "
            "what its task tells apart); between any two sentences the loss is at most "
            f"{most:.4g}"
        )

    def whole(self, count: int, unit: Unit) -> PrivacyStatement:
        """The guarantee for a whole of so many sentences.

        Of a pair both sentences, each with its label, which is once more than it costs.
        """
        return self.statement.for_units(max(1, count), unit=unit)

    def units(self, texts: Sequence[str], *, progress: Progress | None = None) -> Any:
        """UNPROTECTED unit vectors after the map: for public text, and for what comes next here."""
        return unit_rows(self.map.apply(self.encoder.encode(texts, progress=progress)))

    def release(
        self,
        texts: Sequence[str],
        labels: Sequence[str] | None = None,
        rng: Generator | None = None,
        *,
        second: Sequence[str] | None = None,
        first_row: int = 1,
        progress: Progress | None = None,
    ) -> Release[VectorSet]:
        """Release the vector of each sentence once.

        Args:
            texts: The sentences, none of them blank.
            labels: Of each sentence, if this embedder releases labels.
            rng: Leave it out for a release; a seeded one is for experiments, and the statement of
                the result says that it was used.
            second: The second sentence of each row, where rows are pairs.
            first_row: Number of the first row, for messages.
            progress: Called with (done, total) in sentences.
        """
        rng = secure_generator() if rng is None else rng
        pairs = second is not None
        sides = [texts] if second is None else [texts, second]
        if any(len(side) != len(texts) for side in sides):
            raise InvalidValue(f"{len(texts)} sentences need as many second ones")
        for side in sides:
            _refuse_blank(side, first_row)
        indices = self._indices(labels, len(texts), first_row)  # before any noise is drawn
        units = len(texts) * len(sides)
        vectors = [
            self._released(side, rng, number * len(texts), units, progress)
            for number, side in enumerate(sides)
        ]
        statement = self.statement
        if pairs:
            statement = statement.with_caveats(_PAIRS)
        values = VectorSet(
            vectors[0], vectors[1] if pairs else None, self._drawn_labels(indices, rng)
        )
        return Release.of(values, statement, units, rng)

    def embed_batch(
        self,
        table: "Frame",
        text: str = "text",
        *,
        label: str | None = None,
        second: str | None = None,
        rng: Generator | None = None,
    ) -> "Frame":
        """An Arrow table or record batch with vectors in place of its texts.

        The columns of texts and of true labels are left out, every other one keeps its values, and
        ``vector`` comes last, with ``vector2`` and ``label`` where there are such.

        Args:
            table: a ``pyarrow.Table`` or ``pyarrow.RecordBatch``; the same comes back.
            text: the column of sentences. A null has no vector.
            label: of their labels, if this embedder releases labels.
            second: of the second sentences, where rows are pairs.
            rng: leave it out for a release.
        """
        from discreet.release.tables import release_vectors

        return release_vectors(self, table, text, label=label, second=second, rng=rng).values

    def receipt(self, release: Release[VectorSet]) -> Receipt:
        """What was released and how."""
        label = self.label_mechanism
        labels: dict[str, Any] | None = None
        if self.labels is not None:
            transition = np.eye(len(self.labels)) if label is None else label.transition
            labels = {
                "mechanism": "none" if label is None else label.name,
                "labels": list(self.labels),
                "epsilon": None if label is None else label.epsilon,
                "transition": transition.tolist(),
            }
        return Receipt(
            release.statement,
            {
                "mechanism": described(self.mechanism),
                "encoder": self.encoder.to_dict(),
                "map": {
                    "about": self.map.about,
                    "fingerprint": self.map.fingerprint,
                    "dimension": self.map.dimension,
                },
                "label": labels,
                "counts": {"rows": len(release.values), "sentences": release.units},
            },
        )

    def _released(
        self,
        texts: Sequence[str],
        rng: Generator,
        before: int,
        total: int,
        progress: Progress | None,
    ) -> Floats32:
        """Block after block, so that unprotected vectors are few at any time."""
        out = np.empty((len(texts), self.mechanism.dimension), dtype=np.float32)
        for part in row_blocks(len(texts), numbers=_BLOCK):
            done = before + part.start

            def show(count: int, _total: int, done: int = done) -> None:
                if progress is not None:
                    progress(done + count, total)

            out[part] = self.mechanism.release(self.units(texts[part], progress=show), rng)
        return out

    def _indices(self, labels: Sequence[str] | None, rows: int, first_row: int) -> Ids | None:
        if (labels is None) != (self.labels is None):
            raise InvalidValue("give labels if the embedder knows the possible ones, and only then")
        if labels is None or self.labels is None:
            return None
        if len(labels) != rows:
            raise InvalidValue(f"{rows} sentences need as many labels; got {len(labels)}")
        return codes_of(labels, self.labels, first_row=first_row)

    def _drawn_labels(self, indices: Ids | None, rng: Generator) -> list[str] | None:
        if indices is None or self.labels is None:
            return None
        if self.label_mechanism is not None:
            indices = self.label_mechanism.release(indices, rng)
        return [self.labels[index] for index in indices]


_PAIRS = (
    "two sentences of each row are released, each with noise of its own: the guarantee is for "
    "either of them, and changing both costs the sum of their losses, a label's counted once"
)


def _refuse_blank(texts: Sequence[str], first_row: int) -> None:
    for row, text in enumerate(texts, first_row):
        if not isinstance(text, str):  # a null of a table, say
            raise InvalidValue(
                f"the text of row {row} is not a string; got one of type {type(text).__name__}: "
                "complete the row, or drop it"
            )
        if not text.strip():
            raise InvalidValue(
                f"the text of row {row} is empty; an encoder needs at least one word: "
                "complete the row, or drop it"
            )
