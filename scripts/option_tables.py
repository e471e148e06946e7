"""Write the option tables of the command pages from the program itself.

    python scripts/option_tables.py [--check]

A table stands between ``<!-- options: discreet sanitize -->`` and ``<!-- end of options -->`` in
``docs/commands/*.md``. ``--check`` writes nothing and ends with 1 if a page is out of date.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import click
import typer

from discreet.cli import app
from discreet.cli._groups import by_section
from discreet.settings import Declared, Setting

PAGES = Path(__file__).parent.parent / "docs" / "commands"
BLOCK = re.compile(
    r"(<!-- options: discreet ([a-z -]+?) -->\n)(.*?)(<!-- end of options -->)", re.S
)
HEAD = "| option | what it is for | default | allowed |\n|---|---|---|---|\n"
EVERYWHERE = {"--help", "--version"}
ALLOWED = {
    "integer": "a whole number",
    "float": "a number",
    "path": "a path",
    "file": "a file",
    "directory": "a folder",
}


def commands(
    command: click.Command | None = None, path: str = ""
) -> Iterator[tuple[str, click.Command]]:
    """Every command that has options, by its words without ``discreet``."""
    command = command or typer.main.get_command(app)
    if path and options(command):
        yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}".strip())


def options(command: click.Command) -> list[click.Option]:
    """The options of a command, those that every command has aside."""
    own = [p for p in command.params if p.param_type_name == "option"]
    return [option for option in own if not EVERYWHERE & set(option.opts)]


def table(command: click.Command) -> str:
    """A row for each option of a command, under the headings of its help if there are several."""
    # A command that takes settings knows which values they may have; click knows of the others.
    declared = getattr(command.callback, "declared", ())
    sections = by_section(options(command))
    return "\n".join(
        (f"**{heading}**\n\n" if len(sections) > 1 else "")
        + HEAD
        + "".join(
            f"| {_names(option)} | {_escaped(option.help or '')} | {_default(option)} "
            f"| {_allowed(option, declared)} |\n"
            for option in some
        )
        for heading, some in sections.items()
    )


@cache
def _by_words() -> dict[str, click.Command]:
    return dict(commands())


def filled(text: str) -> str:
    """A page with its tables as the program has them now."""
    known = _by_words()

    def write(block: re.Match[str]) -> str:
        if block[2] not in known:
            raise SystemExit(f"no command 'discreet {block[2]}' has options")
        framed = f'<div class="options" markdown>\n\n{table(known[block[2]])}\n</div>\n'
        return block[1] + framed + block[4]

    return BLOCK.sub(write, text)


def _names(option: click.Option) -> str:
    names = sorted(
        [*option.opts, *option.secondary_opts], key=lambda name: not name.startswith("--")
    )
    return ", ".join(f"`{name}`" for name in names)


def _default(option: click.Option) -> str:
    default = option.to_info_dict()["default"]
    if option.required:
        return "required"
    if default in (None, ()) and not (option.is_flag and not option.secondary_opts):
        return ""
    if option.is_flag:
        return "on" if default else "off"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def _allowed(option: click.Option, declared: Iterable[Declared]) -> str:
    if option.is_flag:
        return ""
    said = [each.setting for each in declared if each.flag in option.opts]
    allowed = (_of_setting(said[0]) if said else "") or _of_type(option.type)
    return ", ".join(filter(None, [allowed, "may be repeated" if option.multiple else ""]))


def _of_setting(setting: Setting) -> str:
    ends = [
        ("above", setting.above),
        ("at least", setting.at_least),
        ("at most", setting.at_most),
        ("below", setting.below),
    ]
    return _listed(setting.choices) or _range(ends)


def _of_type(kind: click.ParamType) -> str:
    if isinstance(kind, click.Choice):
        return _listed(kind.choices)
    low = "above" if getattr(kind, "min_open", False) else "at least"
    high = "below" if getattr(kind, "max_open", False) else "at most"
    ends = [(low, getattr(kind, "min", None)), (high, getattr(kind, "max", None))]
    return _range(ends) or ALLOWED.get(kind.name, "")


def _listed(choices: Iterable[str]) -> str:
    return ", ".join(f"`{choice}`" for choice in choices)


def _range(ends: list[tuple[str, float | None]]) -> str:
    return ", ".join(f"{words} {end:g}" for words, end in ends if end is not None)


def _escaped(text: str) -> str:
    return re.sub(r"([|*<\[])", r"\\\1", " ".join(text.split()))


def main() -> int:
    """Write the tables, or with ``--check`` name the pages that are out of date."""
    parser = argparse.ArgumentParser(description="Write the option tables of the command pages.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if out of date")
    check = parser.parse_args().check
    old = [
        page for page in sorted(PAGES.glob("*.md")) if filled(page.read_text()) != page.read_text()
    ]
    for page in old:
        print(f"{page.name}: {'out of date' if check else 'brought up to date'}")
        if not check:
            page.write_text(filled(page.read_text()))
    return int(check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
