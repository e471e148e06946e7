"""``discreet sanitize``: text files in, sanitised text files with a receipt out."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from discreet import check
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import counted, progress_bar, say, say_written
from discreet.errors import InvalidValue
from discreet.randomness import generator
from discreet.receipt import Receipt, receipt_path
from discreet.release.strength import MOST_KNOWN, share
from discreet.release.text import LAYOUTS, REPEATS, Sanitizer, sanitize_file
from discreet.release.whole import DELTA, checked_delta
from discreet.text import function_words
from discreet.text.identifiers import Identifiers, SurrogateMapping
from discreet.text.identifiers.mapping import kept_mapping
from discreet.text.identifiers.surrogates import load_surrogates


@takes_settings
def sanitize(
    choice: WordChoice,
    source: options.Documents,
    output: options.Output,
    text_field: options.TextFields = None,
    keep: options.Keep = None,
    drop: options.Drop = None,
    surrogate: options.Surrogate = None,
    keep_others: options.KeepOthers = False,
    drop_others: options.DropOthers = False,
    yes_weak: options.YesWeak = False,
    format: options.Format = None,
    layout: options.Layout = "tokens",
    identifiers: Annotated[
        str | None,
        typer.Option(
            "--identifiers",
            help="Replace e-mail addresses, numbers, names and the like by surrogates of their "
            "type, found by rules, spacy or presidio (spacy:PATH and presidio:PATH take another "
            "pipeline than en_core_web_md).",
        ),
    ] = None,
    consistent: Annotated[
        str,
        typer.Option(
            "--consistent",
            help="Equal identifiers get equal surrogates: none, document (within each), or "
            "key:FILE (wherever that secret key is used).",
        ),
    ] = "none",
    surrogates: Annotated[
        Path | None,
        typer.Option(
            "--surrogates",
            help="A public list to draw surrogates from: one a line, a tab and its type.",
        ),
    ] = None,
    keep_mapping: Annotated[
        Path | None,
        typer.Option(
            "--keep-mapping",
            help="Write which surrogate stands for what, readable by you alone, for 'discreet "
            "restore'. It is as sensitive as INPUT.",
        ),
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(
            "--public",
            help="function-words: words such as 'the' and 'of', and marks, pass unchanged; the "
            "statement says so.",
        ),
    ] = None,
    polish: Annotated[
        bool,
        typer.Option(
            "--polish",
            help="Mend a and an, spaces at marks and capitals, from the released text alone.",
        ),
    ] = False,
    repeat: Annotated[
        str,
        typer.Option(
            "--repeat",
            help="each: every word is a draw of its own; once: a word is drawn once for all its "
            "places in a document, which are then seen to be equal, and counts once.",
        ),
    ] = "each",
    person_field: Annotated[
        str | None,
        typer.Option(
            "--person-field",
            help="Column or field that says whose a text is: state what holds for the person with "
            "most text, too.",
        ),
    ] = None,
    whole_delta: Annotated[
        float,
        typer.Option(
            "--whole-delta",
            help="What may be given away as delta for a smaller epsilon of whole texts; 0 for "
            "none.",
        ),
    ] = DELTA,
    max_document_mb: options.MaxDocumentMb = 4.0,
    seed: options.Seed = None,
    force: options.Force = False,
) -> None:
    """Replace every word of every document by a differentially private draw.

    Only the text is protected. Say of every other column (a label, a name, a date) what becomes of
    it: --keep, --drop or --surrogate, or --keep-others or --drop-others for all the rest. Beside
    OUTPUT comes OUTPUT.privacy.json, a receipt with the guarantee, the parameters and counts, and
    no text. The output is written whole or not at all.

    With --identifiers, what is found as an identifier is replaced by a surrogate that was drawn
    without looking at it; what is not found is treated as words.

    Example: discreet sanitize reviews.csv -o out.csv --epsilon 8 --text-field review
    --keep stars --drop-others
    """

    if keep_mapping is not None and len(text_field or ()) > 1:
        raise InvalidValue("--keep-mapping is for one --text-field; release the others apart")
    _check_together(identifiers, consistent, surrogates, keep_mapping)
    checked_delta(whole_delta, "--whole-delta")

    def replaced(mapping: SurrogateMapping | None) -> Identifiers | None:
        if identifiers is None:
            return None
        listed = None if surrogates is None else load_surrogates(surrogates)
        return Identifiers(identifiers, consistent=consistent, surrogates=listed, mapping=mapping)

    with ExitStack() as stack:
        mapping, save = None, None
        if keep_mapping is not None:
            others = (source, output, receipt_path(output))
            mapping, save = stack.enter_context(kept_mapping(keep_mapping, *others))

        def made() -> Sanitizer:
            check.one_of(layout, list(LAYOUTS), "--layout")
            check.one_of(repeat, REPEATS, "--repeat")
            own = replaced(mapping)
            if public is not None:
                check.one_of(public, (function_words.NAME,), "--public")
            return Sanitizer(
                choice.build(choice.vocabulary()),
                layout=layout,
                identifiers=own,
                public=public,
                polish=polish,
                repeat=repeat,
            )

        show = stack.enter_context(progress_bar("sanitising"))
        receipt = sanitize_file(
            source,
            output,
            made,
            text_field=text_field or "text",
            keep=keep or (),
            drop=drop or (),
            surrogates=options.surrogate_columns(surrogate),
            others=options.rest_of_columns(keep_others, drop_others),
            accept_weak=yes_weak,
            person_field=person_field,
            whole_delta=whole_delta,
            format=format,
            max_document_bytes=options.document_bytes(max_document_mb),
            force=force,
            rng=generator(seed),
            progress=show,
            before_publishing=save,
        )
    _tell(receipt)
    say_written(output)
    if keep_mapping is not None:
        say(f"Written: {keep_mapping}. It is as sensitive as the input: keep it on the same side.")


def _check_together(
    identifiers: str | None, consistent: str, surrogates: Path | None, keep_mapping: Path | None
) -> None:
    given = {
        "--consistent": consistent != "none",
        "--surrogates": surrogates is not None,
        "--keep-mapping": keep_mapping is not None,
    }
    for flag, used in given.items():
        if used and identifiers is None:
            raise InvalidValue(f"{flag} belongs to --identifiers; add that, or leave it out")


def _tell(receipt: Receipt) -> None:
    counts, keep = receipt.counts, receipt.about["keep"]
    say(
        f"Sanitised {counted(counts['words'], 'word')} of "
        f"{counted(counts['documents'], 'document')} with {receipt.mechanism['name']} in the space "
        f"{receipt.about['space']['name']}.",
        *_replaced(receipt),
        *receipt.statement.lines(),
        *receipt.about["whole"]["in_words"],
    )
    guess = receipt.about["best_guess"]
    if guess is not None:
        say(
            f"The best guess at a word is right with probability {share(guess)}, for somebody who "
            "knows the mechanism and how often words occur in public."
        )
    elif keep is not None:
        much = ": most of the text comes out as it was" if keep > MOST_KNOWN else ""
        how = share(keep)
        say(f"At this setting a word stays as it is with probability {how} on average{much}.")


def _replaced(receipt: Receipt) -> list[str]:
    section = receipt.about.get("identifiers")
    if section is None:
        return []
    types = section.get("types", {})
    each = ", ".join(f"{count:,} {kind}" for kind, count in types.items())
    return [f"Replaced {counted(sum(types.values()), 'identifier')}{each and ': ' + each}."]
