"""The command ``discreet``: one module per command, nothing heavy imported before it is needed."""

import signal
import sys
from types import FrameType
from typing import NoReturn

import typer

from discreet.cli.explain import explain
from discreet.cli.sanitize import sanitize
from discreet.cli.spaces import spaces
from discreet.errors import DiscreetError

app = typer.Typer(
    name="discreet",
    help=(
        "Differentially private text, from a single word to a whole user, with guarantees that "
        "are checked, not claimed."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from discreet import __version__

        typer.echo(__version__)
        raise typer.Exit


app.command()(sanitize)
app.command()(explain)
app.add_typer(spaces, name="spaces")


def main() -> NoReturn:
    """Run the command; a user's mistake is one sentence and an exit code, never a traceback."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        app()
    except DiscreetError as error:
        print(f"discreet: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("discreet: stopped; nothing was written", file=sys.stderr)
        sys.exit(130)
    sys.exit(0)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    # Raised like Ctrl-C, so that half-written files are removed on the way out.
    raise KeyboardInterrupt
