"""``discreet sanitize``: text files in, sanitised text files with a receipt out."""

from contextlib import ExitStack
from functools import partial
from typing import Any

from discreet.arrays import Progress
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._file_settings import ColumnOptions, ReadingOptions, refuse_for_folders
from discreet.cli._terminal import on_a_terminal, progress_bars, say, say_released
from discreet.devices import prefer_device
from discreet.engines import EngineSettings, sanitize_folder
from discreet.engines.plan import is_several
from discreet.errors import InvalidValue
from discreet.evaluation import explanation
from discreet.ledger.settings import RowLedgerSettings
from discreet.mechanisms.registry import find
from discreet.protocols import watched
from discreet.randomness import generator
from discreet.receipt import receipt_path, sanitised_before
from discreet.release.handover import HandoverSettings
from discreet.release.settings import IdentifierSettings, TextSettings
from discreet.release.text import Sanitizer
from discreet.release.text_files import sanitize_file
from discreet.report.released import unknown_lines
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
    if sanitised_before(source, columns.said.fates.texts):
        say(
            f"{source} is released already, as its receipt says: its words are drawn a second "
            "time, which costs nothing and leaves less of them. Was the original text meant?"
        )
    how: dict[str, Any] = {"public": settings.spared, "readable": settings.readable}
    if choice.needs_epsilon():
        _ask_for_epsilon(choice, how)
    identifiers.check_together(len(columns.said.fates.texts))
    words: Progress | None = None
    mapping, save = None, None

    def made() -> Sanitizer:
        built = choice.build(choice.vocabulary(), **how)
        return settings.sanitizer(
            built if words is None else watched(built, words), identifiers.made(mapping)
        )

    common: dict[str, Any] = {
        "columns": columns.said,
        "reading": reading.said,
        "handover": handover,
        "accept_weak": yes_weak,
        "whole_delta": settings.whole_delta,
    }
    several = engine.given or is_several(source)
    if several:
        refuse_for_folders(
            seed=seed,
            keep_mapping=identifiers.keep_mapping,
            person_field=settings.person_field,
            keep_releases=booking.keep_releases,
        )
    with ExitStack() as stack:
        ledger = stack.enter_context(booking.booked("sanitize"))
        bar = partial(progress_bars, "sanitising")
        if several:
            show, preparing = stack.enter_context(bar("finding neighbours, once"))
            common |= {"ledger": ledger, "progress": show, "preparing": preparing}
            receipt = sanitize_folder(source, output, made, engine, **common)
        else:
            if identifiers.keep_mapping is not None:
                others = (source, output, receipt_path(output))
                mapping, save = stack.enter_context(kept_mapping(identifiers.keep_mapping, *others))
            show, words = stack.enter_context(bar("words of this part"))
            receipt = sanitize_file(
                source,
                output,
                made,
                person_field=settings.person_field,
                **common,
                rng=generator(seed),
                progress=show,
                before_publishing=save,
                tell_unknown=lambda share: say(*unknown_lines(share, alone=on_a_terminal())),
                ledger=ledger,
            )
    say_released(receipt, output)
    if (kept := identifiers.keep_mapping) is not None:
        say(f"Written: {kept}. It is as sensitive as the input: keep it on the same side.")


def _ask_for_epsilon(choice: WordChoice, how: dict[str, Any]) -> None:
    """Say what a few epsilons mean, where that is known, and stop."""
    if not find(choice.name, "word").takes("near"):
        return  # the mechanism says itself what it needs
    vocabulary = choice.vocabulary()
    say(*explanation.epsilon_table(lambda at: choice.at(at).build(vocabulary, **how)))
    raise InvalidValue(
        f"{choice.name} needs --epsilon: the table shows what a few values mean for each word; "
        f"the smaller, the better the protection. 'discreet explain --epsilon 8' says more"
    )
