"""The pages say what the program does: examples run, and every option has its line."""

import doctest
import re
from pathlib import Path

import pytest

from command import called

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_examples_about_statements_run():
    found = doctest.testfile(
        str(DOCS / "statements.md"), module_relative=False, optionflags=doctest.REPORT_NDIFF
    )
    assert found.attempted > 20
    assert found.failed == 0


@pytest.mark.parametrize(
    ("page", "commands"),
    [
        ("sanitize", [["sanitize"]]),
        ("explain", [["explain"]]),
        ("embed", [["embed"]]),
        ("attack", [["attack", name] for name in ("membership", "inversion", "attributes")]),
        ("entities", [["entities"]]),
        ("spaces", [["spaces", name] for name in ("list", "inspect", "build", "certify")]),
    ],
    ids=["sanitize", "explain", "embed", "attack", "entities", "spaces"],
)
def test_every_option_is_on_the_page_and_no_other(tmp_path, page, commands):
    helps = [called(*command, "--help", cache=tmp_path).out.decode() for command in commands]
    # An option begins a line of the help, perhaps after its short form.
    begins = re.compile(r"^\s+(?:-\w, )?(--[\w-]+)", re.MULTILINE)
    offered = {option for text in helps for option in begins.findall(text)} - {"--help"}
    text = (DOCS / "commands" / f"{page}.md").read_text()
    assert offered
    missing = {option for option in offered if f"`{option}`" not in text and option not in text}
    assert not missing
    assert set(re.findall(r"`(--[\w-]+)`", text)) <= offered | {"--help"}
