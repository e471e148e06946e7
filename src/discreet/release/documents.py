"""Documents in, one released vector each: cut into sentences, encode, let a mechanism choose."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.accounting.lifting import group_as
from discreet.arrays import Generator, Progress
from discreet.encoders.candidate_store import CandidateStore
from discreet.encoders.encoder import Encoder
from discreet.encoders.settings import EncoderSettings
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import described, find
from discreet.protocols import ChoosingMechanism, DocumentMechanism, Release
from discreet.randomness import secure_generator
from discreet.receipt import Receipt
from discreet.release.vectors import VectorSet
from discreet.settings import Setting, Settings
from discreet.statement import PrivacyStatement, Unit
from discreet.text.sentences import kept_documents, long_enough, refuse_short, split_sentences

if TYPE_CHECKING:
    from discreet.text.kept import Frame

CANDIDATE = "candidate"
"""The column with the public document that was chosen."""


@dataclass(frozen=True, kw_only=True)
class CandidateSettings(Settings):
    """Where the public side of a document mechanism is, and what is written of it."""

    heading: ClassVar[str] = "Documents"

    candidates: Path | None = Setting(
        "--unit document: the public side, a folder from 'discreet train candidates'."
    ).default(None)
    with_candidate_text: bool = Setting(
        "--unit document: write the PUBLIC document that was chosen beside its vector."
    ).default(False)
    skip_short: bool = Setting(
        "--unit document: leave out documents of fewer than 2 sentences, which are an error "
        "otherwise."
    ).default(False)


@dataclass(frozen=True)
class DocumentEmbedder:
    """Releases one vector for each document, any sentence of which is protected.

    Documents are cut into sentences and encoded; vectors of protected text exist in memory only.

    Privacy: that of the mechanism, unit sentence, adjacency replace.

    Args:
        encoder: From :func:`discreet.encoders.encoder.load_encoder`.
        store: The public side, made for this encoder.
        mechanism: A document mechanism made from the store.
        with_candidate_text: Keep the PUBLIC document that was chosen beside its vector, in the
            column ``candidate``; for mechanisms that choose one.
        skip_short: Leave out documents of fewer than 2 sentences, which are an error otherwise.
    """

    encoder: Encoder
    store: CandidateStore
    mechanism: DocumentMechanism
    with_candidate_text: bool = False
    skip_short: bool = False

    def __post_init__(self) -> None:
        self.store.require(self.encoder.fingerprint)
        if self.with_candidate_text:
            _require_choice(self.mechanism)

    @classmethod
    def from_names(
        cls,
        mechanism: str,
        settings: Mapping[str, Any],
        public: CandidateSettings,
        encoder: EncoderSettings | None = None,
        *,
        called: Callable[[str], str] = str,
    ) -> "DocumentEmbedder":
        """Load and make everything; what is quick to check is checked first.

        Args:
            mechanism: Its name, such as ``"sentence-votes"``.
            settings: Of the mechanism, by the names of its parameters.
            public: The store to choose from, and what is written of it.
            encoder: Which one; the default encoder unless given.
            called: How messages call a setting.
        """
        entry = find(mechanism, "document", what=called("mechanism"))
        if public.candidates is None:
            raise InvalidValue(
                f"{mechanism} needs --candidates, a folder that 'discreet train candidates' "
                "made from public documents"
            )
        store = CandidateStore.load(public.candidates)
        built: DocumentMechanism = entry.build({"store": store, **settings}, called=called)
        if public.with_candidate_text:
            _require_choice(built)
        model = (encoder or EncoderSettings()).load()
        return cls(model, store, built, public.with_candidate_text, public.skip_short)

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee for each sentence of a released document."""
        return self.mechanism.statement

    def whole(self, count: int, unit: Unit) -> PrivacyStatement:
        """The guarantee for a whole of so many sentences.

        One release speaks of all sentences of a document: they are a group, not draws apart.
        """
        return group_as(self.statement, max(1, count), unit)

    def release(
        self,
        texts: Sequence[str],
        rng: Generator | None = None,
        *,
        first_row: int = 1,
        progress: Progress | None = None,
    ) -> Release[VectorSet]:
        """Release the vector of each document once; its units are sentences.

        Args:
            texts: The documents.
            rng: Leave it out for a release; a seeded one is for experiments.
            first_row: Number of the first document, for messages and for ``values.rows``.
            progress: Called with (done, total) in sentences.
        """
        rng = secure_generator() if rng is None else rng
        sentences, offsets = split_sentences(texts)
        if not self.skip_short:
            refuse_short(offsets, first_row=first_row)
        enough = long_enough(offsets)
        rows = first_row + np.flatnonzero(enough)
        if not len(rows):
            none = VectorSet(np.empty((0, self._released_dimension), np.float32), rows=rows)
            return Release.of(none, self.statement, 0, rng)
        sentences, offsets = kept_documents(sentences, offsets, enough)
        vectors = self.encoder.encode(sentences, progress=progress)
        if self.mechanism.recoded:
            vectors = self.store.recoded(vectors)
        kept: dict[str, list[Any]] = {}
        if isinstance(self.mechanism, ChoosingMechanism):
            chosen = self.mechanism.select(vectors, rng, offsets)
            out = self.mechanism.choices[chosen]
            if self.with_candidate_text:
                kept[CANDIDATE] = [self._texts_of_choices[index] for index in chosen]
        else:
            out = self.mechanism.release(vectors, rng, offsets)
        released = VectorSet(out, rows=rows, kept=kept)
        return Release.of(released, self.statement, len(sentences), rng)

    def embed_batch(
        self, table: "Frame", text: str = "text", *, rng: Generator | None = None
    ) -> "Frame":
        """An Arrow table or record batch with vectors in place of its documents.

        The documents are left out, every other column stays as it is, and ``vector`` comes last,
        with ``candidate`` if this embedder writes it. A null has no vector, and with
        ``skip_short`` neither has a document of fewer than 2 sentences.

        Args:
            table: a ``pyarrow.Table`` or ``pyarrow.RecordBatch``; the same comes back.
            text: the column of documents.
            rng: leave it out for a release.
        """
        from discreet.release.tables import release_vectors

        return release_vectors(self, table, text, rng=rng).values

    def receipt(self, release: Release[VectorSet], left_out: int = 0) -> Receipt:
        """What was released and how."""
        public = {name: getattr(self.mechanism, name, None) for name in ("choices", "projections")}
        sizes = {name: len(rows) for name, rows in public.items() if rows is not None}
        return Receipt(
            release.statement,
            {
                "mechanism": {
                    **described(self.mechanism),
                    "dimension": release.values.dimension,
                    **sizes,
                },
                "encoder": self.encoder.to_dict(),
                "candidates": {
                    "fingerprint": self.store.fingerprint,
                    "about": dict(self.store.about),
                },
                "counts": {
                    "documents": len(release.values),
                    "sentences": release.units,
                    "left_out": left_out,
                },
            },
        )

    @cached_property
    def _texts_of_choices(self) -> tuple[str, ...]:
        """For each choice the public document that stands for it: itself, or the nearest one."""
        choices = _require_choice(self.mechanism).choices
        if np.array_equal(choices, self.store.candidates):
            return self.store.texts
        places = self.store.recoded(choices).astype(np.float64)
        candidates = self.store.candidates.astype(np.float64)
        lengths = np.einsum("ij,ij->i", candidates, candidates) / 2
        nearest = (places @ candidates.T - lengths).argmax(axis=1)
        return tuple(self.store.texts[i] for i in nearest)

    @property
    def _released_dimension(self) -> int:
        choices = getattr(self.mechanism, "choices", None)
        return self.mechanism.dimension if choices is None else int(choices.shape[1])


def _require_choice(mechanism: DocumentMechanism) -> ChoosingMechanism:
    if not isinstance(mechanism, ChoosingMechanism):
        raise InvalidValue(
            f"{mechanism.name} chooses no public document; leave out --with-candidate-text"
        )
    return mechanism
