"""The pages say what the program does: examples run, and every option has its line."""

import doctest
import re
from pathlib import Path

import pytest
import typer

from discreet.cli import app

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
ANYWHERE = {"--help", "--version"}
# Commands of few options, whose page has examples.
NO_EXAMPLE = ("list", "inspect", "build", "certify")
# A command line in a page: the command, and what follows it up to the end of the line (which may be
# continued), of the code or of the pipe.
LINE = re.compile(r"discreet ([a-z][a-z-]*(?: [a-z][a-z-]*)?)((?:\\\n|[^\n`|;])*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def _walked(command, path=()):
    """Every command by its words."""
    found = {path: command}
    for name, inner in getattr(command, "commands", {}).items():
        found |= _walked(inner, (*path, name))
    return found


def _options(command):
    names = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
    return {name for name in names if name.startswith("--")}


PARSERS = _walked(typer.main.get_command(app))
COMMANDS = {path: _options(command) for path, command in PARSERS.items()}


def _page_of(path):
    own = DOCS / "commands" / f"{'-'.join(path)}.md"
    return own if own.exists() else DOCS / "commands" / f"{path[0]}.md"


PAGES = {}
for command_path, command_options in COMMANDS.items():
    if command_options - ANYWHERE and command_path:
        PAGES.setdefault(_page_of(command_path), set()).update(command_options)


def test_the_examples_about_statements_run():
    found = doctest.testfile(
        str(DOCS / "background" / "statements.md"),
        module_relative=False,
        optionflags=doctest.REPORT_NDIFF,
    )
    assert found.attempted > 20
    assert found.failed == 0


def test_every_command_has_a_page_and_every_page_a_command():
    assert set(PAGES) == set((DOCS / "commands").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_option_is_on_the_page_and_no_other(page):
    text, offered = page.read_text(), PAGES[page] - ANYWHERE
    named = set(OPTION.findall(text))
    assert offered - named == set()
    # Another command's option stands in the code with its command, not alone.
    assert set(re.findall(r"`(--[\w-]+)`", text)) - offered - ANYWHERE == set()


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_command_lines_have_options_that_exist(page):
    assert not list(_unknown_options(page.read_text()))


def _unknown_options(text):
    for words, rest in LINE.findall(text):
        path = tuple(words.split())
        path = path if path in COMMANDS else path[:1]
        if path in COMMANDS:
            yield from set(OPTION.findall(rest)) - COMMANDS[path] - ANYWHERE


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        (
            "    discreet train map in.csv -o m --epsilon 4 \\\n        --dims 2 --hidden 8",
            ["--dims"],
        ),
        ("as `discreet embed --layout public` does", ["--layout"]),
        ("discreet sanitize in.txt -o - --epsilon 8 | sort --unique", []),
        ("discreet spaces --json", ["--json"]),
        ("what discreet does: nothing with --force", []),
    ],
)
def test_an_option_that_does_not_exist_would_be_found(text, unknown):
    assert list(_unknown_options(text)) == unknown


@pytest.mark.parametrize("path", [path for path in COMMANDS if path], ids=" ".join)
def test_every_option_says_what_it_is_for(path):
    command = PARSERS[path]
    options = [p for p in command.params if p.param_type_name == "option"]
    assert all(parameter.help for parameter in command.params)
    assert not options or "Example: discreet " in command.help or path[-1] in NO_EXAMPLE
