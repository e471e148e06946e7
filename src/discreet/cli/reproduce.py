"""``discreet reproduce``: the papers' experiments, from the distribution that holds them."""

from importlib.metadata import entry_points

import typer

from discreet.errors import NotFound


def _installed() -> typer.Typer:
    """The group of recipes that is installed, or a command that says how to install it."""
    for point in entry_points(group="discreet.commands", name="reproduce"):
        recipes: typer.Typer = point.load()
        return recipes
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


reproduce = _installed()
