"""Put finished records of ``discreet reproduce`` on pages of the documentation.

    python scripts/publish_run.py [RUN]

RUN holds a folder for each recipe that was run, as ``discreet reproduce all -o RUN`` leaves it. A
recipe may be run in pieces, each with options of its own: RUN/santext, RUN/santext.pairs, ... Their
records are kept in recipes/records, without tables of examples, which quote the data sets, and
without anybody's folders. Finished parts are kept beside them: copied to RUN/NAME/parts they are
not computed again when a run is to have more. The pages in docs/background/run/, a summary and one
for each recipe, and their pictures in docs/images/run/ are written from what is kept there. Every
command is written out of the record's own settings.
"""

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
PAGES, IMAGES = ROOT / "docs" / "background" / "run", ROOT / "docs" / "images" / "run"
RECORDS = ROOT / "recipes" / "records"
_CLAIMS = ("claim", "published", "measured", "verdict", "why")
_LEFT_OUT = ("examples",)
# Parts with one of these words in their names quote the data sets, which stay where they are.
_QUOTES = (*_LEFT_OUT, "entities")
_LONG = 24  # rows; a longer table is folded, so that what stands behind it is found
# Thousands of figures: nobody looks one up, and a search would show little else.
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---"
_OPENING = """\
# The published run

Experiments of the papers, run with [`discreet reproduce`](../../commands/reproduce.md), one recipe
at a time, stopped and taken up again; these pages are written from their records by
`scripts/publish_run.py`. [The papers, table by table](../papers.md) draws the conclusions. Sizes
are `--standard` where a command has no options, and smaller where it has some: every command says
which. The machine had two cores, one of them for a run, and no GPU; other work ran beside, so that
times are rough. Figures after ± are standard deviations over seeds or trials unless a table says
otherwise; what rests on one seed has no ±.

Every table and plot: {pages}.
"""


@dataclass(frozen=True)
class Piece:
    """A recipe that was run, or a piece of it, with what came out."""

    recipe: Recipe
    name: str
    """Of its folder: that of the recipe, for a piece with more words behind a dot."""
    record: dict[str, Any]

    @property
    def title(self) -> str:
        """What it is a record of."""
        words = self.name.partition(".")[2].replace("-", " ")
        return f"{self.recipe.subject}, {words}" if words else self.recipe.subject


def keep(record: Path, name: str) -> None:
    """Take a record into the repository."""
    values = json.loads(record.read_text("utf-8"))
    values["tables"] = [table for table in values["tables"] if table["name"] not in _LEFT_OUT]
    values["settings"] = {name: _without_folders(v) for name, v in values["settings"].items()}
    RECORDS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(values, indent=1, ensure_ascii=False)
    (RECORDS / f"{name}.json").write_text(text + "\n", "utf-8")
    parts = RECORDS / name / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    for part in (record.parent / "parts").glob("*.json"):
        if not any(word in part.name for word in _QUOTES):
            shutil.copyfile(part, parts / part.name)


def _without_folders(value: Any) -> Any:
    """A file of vectors or a model is the reader's own; its name says which."""
    if isinstance(value, list):
        return [_without_folders(one) for one in value]
    return Path(value).name if isinstance(value, str) else value


def command(piece: Piece) -> Iterator[str]:
    """The lines of the command that makes a record: a named setting, and what is not as there."""
    recipe, settings = piece.recipe, piece.record["settings"]
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
    yield f"discreet reproduce {recipe.name} --{size} --data DATA -o RUN/{piece.name}"
    for each, value in changes[size].items():
        words = value if isinstance(value, tuple) else (value,)
        said = ",".join(w if isinstance(w, str) else f"{w:g}" for w in words) or "none"
        yield f"    {each.flag}" + ("" if value is True else f" {said}")


