"""All recipes in one go, and one page that shows what they found.

Every finished computation of a recipe is kept in its folder, so a run that was stopped goes on
where it was. A recipe that fails is named on the page and does not take the others with it.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import DiscreetError
from discreet.report.exhibits import VERDICTS, Finding, Table
from discreet.report.page import Section, write_page
from discreet.report.runs import recipe_section
from discreet_recipes.record import Record

Say = Callable[[str], None]
_TITLE = "What discreet does, how it compares, what it costs"
_SUBJECTS = {
    "utility": "Utility at an equal proven guarantee",
    "attack": "What attackers still learn",
    "speed": "Speed",
}


class Run(Protocol):
    """What the module of a recipe offers as ``run``."""

    def __call__(self, data: Path, folder: Path, *, quick: bool, say: Say) -> Record:
        """Run the recipe on the data sets in a folder; everything found goes to another."""


@dataclass(frozen=True)
class Recipe:
    """A recipe by its name and its subject, and how long its quick form took on two idle cores."""

    name: str
    subject: str
    """For the summary."""
    run: Run
    quick_minutes: float


Records = dict[Recipe, dict[str, Any]]
"""What each recipe that came to its end wrote into its folder."""


def recipes() -> tuple[Recipe, ...]:
    """The five recipes, in the order of the page."""
    from discreet_recipes.santext import run as santext
    from discreet_recipes.sentdp import run as sentdp
    from discreet_recipes.sentence_ldp import run as sentence_ldp
    from discreet_recipes.trlaplace import run as trlaplace
    from discreet_recipes.uedp import run as uedp

    return (
        Recipe("santext", "SanText", santext.run, 10),
        Recipe("sentence-ldp", "Sentence vectors", sentence_ldp.run, 9),
        Recipe("sentdp", "SentDP", sentdp.run, 5),
        Recipe("uedp", "UeDP", uedp.run, 6),
        Recipe("trlaplace", "Truncated Laplace", trlaplace.run, 3),
    )


def reproduce_all(
    recipes: Sequence[Recipe], data: Path, folder: Path, *, quick: bool, say: Say
) -> Path:
    """Run recipes one after the other and write ``index.html`` and the rest of the report.

    Raises:
        DiscreetError: Some recipe failed; the page was written with the others.
    """
    left = sum(recipe.quick_minutes for recipe in recipes)
    failed: dict[Recipe, str] = {}
    started = time.monotonic()
    for number, recipe in enumerate(recipes, 1):
        guess = f"; about {left:.0f} minutes left" if quick else ""
        say(f"[{number}/{len(recipes)}] {recipe.name}{guess}")
        left -= recipe.quick_minutes
        try:
            recipe.run(data, folder / recipe.name, quick=quick, say=say)
        except DiscreetError as error:
            failed[recipe] = str(error)
            say(f"{recipe.name} failed: {error}")
    records: Records = {
        recipe: json.loads((folder / recipe.name / "record.json").read_text("utf-8"))
        for recipe in recipes
        if recipe not in failed
    }
    page = folder / "index.html"
    introduction = [
        "The experiments of five papers on differentially private text, run again with discreet: "
        "what each paper ran, what we ran, its figures beside ours, and why they differ.",
        f"{'Quick' if quick else 'Full'} run, "
        f"{(time.monotonic() - started) / 60:.0f} minutes since it was last started.",
    ]
    first = summary(records, failed)
    write_page(page, _TITLE, introduction, [first, *map(recipe_section, records.values())])
    _write_files(folder, introduction, first, records)
    if failed:
        raise DiscreetError(
            f"{len(failed)} of {len(recipes)} recipes failed "
            f"({', '.join(recipe.name for recipe in failed)}); {page} shows the others, and a new "
            "run takes up what is missing"
        )
    return page


def _write_files(folder: Path, introduction: list[str], section: Section, records: Records) -> None:
    """The summary as CSV and as a README that leads to those of the recipes."""
    parts = ", ".join(f"[{each.subject}]({each.name}/README.md)" for each in records)
    lines = [*introduction, f"All figures: {parts}." if parts else "No recipe came to its end."]
    record = Record(folder, "all", {}, title=_TITLE, introduction=lines)
    record.findings += section.findings
    for table in section.tables:
        record.add_table(table.name, table.title, table.columns, table.rows, table.note)
    record.finish()


def summary(records: Records, failed: dict[Recipe, str]) -> Section:
    """What a reader in a hurry needs: claims, utility, attacks, speed."""
    findings = tuple(
        Finding(**{**finding, "claim": f"{recipe.subject}: {finding['claim']}"})
        for recipe, values in records.items()
        for finding in values["findings"]
        if finding["main"]
    )
    tables = [
        _verdicts(records),
        *(
            Table(
                subject,
                title,
                ("subject", "what", "figure"),
                tuple(
                    (recipe.subject, line["what"], line["figure"])
                    for recipe, values in records.items()
                    for line in values["headlines"]
                    if line["subject"] == subject
                ),
            )
            for subject, title in _SUBJECTS.items()
        ),
    ]
    if failed:
        rows = tuple((recipe.name, why) for recipe, why in failed.items())
        tables.insert(0, Table("failed", "Recipes that failed", ("recipe", "why"), rows))
    kept = tuple(table for table in tables if table.rows)
    words = "The main claims; all of them are in the sections of their papers."
    return Section("Summary", paragraphs=(words,), findings=findings, tables=kept)


def _verdicts(records: Records) -> Table:
    """How many claims of each recipe hold."""
    found = {
        recipe.subject: [finding["verdict"] for finding in values["findings"]]
        for recipe, values in records.items()
    }
    return Table(
        "verdicts",
        "All claims by verdict",
        ("subject", "claims", *VERDICTS),
        tuple(
            (subject, len(verdicts), *(verdicts.count(verdict) for verdict in VERDICTS))
            for subject, verdicts in found.items()
        ),
    )
