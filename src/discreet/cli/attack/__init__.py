"""``discreet attack``: a module for each attack."""

import typer

attack = typer.Typer(
    help="Measure what an attacker still learns, against chance and without protection.",
    no_args_is_help=True,
)
