"""Put finished records of ``discreet reproduce`` on a page of the documentation.

    python scripts/publish_run.py [RUN]

RUN holds a folder for each recipe that was run, as ``discreet reproduce all -o RUN`` leaves it. Its
records are kept in recipes/records, without tables of examples, which quote the data sets, and
without anybody's folders. The page docs/background/run.md and its pictures in docs/images/run/ are
written from what is kept there. Every command is written out of the record's own settings.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.report.claims import VERDICTS
from discreet.report.plots import Plot, draw
from discreet.report.stored import stored
from discreet.settings import declared_in
from discreet_recipes.recipe import Recipe
from discreet_recipes.record import markdown_table
from discreet_recipes.together import RECIPES

ROOT = Path(__file__).parent.parent
PAGE, IMAGES = ROOT / "docs" / "background" / "run.md", ROOT / "docs" / "images" / "run"
RECORDS = ROOT / "recipes" / "records"
_CLAIMS = ("claim", "published", "measured", "verdict", "why")
_LEFT_OUT = ("examples",)
_OPENING = """\
# The published run

Experiments of the papers, run with [`discreet reproduce`](../commands/reproduce.md), one recipe at
a time, stopped and taken up again; this page is written from their records by
`scripts/publish_run.py`. [The papers, table by table](papers.md) draws the conclusions. Sizes are
`--standard` where a command has no options, and smaller where it has some: every command says
which. The machine had two cores, one of them for a run, and no GPU; other work ran beside, so that
times on this page are rough. Figures after ± are standard deviations over seeds or trials unless a
table says otherwise; what rests on one seed has no ±.
"""


def keep(recipe: Recipe, folder: Path) -> None:
    """Take a record into the repository."""
    record = json.loads((folder / "record.json").read_text("utf-8"))
    record["tables"] = [table for table in record["tables"] if table["name"] not in _LEFT_OUT]
    record["settings"] = {name: _without_folders(v) for name, v in record["settings"].items()}
    RECORDS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    (RECORDS / f"{recipe.name}.json").write_text(text + "\n", "utf-8")


def _without_folders(value: Any) -> Any:
    """A file of vectors or a model is the reader's own; its name says which."""
    if isinstance(value, list):
        return [_without_folders(one) for one in value]
    return Path(value).name if isinstance(value, str) else value


def command(recipe: Recipe, settings: dict[str, Any]) -> Iterator[str]:
    """The lines of the command that makes a record: a named setting, and what is not as there."""
    values = {
        each: tuple(value) if isinstance(value, list) else value
        for each in declared_in(type(recipe.quick))
        if each.name in settings  # not if the option came later than the record
        for value in (settings[each.name],)
    }
    changes = {
        size: {
            each: value
            for each, value in values.items()
            if value != getattr(recipe.sized(size), each.name)
        }
        for size in ("quick", "standard")
    }
    # A switch can be turned on alone.
    able = [size for size, some in changes.items() if not any(v is False for v in some.values())]
    size = min(able, key=lambda name: len(changes[name]))
    yield f"discreet reproduce {recipe.name} --{size} --data DATA -o RUN/{recipe.name}"
    for each, value in changes[size].items():
        words = value if isinstance(value, tuple) else (value,)
        said = ",".join(w if isinstance(w, str) else f"{w:g}" for w in words) or "none"
        yield f"    {each.flag}" + ("" if value is True else f" {said}")


def summary(records: dict[Recipe, dict[str, Any]]) -> Iterator[str]:
    """What a reader in a hurry needs: the main claims, verdicts counted, key figures."""
    yield from ("## Summary", "", "The main claims; all of them are in the parts below.", "")
    rows = [
        [f"{recipe.subject}: {finding['claim']}", *(finding[name] for name in _CLAIMS[1:])]
        for recipe, record in records.items()
        for finding in record["findings"]
        if finding["main"]
    ]
    yield from (*markdown_table(_CLAIMS, rows), "", "All claims by verdict:", "")
    counts = [
        [recipe.subject, *([f["verdict"] for f in record["findings"]].count(v) for v in VERDICTS)]
        for recipe, record in records.items()
    ]
    yield from (*markdown_table(("subject", *VERDICTS), counts), "", "Key figures:", "")
    figures = [
        [recipe.subject, figure["subject"], figure["what"], figure["figure"]]
        for recipe, record in records.items()
        for figure in record["headlines"]
    ]
    yield from (*markdown_table(("paper", "of", "what", "figure"), figures), "")


def section(recipe: Recipe, record: dict[str, Any]) -> Iterator[str]:
    """One record as a part of the page."""
    yield from (f"## {recipe.subject}", "")
    yield from (f"{recipe.paper} The command:", "", "```text")
    yield from (" \\\n".join(command(recipe, record["settings"])), "```", "")
    for paragraph in record["introduction"]:
        yield from (paragraph, "")
    claims = [[finding[name] for name in _CLAIMS] for finding in record["findings"]]
    yield from (*markdown_table(_CLAIMS, claims), "")
    for plot in record["plots"]:
        if all(len(set(curve["y"])) < 2 for curve in plot["curves"]):
            continue  # a point or a level is no curve; the tables have it
        name = f"{recipe.name}-{plot['name']}.png"
        draw(stored(Plot, plot), IMAGES / name)
        yield from (f"![{plot['alternative']}](../images/run/{name})", "")
    for table in record["tables"]:
        yield from (f"### {recipe.subject}: {table['title']}", "")
        yield from (*markdown_table(table["columns"], table["rows"]), "")
        yield from (table["note"], "") if table["note"] else ()


def main(run: Path | None = None) -> None:
    """Write the page from what is kept, after taking over what is in the folder."""
    for recipe in RECIPES:
        if run is not None and (run / recipe.name / "record.json").is_file():
            keep(recipe, run / recipe.name)
    IMAGES.mkdir(parents=True, exist_ok=True)
    paths = {recipe: RECORDS / f"{recipe.name}.json" for recipe in RECIPES}
    records = {
        recipe: json.loads(path.read_text("utf-8"))
        for recipe, path in paths.items()
        if path.is_file()
    }
    lines = [*summary(records), *(line for pair in records.items() for line in section(*pair))]
    PAGE.write_text(_OPENING + "\n" + "\n".join(lines), "utf-8")
    print(f"{PAGE}: {', '.join(recipe.name for recipe in records)}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
