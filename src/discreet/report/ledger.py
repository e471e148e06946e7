"""A ledger for people: lines, a table of entries, a plot of spending over time, a CSV file."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from discreet.accounting.receipts import Together
from discreet.files import written_whole
from discreet.ledger.entries import REFUNDED, RESERVED, Budget, Entry
from discreet.report.plots import Curve, Plot
from discreet.wording import counted

_COLUMNS = ("at", "state", "command", "mechanism", "units", "persons", "epsilon", "delta", "entry")
_SHORT = 12
_SPANS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def ledger_lines(
    budgets: Mapping[str, Sequence[Budget]],
    entries: Sequence[Entry],
    together: Iterable[Together],
    names: Mapping[str, str],
) -> list[str]:
    """What was released of each data set, what is left, and what all of it guarantees.

    Args:
        budgets: by the keyed names of data sets.
        entries: of them all.
        together: what the releases of one of them guarantee together.
        names: of data sets, by their keyed names, where they are known.
    """
    waiting = sum(entry.state == RESERVED for entry in entries)
    held = f"; {counted(waiting, 'reservation')} not committed" if waiting else ""
    lines = [f"{counted(len(entries), 'release')}{held}."]
    for name, some in budgets.items():
        lines += ["", f"Data set {names.get(name, name)}", *budget_lines(some)]
        own = [entry for entry in entries if entry.dataset == name]
        lines += entry_table(own) if own else []
    for each in together:
        said = each.statement.lines()
        what = f"All {len(each.of):,} releases together" if len(each.of) > 1 else "This release"
        lines += [f"{what}:", *(f"  {line}" for line in said)]
    return lines


def budget_lines(budgets: Sequence[Budget]) -> list[str]:
    """What is left by each limit, in plain words."""
    lines = []
    for budget in budgets:
        gone = f"spent {budget.spent}, held {budget.held}"
        if budget.limit is None:
            lines.append(f"No limit is set: {gone}.")
            continue
        limit = budget.limit
        who = "each person" if budget.persons else f"each {limit.unit}"
        who = f"person {limit.person[:_SHORT]}" if limit.person else who
        when = "ever" if limit.window is None else f"within {limit.window}"
        lines.append(f"At most {limit.allowed} for {who}, {when}: {gone}, left {budget.left}.")
    return lines


def entry_table(entries: Iterable[Entry]) -> list[str]:
    """A line for each entry, under a heading."""
    rows = [_COLUMNS, *(_cells(entry) for entry in entries)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS))]
    right = {_COLUMNS.index(name) for name in ("units", "persons", "epsilon", "delta")}
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _cells(entry: Entry) -> tuple[str, ...]:
    amount = entry.amount
    return (
        f"{entry.at:%Y-%m-%d %H:%M:%S}",
        entry.state,
        entry.command,
        entry.mechanism,
        f"{entry.units:,}",
        f"{entry.persons:,}" if entry.persons else "all",
        "none" if amount.unbounded else f"{amount.epsilon:.6g}",
        f"{amount.delta:.3g}",
        entry.id,
    )


def write_entries(path: Path, entries: Iterable[Entry]) -> None:
    """Write entries as CSV, whole or not at all."""
    with written_whole(path) as temporary:
        temporary.write_text(entries_csv(entries), "utf-8")


def entries_csv(entries: Iterable[Entry]) -> str:
    """Entries as CSV: a row each, the statement in plain words."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    names = ["entry", "dataset", "at", "state", "command", "version", "mechanism", "units"]
    names += ["persons", "epsilon", "delta", "unbounded", "receipt", "digest", "statement"]
    writer.writerow(names)
    for entry in entries:
        said = " ".join(entry.statement.lines())
        values = {**entry.to_dict(), "entry": entry.id, "statement": said}
        writer.writerow([values[name] for name in names])
    return out.getvalue()


def spending_plot(entries: Iterable[Entry], names: Mapping[str, str]) -> Plot:
    """What was charged over time, a curve for each data set; refunds are left out.

    Args:
        entries: In the order of their times within each data set.
        names: What to call data sets; others are called by the beginning of their keyed name.
    """
    points: dict[str, list[tuple[float, float]]] = {}
    for entry in entries:
        if entry.state != REFUNDED:
            points.setdefault(entry.dataset, []).append(
                (entry.at.timestamp(), entry.amount.epsilon)
            )
    times = [at for each in points.values() for at, _ in each] or [0.0]
    start, span = min(times), max(times) - min(times)
    unit = next((name for name, long in _SPANS.items() if span >= 2 * long), "seconds")
    curves = []
    for name, some in points.items():
        steps, total = [(0.0, 0.0)], 0.0
        for at, epsilon in some:
            # A step: nothing happens between two entries.
            steps += [((at - start) / _SPANS[unit], y) for y in (total, total + epsilon)]
            total += epsilon
        curves.append(Curve.through(names.get(name, name[:_SHORT]), steps))
    return Plot(
        "spending",
        "What was charged, added up over time",
        f"{unit} since the first entry",
        "epsilon (of the persons who lost most)",
        tuple(curves),
        alternative="The sum of what was charged to each data set, over time.",
    )


def verified_lines(
    releases: int, receipts: int, problems: Sequence[str], unchecked: int
) -> list[str]:
    """What came of checking a ledger.

    Args:
        releases: in it.
        receipts: that were looked up.
        problems: what is wrong.
        unchecked: releases whose rows, by which texts are known again, have no digest in the chain.
    """
    if problems:
        return [f"FAIL  {each}" for each in problems]
    checked = (
        f"{counted(releases, 'release')}, the chain, the sums and {counted(receipts, 'receipt')}"
    )
    left = (
        f"Not checked: the rows by which texts of {counted(unchecked, 'release')} are known again. "
        "They are not finished, or were booked by an earlier version."
    )
    return [f"{checked}: all as written.", *([left] if unchecked else [])]