def summary(pieces: list[Piece]) -> Iterator[str]:
    """What a reader in a hurry needs: the main claims, verdicts counted, key figures."""
    # A claim that several pieces come upon counts once: as the whole recipe has it.
    claims: dict[tuple[str, str], dict[str, Any]] = {}
    for piece in pieces:
        for claim in piece.record["findings"]:
            claims.setdefault((piece.recipe.subject, claim["claim"]), claim)
    yield from ("## Summary", "", "The main claims; the pages of the recipes have all.", "")
    rows = [
        [f"{subject}: {words}", *(claim[name] for name in _CLAIMS[1:])]
        for (subject, words), claim in claims.items()
        if claim["main"]
    ]
    yield from (*markdown_table(_CLAIMS, rows), "", "All claims by verdict:", "")
    verdicts = [(subject, claim["verdict"]) for (subject, _), claim in claims.items()]
    counts = [
        [subject, *(verdicts.count((subject, verdict)) for verdict in VERDICTS)]
        for subject in dict.fromkeys(subject for subject, _ in verdicts)
    ]
    yield from (*markdown_table(("subject", *VERDICTS), counts), "", "Key figures:", "")
    figures: dict[tuple[str, str, str], str] = {}
    for piece in pieces:  # the whole recipe's, if a piece measured it again
        for figure in piece.record["headlines"]:
            which = (piece.recipe.subject, figure["subject"], figure["what"])
            figures.setdefault(which, figure["figure"])
    rows = [[*which, figure] for which, figure in figures.items()]
    yield from (*markdown_table(("paper", "of", "what", "figure"), rows), "")


def section(piece: Piece, before: Sequence[Piece]) -> Iterator[str]:
    """One record as a part of a page, without what those before it have word for word."""
    record, title = piece.record, piece.title

    def new(what: str) -> list[Any]:
        others = [each for one in before for each in one.record[what]]
        return [each for each in record[what] if each not in others]

    yield from (f"## {title}", "")
    yield from (f"{piece.recipe.paper} The command:", "", "```text")
    yield from (" \\\n".join(command(piece)), "```", "")
    for paragraph in new("introduction"):
        yield from (paragraph, "")
    claims = [[finding[name] for name in _CLAIMS] for finding in new("findings")]
    yield from (*markdown_table(_CLAIMS, claims), "") if claims else ()
    least = 2 if piece.name == piece.recipe.name else 3
    for plot in new("plots"):
        if all(len(set(curve["y"])) < least for curve in plot["curves"]):
            continue  # too little for a curve; the tables have it
        name = f"{piece.name}-{plot['name']}.png"
        draw(stored(Plot, plot), IMAGES / name)
        yield from (f"![{plot['alternative']}](../../images/run/{name})", "")
    for table in new("tables"):
        yield from (f"### {title}: {table['title']}", "")
        yield from (table["note"], "") if table["note"] else ()
        rows = (*markdown_table(table["columns"], table["rows"]), "")
        if len(table["rows"]) > _LONG:
            summary = f"<summary>{len(table['rows'])} rows</summary>"
            rows = ('<details markdown="1">', summary, "", *rows, "</details>", "")
        yield from rows


def pages(pieces: Sequence[Piece]) -> Iterator[tuple[str, str]]:
    """Name and text of every page: the summary, and one for each recipe that was run."""
    recipes = dict.fromkeys(piece.recipe for piece in pieces)
    listed = ", ".join(f"[{recipe.subject}]({_page(recipe)})" for recipe in recipes)
    yield "index.md", "\n".join((_OPENING.format(pages=listed), *summary(pieces)))
    for recipe in recipes:
        its = [piece for piece in pieces if piece.recipe == recipe]
        lines = [_NOT_SEARCHED, "", f"# The published run: {recipe.subject}", ""]
        for number, piece in enumerate(its):
            lines += section(piece, its[:number])
        yield _page(recipe), "\n".join(lines)


def _page(recipe: Recipe) -> str:
    return f"{recipe.name}.md"


def main(run: Path | None = None) -> None:
    """Write the pages from what is kept, after taking over what is in the folder."""
    if run is not None and not run.is_dir():
        raise SystemExit(f"there is no folder {run}")
    for record in sorted(run.glob("*/record.json")) if run is not None else ():
        if record.parent.name.partition(".")[0] in {recipe.name for recipe in RECIPES}:
            keep(record, record.parent.name)
    # Some may have no place any more.
    for folder, kind in ((IMAGES, "*.png"), (PAGES, "*.md")):
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(kind):
            old.unlink()
    pieces = [
        Piece(recipe, path.stem, json.loads(path.read_text("utf-8")))
        for recipe in RECIPES
        for path in sorted(RECORDS.glob(f"{recipe.name}*.json"), key=lambda path: path.stem)
        if path.stem.partition(".")[0] == recipe.name
    ]
    for name, text in pages(pieces):
        (PAGES / name).write_text(text, "utf-8")
    print(f"{PAGES}: {', '.join(piece.name for piece in pieces)}")


if __name__ == "__main__":
    layout = argparse.RawDescriptionHelpFormatter
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    arguments.add_argument("run", nargs="?", type=Path, help="as discreet reproduce all -o RUN")
    main(arguments.parse_args().run)
