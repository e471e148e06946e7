"""``discreet restore``: the values that surrogates stand for, put back into an answer."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._file_settings import ReadingOptions
from discreet.cli._terminal import say
from discreet.settings import Setting
from discreet.text.identifiers.mapping import SurrogateMapping, restore_file
from discreet.wording import counted


def restore(
    reading: ReadingOptions,
    source: options.Documents,
    output: options.Output,
    mapping: Annotated[Path, Setting("What 'discreet sanitize --keep-mapping' wrote.")],
    by_row: Annotated[
        bool,
        Setting("Row n answers document n of the release: use only that document's surrogates."),
    ] = False,
    text_field: options.TextField = "text",
    force: options.Force = False,
) -> None:
    """Put original values back into an answer about text that was sanitised with --keep-mapping.

    Every surrogate that stands in INPUT as it was written is replaced by what it stood for. One
    that stands for several values is left as it is, unless --by-row says which document is meant.
    OUTPUT holds protected text again: there is no guarantee for it.

    Example: discreet restore answer.txt --mapping tickets.map -o answer-restored.txt
    """
    counts = restore_file(
        source,
        output,
        SurrogateMapping.read(mapping),
        by_row=by_row,
        text_field=text_field,
        reading=reading.said,
        force=force,
    )
    say(
        f"Put back {counted(counts['replaced'], 'value')} in "
        f"{counted(counts['documents'], 'document')}."
    )
    if counts["ambiguous"]:
        say(
            f"Left {counted(counts['ambiguous'], 'surrogate')} that stand for different values; if "
            "each row answers one document, use --by-row."
        )
    if output != "-":
        say(f"Written: {output}. It holds protected text: keep it on the same side as the mapping.")
