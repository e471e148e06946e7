"""A file of texts in, a file of released texts out, and a receipt beside it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from discreet.arrays import Generator, Progress
from discreet.errors import InvalidValue
from discreet.ledger.dataset import DatasetLedger
from discreet.randomness import secure_generator
from discreet.receipt import Receipt, receipt_path
from discreet.release._parts import TextSanitizer
from discreet.release.booked import BookedSanitizer, counting, read_twice
from discreet.release.rows import looked_at, receipt_of_rows, release_rows
from discreet.release.strength import weakness
from discreet.release.text import Sanitizer
from discreet.release.whole import DELTA, MOST_OF_A_PERSON, checked_delta
from discreet.text.columns import columns_of
from discreet.text.fates import Fates
from discreet.text.fields import persons_of
from discreet.text.formats import STANDARD_STREAM, UTF_8
from discreet.text.readers import MAX_DOCUMENT_BYTES, Batch, open_documents
from discreet.text.writers import open_output, output_format


def sanitize_file(
    source: str | Path,
    output: str | Path,
    sanitizer: TextSanitizer | Callable[[], TextSanitizer],
    *,
    text_field: str | Sequence[str] = "text",
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    surrogates: Mapping[str, str] | None = None,
    others: str | None = None,
    accept_weak: bool = False,
    person_field: str | None = None,
    whole_delta: float = DELTA,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = UTF_8,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
    force: bool = False,
    operator: str | None = None,
    recipient: str | None = None,
    rng: Generator | None = None,
    progress: Progress | None = None,
    before_publishing: Callable[[], None] | None = None,
    tell_unknown: Callable[[float], None] | None = None,
    ledger: DatasetLedger | None = None,
) -> Receipt:
    """Sanitise the texts of a file, block by block, and write a receipt beside the output.

    Every other column or field is kept, dropped or replaced by surrogates, and one of which
    nothing is said is an error. Output and receipt appear whole or not at all.

    Args:
        source: txt, csv, tsv, jsonl (each also .gz) or parquet; ``-`` is standard input.
        output: of the same format, or txt for the texts alone; ``-`` is standard output, which has
            no receipt beside it.
        sanitizer: such as :class:`Sanitizer`, or a function that makes one. It is called once the
            files were opened: a mistake in a name shows before a space is certified.
        text_field: column or field that holds the text, or several, each of which is sanitised.
        keep: columns that are written as they are.
        drop: columns that are left out.
        surrogates: columns whose values are replaced by surrogates, each with a type such as
            ``"email"``: drawn for every row without looking at the value.
        others: ``"keep"`` or ``"drop"`` for every column that is not named.
        accept_weak: release even if :func:`discreet.release.strength.weakness` finds one.
        person_field: column or field that says whose a text is; with it the receipt states what
            holds for the person with most text, too.
        whole_delta: what may be given away for a smaller epsilon of whole texts; 0 for none.
        format: of the input, if its name does not tell it.
        delimiter: between the fields of csv, of input and output; a comma unless given.
        encoding: of the input; the output is UTF-8.
        max_document_bytes: longer documents are refused.
        force: replace an output that exists.
        operator: who releases it, for the receipt.
        recipient: whom it is released for, for the receipt.
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
    delta = checked_delta(whole_delta)
    fates = Fates(
        (text_field,) if isinstance(text_field, str) else tuple(text_field),
        *(tuple(keep), tuple(drop), surrogates or {}, others),
    )
    companions = [] if str(output) == STANDARD_STREAM else [receipt_path(output)]
    opened_again = partial(
        open_documents,
        source,
        format=format,
        delimiter=delimiter,
        encoding=encoding,
        text_field=fates.texts[0],
        max_document_bytes=max_document_bytes,
    )
    with opened_again() as reader, ExitStack() as stack:
        persons = None if person_field is None else persons_of(reader, person_field)
        columns = columns_of(reader, fates, output_format(str(output), reader)[0])
        opened = open_output(
            output, reader, shape=columns.shape, force=force, companions=companions
        )
        writer = stack.enter_context(opened)
        made = sanitizer() if callable(sanitizer) else sanitizer
        if not accept_weak and (weak := weakness(made.mechanism)) is not None:
            raise InvalidValue(f"{weak}; lower epsilon, or add --yes-weak if that is what you want")
        rng = secure_generator() if rng is None else rng
        batches, booked, unbooked = iter(reader), None, made
        if ledger is not None:
            made = booked = BookedSanitizer(ledger, counting(made), delta)
            counted_first, batches = read_twice(reader, source, opened_again)
            for batch in counted_first:
                owners = None if persons is None else persons(batch)
                booked.count(columns.part(batch).texts.values(), owners)
            stack.enter_context(booked.reserved(rng))
        if tell_unknown is not None and isinstance(unbooked, Sanitizer):
            batches = looked_at(batches, columns, unbooked.unknown_share, tell_unknown)

        def write(batch: Batch) -> None:
            writer.write(batch)
            if progress is not None:
                progress(reader.bytes_read, reader.total_bytes or 0)

        tally = release_rows(batches, columns, made, write, rng, persons)
        columns.check_complete()
        fields = reader.text_field if len(tally.words) == 1 else list(tally.words)
        told = {"format": reader.format, "text_field": fields}
        if person_field is not None:
            told["person_field"] = person_field
        public = columns.public if persons is None else (*columns.public, MOST_OF_A_PERSON)
        about = {"input": told, "columns": columns.fates}
        receipt = receipt_of_rows(made, tally, public, about, delta)
        receipt = receipt.between(operator, recipient)
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
