"""``discreet reproduce``: the experiments of the papers, each a command."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli._groups import command_group
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import say
from discreet_recipes.recipe import Options, Recipe
from discreet_recipes.together import RECIPES, reproduce_all

Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for the record.")]

reproduce = command_group(
    "Run the experiments of the papers on data in a folder, beside the published figures."
)


def _command(recipe: Recipe) -> Callable[..., None]:
    def command(data: Path, output: Path, options: Options) -> None:
        say(f"Written: {recipe.run(data, output, options, say).page}")

    command.__annotations__ = {
        "data": Annotated[Path, typer.Option("--data", help=f"Folder with {recipe.data}.")],
        "output": Output,
        "options": recipe.options,
    }
    command.__doc__ = (
        f"{recipe.help}\n\n{recipe.note} A run that was stopped goes on where it was. The files "
        f"are jsonl.gz with {recipe.fields}.\n\nPaper: {recipe.paper}\n\n"
        f"Example: discreet reproduce {recipe.name} --data data -o {recipe.name} --quick"
    )
    return takes_settings(command)


for each in RECIPES:
    reproduce.command(each.name, short_help=each.short_help)(_command(each))


@reproduce.command("all", short_help="All recipes, and one page that shows what they found.")
def all_recipes(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            help="Folder with the data sets of all recipes; the help of each recipe names its own.",
            exists=True,
            file_okay=False,
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for page and records.")],
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="Stated subsets, or everything (hours).")
    ] = False,
) -> None:
    """Run the five recipes one after the other and write OUTPUT/index.html.

    A run that was stopped goes on where it was: finished parts are kept. A recipe that fails is
    named on the page and does not stop the others.

    Example: discreet reproduce all --data data -o report --quick
    """
    say(f"Written: {reproduce_all(RECIPES, data, output, quick=quick, say=say)}")
