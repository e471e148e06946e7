"""Small data sets in the form that recipes read."""

import contextlib
import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.errors import InvalidValue
from discreet.settings import declared_in
from discreet_recipes.options import member_of
from discreet_recipes.recipe import Recipe
from discreet_recipes.record import Record
from tiny_bert import sentences

RECORDS = Path(__file__).parents[1] / "records"


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Gzipped JSON lines."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def write_labelled(folder: Path, counts: dict[str, int]) -> Path:
    """Sentences of our own with labels, as many as said for each file; some are longer."""
    for seed, (name, count) in enumerate(counts.items()):
        texts, labels = sentences(count, seed)
        pairs = zip(texts, labels, strict=True)
        rows = [
            {"text": text + " very" * (row % 3), "label": label}
            for row, (text, label) in enumerate(pairs)
        ]
        write_rows(folder / f"{name}.jsonl.gz", rows)
    return folder


def shorter(options: Any) -> Iterator[Any]:
    """The same options with each of their lists cut to its first, and to none where that may be.

    Nothing of them has to be computed once all of it was: what is shown must be there as well.
    """
    for each in declared_in(type(options)):
        for kept in (getattr(options, each.name)[:1], ()) if member_of(each) else ():
            with contextlib.suppress(InvalidValue):
                yield replace(options, **{each.name: kept})


def is_kept(recipe: Recipe, piece: str, part: str, uses: Iterable[str], **changed: Any) -> bool:
    """Whether a part of the published run is found by what it uses, though options came later."""
    settings = json.loads((RECORDS / f"{piece}.json").read_text())["settings"]
    given = {**recipe.quick.later, **settings, **changed}
    digest = Record.of(recipe, RECORDS, given, print).digest_of([*uses])
    return (RECORDS / piece / "parts" / f"{part}-{digest}.json").is_file()
