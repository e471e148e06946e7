"""Groups of commands, all of which answer alike if no command is named."""

import typer

from discreet.cli._terminal import say


def command_group(purpose: str) -> typer.Typer:
    """A group that shows its help and ends with 2 if none of its commands is named.

    Args:
        purpose: what the commands are for, in one sentence.
    """
    group = typer.Typer(help=purpose, invoke_without_command=True, rich_markup_mode=None)

    @group.callback()
    def help_without_command(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            say(context.get_help())
            raise typer.Exit(2)

    return group
