"""The record of a recipe: parts that are done stay done, tables and plots as files of their own.

A folder holds ``parts/`` (one JSON file for each finished computation, so that a run that was
stopped continues where it left off), ``tables/*.csv``, ``plots/*.png`` and ``record.json``, from
which a report is made.
"""

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import InputError
from discreet.files import written_whole
from discreet.report.claims import Claim
from discreet.report.page import Section
from discreet.report.plots import Curve, Plot, draw
from discreet.report.tables import Cell, Table, shown
from discreet_recipes.recipe import Recipe, Say

_CLAIMS = ("claim", "published", "measured", "verdict", "why")


@dataclass(frozen=True)
class KeyFigure:
    """One figure for the summary of all recipes."""

    subject: str
    """One of: utility, attack, speed."""
    what: str
    figure: str


@dataclass
class Record:
    """What one recipe found; see the module.

    Args:
        folder: Where it is kept.
        recipe: The recipe's name.
        settings: Everything the figures depend on; parts of a run with other settings are not
            taken over.
        lists: Names of settings that only say which parts there are, such as a list of epsilons: a
            part's own name says which of them it is for, so a longer list computes what is new.
        say: Called with a line for people at each part.
    """

    folder: Path
    recipe: str
    settings: dict[str, Any]
    say: Say = field(default=lambda _line: None, repr=False)
    lists: frozenset[str] = frozenset()
    title: str = ""
    introduction: list[str] = field(default_factory=list)
    """Paragraphs: what the paper ran, what we ran, where we differ."""
    claims: list[Claim] = field(default_factory=list)
    key_figures: list[KeyFigure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    as_before: frozenset[str] = frozenset()
    """Settings that parts need not say: they came later, and have the value of before."""

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        folder: Path,
        settings: dict[str, Any],
        say: Say,
        *differences: str,
        lists: Iterable[str] = (),
    ) -> "Record":
        """A record that opens with what the paper ran, what we run and where that differs."""
        # Where it was computed changes the last digits and is no reason to compute it again.
        lists = {*lists, "device"}
        as_before = {name for name, value in recipe.quick.later.items() if settings[name] == value}
        paragraphs = [recipe.the_paper_ran, recipe.we_run, *differences]
        return cls(
            folder,
            recipe.name,
            settings,
            say,
            frozenset(lists),
            recipe.title,
            paragraphs,
            as_before=frozenset(as_before),
        )

    @property
    def section(self) -> Section:
        """The record as a part of a page."""
        return Section(
            self.title or self.recipe,
            paragraphs=tuple(self.introduction),
            claims=tuple(self.claims),
            tables=tuple(self.tables),
            plots=tuple(self.plots),
        )

    def part(self, key: str, compute: Callable[[], Any], uses: Sequence[str] | None = None) -> Any:
        """The result of a computation, ready for JSON; computed once per folder and settings.

        Args:
            key: Its name, which says all that the lists of the settings leave open.
            compute: Called unless the result is there.
            uses: The settings that it depends on, all unless given: a part that names few is kept
                when another setting changes.
        """
        path = self.folder / "parts" / f"{key}-{self.digest_of(uses)}.json"
        if path.is_file():
            try:
                return json.loads(path.read_text("utf-8"))
            except ValueError as error:
                raise InputError(f"{path} is damaged; delete it and run again") from error
        self.say(f"{self.recipe}: {key}")
        result = compute()
        _write(path, json.dumps(result))
        # As it will be read the next time: tuples are lists, whole keys are strings.
        return json.loads(path.read_text("utf-8"))

    def add_claim(
        self,
        claim: str,
        published: str,
        measured: str,
        verdict: str,
        why: str = "",
        *,
        main: bool = False,
    ) -> None:
        """Put a claim beside what was measured."""
        self.claims.append(Claim(claim, published, measured, verdict, why, main))

    def add_key_figure(self, subject: str, what: str, figure: str) -> None:
        """Keep a figure for the summary of all recipes."""
        self.key_figures.append(KeyFigure(subject, what, figure))

    def add_table(
        self, name: str, title: str, rows: Sequence[Mapping[str, Cell]], note: str = ""
    ) -> None:
        """Keep a table and write it as CSV; a row says what is in each column."""
        columns = tuple(dict.fromkeys(column for row in rows for column in row))
        cells = tuple(tuple(row.get(column) for column in columns) for row in rows)
        table = Table(name, title, columns, cells, note)
        self.tables.append(table)
        self._write_csv(name, table.columns, table.rows)

    def add_plot(
        self,
        name: str,
        title: str,
        axes: tuple[str, str],
        curves: Sequence[Curve],
        alternative: str,
        *,
        log_x: bool = False,
        level: tuple[str, float] | None = None,
    ) -> None:
        """Keep a plot and draw it as PNG; see :class:`Plot`."""
        plot = Plot(name, title, *axes, tuple(curves), alternative, log_x=log_x, level=level)
        self.plots.append(plot)
        draw(plot, self.folder / "plots" / f"{name}.png")

    def finish(self) -> "Record":
        """Write ``record.json``, the claims as CSV, and a readable ``README.md``."""
        if self.claims:
            self._write_csv("claims", _CLAIMS, self._claim_rows())
        values = {
            "discreet": __version__,
            "recipe": self.recipe,
            "title": self.title,
            "settings": self.settings,
            "introduction": self.introduction,
            "findings": [asdict(claim) for claim in self.claims],
            "headlines": [asdict(figure) for figure in self.key_figures],
            "tables": [asdict(table) for table in self.tables],
            "plots": [asdict(plot) for plot in self.plots],
        }
        _write(self.folder / "record.json", json.dumps(values, indent=1, ensure_ascii=False))
        _write(self.page, "\n".join(self._lines()) + "\n")
        return self

    @property
    def page(self) -> Path:
        """The record for people."""
        return self.folder / "README.md"

    def _lines(self) -> list[str]:
        out = [f"# {self.title or self.recipe}", ""]
        for paragraph in self.introduction:
            out += [paragraph, ""]
        if self.claims:
            out += [*markdown_table(_CLAIMS, self._claim_rows()), ""]
        for table in self.tables:
            out += [f"## {table.title}", "", *markdown_table(table.columns, table.rows), ""]
            out += [table.note, ""] if table.note else []
        for plot in self.plots:
            out += [f"## {plot.title}", "", f"![{plot.alternative}](plots/{plot.name}.png)", ""]
        return out

    def _claim_rows(self) -> list[tuple[str, ...]]:
        return [tuple(getattr(claim, name) for name in _CLAIMS) for claim in self.claims]

    def _write_csv(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        with (
            written_whole(self.folder / "tables" / f"{name}.csv") as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            csv.writer(file).writerows([columns, *rows])

    @property
    def digest(self) -> str:
        """Of all settings that a part may depend on: other settings, other parts."""
        return self.digest_of(None)

    def digest_of(self, uses: Sequence[str] | None) -> str:
        """Of the settings named, or of all but the lists."""
        names = self.settings.keys() - self.lists if uses is None else set(uses)
        own = {name: self.settings[name] for name in names - self.as_before}
        encoded = json.dumps(own, sort_keys=True, default=str).encode()
        return hashlib.sha256(encoded).hexdigest()[:12]


def verdict(holds: bool, in_part: bool = False) -> str:
    """The verdict on a claim."""
    return "holds" if holds else "holds in part" if in_part else "does not hold"


def _write(path: Path, text: str) -> None:
    with written_whole(path) as temporary:
        temporary.write_text(text, "utf-8")


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[str]:
    """The lines of a table in Markdown, its cells for people."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    body = [line([shown(cell) for cell in row]) for row in rows]
    return [line(columns), "|" + "---|" * len(columns), *body]
