"""``discreet evaluate``: what a setting is worth, measured on public words."""

from pathlib import Path
from typing import Annotated

from discreet import __version__
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._terminal import progress_bar, say, show
from discreet.devices import prefer_device
from discreet.evaluation.privacy_report import PrivacySettings, measure_privacy, title_of
from discreet.mechanisms.registry import described
from discreet.randomness import generator
from discreet.report.histograms import plot_privacy
from discreet.report.plots import check_plot
from discreet.settings import Setting


def evaluate(
    choice: WordChoice,
    settings: PrivacySettings,
    privacy: Annotated[
        bool,
        Setting(
            "Measure how much is hidden: how often a word stays (N_x), how many words it may "
            "become (S_x), how many it may have been (S*_y), and how often the best guess "
            "is right. So far nothing else is measured, and this is, whether given or not."
        ),
    ] = False,
    plot: Annotated[
        Path | None, Setting("Draw the distributions into this file: png, svg or pdf.")
    ] = None,
    device: options.Device = "auto",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Measure what a mechanism does to words: how much is hidden.

    Nothing is released and no protected text is read. The figures describe typical words; the
    guarantee, which holds for all of them, is the statement printed below.

    Example: discreet evaluate --epsilon 10 --plot privacy.png
    """
    del privacy  # for who names it
    prefer_device(device)
    if plot is not None:
        check_plot(plot, force=force)
    space, rng = choice.vocabulary(), generator(settings.seed)
    sample = settings.sample(space, rng)
    built = choice.build(space)
    with progress_bar("measuring") as bar:
        report = measure_privacy(built, sample, settings, rng, bar)
    title = title_of(built)
    if plot is not None:
        plot_privacy(report, plot, title)
        say(f"Written: {plot}")
    values = {
        "discreet": __version__,
        "mechanism": described(built),
        "space": space.to_dict(),
        "statement": built.statement.to_dict(),
        "privacy": report.to_dict(),
    }
    lines = [title, *report.lines(), "", *built.statement.lines()]
    show(values, lines, as_json=as_json)
