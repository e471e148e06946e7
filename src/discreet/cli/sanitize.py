"""``discreet sanitize``: text files in, sanitised text files with a receipt out."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from discreet import check
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice, watched
from discreet.cli._file_settings import ColumnOptions, ReadingOptions
from discreet.cli._folders import parts_line, recipe_from, refuse_for_folders
from discreet.cli._ledger_settings import RowLedgerSettings
from discreet.cli._terminal import counted, on_a_terminal, progress_bars, say, say_written
from discreet.cli._text_settings import IdentifierSettings, TextSettings
from discreet.devices import prefer_device
from discreet.engines import EngineSettings, sanitize_folder
from discreet.engines.plan import is_several
from discreet.errors import InvalidValue
from discreet.evaluation import explanation
from discreet.guides.ngram import NGramGuide
from discreet.mechanisms.registry import find
from discreet.randomness import generator
from discreet.receipt import Receipt, receipt_path
from discreet.release.handover import HandoverSettings
from discreet.release.rows import MOST_UNKNOWN
from discreet.release.strength import MOST_KNOWN, share
from discreet.release.text import LAYOUTS, READABLE, Sanitizer
from discreet.release.text_files import sanitize_file
from discreet.text.identifiers.mapping import kept_mapping


def sanitize(
    columns: ColumnOptions,
    reading: ReadingOptions,
    handover: HandoverSettings,
    choice: WordChoice,
    identifiers: IdentifierSettings,
    settings: TextSettings,
    booking: RowLedgerSettings,
    engine: EngineSettings,
    source: options.Documents,
    output: options.Output,
    yes_weak: options.YesWeak = False,
    layout: options.Layout = "tokens",
    device: options.Device = "auto",
    seed: options.Seed = None,
) -> None:
    """Replace every word of every document by a differentially private draw.

    Only the text is protected. Say of every other column (a label, a name, a date) what becomes of
    it: --keep, --drop or --surrogate, or --keep-others or --drop-others for all the rest. Beside
    OUTPUT comes OUTPUT.privacy.json, a receipt with the guarantee, the parameters and counts, and
    no text. The output is written whole or not at all.

    With --identifiers, what is found as an identifier is replaced by a surrogate that was drawn
    without looking at it; what is not found is treated as words.

    Example: discreet sanitize reviews.csv -o out.csv --epsilon 12 --readable --text-field review
    --keep stars --drop-others

    A folder or a quoted pattern is released part by part, by several workers, into a folder of
    Parquet files with one receipt. If that is stopped, the same command continues it.

    Example: discreet sanitize 'tickets/*.parquet' -o out --epsilon 12 --drop-others --workers 4
    """
    prefer_device(device)
    if settings.readable:
        choice = choice.with_guide(NGramGuide.name)
    if choice.needs_epsilon():
        _ask_for_epsilon(choice, settings.spared)
    identifiers.check_together(len(columns.said.fates.texts))
    common: dict[str, Any] = {
        "columns": columns.said,
        "reading": reading.said,
        "handover": handover,
        "accept_weak": yes_weak,
        "whole_delta": settings.whole_delta,
    }
    if engine.given or is_several(source):
        refuse_for_folders(
            seed=seed is not None,
            keep_mapping=identifiers.keep_mapping is not None,
            person_field=settings.person_field is not None,
            keep_releases=booking.keep_releases,
        )
        recipe = recipe_from(choice, identifiers, settings, layout)

        def in_driver() -> Sanitizer:
            return recipe.make(choice.build(choice.vocabulary(), settings.spared))

        _sanitize_parts(source, output, in_driver, engine, booking, common)
        return
    with ExitStack() as stack:
        ledger = stack.enter_context(booking.booked("sanitize"))
        mapping, save = None, None
        if identifiers.keep_mapping is not None:
            others = (source, output, receipt_path(output))
            mapping, save = stack.enter_context(kept_mapping(identifiers.keep_mapping, *others))

        def made() -> Sanitizer:
            check.one_of(layout, list(LAYOUTS), "--layout")
            return Sanitizer(
                watched(choice.build(choice.vocabulary(), settings.spared), words),
                identifiers=identifiers.made(mapping),
                repeat=settings.repeat,
                **(READABLE if settings.readable else chosen),
            )

        chosen = {"layout": layout, "public": settings.public, "polish": settings.polish}
        show, words = stack.enter_context(progress_bars("sanitising", "words of this part"))
        receipt = sanitize_file(
            source,
            output,
            made,
            person_field=settings.person_field,
            **common,
            rng=generator(seed),
            progress=show,
            before_publishing=save,
            tell_unknown=_tell_unknown,
            ledger=ledger,
        )
    _tell(receipt)
    say_written(output)
    if (kept := identifiers.keep_mapping) is not None:
        say(f"Written: {kept}. It is as sensitive as the input: keep it on the same side.")


def _sanitize_parts(
    source: str,
    output: str,
    make: Callable[[], Sanitizer],
    engine: EngineSettings,
    booking: RowLedgerSettings,
    common: dict[str, Any],
) -> None:
    """A folder or a pattern: part by part, into a folder."""
    with (
        booking.booked("sanitize") as ledger,
        progress_bars("sanitising", "finding neighbours, once") as (show, preparing),
    ):
        receipt = sanitize_folder(
            source,
            output,
            make,
            engine,
            ledger=ledger,
            progress=show,
            preparing=preparing,
            **common,
        )
    _tell(receipt)
    say(parts_line(receipt))
    say_written(output)


def _ask_for_epsilon(choice: WordChoice, public: str | None) -> None:
    """Say what a few epsilons mean, where that is known, and stop."""
    if not find(choice.name, "word").takes("near"):
        return  # the mechanism says itself what it needs
    vocabulary = choice.vocabulary()
    say(*explanation.epsilon_table(lambda at: choice.at(at).build(vocabulary, public)))
    raise InvalidValue(
        f"{choice.name} needs --epsilon: the table shows what a few values mean for each word; "
        f"the smaller, the better the protection. 'discreet explain --epsilon 8' says more"
    )


def _tell_unknown(unknown: float) -> None:
    """To whoever has the text, and to nobody else: the share is protected, too."""
    if unknown > MOST_UNKNOWN:
        say(
            f"Caveat: the vocabulary does not have {100 * unknown:.0f} % of the words that this "
            "text begins with. All of them are treated as one unknown word, so hardly anything of "
            "the text will be left. Is it in another language, or is the text in another column? "
            "This share was counted on your text: keep it to yourself. Ctrl-C stops; nothing is "
            "released yet."
        )
    elif on_a_terminal():  # not into the log of a job, where others may read it
        say(
            f"The vocabulary does not have {100 * unknown:.1f} % of the words that this text "
            "begins with; each counts as one unknown word. (Counted on your text: keep it to "
            "yourself.)"
        )


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
            "knows the mechanism and how often words occur in public, and more often for somebody "
            "who also knows which words follow each other."
        )
    else:
        draws = receipt.about.get("keep_draws")
        found = "" if draws is None else f" (simulated: {draws:,} draws for public words)"
        much = ": most of the text comes out as it was" if keep > MOST_KNOWN else ""
        how = share(keep)
        say(
            f"At this setting a word stays as it is with probability {how} on average{found}{much}."
        )


def _replaced(receipt: Receipt) -> list[str]:
    section = receipt.about.get("identifiers")
    if section is None:
        return []
    types = section.get("types", {})
    each = ", ".join(f"{count:,} {kind}" for kind, count in types.items())
    return [f"Replaced {counted(sum(types.values()), 'identifier')}{each and ': ' + each}."]
