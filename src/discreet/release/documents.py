"""Documents in, one released vector each: cut into sentences, encode, let a mechanism choose.

:class:`DocumentEmbedder` takes texts, :func:`embed_document_file` takes a file and leaves a receipt
beside what it writes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from discreet.accounting.lifting import group_as
from discreet.arrays import Generator, Progress
from discreet.encoders.candidate_store import CandidateStore
from discreet.encoders.encoder import Encoder
from discreet.encoders.settings import EncoderSettings
from discreet.errors import InvalidValue
from discreet.ledger.dataset import DatasetLedger
from discreet.mechanisms.registry import described, find
from discreet.protocols import ChoosingMechanism, DocumentMechanism, Release
from discreet.randomness import secure_generator
from discreet.receipt import Receipt
from discreet.release._batches import check_kept, kept_columns, released_batches
from discreet.release.booked import BookedRows, read_twice
from discreet.release.strength import refuse_weak_vectors
from discreet.release.vectors import VectorSet, check_output, write_vectors
from discreet.settings import Setting, Settings
from discreet.statement import PrivacyStatement, Unit
from discreet.text.fields import persons_of
from discreet.text.formats import UTF_8
from discreet.text.readers import MAX_DOCUMENT_BYTES, Batch, open_documents
from discreet.text.sentences import kept_documents, long_enough, refuse_short, split_sentences

if TYPE_CHECKING:
    from discreet.release.tables import Frame

CANDIDATE = "candidate"
"""The column with the public document that was chosen."""
_BATCH = 1024


@dataclass(frozen=True, kw_only=True)
class CandidateSettings(Settings):
    """Where the public side of a document mechanism is, and what is written of it."""

    candidates: Annotated[
        Path | None,
        Setting("--unit document: the public side, a folder from 'discreet train candidates'."),
    ] = None
    with_candidate_text: Annotated[
        bool,
        Setting("--unit document: write the PUBLIC document that was chosen beside its vector."),
    ] = False
    skip_short: Annotated[
        bool,
        Setting(
            "--unit document: leave out documents of fewer than 2 sentences, which are an error "
            "otherwise."
        ),
    ] = False


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
        from discreet.release.tables import release_documents

        return release_documents(self, table, text, rng=rng).values

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


def embed_document_file(
    source: str | Path,
    output: Path,
    embedder: DocumentEmbedder | Callable[[], DocumentEmbedder],
    *,
    text_field: str = "text",
    keep: Sequence[str] = (),
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = UTF_8,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
    force: bool = False,
    accept_weak: bool = False,
    operator: str | None = None,
    recipient: str | None = None,
    rng: Generator | None = None,
    progress: Progress | None = None,
    person_field: str | None = None,
    ledger: DatasetLedger | None = None,
) -> Receipt:
    """Release a vector for each text of a file, taken as a document; both files whole or neither.

    Args:
        source: txt, csv, tsv, jsonl (each also .gz) or parquet; ``-`` is standard input.
        output: Ends in ``.parquet`` or ``.npz``; its receipt comes beside it.
        embedder: Or a function that makes one, called once the input was opened.
        text_field: Column or field that holds the text.
        keep: Columns that are written as they are beside the vectors.
        format: Of the input, if its name does not tell it.
        delimiter: Between the fields of csv; a comma unless given.
        encoding: Of the input.
        max_document_bytes: Longer documents are refused.
        force: Replace an output that exists.
        accept_weak: Release even if the statement promises next to nothing.
        operator: Who releases it, for the receipt.
        recipient: Whom it is released for, for the receipt.
        rng: Leave it out for a release.
        progress: Called with the bytes read and in all (0: unknown).
        person_field: For the ledger, column or field that says whose a text is.
        ledger: Where the release is booked before anything is drawn.
    """
    check_kept(keep, protected=(text_field,))
    if CANDIDATE in keep:
        raise InvalidValue(
            f"--keep {CANDIDATE} has the name of another column of the output; rename it first"
        )
    check_output(output, source, force=force, beside=["numbers of documents"])
    rng = secure_generator() if rng is None else rng
    read = 0
    opened = partial(
        open_documents,
        source,
        format=format,
        delimiter=delimiter,
        encoding=encoding,
        text_field=text_field,
        max_document_bytes=max_document_bytes,
        batch_documents=_BATCH,
    )
    with opened() as reader, ExitStack() as stack:
        kept = kept_columns(reader, keep)
        persons = None if person_field is None else persons_of(reader, person_field)
        made = embedder() if callable(embedder) else embedder
        if not accept_weak:
            refuse_weak_vectors(made.statement)

        def lifted(count: int, unit: Unit) -> PrivacyStatement:
            # One release speaks of all sentences of a document: they are a group, not draws apart.
            return group_as(made.statement, max(1, count), unit)

        booked = BookedRows(ledger, lifted, made.mechanism.name)
        batches: Iterable[Batch] = reader
        if ledger is not None:
            first, batches = read_twice(reader, source, opened)
            for batch in first:
                owners = None if persons is None else persons(batch)
                booked.count(batch.texts, np.diff(split_sentences(batch.texts)[1]), owners)

        def released(batch: Batch, show: Progress) -> Release[VectorSet]:
            nonlocal read
            read += len(batch.texts)
            release = made.release(batch.texts, rng, first_row=batch.first_row, progress=show)
            booked.remember(batch.texts)
            return release

        stack.enter_context(booked.reserved(rng))
        release = released_batches(reader, kept, released, progress, batches)
        if not len(release.values):
            raise InvalidValue(
                f"none of the {read} documents has 2 sentences; nothing can be released"
            )
        fields = {"format": reader.format, "text_field": reader.text_field, "kept": list(keep)}
        receipt = made.receipt(release, read - len(release.values)).with_section("input", fields)
        receipt = booked.entered(receipt.between(operator, recipient))
        return write_vectors(output, release.values, receipt, force=force, before=booked.commit)


def _require_choice(mechanism: DocumentMechanism) -> ChoosingMechanism:
    if not isinstance(mechanism, ChoosingMechanism):
        raise InvalidValue(
            f"{mechanism.name} chooses no public document; leave out --with-candidate-text"
        )
    return mechanism
