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
from discreet.evaluation.exhibits import Finding, Table
from discreet.evaluation.page import Section, write_page
from discreet.evaluation.runs import recipe_section
from discreet.reproduce.record import Record

Say = Callable[[str], None]
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
    """A recipe by its name, with a guess at how long its quick form takes on two cores."""

    name: str
    run: Run
    quick_minutes: float


def recipes() -> tuple[Recipe, ...]:
    """The five recipes, in the order of the page."""
    from discreet.reproduce import santext, sentdp, sentence_ldp, trlaplace, uedp

    return (
        Recipe("santext", santext.run, 13),
        Recipe("sentence-ldp", sentence_ldp.run, 9),
        Recipe("sentdp", sentdp.run, 8),
        Recipe("uedp", uedp.run, 7),
        Recipe("trlaplace", trlaplace.run, 5),
    )


def reproduce_all(
    recipes: Sequence[Recipe], data: Path, folder: Path, *, quick: bool, say: Say
) -> Path:
    """Run recipes one after the other and write ``index.html`` in the folder.

    Raises:
        DiscreetError: Some recipe failed; the page was written with the others.
    """
    left = sum(recipe.quick_minutes for recipe in recipes)
    failed: dict[str, str] = {}
    started = time.monotonic()
    for number, recipe in enumerate(recipes, 1):
        guess = f"; about {left:.0f} minutes left" if quick else ""
        say(f"[{number}/{len(recipes)}] {recipe.name}{guess}")
        left -= recipe.quick_minutes
        try:
            recipe.run(data, folder / recipe.name, quick=quick, say=say)
        except DiscreetError as error:
            failed[recipe.name] = str(error)
            say(f"{recipe.name} failed: {error}")
    records = {
        recipe.name: json.loads((folder / recipe.name / "record.json").read_text("utf-8"))
        for recipe in recipes
        if recipe.name not in failed
    }
    page = folder / "index.html"
    introduction = [
        "The experiments of five papers on differentially private text, run again with discreet: "
        "what each paper ran, what we ran, its figures beside ours, and why they differ.",
        f"{'Quick' if quick else 'Full'} run, "
        f"{(time.monotonic() - started) / 60:.0f} minutes since it was last started.",
    ]
    sections = [summary(records, failed), *map(recipe_section, records.values())]
    write_page(page, "What discreet does, how it compares, what it costs", introduction, sections)
    if failed:
        raise DiscreetError(
            f"{len(failed)} of {len(recipes)} recipes failed ({', '.join(failed)}); {page} shows "
            "the others, and a new run takes up what is missing"
        )
    return page


def summary(records: dict[str, dict[str, Any]], failed: dict[str, str]) -> Section:
    """What a reader in a hurry needs: claims, utility, attacks, speed."""
    findings = tuple(
        Finding(**{**finding, "claim": f"{name}: {finding['claim']}"})
        for name, values in records.items()
        for finding in values["findings"]
    )
    tables = [
        Table(
            subject,
            title,
            ("recipe", "what", "figure"),
            tuple(
                (name, line["what"], line["figure"])
                for name, values in records.items()
                for line in values["headlines"]
                if line["subject"] == subject
            ),
        )
        for subject, title in _SUBJECTS.items()
    ]
    if failed:
        rows = tuple(failed.items())
        tables.insert(0, Table("failed", "Recipes that failed", ("recipe", "why"), rows))
    kept = tuple(table for table in tables if table.rows)
    return Section("Summary", findings=findings, tables=kept)
