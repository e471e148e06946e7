"""A file of texts in, a file of released texts out, and a receipt beside it."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from discreet.arrays import Generator, Progress
from discreet.ledger.dataset import DatasetLedger
from discreet.randomness import secure_generator
from discreet.receipt import Receipt, receipt_path
from discreet.release._parts import TextSanitizer
from discreet.release.booked import BookedSanitizer, counting, read_twice
from discreet.release.handover import HandoverSettings
from discreet.release.rows import Tally, looked_at, receipt_of_rows, release_rows
from discreet.release.strength import refuse_weak_words
from discreet.release.text import Sanitizer
from discreet.release.whole import DELTA, MOST_OF_A_PERSON, checked_delta
from discreet.settings import fields_as_keywords
from discreet.text.columns import columns_of
from discreet.text.fates import ColumnSettings
from discreet.text.fields import persons_of
from discreet.text.formats import STANDARD_STREAM
from discreet.text.readers import Batch, DocumentReader, ReadingSettings, open_documents
from discreet.text.writers import DocumentWriter, output_format


@fields_as_keywords
def sanitize_file(
    source: str | Path,
    output: str | Path,
    sanitizer: TextSanitizer | Callable[[], TextSanitizer],
    *,
    columns: ColumnSettings,
    reading: ReadingSettings,
    handover: HandoverSettings,
    accept_weak: bool = False,
    person_field: str | None = None,
    whole_delta: float = DELTA,
    rng: Generator | None = None,
    progress: Progress | None = None,
    before_publishing: Callable[[], None] | None = None,
    tell_unknown: Callable[[float], None] | None = None,
    ledger: DatasetLedger | None = None,
) -> Receipt:
    """Sanitise the texts of a file, block by block, and write a receipt beside the output.

    Every other column or field is kept, dropped or replaced by surrogates, and one of which
    nothing is said is an error. Output and receipt appear whole or not at all. The fields of
    ``columns``, ``reading`` and ``handover`` are keywords of this function, too:
    ``sanitize_file("in.csv", "out.csv", sanitizer, text_field="review", others="drop")``.

    Args:
        source: txt, csv, tsv, jsonl (each also .gz) or parquet; ``-`` is standard input.
        output: of the same format, or txt for the texts alone; ``-`` is standard output, which has
            no receipt beside it.
        sanitizer: such as :class:`Sanitizer`, or a function that makes one. It is called once the
            files were opened: a mistake in a name shows before a space is certified.
        columns: which of them hold texts, and what becomes of the others.
        reading: how the input is read; a delimiter is that of the output, too.
        handover: for whom it is, and whether it may replace an output that exists.
        accept_weak: release even if :func:`discreet.release.strength.weakness` finds one.
        person_field: column or field that says whose a text is; with it the receipt states what
            holds for the person with most text, too.
        whole_delta: what may be given away for a smaller epsilon of whole texts; 0 for none.
        rng: leave it out for a release.
        progress: called with the bytes read and in all (0: unknown).
        before_publishing: called when all is released and nothing is in its place yet.
        tell_unknown: called before anything is released, with the share of the words at the
            beginning of the file that the vocabulary does not have. It was counted on protected
            text: it may be shown to whoever has the text, and goes nowhere else.
        ledger: where the release is booked: all is counted and reserved before anything is drawn,
            and committed before anything is in its place.

    Returns:
        the receipt, with the statement that holds for each word and the counts.
    """
    delta, fates = checked_delta(whole_delta), columns.fates
    companions = [] if str(output) == STANDARD_STREAM else [receipt_path(output)]
    opened_again = partial(open_documents, source, reading=reading, text_field=fates.texts[0])
    with opened_again() as reader, ExitStack() as stack:
        persons = None if person_field is None else persons_of(reader, person_field)
        parts = columns_of(reader, fates, output_format(str(output), reader)[0])
        opened = DocumentWriter(
            output, reader, shape=parts.shape, force=handover.force, companions=companions
        )
        writer = stack.enter_context(opened)
        made = sanitizer() if callable(sanitizer) else sanitizer
        if not accept_weak:
            refuse_weak_words(made)
        rng = secure_generator() if rng is None else rng
        batches, booked, unbooked = iter(reader), None, made
        if ledger is not None:
            made = booked = BookedSanitizer(ledger, counting(made), delta)
            counted_first, batches = read_twice(reader, source, opened_again)
            for batch in counted_first:
                owners = None if persons is None else persons(batch)
                booked.count(parts.part(batch).texts.values(), owners)
            stack.enter_context(booked.reserved(rng))
        if tell_unknown is not None and isinstance(unbooked, Sanitizer):
            batches = looked_at(batches, parts, unbooked.unknown_share, tell_unknown)

        def write(batch: Batch) -> None:
            writer.write(batch)
            if progress is not None:
                progress(reader.bytes_read, reader.total_bytes or 0)

        tally = release_rows(batches, parts, made, write, rng, persons)
        parts.check_complete()
        public = parts.public if persons is None else (*parts.public, MOST_OF_A_PERSON)
        about = {"input": _told(reader, tally, person_field), "columns": parts.fates}
        receipt = receipt_of_rows(made, tally, public, about, delta)
        receipt = receipt.between(handover.operator, handover.recipient)
        if before_publishing is not None:
            before_publishing()
        if booked is not None:
            booked.require_same(tally.wholes)
            receipt = booked.entered(receipt)
        if (digest := writer.complete()) is not None:
            receipt = receipt.of_output(digest)
        if booked is not None:
            booked.commit(receipt)
        writer.finish(dict.fromkeys(companions, receipt.to_json().encode()))
    return receipt


def _told(reader: DocumentReader, tally: Tally, person_field: str | None) -> dict[str, Any]:
    """What the receipt says of the input."""
    fields = reader.text_field if len(tally.words) == 1 else list(tally.words)
    told = {"format": reader.format, "text_field": fields}
    return told if person_field is None else {**told, "person_field": person_field}
