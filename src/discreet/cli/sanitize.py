"""``discreet sanitize``: text files in, sanitised text files with a receipt out."""

from discreet import check
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import counted, say
from discreet.cli._text_release import Files, Way, release_texts

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
    files = Files(source, output, text_field, format, max_document_mb, force)

    def made() -> Way:
        from discreet.release.text import LAYOUTS, Sanitizer

        check.one_of(layout, list(LAYOUTS), "--layout")
        mechanism = choice.build(choice.vocabulary())
        return Way(mechanism, Sanitizer(mechanism, layout=layout), {"layout": layout})

    done = release_texts(files, made, "sanitising", seed)
    say(
        f"Sanitised {counted(done.words, 'word')} of {counted(done.documents, 'document')} "
        f"with {done.mechanism} in the space {done.space}.",
        *done.statement.lines(),
    )
    if done.keep is not None:
        how = f"{done.keep:.2g}" if done.keep < 0.99 else "over 0.99"
        much = ": most of the text comes out as it was" if done.keep > _MOST else ""
        say(f"At this setting a word stays as it is with probability {how} on average{much}.")
    say(*done.written)
