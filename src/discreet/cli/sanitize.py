"""``discreet sanitize``: text files in, sanitised text files with a receipt out."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import check
from discreet.cli import _options as options
from discreet.cli._choice import Choice, chooses_mechanism
from discreet.cli._mechanisms import plain_parameters
from discreet.cli._terminal import counted, progress_bar, say
from discreet.statement import RECEIPT_SUFFIX

if TYPE_CHECKING:
    from discreet.sanitizer import WordMechanism
    from discreet.statement import PrivacyStatement
    from discreet.text.readers import DocumentReader
    from discreet.text.writers import DocumentWriter

_MOST = 0.9


@chooses_mechanism
def sanitize(
    choice: Choice,
    source: options.Documents,
    output: options.Output,
    text_field: options.TextField = "text",
    format: options.Format = None,
    layout: options.Layout = "tokens",
    max_document_mb: options.MaxDocumentMb = 4.0,
    seed: options.Seed = None,
    force: options.Force = False,
) -> None:
    """Replace every word of every document by a differentially private draw.

    Only the text is protected. All other columns (a label, a name, a date) are written as they are:
    drop or protect what must not be seen. Beside OUTPUT comes OUTPUT.privacy.json, a receipt with
    the guarantee, the parameters and counts, and no text. The output is written whole or not at
    all.

    Example: discreet sanitize reviews.csv -o out.csv --epsilon 8 --text-field review
    """
    from discreet.text.readers import open_documents
    from discreet.text.writers import open_output

    largest = options.document_bytes(max_document_mb)
    documents = tokens = 0
    companions = [] if output == "-" else [Path(output + RECEIPT_SUFFIX)]
    # The files come first: a mistake in a name must not show only after a space was certified.
    with (
        open_documents(
            source, format=format, text_field=text_field, max_document_bytes=largest
        ) as reader,
        open_output(output, reader, force=force, companions=companions) as writer,
    ):
        from discreet.evaluation.explanation import mean_keep
        from discreet.randomness import generator
        from discreet.sanitizer import LAYOUTS, Sanitizer

        check.one_of(layout, list(LAYOUTS), "--layout")
        rng = generator(seed)
        vocabulary = choice.vocabulary()
        chosen = choice.build(vocabulary)
        sanitizer = Sanitizer(chosen, layout=layout)
        with progress_bar("sanitising") as show:
            for batch in reader:
                release = sanitizer.sanitize(batch.texts, rng)
                writer.write(batch.with_texts(release.values))
                documents += len(release.values)
                tokens += release.units
                show(reader.bytes_read, reader.total_bytes or 0)
        statement = release.statement
        if carries_more(reader, writer):
            statement = statement.with_public("every other column or field, written as it is")
        keep = mean_keep(chosen)
        receipt = receipt_of(chosen, statement, keep, layout, reader, documents, tokens)
        writer.finish(dict.fromkeys(companions, receipt))
    say(
        f"Sanitised {counted(tokens, 'word')} of {counted(documents, 'document')} "
        f"with {choice.name} in the space {vocabulary.name}.",
        *statement.lines(),
    )
    if keep is not None:
        how = f"{keep:.2g}" if keep < 0.99 else "over 0.99"
        much = ": most of the text comes out as it was" if keep > _MOST else ""
        say(f"At this setting a word stays as it is with probability {how} on average{much}.")
    if companions:
        say(f"Written: {output} and its receipt {companions[0]}")


def carries_more(reader: "DocumentReader", writer: "DocumentWriter") -> bool:
    """True if anything but the text goes from the input to the output."""
    if writer.format == "txt":
        return False
    names = reader.header if reader.schema is None else reader.schema.names
    return names is None or len(names) > 1


def receipt_of(
    mechanism: "WordMechanism",
    statement: "PrivacyStatement",
    keep: float | None,
    layout: str,
    reader: "DocumentReader",
    documents: int,
    tokens: int,
    rewriter: dict[str, Any] | None = None,
) -> bytes:
    """What was done, for a program or a privacy officer; nothing of the text."""
    from dataclasses import asdict

    from discreet import __version__

    certificate = getattr(mechanism, "certificate", None)
    values: dict[str, Any] = {
        "discreet": __version__,
        "statement": statement.to_dict(),
        "in_words": statement.lines(),
        "mechanism": {"name": mechanism.name, **plain_parameters(mechanism)},
        "certificate": None if certificate is None else asdict(certificate),
        "space": {
            "name": mechanism.space.name,
            "words": len(mechanism.space),
            "dimension": mechanism.space.dimension,
            "fingerprint": mechanism.space.fingerprint,
            "provenance": mechanism.space.provenance,
        },
        "keep": keep,
        "input": {"format": reader.format, "text_field": reader.text_field},
        "layout": layout,
        "counts": {"documents": documents, "words": tokens},
    }
    if rewriter is not None:
        values["rewriter"] = rewriter
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
