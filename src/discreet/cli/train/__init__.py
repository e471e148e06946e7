"""``discreet train``: a module for each thing that is trained."""

import typer

train = typer.Typer(
    help="Train public maps and stores, and models on what was released or on raw text.",
    no_args_is_help=True,
)
