"""``discreet report``: receipts and results as one page for people."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import counted, say
from discreet.files import check_ending, refuse_existing
from discreet.report.page import write_page
from discreet.report.runs import overview, runs_in, section_of
from discreet.settings import Setting


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
    sections = [section_of(name, values) for name, values in contents]
    summary = overview(contents)
    if summary.tables or summary.plots:
        sections.insert(0, summary)
    introduction = [
        "Each guarantee below is a bound on how much the odds of any outcome can change; the words "
        "beside it say for which unit, and what is treated as public.",
        "A pure guarantee allows a factor of exp(epsilon) between any two units; an approximate "
        "one the same, plus a probability of delta; a metric one exp(epsilon * d + slack), where d "
        "is how far apart the two are, so that its epsilon means something else in every space.",
    ]
    write_page(output, title, introduction, sections)
    say(f"Written: {output}, a page of {counted(len(contents), 'run')}.")
