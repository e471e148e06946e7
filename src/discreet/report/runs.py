"""Receipts and results of one's own runs, read back as sections of a report.

Everything that discreet prints with ``--json`` or writes beside an output is one JSON object; what
it holds decides how it is shown. None of these files holds protected text. They may come from
anywhere: what is not as discreet writes it is refused in a sentence.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from discreet.errors import InputError, NotFound
from discreet.files import plain_json
from discreet.receipt import RECEIPT_SUFFIX, Receipt, is_receipt, output_of, receipt_path
from discreet.report.attacked import attacks_in, summarised
from discreet.report.page import Section
from discreet.report.stored import stored
from discreet.report.tables import Cell, Table, shown
from discreet.report.trends import trends
from discreet.statement import Notion, PrivacyStatement

_RECORD = "record.json"
_SHOWN_ELSEWHERE = {"discreet", "statement", "in_words"}
_TOLD = ("whole", "search")  # parts of receipts that say themselves what they mean
_IN_WORDS = {
    "keep": "chance that a word stays, on average",
    "keep_draws": "simulated draws behind that chance",
    "best_guess": "chance that the best guess at a word is right",
    "unguessable": "words that the model cannot name",
    "behind_chance": "attackers that a constant guess beats, and stands in for",
    "simulated": "inverted by simulation, for want of a formula",
}

INTRODUCTION = (
    "Each guarantee below is a bound on how much the odds of any outcome can change; the words "
    "beside it say for which unit, and what is treated as public.",
    "A pure guarantee allows a factor of exp(epsilon) between any two units; an approximate "
    "one the same, plus a probability of delta; a metric one exp(epsilon * d + slack), where d "
    "is how far apart the two are, so that its epsilon means something else in every space.",
)
"""What whoever reads a page of runs must know."""


def runs_in(paths: Sequence[Path]) -> list[tuple[str, dict[str, Any]]]:
    """Name and content of every receipt, result and record in these files and folders.

    A receipt whose output is there must be the one that was written for it.
    """
    out = []
    for path in _files(paths):
        try:
            values = plain_json(path.read_bytes())
        except (ValueError, OSError) as error:
            raise InputError(
                f"{path} is not a receipt or a result (it is not JSON that discreet wrote) and no "
                "receipt lies beside it; give a file that discreet released, its receipt, or what "
                "a command printed with --json"
            ) from error
        if not isinstance(values, dict) or not values:
            if path not in paths:
                continue  # a folder may hold other files as well
            raise InputError(
                f"{path} is not a receipt or a result of discreet; give a receipt, or what a "
                "command printed with --json"
            )
        if is_receipt(path):
            values["checked"] = _checked(path, values)
        out.append((path.name.removesuffix(RECEIPT_SUFFIX).removesuffix(".json"), values))
    if not out:
        raise NotFound("none of these is a receipt or a result; name the files")
    return out


def _checked(path: Path, values: Mapping[str, Any]) -> str:
    """Whether the output of a receipt is there, and then that it is the one."""
    output = output_of(path)
    alone = not output.is_file() and not any(output.glob("*.safetensors"))
    if alone:
        return "the receipt alone: what it was written for is not here"
    Receipt.from_dict(values).require(output)
    return "the receipt and what it was written for belong together"


def sections_of(contents: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Section]:
    """An overview, if the runs have anything to compare, and a part for each of them."""
    sections = [section_of(name, values) for name, values in contents]
    summary = overview(contents)
    return [summary, *sections] if summary.tables or summary.plots else sections


def section_of(name: str, values: Mapping[str, Any]) -> Section:
    """One run as a part of the page."""
    if "recipe" in values:
        return _recorded(values)
    statement = _statement(values)
    tables, hidden = list[Table](), set(_SHOWN_ELSEWHERE)
    if _are_rows(findings := values.get("findings")) and "passed" in values:
        found = tuple((f.get("check"), f.get("verdict"), f.get("summary")) for f in findings)
        columns = ("check", "verdict", "found")
        tables.append(Table("checks", "Checks of the guarantee", columns, found))
        hidden.add("findings")
    attacks = attacks_in(values)
    if attacks:
        hidden |= {"outcomes", "defence", "sensitive_defence"}
    if isinstance(values.get("best_guess"), float):  # a word need not stay to be known
        hidden |= {"keep", "keep_draws"}
    told = {key: lines for key in _TOLD if (lines := _lines_of(values.get(key)))}
    hidden |= told.keys()
    rest = {key: value for key, value in values.items() if key not in hidden}
    listed = [key for key, value in rest.items() if _are_rows(value)]
    tables += [_rows_of(key, rest.pop(key)) for key in listed]
    grouped = {key: value for key, value in rest.items() if isinstance(value, Mapping)}
    loose = {key: value for key, value in rest.items() if key not in grouped}
    for title, group in [("figures", loose), *grouped.items()]:
        rows = tuple((_IN_WORDS.get(what, what.replace("_", " ")), v) for what, v in _flat(group))
        if rows:
            tables.append(Table(title, title.capitalize(), ("what", "value"), rows))
    said = () if statement is not None else ("This file carries no privacy statement.",)
    return Section(
        title=name,
        paragraphs=(*said, *(line for attack in attacks for line in attack.sentences())),
        guarantee=(
            *(() if statement is None else statement.lines()),
            *(line for lines in told.values() for line in lines),
        ),
        tables=tuple(tables),
        plots=tuple(attack.bars() for attack in attacks),
    )


def _lines_of(part: Any) -> tuple[str, ...]:
    """What a part of a receipt says of itself in words, if it does."""
    said = part.get("in_words") if isinstance(part, Mapping) else None
    lines = [said] if isinstance(said, str) else said
    if isinstance(lines, list) and all(isinstance(line, str) for line in lines):
        return tuple(lines)
    return ()


def _recorded(values: Mapping[str, Any]) -> Section:
    """What a recipe wrote as ``record.json``."""
    try:
        return stored(
            Section,
            {
                "title": values["title"] or values["recipe"],
                "paragraphs": values["introduction"],
                "claims": values["findings"],
                "tables": values["tables"],
                "plots": values["plots"],
            },
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("a record of a recipe is damaged; run the recipe again") from error


def overview(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Section:
    """All runs side by side, and their figures against epsilon where several share one."""
    own = [(n, values, _statement(values)) for n, values in runs if "recipe" not in values]
    rows = tuple((name, _outcome(values), *_guarantee(said)) for name, values, said in own)
    columns = ("run", "outcome", "protects", "guarantee", "epsilon", "caveats")
    table = Table("overview", "All runs", columns, rows)
    tables = (table,) if rows else ()
    return Section("Overview", tables=tables, plots=tuple(trends(own)), tables_first=True)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            record = path / _RECORD
            held = [record] if record.is_file() else sorted(path.glob("*.json"))
            if not held:
                raise NotFound(f"{path} holds no receipt and no record; give the files themselves")
            yield from held
        elif path.is_file():
            receipt = receipt_path(path)
            yield receipt if path.suffix != ".json" and receipt.is_file() else path
        else:
            raise NotFound(f"there is no file {path}; check the path")


def _statement(values: Mapping[str, Any]) -> PrivacyStatement | None:
    said = values.get("statement")
    return PrivacyStatement.from_dict(said) if isinstance(said, dict) else None


def _guarantee(statement: PrivacyStatement | None) -> tuple[Cell, ...]:
    if statement is None:
        return ("", "none stated", None, "")
    epsilon = None if statement.notion is Notion.NONE else statement.epsilon
    parts = [str(statement.notion)]
    if statement.delta:
        parts.append(f"delta {statement.delta:.3g}")
    if statement.slack:
        parts.append(f"slack {statement.slack:.3g}")
    return (
        statement.unit.replace("+", " and "),
        ", ".join(parts),
        epsilon,
        "; ".join(statement.caveats),
    )


def _outcome(values: Mapping[str, Any]) -> str:
    if "findings" in values and "passed" in values:  # of training they are not a list
        return "audit passed" if values["passed"] else "AUDIT FAILED"
    if attacks := attacks_in(values):
        return summarised(attacks)
    counts, keep = values.get("counts"), values.get("keep")
    listed = counts.items() if isinstance(counts, dict) else ()
    said = [
        f"{number:,} {what.removesuffix('s') if number == 1 else what}"
        for what, number in listed
        if number and isinstance(number, int)
    ]
    guess = values.get("best_guess")
    if isinstance(guess, float):  # a word need not stay to be known
        said.append(f"the best guess names {100 * guess:.2g} of 100 words")
    elif isinstance(keep, float):
        note = " (simulated)" if values.get("keep_draws") else ""
        said.append(f"a word stays with chance {keep:.2g}{note}")
    return ", ".join(said)


def _are_rows(value: Any) -> TypeGuard[list[Mapping[str, Any]]]:
    return isinstance(value, list) and bool(value) and all(isinstance(v, Mapping) for v in value)


def _rows_of(title: str, entries: Sequence[Mapping[str, Any]]) -> Table:
    """Entries of one kind, the outcomes of attacks say, as rows of one table."""
    lines = [dict(_flat(entry)) for entry in entries]
    columns = tuple(dict.fromkeys(name for line in lines for name in line))
    rows = tuple(tuple(line.get(name) for name in columns) for line in lines)
    return Table(title, title.capitalize(), columns, rows)


def _flat(values: Any, prefix: str = "") -> Iterator[tuple[str, Cell]]:
    """Nested settings as lines; long lists (a matrix, many labels) only by their size."""
    if isinstance(values, Mapping) and {"lowest", "median", "highest"} <= set(values):
        low, middle, high = (shown(values[key]) for key in ("lowest", "median", "highest"))
        yield prefix, f"{middle} in the median, from {low} to {high}"
    elif isinstance(values, Mapping):
        for key, value in values.items():
            yield from _flat(value, f"{prefix}, {key}" if prefix else str(key))
    elif isinstance(values, list):
        plain = all(isinstance(value, str | int | float) for value in values)
        few = plain and len(values) <= 8
        listed = ", ".join(str(v) for v in values) or "none"
        yield prefix, listed if few else f"{len(values)} entries"
    elif values is not None:
        yield prefix, str(values) if isinstance(values, bool) else values
