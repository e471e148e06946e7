"""``discreet sanitize``: text files in, sanitised text files with a receipt out."""

from discreet import check
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import counted, progress_bar, say, say_written
from discreet.randomness import generator
from discreet.release.text import LAYOUTS, Sanitizer, sanitize_file

_MOST = 0.9


@takes_settings
def sanitize(
    choice: WordChoice,
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

    def made() -> Sanitizer:
        check.one_of(layout, list(LAYOUTS), "--layout")
        return Sanitizer(choice.build(choice.vocabulary()), layout=layout)

    with progress_bar("sanitising") as show:
        receipt = sanitize_file(
            source,
            output,
            made,
            text_field=text_field,
            format=format,
            max_document_bytes=options.document_bytes(max_document_mb),
            force=force,
            rng=generator(seed),
            progress=show,
        )
    counts, keep = receipt.counts, receipt.about["keep"]
    say(
        f"Sanitised {counted(counts['words'], 'word')} of "
        f"{counted(counts['documents'], 'document')} with {receipt.mechanism['name']} in the space "
        f"{receipt.about['space']['name']}.",
        *receipt.statement.lines(),
    )
    if keep is not None:
        how = f"{keep:.2g}" if keep < 0.99 else "over 0.99"
        much = ": most of the text comes out as it was" if keep > _MOST else ""
        say(f"At this setting a word stays as it is with probability {how} on average{much}.")
    say_written(output)
