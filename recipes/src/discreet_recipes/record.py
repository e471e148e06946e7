"""The record of a recipe: parts that are done stay done, tables and plots as files of their own.

A folder holds ``parts/`` (one JSON file for each finished computation, so that a run that was
stopped goes on where it was), ``tables/*.csv``, ``plots/*.png`` and ``record.json``, from which a
report is made.
"""

import csv
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import InputError
from discreet.files import written_whole
from discreet.report.exhibits import Cell, Curve, Finding, Headline, Plot, Table, draw, shown

__all__ = ["Cell", "Curve", "Finding", "Headline", "Plot", "Record", "Table"]


@dataclass
class Record:
    """What one recipe found; see the module.

    Args:
        folder: Where it is kept.
        recipe: The recipe's name.
        settings: Everything the figures depend on; parts of a run with other settings are not
            taken over.
        say: Called with a line for people at each part.
    """

    folder: Path
    recipe: str
    settings: dict[str, Any]
    say: Callable[[str], None] = field(default=lambda _line: None, repr=False)
    title: str = ""
    introduction: list[str] = field(default_factory=list)
    """Paragraphs: what the paper ran, what we ran, where we differ."""
    findings: list[Finding] = field(default_factory=list)
    headlines: list[Headline] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)

    def part(self, key: str, compute: Callable[[], Any]) -> Any:
        """The result of a computation, ready for JSON; computed once per folder and settings."""
        path = self.folder / "parts" / f"{key}-{self._digest()}.json"
        if path.is_file():
            try:
                return json.loads(path.read_text("utf-8"))
            except ValueError as error:
                raise InputError(f"{path} is damaged; delete it and run again") from error
        self.say(f"{self.recipe}: {key}")
        result = compute()
        with written_whole(path) as temporary:
            temporary.write_text(json.dumps(result), "utf-8")
        # As it will be read the next time: tuples are lists, whole keys are strings.
        return json.loads(path.read_text("utf-8"))

    def add_table(
        self,
        name: str,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        note: str = "",
    ) -> None:
        """Keep a table and write it as CSV."""
        table = Table(name, title, tuple(columns), tuple(tuple(row) for row in rows), note)
        self.tables.append(table)
        self._write_csv(name, table.columns, table.rows)

    def add_plot(self, plot: Plot) -> None:
        """Keep a plot and draw it as PNG."""
        self.plots.append(plot)
        draw(plot, self.folder / "plots" / f"{plot.name}.png")

    def finish(self) -> Path:
        """Write ``record.json``, the claims as CSV, and a readable ``README.md``, returned."""
        if self.findings:
            self._write_csv(*self._claims())
        values = {
            "discreet": __version__,
            "recipe": self.recipe,
            "title": self.title,
            "settings": self.settings,
            "introduction": self.introduction,
            "findings": [asdict(finding) for finding in self.findings],
            "headlines": [asdict(headline) for headline in self.headlines],
            "tables": [asdict(table) for table in self.tables],
            "plots": [asdict(plot) for plot in self.plots],
        }
        with written_whole(self.folder / "record.json") as temporary:
            temporary.write_text(json.dumps(values, indent=1, ensure_ascii=False), "utf-8")
        page = self.folder / "README.md"
        with written_whole(page) as temporary:
            temporary.write_text("\n".join(self._lines()) + "\n", "utf-8")
        return page

    def _lines(self) -> list[str]:
        out = [f"# {self.title or self.recipe}", ""]
        for paragraph in self.introduction:
            out += [paragraph, ""]
        if self.findings:
            _, columns, rows = self._claims()
            out += [*_markdown(columns, rows), ""]
        for table in self.tables:
            out += [f"## {table.title}", "", *_markdown(table.columns, table.rows), ""]
            out += [table.note, ""] if table.note else []
        for plot in self.plots:
            out += [f"## {plot.title}", "", f"![{plot.alternative}](plots/{plot.name}.png)", ""]
        return out

    def _claims(self) -> tuple[str, Sequence[str], Sequence[Sequence[Cell]]]:
        columns = ("claim", "published", "measured", "verdict", "why")
        rows = [(f.claim, f.published, f.measured, f.verdict, f.why) for f in self.findings]
        return "claims", columns, rows

    def _write_csv(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        with (
            written_whole(self.folder / "tables" / f"{name}.csv") as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            csv.writer(file).writerows([columns, *rows])

    def _digest(self) -> str:
        encoded = json.dumps(self.settings, sort_keys=True, default=str).encode()
        return hashlib.sha256(encoded).hexdigest()[:12]


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    body = [line([shown(cell) for cell in row]) for row in rows]
    return [line(columns), "|" + "---|" * len(columns), *body]
