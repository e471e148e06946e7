"""``discreet ledger``: what was released about whom, what is left, whether the book is whole."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._groups import command_group
from discreet.cli._settings import argument
from discreet.cli._terminal import echo, in_lines, say, show
from discreet.errors import InvalidValue, VerificationFailed
from discreet.files import check_place
from discreet.ledger.book import Ledger
from discreet.ledger.entries import time_span
from discreet.ledger.settings import KEY_HELP
from discreet.report.ledger import (
    budget_lines,
    entries_csv,
    ledger_lines,
    spending_plot,
    verified_lines,
    write_entries,
)
from discreet.report.plots import check_plot, draw
from discreet.settings import Setting
from discreet.statement import Adjacency, Unit
from discreet.wording import counted

ledger = command_group("Show, limit, export and check what was released about whom.")
_UNITS = (Unit.DOCUMENT, Unit.USER)

Url = Annotated[str, argument("LEDGER", "A file, sqlite:///PATH or postgresql://USER@HOST/NAME.")]
Key = Annotated[Path | None, Setting(KEY_HELP, flag="--ledger-key")]
Dataset = Annotated[str | None, Setting("Only this data set; it is then called by name.")]
Person = Annotated[str | None, Setting("Only what counts for this person of --dataset.")]


@ledger.command("show", short_help="What was released, and what is left.")
def show_ledger(
    url: Url,
    dataset: Dataset = None,
    person: Person = None,
    delta: Annotated[
        float,
        Setting("With --dataset: delta to trade for a smaller epsilon of all releases together."),
    ] = 0.0,
    plot: Annotated[
        Path | None, Setting("Draw spending over time into this PNG, SVG or PDF file.")
    ] = None,
    key: Key = None,
    as_json: options.Json = False,
) -> None:
    """Show budgets and entries.

    Data sets and persons are in a ledger under keyed hashes, which no key turns back, so they are
    shown by name only if you give the name. What is reserved counts as spent: a release is under
    way, or its process died.

    Example: discreet ledger show budget.db --dataset tickets
    """
    if plot is not None:
        check_plot(plot)
    with Ledger.open(url, key=key, new=False) as book:
        names = {} if dataset is None else {book.named(dataset): dataset}
        _warn_of_a_strange_name(book, dataset)
        entries = list(book.entries(dataset, person=person))
        if dataset is None:
            budgets = book.overview()
            together = []
        else:
            budgets = {book.named(dataset): book.budgets(dataset, person)}
            together = book.together(dataset, person=person, delta=delta)
    if plot is not None:
        draw(spending_plot(entries, names), plot)
        say(f"Written: {plot}")
    values = {
        "datasets": {name: [b.to_dict() for b in some] for name, some in budgets.items()},
        "together": [each.to_dict() for each in together],
        "entries": [entry.to_dict() for entry in entries],
    }
    show(values, ledger_lines(budgets, entries, together, names), as_json=as_json)


def _warn_of_a_strange_name(book: Ledger, dataset: str | None) -> None:
    """A misspelt data set must not pass for one of which nothing was released."""
    if dataset is not None and book.named(dataset) not in book.datasets():
        say("This ledger has no data set of that name; check the spelling.")


@ledger.command(short_help="Show or set how much may be spent.")
def limits(
    url: Url,
    dataset: Annotated[str, Setting("Of whose texts.")],
    epsilon: Annotated[
        float | None,
        Setting(
            "Largest epsilon in all for each person, or each document. Without it, the "
            "limits are shown.",
            short="-e",
        ),
    ] = None,
    delta: Annotated[
        float, Setting("Largest delta in all; 0 allows only releases without one.")
    ] = 0.0,
    person: Annotated[str | None, Setting("For this person alone, beside the others.")] = None,
    window: Annotated[
        str | None,
        Setting(
            "Count only this far back, such as 30d, 12h or 90m; by default all time.",
            metavar="TIME",
            refuse=time_span,
        ),
    ] = None,
    unit: Annotated[
        str | None,
        Setting(
            "Charges must hold for a whole document, or for a whole user; by default a document, "
            "and a user with --adjacency add/remove.",
            choices=_UNITS,
        ),
    ] = None,
    adjacency: Annotated[
        str,
        Setting(
            "What is counted: replace, or add/remove for training alone.", choices=tuple(Adjacency)
        ),
    ] = "replace",
    remove: Annotated[bool, Setting("Remove the limit of this person and window.")] = False,
    key: Key = None,
    as_json: options.Json = False,
) -> None:
    """Show the limits of a data set, or set one.

    Every limit that concerns a release must allow it. A window limits how fast a loss grows, not
    how large it becomes. Where there is no ledger yet, setting a limit makes one.

    Example: discreet ledger limits budget.db --dataset tickets --epsilon 50 --delta 1e-5
    """
    if remove and epsilon is not None:
        raise InvalidValue("--remove takes a limit away, --epsilon sets one; choose one of the two")
    # A limit comes before the first release, and so does the ledger that it is set in.
    with Ledger.open(url, key=key, new=epsilon is not None) as book:
        if remove or epsilon is not None:
            book.limit(
                dataset=dataset,
                epsilon=epsilon,
                delta=delta,
                person=person,
                window=window,
                unit=unit,
                adjacency=adjacency,
            )
        budgets = book.budgets(dataset, person)
    show([budget.to_dict() for budget in budgets], budget_lines(budgets), as_json=as_json)


@ledger.command(short_help="Write the entries as CSV.")
def export(
    url: Url,
    output: Annotated[str, Setting("A CSV file, or - for standard output.", short="-o")] = "-",
    dataset: Dataset = None,
    person: Person = None,
    force: options.Force = False,
    key: Key = None,
) -> None:
    """Write every entry as a row of a CSV file.

    Example: discreet ledger export budget.db -o entries.csv
    """
    if output != "-":
        check_place(Path(output), force=force)
    with Ledger.open(url, key=key, new=False) as book:
        _warn_of_a_strange_name(book, dataset)
        entries = list(book.entries(dataset, person=person))
    if output == "-":
        echo(*in_lines(entries_csv(entries)))
    else:
        write_entries(Path(output), entries)
        say(f"Written: {output}")


@ledger.command(short_help="Check the chain, the sums, and receipts against their entries.")
def verify(
    url: Url,
    receipts: Annotated[
        list[str] | None, argument("[OUTPUT]...", "Outputs, or receipts, to look up.")
    ] = None,
    key: Key = None,
    as_json: options.Json = False,
) -> None:
    """Check that a ledger is as it was written, and that receipts are in it.

    Entries of a data set are chained by keyed digests: whoever changes, removes or adds one without
    the key is found out. The last entries of a chain are missed by who has a receipt of them: name
    the outputs. Of the rows by which a text is known again the chain has a digest for each release;
    those that were booked before it did are not checked. Ends with 4 if anything is wrong.

    Example: discreet ledger verify budget.db out.csv
    """
    with Ledger.open(url, key=key, new=False) as book:
        problems = book.verify(receipts or ())
        count, unchecked = sum(1 for _ in book.entries()), book.unchecked_rows()
    values = {"entries": count, "problems": problems, "unchecked_rows_of": unchecked}
    said = verified_lines(count, len(receipts or ()), problems, unchecked)
    show(values, said, as_json=as_json)
    if problems:
        raise VerificationFailed(f"{counted(len(problems), 'problem')} found in this ledger")
