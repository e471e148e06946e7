"""A file of texts in, a file of released vectors out, and a receipt beside it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from discreet import check
from discreet.arrays import Generator, Ids, Progress
from discreet.errors import InputError, InvalidValue
from discreet.ledger.dataset import DatasetLedger
from discreet.protocols import Release
from discreet.randomness import secure_generator
from discreet.receipt import Receipt
from discreet.release.booked import BookedRows, read_twice
from discreet.release.documents import CANDIDATE, DocumentEmbedder
from discreet.release.handover import HandoverSettings
from discreet.release.sentences import SentenceEmbedder
from discreet.release.strength import refuse_weak_vectors
from discreet.release.vectors import RESERVED, VectorSet, check_output, write_vectors
from discreet.settings import Setting, Settings, fields_as_keywords
from discreet.statement import Unit
from discreet.text.fields import Field, field_of, labels_of, persons_of, strings_of
from discreet.text.readers import Batch, DocumentReader, ReadingSettings, open_documents
from discreet.text.sentences import split_sentences

Embedder = SentenceEmbedder | DocumentEmbedder
_BATCHES = {Unit.SENTENCE: 65_536, Unit.DOCUMENT: 1024}
"""Rows that are released in one call."""
_LABEL = "label"


@dataclass(frozen=True, kw_only=True)
class VectorColumns(Settings):
    """What a row has to release, and what is written beside its vector."""

    heading: ClassVar[str] = "Columns"

    text_field: str = Setting("Column or field that holds the text.").default("text")
    pair_field: str | None = Setting(
        "Column or field of the second sentence, if rows are pairs."
    ).default(None)
    label_field: str | None = Setting(
        "Column or field of a label to release with the vector."
    ).default(None)
    keep: Sequence[str] = Setting(
        "Write this column as it is beside the vectors; repeatable."
    ).default(())


@fields_as_keywords
def embed_file(
    source: str | Path,
    output: Path,
    embedder: Embedder | Callable[[], Embedder],
    *,
    unit: str = "sentence",
    columns: VectorColumns,
    reading: ReadingSettings,
    handover: HandoverSettings,
    accept_weak: bool = False,
    rng: Generator | None = None,
    progress: Progress | None = None,
    tells: Callable[[Any], Mapping[str, Any]] | None = None,
    person_field: str | None = None,
    ledger: DatasetLedger | None = None,
) -> Receipt:
    """Release a vector for each text of a file; it and its receipt appear whole or not at all.

    The fields of ``columns``, ``reading`` and ``handover`` are keywords of this function, too.

    Args:
        source: txt, csv, tsv, jsonl (each also .gz) or parquet; ``-`` is standard input.
        output: Ends in ``.parquet`` or ``.npz``, or in ``.npy`` for vectors of sentences alone; its
            receipt comes beside it.
        embedder: Or a function that makes one, called once the input was opened: a mistake in a
            name shows before an encoder is loaded.
        unit: What a text is, ``"sentence"`` or ``"document"``; the embedder's.
        columns: What a row has to release, and what is written beside its vector.
        reading: How the input is read.
        handover: For whom it is, and whether it may replace an output that exists.
        accept_weak: Release even if the statement promises next to nothing.
        rng: Leave it out for a release.
        progress: Called with the bytes read and in all (0: unknown).
        tells: What else the receipt says of an embedder, by heading; it never sees the file.
        person_field: For the ledger, column or field that says whose a text is.
        ledger: Where the release is booked before anything is drawn.
    """
    check.one_of(unit, list(_BATCHES), "unit of embed_file")
    of_documents = unit == Unit.DOCUMENT
    text_field, keep = columns.text_field, columns.keep
    pair_field, label_field = columns.pair_field, columns.label_field
    beside = _beside_vectors(of_documents, text_field, pair_field, label_field, keep)
    check_output(output, source, force=handover.force, beside=beside)
    rng = secure_generator() if rng is None else rng
    opened = partial(
        open_documents,
        source,
        reading=reading,
        text_field=text_field,
        batch_documents=_BATCHES[Unit(unit)],
    )
    with opened() as reader, ExitStack() as stack:
        kept = {n: (labels_of if n == _LABEL else field_of)(reader, n) for n in keep}
        persons = None if person_field is None else persons_of(reader, person_field)
        protected: dict[str, Field] = {}
        if pair_field is not None:
            protected["second"] = strings_of(reader, pair_field, "a second sentence")
        if label_field is not None:
            protected["labels"] = labels_of(reader, label_field)
        made = embedder() if callable(embedder) else embedder
        if isinstance(made, DocumentEmbedder) != of_documents:
            raise InvalidValue(f"unit says {unit}, and the embedder is for another one")
        if not accept_weak:
            refuse_weak_vectors(made.statement)
        booked = BookedRows(ledger, made.whole, made.mechanism.name)
        batches: Iterable[Batch] = reader
        if ledger is not None:
            first, batches = read_twice(reader, source, opened)
            for batch in first:
                owners = None if persons is None else persons(batch)
                texts = _texts(batch, _read(protected, batch))
                booked.count([(each, sentences_in(made, each)) for each in texts], owners)

        def released(batch: Batch, show: Progress) -> Release[VectorSet]:
            own = _read(protected, batch)
            release = made.release(
                batch.texts, rng=rng, first_row=batch.first_row, progress=show, **own
            )
            booked.remember(*_texts(batch, own))
            return release

        stack.enter_context(booked.reserved(rng))
        release, read = _released_batches(reader, kept, released, progress, batches)
        fields = {"format": reader.format, "text_field": reader.text_field, "kept": list(keep)}
        if isinstance(made, SentenceEmbedder):
            fields |= {"pair_field": pair_field, "label_field": label_field}
            receipt = made.receipt(release)
        elif not len(release.values):
            raise InvalidValue(
                f"none of the {read} documents has 2 sentences; nothing can be released"
            )
        else:
            receipt = made.receipt(release, read - len(release.values))
        receipt = receipt.with_section("input", fields)
        for heading, told in (tells(made) if tells is not None else {}).items():
            receipt = receipt.with_section(heading, told)
        receipt = booked.entered(receipt.between(handover.operator, handover.recipient))
        return write_vectors(
            output, release.values, receipt, force=handover.force, before=booked.commit
        )


def _read(protected: Mapping[str, Field], batch: Batch) -> dict[str, Any]:
    """What is released of rows beside their texts."""
    return {name: field(batch) for name, field in protected.items()}


def _texts(batch: Batch, own: Mapping[str, Any]) -> list[Sequence[str]]:
    """The texts of rows, field by field: of pairs those of both."""
    return [batch.texts, own["second"]] if "second" in own else [batch.texts]


def sentences_in(embedder: Embedder, texts: Sequence[str]) -> Ids:
    """How many sentences each text releases, or is a group of."""
    if isinstance(embedder, DocumentEmbedder):
        return np.diff(split_sentences(texts)[1])
    return np.ones(len(texts), np.int64)


def _beside_vectors(
    of_documents: bool,
    text: str,
    second: str | None,
    label: str | None,
    keep: Sequence[str],
) -> list[str]:
    """What will stand beside the vectors.

    What is protected is not kept, nor what has the name of another part of the output.
    """
    if of_documents and (second is not None or label is not None):
        raise InvalidValue("pair_field and label_field are for sentences; leave them out")
    for name in keep:
        if name in (text, second, label):
            raise InvalidValue(
                f"--keep {name} would write out the very text that is to be protected; leave it out"
            )
        # Labels that stay as they are stand where released ones would.
        taken = {*RESERVED, *((CANDIDATE,) if of_documents else ())} - {_LABEL}
        if name in taken or (name == _LABEL and label is not None):
            raise InvalidValue(
                f"--keep {name} has the name of another column of the output; rename it first"
            )
    used = [name for name in (text, second, label, *keep) if name is not None]
    if len(set(used)) < len(used):
        raise InputError("each field can be used once: text, second text, label or kept")
    beside = {
        "numbers of documents": of_documents,
        "second vectors": second,
        "labels": label,
        "kept columns": keep,
    }
    return [what for what, there in beside.items() if there]


def _released_batches(
    reader: DocumentReader,
    kept: Mapping[str, Field],
    released: Callable[[Batch, Progress], Release[VectorSet]],
    progress: Progress | None,
    batches: Iterable[Batch],
) -> tuple[Release[VectorSet], int]:
    """Release batch after batch, each with its kept columns, as one release; and count the texts.

    Args:
        reader: where the batches come from.
        kept: columns that are written as they are.
        released: the release of one batch; it is handed a function to call with (done, total).
        progress: called with the bytes read and in all (0: unknown).
        batches: of the reader.
    """
    parts = []
    before = read = 0
    for batch in batches:
        now = reader.bytes_read

        def show(done: int, total: int, before: int = before, now: int = now) -> None:
            if progress is not None:
                progress(before + (now - before) * done // total, reader.total_bytes or 0)

        release = released(batch, show)
        read += len(batch.texts)
        values = release.values
        columns = {name: field(batch) for name, field in kept.items()}
        if values.rows is not None:
            places = (values.rows - batch.first_row).tolist()
            columns = {name: [column[i] for i in places] for name, column in columns.items()}
        labels = columns.pop(_LABEL, values.labels)
        made = replace(values, labels=labels, kept={**columns, **values.kept})
        parts.append(replace(release, values=made))
        show(1, 1)
        before = now
    statement = parts[0].statement
    if kept:
        statement = statement.with_public(f"what is kept as it is: {', '.join(kept)}")
    values = VectorSet.joined([part.values for part in parts])
    return Release(values, statement, sum(part.units for part in parts)), read
