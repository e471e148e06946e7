"""``discreet evaluate``: what a setting is worth, measured on public words."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet import check
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import progress_bar, say
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import parameters_of

if TYPE_CHECKING:
    import numpy as np

    from discreet.evaluation.privacy_report import Sample
    from discreet.spaces import EmbeddingSpace

_VOCABULARY_SAMPLE = 1000


@takes_settings
def evaluate(
    choice: WordChoice,
    privacy: Annotated[
        bool,
        typer.Option(
            "--privacy",
            help="Measure how much is hidden: how often a word stays (N_x), how many words it may "
            "become (S_x), how many it may have been (S*_y), and how often the best guess "
            "is right.",
        ),
    ] = False,
    text: Annotated[
        str | None,
        typer.Option(
            "--public-sample",
            help="Measure on the words of this PUBLIC text, each as often as it occurs, instead of "
            "on words of the vocabulary. Never give protected text: the figures depend on it.",
        ),
    ] = None,
    text_field: options.TextField = "text",
    words: Annotated[
        int | None,
        typer.Option(
            "--words",
            help="Measure only so many words, drawn at random: 1000 of the vocabulary unless "
            "given; of a text, all unless given.",
        ),
    ] = None,
    mass: Annotated[
        float, typer.Option("--mass", help="The probability that S_x and S*_y must cover.")
    ] = 0.95,
    prior: Annotated[
        str,
        typer.Option(
            "--prior",
            help="What is thought likely before a word is seen, for S*_y. uniform: any word of the "
            "vocabulary; sample: words as often as in --public-sample.",
        ),
    ] = "uniform",
    runs: Annotated[
        int,
        typer.Option(
            "--runs",
            help="Draws of each word, for the paper's way of counting and for mechanisms whose law "
            "has no formula.",
        ),
    ] = 1000,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw the distributions into this file: png, svg or pdf."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", help="Chooses the samples; the same seed gives the same figures.", min=0
        ),
    ] = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Measure what a mechanism does to words. Choose what to measure: --privacy.

    Nothing is released and no protected text is read. The figures describe typical words; the
    guarantee, which holds for all of them, is the statement printed below.

    Example: discreet evaluate --privacy --epsilon 10 --plot privacy.png
    """
    if not privacy:
        raise InvalidValue("say what to evaluate: --privacy")
    mass = check.probability(mass, "--mass")
    runs = check.whole(runs, "--runs", at_least=1)
    words = None if words is None else check.whole(words, "--words", at_least=1)
    check.one_of(prior, ("uniform", "sample"), "--prior")
    if prior == "sample" and text is None:
        raise InvalidValue("--prior sample needs --public-sample")
    if plot is not None:
        from discreet.report.plots import check_plot

        check_plot(plot, force=force)
    from discreet.evaluation.privacy_report import measure_privacy
    from discreet.randomness import generator

    rng = generator(seed)
    vocabulary = choice.vocabulary()
    sample = _sampled(vocabulary, text, text_field, words, rng)
    built = choice.build(vocabulary)
    with progress_bar("measuring") as show:
        report = measure_privacy(
            built, sample, mass=mass, use_prior=prior == "sample", runs=runs, rng=rng, progress=show
        )
    plain = parameters_of(built)
    title = (
        f"{choice.name} ({', '.join(_named(key, value) for key, value in plain.items())}) "
        f"in the space {vocabulary.name} ({len(vocabulary):,} words)"
    )
    if plot is not None:
        from discreet.report.privacy import plot_privacy

        plot_privacy(report, plot, title)
        say(f"Written: {plot}")
    if not as_json:
        typer.echo("\n".join([title, *report.lines(), "", *built.statement.lines()]))
        return
    from discreet import __version__

    values = {
        "discreet": __version__,
        "mechanism": {"name": choice.name, **plain},
        "space": {
            "name": vocabulary.name,
            "words": len(vocabulary),
            "dimension": vocabulary.dimension,
            "fingerprint": vocabulary.fingerprint,
        },
        "statement": built.statement.to_dict(),
        "privacy": report.to_dict(),
    }
    typer.echo(json.dumps(values, indent=2, ensure_ascii=False))


def _sampled(
    space: "EmbeddingSpace",
    text: str | None,
    text_field: str,
    words: int | None,
    rng: "np.random.Generator",
) -> "Sample":
    from discreet.evaluation.privacy_report import text_sample, vocabulary_sample
    from discreet.text.readers import open_documents

    if text is None:
        return vocabulary_sample(space, words or _VOCABULARY_SAMPLE, rng)
    with open_documents(text, text_field=text_field) as reader:
        return text_sample(space, (batch.texts for batch in reader), words, rng)


def _named(key: str, value: float | str) -> str:
    if key == "calibration":
        return str(value)
    return f"{key} {value}" if isinstance(value, str) else f"{key} {value:.6g}"
