"""``discreet reproduce``: the papers' experiments, from the distribution that holds them."""

from importlib.metadata import entry_points

import typer

from discreet.cli._groups import command_group
from discreet.errors import NotFound

_GROUP, _NAME = "discreet.commands", "reproduce"


def _installed() -> typer.Typer:
    """The group of recipes that is installed, or one that says how to install it."""
    for point in entry_points(group=_GROUP, name=_NAME):
        found: typer.Typer = point.load()
        return found
    missing = command_group("Run the experiments of the papers: needs discreet-recipes.")

    @missing.callback(invoke_without_command=True)
    def explain() -> None:
        raise NotFound(
            "the recipes are not installed; install them with: pip install discreet-recipes, "
            "or in a clone of the project: pip install -e recipes"
        )

    return missing


reproduce = _installed()
