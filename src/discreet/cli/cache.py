"""``discreet cache``: what is kept from run to run, and how to throw it away."""

from dataclasses import asdict
from typing import Annotated

from discreet.cached import KINDS, kept, throw_away
from discreet.cli import _options as options
from discreet.cli._groups import command_group
from discreet.cli._settings import argument
from discreet.cli._terminal import say, show
from discreet.files import cache_directory
from discreet.wording import counted, megabytes

cache = command_group("Show or clear what is kept from run to run.")


@cache.command("list", short_help="What is kept, where, and how large it is.")
def list_(as_json: options.Json = False) -> None:
    """Say what is kept from run to run, where it is, and how large.

    All of it was computed from public data, and nothing of it depends on protected text. The place
    is $DISCREET_CACHE, else $XDG_CACHE_HOME/discreet, else .cache/discreet in your home.

    Example: discreet cache list
    """
    folders = kept()
    values = {
        "directory": str(cache_directory()),
        "kept": [asdict(each) | {"path": str(each.path)} for each in folders],
    }
    total = sum(each.bytes for each in folders)
    lines = [
        f"{each.kind:<14}{megabytes(each.bytes):>10}  {counted(each.files, 'file')}: {each.what}"
        for each in folders
    ]
    lines.append(f"{megabytes(total)} in {cache_directory()}")
    show(values, lines, as_json=as_json)


@cache.command(short_help="Throw away what is kept; it is computed again when needed.")
def clear(
    kind: Annotated[
        str | None, argument("[KIND]", f"Only this: {', '.join(KINDS)}. All unless given.")
    ] = None,
) -> None:
    """Throw away what is kept from run to run. It is computed again when it is needed.

    Only the folders that discreet made are removed; other files in the directory stay.

    Example: discreet cache clear
    """
    gone = throw_away(kind)
    say(*[f"Removed: {each.path} ({megabytes(each.bytes)})" for each in gone])
    if not gone:
        say("There is nothing to remove.")
