"""``discreet report``: receipts and results as one page for people."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import say
from discreet.files import check_ending, refuse_existing
from discreet.report.page import write_page
from discreet.report.runs import INTRODUCTION, runs_in, sections_of
from discreet.settings import Setting
from discreet.wording import counted


def report(
    runs: Annotated[
        list[Path],
        argument(
            "RUN...",
            "Receipts (OUT.privacy.json, or OUT itself), results printed with --json, folders "
            "of 'discreet reproduce'.",
        ),
    ],
    output: Annotated[Path, Setting("The file to write (.html).", short="-o")],
    title: Annotated[str, Setting("Heading of the page.")] = "Privacy report",
    force: options.Force = False,
) -> None:
    """Put what was released, measured and attacked on one page, for a privacy officer.

    The page is one HTML file without scripts or network: it says each guarantee in plain words,
    shows the checks, figures and attacks, and prints well. It holds nothing but what is in the
    receipts and results, none of which holds protected text.

    Example: discreet report out.csv audit.json attack.json -o report.html
    """
    check_ending(output, (".html", ".htm"), "a page of HTML")
    refuse_existing(output, force=force)
    contents = runs_in(runs)
    write_page(output, title, INTRODUCTION, sections_of(contents))
    say(f"Written: {output}, a page of {counted(len(contents), 'run')}.")
