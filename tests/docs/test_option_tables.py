"""The option tables of the command pages are the program's own."""

import importlib.util
from pathlib import Path

import click
import pytest

from discreet.settings import Declared, Setting

ROOT = Path(__file__).parent.parent.parent
COMMANDS = ROOT / "docs" / "commands"
SPEC = importlib.util.spec_from_file_location("tables", ROOT / "scripts" / "option_tables.py")
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)


@pytest.mark.parametrize("page", sorted(COMMANDS.glob("*.md")), ids=lambda page: page.stem)
def test_the_tables_are_up_to_date(page):
    text = page.read_text()
    assert tables.filled(text) == text, "python scripts/option_tables.py brings it up to date"


def test_every_command_has_its_table_once():
    pages = [page.read_text() for page in COMMANDS.glob("*.md")]
    shown = [block[2] for text in pages for block in tables.BLOCK.finditer(text)]
    assert sorted(shown) == sorted(path for path, _ in tables.commands())


@pytest.mark.parametrize(
    ("option", "row"),
    [
        (
            click.Option(["--rows", "-r"], type=click.IntRange(1, 9), default=3, help="How many."),
            "| `--rows`, `-r` | How many. | `3` | at least 1, at most 9 |",
        ),
        (
            click.Option(["--rate"], type=click.FloatRange(0, min_open=True), help="a | b"),
            "| `--rate` | a \\| b |  | above 0 |",
        ),
        (
            click.Option(["--kind"], type=click.Choice(["x", "y"]), required=True, help="Which."),
            "| `--kind` | Which. | required | `x`, `y` |",
        ),
        (
            click.Option(["--keep/--drop"], default=True, help="Keep."),
            "| `--keep`, `--drop` | Keep. | on |  |",
        ),
        (
            click.Option(["--word"], multiple=True, help="A word."),
            "| `--word` | A word. |  | may be repeated |",
        ),
    ],
)
def test_a_row_says_the_default_and_what_is_allowed(option, row):
    assert tables.table(click.Command("x", params=[option])) == tables.HEAD + row + "\n"


def test_a_setting_says_its_range():
    def callback(): ...

    callback.declared = [
        Declared("rate", float, 0.5, Setting("A rate.", above=0, at_most=1)),
        Declared("kind", str, "x", Setting("A kind.", choices=("x", "y"))),
    ]
    options = [click.Option(["--rate"], type=float), click.Option(["--kind"])]
    table = tables.table(click.Command("x", params=options, callback=callback))
    assert "| above 0, at most 1 |\n" in table
    assert "| `x`, `y` |\n" in table


def test_a_table_that_is_out_of_date_is_found():
    name, command = next(tables.commands())
    start, end = f"<!-- options: discreet {name} -->\n", "<!-- end of options -->\n"
    current = tables.filled(start + end)
    assert tables.table(command) in current
    for option in tables.options(command):
        changed = current.replace(option.help, "something else", 1)
        assert tables.filled(changed) == current != changed


def test_a_table_of_no_command_is_refused():
    with pytest.raises(SystemExit, match="no command 'discreet gone'"):
        tables.filled("<!-- options: discreet gone -->\n<!-- end of options -->")
