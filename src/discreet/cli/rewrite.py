"""``discreet rewrite``: sanitise, then turn the released words into likelier text."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._file_settings import ColumnOptions, ReadingOptions
from discreet.cli._terminal import progress_bar, say_released
from discreet.devices import prefer_device
from discreet.errors import InputError, InvalidValue
from discreet.ledger.settings import PersonSetting, RowLedgerSettings
from discreet.randomness import generator
from discreet.receipt import sanitised_before
from discreet.release.handover import HandoverSettings
from discreet.release.text_files import sanitize_file
from discreet.settings import Setting

if TYPE_CHECKING:
    from discreet.models.rewriter import Rewriter
    from discreet.training.texts.rewriting import RewritingSanitizer


def rewrite(
    columns: ColumnOptions,
    reading: ReadingOptions,
    handover: HandoverSettings,
    choice: WordChoice,
    booking: RowLedgerSettings,
    whose: PersonSetting,
    source: options.Documents,
    output: options.Output,
    rewriter: Annotated[Path, Setting("What 'discreet train rewriter' wrote.", short="-r")],
    yes_weak: options.YesWeak = False,
    device: options.Device = "auto",
    seed: options.Seed = None,
) -> None:
    """Sanitise every document with a word mechanism, then rewrite what was released.

    The mechanism, its epsilon and the space come from the rewriter's file; options given here must
    agree with it (--space alone says where its space is now). The rewriter reads the released words
    and nothing else, so the guarantee is the mechanism's, unchanged. As with 'discreet sanitize',
    only the text is protected. Say what becomes of every other column (--keep, --drop, --surrogate,
    --keep-others, --drop-others). OUTPUT.privacy.json is the receipt.

    Example: discreet rewrite reviews.csv -o out.csv --rewriter rewriter.safetensors --drop-others
    """
    prefer_device(device)
    if sanitised_before(source, columns.said.fates.texts):
        raise InputError(
            f"{source} is released already, as its receipt says, and 'rewrite' draws from the "
            "ORIGINAL words: give it the original text"
        )

    def made() -> "RewritingSanitizer":
        from discreet.models.rewriter import Rewriter
        from discreet.training.texts.rewriting import RewritingSanitizer

        trained = Rewriter.load(rewriter, device=device)
        chosen = _chosen(choice, trained)
        return RewritingSanitizer(chosen.build(chosen.vocabulary()), trained)

    with booking.booked("rewrite") as ledger, progress_bar("rewriting") as show:
        receipt = sanitize_file(
            source,
            output,
            made,
            columns=columns.said,
            reading=reading.said,
            handover=handover,
            accept_weak=yes_weak,
            rng=generator(seed),
            progress=show,
            person_field=whose.person_field,
            ledger=ledger,
        )
    say_released(receipt, output)


def _chosen(choice: WordChoice, trained: "Rewriter") -> WordChoice:
    """The mechanism of the rewriter's file, unless the command line chooses one itself."""
    stored = trained.about.get("options")
    if replace(choice, space=None) != WordChoice():
        return choice
    if stored is None:
        raise InvalidValue(
            "this rewriter was not written by 'discreet train rewriter' and does not say how its "
            "mechanism is made; give --mechanism, --epsilon and --space"
        )
    told = WordChoice.from_json(stored)
    return told if choice.space is None else replace(told, space=choice.space)
