"""``discreet rewrite``: sanitise, then turn the released words into likelier text."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import _options as options
from discreet.cli._choice import Choice, chooses_mechanism
from discreet.cli._terminal import counted, progress_bar, say
from discreet.cli.sanitize import carries_more, receipt_of
from discreet.errors import InvalidValue
from discreet.statement import RECEIPT_SUFFIX

if TYPE_CHECKING:
    from discreet.models.rewriter import Rewriter


@chooses_mechanism
def rewrite(
    choice: Choice,
    source: options.Documents,
    output: options.Output,
    rewriter: Annotated[
        Path, typer.Option("--rewriter", "-r", help="What 'discreet train rewriter' wrote.")
    ],
    text_field: options.TextField = "text",
    format: options.Format = None,
    max_document_mb: options.MaxDocumentMb = 4.0,
    seed: options.Seed = None,
    force: options.Force = False,
) -> None:
    """Sanitise every document with a word mechanism, then rewrite what was released.

    The mechanism, its epsilon and the space come from the rewriter's file; options given here must
    agree with it (--space alone says where its space is now). The rewriter reads the released words
    and nothing else, so the guarantee is the mechanism's, unchanged. As with 'discreet sanitize',
    only the text is protected, and OUTPUT.privacy.json is the receipt.

    Example: discreet rewrite reviews.csv -o out.csv --rewriter rewriter.safetensors
    """
    from discreet.text.readers import open_documents
    from discreet.text.writers import open_output

    largest = options.document_bytes(max_document_mb)
    documents = tokens = 0
    companions = [] if output == "-" else [Path(output + RECEIPT_SUFFIX)]
    with (
        open_documents(
            source, format=format, text_field=text_field, max_document_bytes=largest
        ) as reader,
        open_output(output, reader, force=force, companions=companions) as writer,
    ):
        from discreet.evaluation.explanation import mean_keep
        from discreet.models.rewriter import Rewriter
        from discreet.randomness import generator
        from discreet.training.rewriting import RewritingSanitizer

        rng = generator(seed)
        trained = Rewriter.load(rewriter)
        chosen = _chosen(choice, trained)
        vocabulary = chosen.vocabulary()
        mechanism = chosen.build(vocabulary)
        sanitizer = RewritingSanitizer(mechanism, trained)
        with progress_bar("rewriting") as show:
            for batch in reader:
                release = sanitizer.sanitize(batch.texts, rng)
                writer.write(batch.with_texts(release.values))
                documents += len(release.values)
                tokens += release.units
                show(reader.bytes_read, reader.total_bytes or 0)
        statement = release.statement
        if carries_more(reader, writer):
            statement = statement.with_public("every other column or field, written as it is")
        about = {key: value for key, value in trained.about.items() if key != "options"}
        keep = mean_keep(mechanism)
        receipt = receipt_of(
            mechanism, statement, keep, "tokens", reader, documents, tokens, rewriter=about
        )
        writer.finish(dict.fromkeys(companions, receipt))
    say(
        f"Sanitised {counted(tokens, 'word')} of {counted(documents, 'document')} with "
        f"{chosen.name} in the space {vocabulary.name}, then rewrote what was released.",
        *statement.lines(),
        "The rewriting changes nothing of this: it saw the released words only.",
    )
    if companions:
        say(f"Written: {output} and its receipt {companions[0]}")


def _chosen(choice: Choice, trained: "Rewriter") -> Choice:
    """The mechanism of the rewriter's file, unless the command line chooses one itself."""
    stored = trained.about.get("options")
    if replace(choice, space=Choice().space) != Choice():
        return choice
    if stored is None:
        raise InvalidValue(
            "this rewriter was not written by 'discreet train rewriter' and does not say how its "
            "mechanism is made; give --mechanism, --epsilon and --space"
        )
    if "sensitive_file" in stored:
        stored = {**stored, "sensitive_file": Path(stored["sensitive_file"])}
    found = Choice(**stored)
    return found if choice.space == Choice().space else replace(found, space=choice.space)
