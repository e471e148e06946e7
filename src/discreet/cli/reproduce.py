"""``discreet reproduce``: the papers' experiments, from the distribution that holds them."""

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli._groups import command_group
from discreet.cli._settings import Choice, takes_settings
from discreet.cli._terminal import say
from discreet.devices import AUTO, DEVICE
from discreet.errors import InvalidValue, NotFound
from discreet.settings import Declared, Setting

_Output = Annotated[Path, Setting("Folder for the record.", short="-o")]


def _installed() -> typer.Typer:
    """A command for each recipe that is installed, or one that says how to install them."""
    for point in entry_points(group="discreet", name="recipes"):
        return _commands(point.load())
    missing = typer.Typer(add_completion=False, rich_markup_mode=None)
    # Whatever is asked of the recipes, the answer is the same.
    missing.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(
        _explain
    )
    return missing


def _explain() -> None:
    """Run the experiments of the papers: needs the distribution discreet-recipes."""
    raise NotFound(
        "the recipes are not installed; install them with: pip install discreet-recipes, "
        "or in a clone of the project: pip install -e recipes"
    )


def _commands(recipes: Any) -> typer.Typer:
    """The commands of a module with ``RECIPES`` and ``reproduce_all``."""
    group = command_group(
        "Run the experiments of the papers on data in a folder, beside the published figures."
    )
    for recipe in recipes.RECIPES:
        group.command(recipe.name, short_help=recipe.short_help)(_command(recipe))

    @group.command("all", short_help="All recipes, and one page that shows what they found.")
    def all_recipes(
        data: Annotated[
            Path,
            Setting("Folder with the data sets of all recipes; the help of each names its own."),
        ],
        output: Annotated[Path, Setting("Folder for page and records.", short="-o")],
        quick: Annotated[bool, Setting(recipes.SIZES["quick"])] = False,
        standard: Annotated[bool, Setting(recipes.SIZES["standard"])] = False,
        device: Annotated[str, DEVICE] = AUTO,
    ) -> None:
        """Run the five recipes one after the other and write OUTPUT/index.html.

        A run that was stopped continues where it left off: finished parts are kept, also those of
        a recipe that was run alone into OUTPUT/NAME. A recipe that fails is named on the page and
        does not stop the others. The papers' own sizes need models of yours: run each recipe alone
        with --paper.

        Example: discreet reproduce all --data data -o report --quick
        """
        if not data.is_dir():
            raise NotFound(f"there is no folder {data}; check --data")
        if quick and standard:
            raise InvalidValue("--quick and --standard exclude each other")
        size = "quick" if quick else "standard"
        page = recipes.reproduce_all(
            recipes.RECIPES, data, output, size=size, say=say, device=device
        )
        say(f"Written: {page}")

    return group


def _command(recipe: Any) -> Callable[..., None]:
    class Chosen(Choice):
        """One of the recipe's named settings, with what was given in place of what it has."""

        @classmethod
        def declared(cls) -> Iterable[Declared]:
            declared: Iterable[Declared] = recipe.declared()
            return declared

        @classmethod
        def of(cls, given: Mapping[str, Any]) -> Any:
            return recipe.chosen(given)

    def command(data: Path, output: Path, options: Any) -> None:
        say(f"Written: {recipe.run(data, output, options, say).page}")

    command.__annotations__ = {
        "data": Annotated[Path, Setting(f"Folder with {recipe.data}.", flag="--data")],
        "output": _Output,
        "options": Chosen,
    }
    command.__doc__ = (
        f"{recipe.help}\n\n{recipe.note} A run that was stopped continues where it left off; with "
        "a longer list of epsilons only what is new is computed. The "
        f"files are jsonl.gz with {recipe.fields}.\n\nPaper: {recipe.paper}\n\n"
        f"Example: discreet reproduce {recipe.name} --data data -o {recipe.name} --quick"
    )
    return takes_settings(command)


reproduce = _installed()
