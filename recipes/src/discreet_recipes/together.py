"""All recipes in one go, and one page that shows what they found.

Every finished computation of a recipe is kept in its folder, so a run that was stopped continues
where it left off. A recipe that fails is named on the page and does not take the others with it.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from discreet.devices import AUTO, check_device
from discreet.errors import DiscreetError
from discreet.report.claims import VERDICTS
from discreet.report.page import write_page
from discreet_recipes import santext, sentdp, sentence_ldp, trlaplace, uedp
from discreet_recipes.recipe import SIZES, Recipe, Say
from discreet_recipes.record import Record

RECIPES = (santext.RECIPE, sentence_ldp.RECIPE, sentdp.RECIPE, uedp.RECIPE, trlaplace.RECIPE)
"""In the order of the page."""

__all__ = ["RECIPES", "SIZES", "reproduce_all"]

_TITLE = "What discreet does, how it compares, what it costs"
_SUBJECTS = {
    "utility": "Utility at an equal proven guarantee",
    "attack": "What attackers still learn",
    "speed": "Speed",
}


def reproduce_all(
    recipes: Sequence[Recipe],
    data: Path,
    folder: Path,
    *,
    size: str,
    say: Say,
    device: str = AUTO,
) -> Path:
    """Run recipes one after the other and write ``index.html`` and the rest of the report.

    Raises:
        DiscreetError: Some recipe failed; the page was written with the others. Or there is no
            such device, or one of them cannot use it; then nothing was begun.
    """
    check_device(device)
    options = {recipe: replace(recipe.sized(size), device=device) for recipe in recipes}
    quick = size == "quick"
    left = sum(recipe.quick_minutes for recipe in recipes)
    failed: dict[str, str] = {}
    records: dict[Recipe, Record] = {}
    started = time.monotonic()
    for number, recipe in enumerate(recipes, 1):
        guess = f"; about {left:.0f} minutes left" if quick else ""
        say(f"[{number}/{len(recipes)}] {recipe.name}{guess}")
        left -= recipe.quick_minutes
        try:
            records[recipe] = recipe.run(data, folder / recipe.name, options[recipe], say)
        except DiscreetError as error:
            failed[recipe.name] = str(error)
            say(f"{recipe.name} failed: {error}")
    introduction = [
        "The experiments of five papers on differentially private text, run again with discreet: "
        "what each paper ran, what we ran, its figures beside ours, and why they differ.",
        f"Sizes: {size}; "
        f"{(time.monotonic() - started) / 60:.0f} minutes since it was last started.",
    ]
    first = _summary(folder, records, failed)
    words = "The main claims; all of them are in the sections of their papers."
    opening = replace(first.section, title="Summary", paragraphs=(words,))
    page = folder / "index.html"
    write_page(page, _TITLE, introduction, [opening, *(r.section for r in records.values())])
    parts = ", ".join(f"[{each.subject}]({each.name}/README.md)" for each in records)
    first.introduction += introduction
    first.introduction.append(f"All figures: {parts}." if parts else "No recipe came to its end.")
    first.finish()
    if failed:
        raise DiscreetError(
            f"{len(failed)} of {len(recipes)} recipes failed ({', '.join(failed)}); {page} shows "
            "the others, and a new run takes up what is missing"
        )
    return page


def _summary(folder: Path, records: dict[Recipe, Record], failed: dict[str, str]) -> Record:
    """What a reader in a hurry needs: claims, utility, attacks, speed."""
    out = Record(folder, "all", {}, title=_TITLE)
    out.claims += [
        replace(claim, claim=f"{recipe.subject}: {claim.claim}")
        for recipe, record in records.items()
        for claim in record.claims
        if claim.main
    ]
    if failed:
        rows = [{"recipe": name, "why": why} for name, why in failed.items()]
        out.add_table("failed", "Recipes that failed", rows)
    verdicts = {recipe.subject: [c.verdict for c in r.claims] for recipe, r in records.items()}
    if verdicts:
        out.add_table(
            "verdicts",
            "All claims by verdict",
            [
                {"subject": subject, "claims": len(given), **{v: given.count(v) for v in VERDICTS}}
                for subject, given in verdicts.items()
            ],
        )
    for subject, title in _SUBJECTS.items():
        rows = [
            {"subject": recipe.subject, "what": figure.what, "figure": figure.figure}
            for recipe, record in records.items()
            for figure in record.key_figures
            if figure.subject == subject
        ]
        if rows:
            out.add_table(subject, title, rows)
    return out
