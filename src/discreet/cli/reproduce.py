"""``discreet reproduce``: the experiments of the papers, each a command."""

import typer

reproduce = typer.Typer(
    help="Run the experiments of the papers on data in a folder, beside the published figures.",
    no_args_is_help=True,
)
