"""What a recipe is: a paper's experiments, declared once for the command line and for the page."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.settings import Setting, Settings

if TYPE_CHECKING:
    from discreet_recipes.record import Record

Say = Callable[[str], None]
"""Called with a line for people."""


@dataclass(frozen=True, kw_only=True)
class Options(Settings):
    """What every recipe can be told."""

    quick: Annotated[bool, Setting("Stated subsets, fewer settings and trials: minutes.")] = False


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A recipe. Its folder has a module ``run`` with a function ``run``, imported when called."""

    folder: str
    """The package that it is in."""
    name: str
    subject: str
    """In a word or two, for the summary of all recipes."""
    title: str
    paper: str
    data: str
    """The files that it reads, without their ending ``.jsonl.gz``,"""
    fields: str
    """and what is in them."""
    short_help: str
    help: str
    """What it measures, in one line."""
    note: str = ""
    """What whoever starts it should know."""
    the_paper_ran: str
    we_run: str
    quick_minutes: float
    """How long its quick form took on two idle cores."""
    options: type[Options] = Options

    def run(self, data: Path, folder: Path, options: Options, say: Say) -> "Record":
        """Run it and write its record.

        Args:
            data: Folder with the data sets.
            folder: Where the record goes; finished parts in it are taken over.
            options: Of the class that the recipe declares.
            say: Called at each part.
        """
        record: Record = import_module(f"{self.folder}.run").run(data, folder, options, say)
        return record
