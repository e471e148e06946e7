"""What a recipe is: a paper's experiments, declared once for the command line and for the page."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.devices import prefer_device
from discreet.errors import InvalidValue, NotFound
from discreet.settings import Declared, Setting, declared_in
from discreet_recipes.data_files import Rows, missing_files, mixed_files, short_files
from discreet_recipes.needs import require_libraries, require_model
from discreet_recipes.options import NONE, Model, Options, checked_list, member_of

if TYPE_CHECKING:
    from discreet_recipes.record import Record

Say = Callable[[str], None]
"""Called with a line for people."""

_LONGEST = 60  # letters of a list that a help shows
# What every recipe imports when it comes to it, which may be after hours.
_LIBRARIES = {
    "torch": "encoder",
    "transformers": "train",
    "sklearn": "encoder",
    "matplotlib": "report",
}

SIZES = {
    "quick": "Stated subsets, fewer settings and trials: minutes.",
    "standard": "The default: meant for about an hour on two cores.",
    "paper": "The paper's own sizes and models: for a GPU, with --space, --encoder or --model "
    "as files of yours.",
}
"""The named settings of every recipe, and what they are for."""


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
    quick: Options
    standard: Options
    papers: Options
    """As the paper has it: its sizes, and its models once they are given."""
    files: Callable[[Any], Sequence[str]]
    """From options to the names of the files that are read."""
    rows: Callable[[Any], Iterable[Rows]] = lambda _options: ()
    """And to the numbers of rows that they are asked for."""
    apart: Callable[[Any], Iterable[tuple[str, str]]] = lambda _options: ()
    """And to pairs of these files that must be different text: what plays public text, and what is
    protected."""
    needs: Callable[[Any], None] = lambda _options: None
    """Raises an error that names what else the options need and this machine lacks."""

    def sized(self, size: str) -> Options:
        """The options of that name: quick, standard or paper."""
        options: Options = getattr(self, "papers" if size == "paper" else size)
        return options

    def declared(self) -> Iterator[Declared]:
        """The options of its command: the three sizes by name, and whatever they set."""
        for name, words in SIZES.items():
            yield Declared(name, bool, False, Setting(words))
        for each in declared_in(type(self.quick)):
            named: dict[str, list[str]] = {}
            for size in SIZES:
                named.setdefault(_said(getattr(self.sized(size), each.name)), []).append(size)
            values = [f"{value} ({', '.join(sizes)})" for value, sizes in named.items()]
            words = each.setting.help
            if member_of(each) and each.setting.choices:
                words += f" Any of {', '.join(each.setting.choices)}."
            words += f" {'; '.join(values if len(values) > 1 else named)}."
            setting, kind = replace(each.setting, help=words), each.kind
            if member_of(each):
                # As it is typed; its members are looked at once it is read.
                setting, kind = replace(setting, choices=()), str
            yield Declared(each.name, kind | None, None, setting)

    def chosen(self, given: Mapping[str, Any]) -> Options:
        """One of the three, with what was given in place of what it has; None is not given."""
        sizes = [size for size in SIZES if given.get(size)]
        if len(sizes) > 1:
            raise InvalidValue(" and ".join(f"--{size}" for size in sizes) + " exclude each other")
        options = self.sized(sizes[0] if sizes else "standard")
        changes = {
            each.name: _read(each, given[each.name])
            for each in declared_in(type(options))
            if given.get(each.name) is not None
        }
        return replace(options, **changes)

    def require(self, data: Path, options: Options) -> None:
        """Raise an error that names all that is missing: models, vectors, files of data."""
        needed = [
            each
            for each in declared_in(type(options))
            if getattr(options, each.name) in ("", ("",))
        ]
        if needed:
            raise InvalidValue(
                f"{' and '.join(each.flag for each in needed)} must be given. "
                + " ".join(each.setting.help for each in needed)
            )
        absent = missing_files(data, self.files(options))
        if absent:
            raise NotFound(
                f"there is no {', no '.join(absent)} in {data}; --data must name a folder that has "
                f"all that {self.name} reads with these settings"
            )
        short = short_files(data, self.rows(options))
        if short:
            raise InvalidValue(f"{'; '.join(short)}: ask for fewer, or give the whole file")
        mixed = mixed_files(data, self.apart(options))
        if mixed:
            raise InvalidValue(
                f"{'; '.join(mixed)}: one is protected and the other plays public text, so take "
                "these rows out of one of them"
            )
        require_libraries(_LIBRARIES)
        for each in declared_in(type(options)):
            if isinstance(each.setting, Model) and getattr(options, each.name) != NONE:
                require_model(getattr(options, each.name), language=each.setting.language)
        self.needs(options)

    def run(self, data: Path, folder: Path, options: Options, say: Say) -> "Record":
        """Run it and write its record.

        Args:
            data: Folder with the data sets.
            folder: Where the record goes; finished parts in it are taken over.
            options: Of the class that the recipe declares.
            say: Called at each part.
        """
        self.require(data, options)
        prefer_device(options.device)
        record: Record = import_module(f"{self.folder}.run").run(data, folder, options, say)
        return record


def _read(declared: Declared, value: Any) -> Any:
    """A value of the command line: a list is numbers or names with commas between them."""
    member = member_of(declared)
    if member is None:
        return value
    given = "" if value.strip() == NONE else value
    try:
        parts = tuple(member.kind(part.strip()) for part in given.split(",") if part.strip())
    except ValueError as error:
        kind = "whole numbers" if member.kind is int else "numbers"
        raise InvalidValue(f"{declared.flag} must be {kind} with commas between them") from error
    return checked_list(declared, parts, declared.flag)


def _said(value: Any) -> str:
    if value == ("",):
        return "to be given"
    if isinstance(value, tuple):
        words = ",".join(map(_said, value)) or "none"
        return words if len(words) <= _LONGEST else f"{len(value)} of them"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value not in ("", None) else "to be given"
