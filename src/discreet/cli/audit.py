"""``discreet audit``: does a mechanism keep its promise?"""

import json
from typing import Annotated, Any

import typer

from discreet.cli import _options as options
from discreet.cli._mechanisms import build_word_mechanism, sensitive_ids, word_mechanism_names
from discreet.cli._terminal import progress_bar
from discreet.errors import InvalidValue


def audit(
    epsilon: options.Epsilon = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            "-m",
            help="One of: " + ", ".join(word_mechanism_names()) + "; santext unless given.",
        ),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(
            "--python",
            metavar="MODULE:OBJECT",
            help="Audit your own object instead: it has .statement and .release(ids, rng), and if "
            "possible .space, .log_probabilities(ids) or .log_density(values, outputs).",
        ),
    ] = None,
    space: options.Space = "starter",
    max_words: options.MaxWords = None,
    calibration: options.Calibration = None,
    sensitive_share: options.SensitiveShare = None,
    sensitive_file: options.SensitiveFile = None,
    p: options.P = None,
    delta: options.Delta = None,
    clip: options.Clip = None,
    sensitivity: options.Sensitivity = None,
    shrinkage: options.Shrinkage = None,
    dimension: options.Dimension = None,
    dummy_dimensions: options.DummyDimensions = None,
    samples: Annotated[
        int,
        typer.Option("--samples", help="Draws of each word looked at; more find smaller faults."),
    ] = 20_000,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Repeat an audit with the same draws.", min=0)
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Check a mechanism against its own privacy statement: law, sampler, independence, black box.

    Prints a verdict for each check with the bound claimed and the bound found, and exits with 4 if
    any check fails. A sound mechanism fails at most once in a million audits. Reads no protected
    text.

    Example: discreet audit --mechanism santext --epsilon 8
    """
    from discreet.audit import audit as audit_mechanism

    options_given: dict[str, Any] = {
        "epsilon": epsilon,
        "calibration": calibration,
        "p": p,
        "delta": delta,
        "clip": clip,
        "sensitivity": sensitivity,
        "shrinkage": shrinkage,
        "dimension": dimension,
        "dummy_dimensions": dummy_dimensions,
    }
    if python is None:
        name = mechanism or "santext"
        from discreet.embeddings import load_space

        with progress_bar("reading the space") as show:
            vocabulary = load_space(space, max_words=max_words, progress=show)
        options_given["sensitive"] = sensitive_ids(
            name, vocabulary, sensitive_share, sensitive_file
        )
        with progress_bar("certifying the space, once") as show:
            built: Any = build_word_mechanism(name, vocabulary, options_given, show)
        title = f"{name} in the space {vocabulary.name} ({len(vocabulary):,} words)"
    else:
        from discreet.audit.own import load_object

        given = [mechanism, max_words, sensitive_share, sensitive_file, *options_given.values()]
        if any(value is not None for value in given):
            raise InvalidValue(
                "--python names a finished object; leave out --mechanism and its options"
            )
        built, title = load_object(python), python
    with progress_bar("auditing") as show:
        report = audit_mechanism(built, name=title, seed=seed, samples=samples, progress=show)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2))
    else:
        for line in report.lines():
            typer.echo(line)
    report.require()
