"""``discreet audit``: does a mechanism keep its promise?"""

import json
from typing import Annotated, Any

import typer

from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._groups import group_of
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import progress_bar
from discreet.errors import InvalidValue


@takes_settings
def audit_mechanism(
    choice: WordChoice,
    context: typer.Context,
    python: Annotated[
        str | None,
        typer.Option(
            "--python",
            metavar="MODULE:OBJECT",
            help="Audit your own object instead: it has .statement and .release(ids, rng), and if "
            "possible .space, .log_probabilities(ids) or .log_density(values, outputs).",
        ),
    ] = None,
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
    any check fails. A sound mechanism fails at most once in a million audit. Reads no protected
    text.

    Example: discreet audit --mechanism santext --epsilon 8
    """
    if context.invoked_subcommand is not None:
        if not choice.is_empty or python is not None:
            raise InvalidValue(
                f"options before '{context.invoked_subcommand}' are for the audit of a mechanism; "
                "give its own options after it"
            )
        return
    from discreet.audit import audit as audited

    if python is None:
        vocabulary = choice.vocabulary()
        built: Any = choice.build(vocabulary)
        title = f"{choice.name} in the space {vocabulary.name} ({len(vocabulary):,} words)"
    else:
        from discreet.audit.own import load_object

        if not choice.is_empty:
            raise InvalidValue(
                "--python names a finished object; leave out --mechanism and its options"
            )
        built, title = load_object(python), python
    with progress_bar("auditing") as show:
        report = audited(built, name=title, seed=seed, samples=samples, progress=show)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=2))
    else:
        for line in report.lines():
            typer.echo(line)
    report.require()


# Without a command it audit a mechanism, by its own options.
audit = typer.Typer(
    cls=group_of(
        {
            "training": (
                "discreet.cli.audit_training:audit_training",
                "Canaries in user and entity training.",
            )
        }
    ),
    add_completion=False,
    rich_markup_mode=None,
)
audit.callback(invoke_without_command=True)(audit_mechanism)
