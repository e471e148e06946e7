"""Groups of commands: listed by name, and imported only when one of them is called.

So the list of commands needs no array library, and a command may import what it works with at the
top of its module like any other.
"""

from collections import UserDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import typer
import typer.core

from discreet.cli._settings import takes_settings
from discreet.cli._terminal import in_lines, say

_FIRST = ("Arguments", "Options", "Mechanism", "Columns")


class CommandGroup(typer.Typer):
    """A group whose commands take settings."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Add a command, as typer does."""
        add = super().command(name, **options)

        def added(function: Any) -> Any:
            add(takes_settings(function))
            return function

        return added


def command_group(
    purpose: str,
    commands: Mapping[str, tuple[str, str]] | None = None,
    default: str | None = None,
) -> CommandGroup:
    """A group that shows its help and ends with 2 if none of its commands is named.

    Args:
        purpose: what the commands are for, in one sentence.
        commands: for each command where it is (``module:object``, a function or a group) and a
            short help; others may be added as usual.
        default: the command that is run instead, if none is named.
    """
    group = CommandGroup(
        cls=group_of(commands or {}),
        help=purpose,
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode=None,
    )

    @group.callback()
    def help_without_command(context: typer.Context) -> None:
        if context.invoked_subcommand is None and default is not None:
            context.invoke(context.command.commands[default])  # type: ignore[attr-defined]
        elif context.invoked_subcommand is None:
            say(*in_lines(context.get_help()))
            raise typer.Exit(2)

    return group


def commands_in(package: str, helps: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Where each command is: in a module of this package that has its name, as has the function."""
    plain = {name: name.replace("-", "_") for name in helps}
    return {name: (f"{package}.{plain[name]}:{plain[name]}", helps[name]) for name in helps}


def group_of(commands: Mapping[str, tuple[str, str]]) -> type[typer.core.TyperGroup]:
    """A class of groups that also has these commands."""

    class Group(typer.core.TyperGroup):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._own = dict(self.commands)
            self.commands = _Commands(commands, self._own)

        def _listed(self) -> list[tuple[str, str]]:
            listed = [(name, help) for name, (_, help) in commands.items()]
            return [*listed, *((n, each.get_short_help_str(88)) for n, each in self._own.items())]

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
            with formatter.section("Commands"):
                formatter.write_dl(self._listed())

        def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
            """Names that begin so; none of the commands is imported for it."""
            # Of the click that typer uses, wherever its version keeps it.
            package = typer.BadParameter.__mro__[1].__module__.rpartition(".")[0]
            item = import_module(f"{package}.shell_completion").CompletionItem
            if incomplete.startswith("-"):
                return super().shell_complete(ctx, incomplete)
            return [item(n, help=h) for n, h in self._listed() if n.startswith(incomplete)]

    return Group


class _Commands(UserDict[str, Any]):
    """Commands by name; one that is elsewhere is imported when it is taken."""

    def __init__(self, *commands: Mapping[str, Any]) -> None:
        super().__init__()
        self._ready: dict[str, Any] = {}
        for some in commands:
            self.update(some)

    def __getitem__(self, name: str) -> Any:
        if name not in self._ready:
            held = self.data[name]
            command = _imported(name, *held) if isinstance(held, tuple) else held
            self._ready[name] = _prepared(command)
        return self._ready[name]


def _imported(name: str, place: str, short_help: str) -> Any:
    module, _, attribute = place.partition(":")
    target = getattr(import_module(module), attribute)
    if not isinstance(target, typer.Typer):
        alone = CommandGroup(add_completion=False, rich_markup_mode=None)
        alone.command(name)(target)
        target = alone
    command = typer.main.get_command(target)
    command.name, command.short_help = name, short_help
    return command


def _prepared(command: Any) -> Any:
    """The same command, which refuses options that are given twice and shows them in sections."""
    inner = getattr(command, "commands", None)
    if isinstance(inner, dict):
        inner.update((name, _prepared(each)) for name, each in inner.items())
    command.parse_args = partial(_parsed_once, command, command.parse_args)
    if inner is None:  # of a group, the help is the list of its commands
        command.format_options = partial(_format_options, command)
    return command


def _parsed_once(
    command: Any, parse: Callable[..., Any], context: Any, arguments: list[str]
) -> Any:
    """Refuse an option that is given twice, and a field of plain text.

    Of two values the last would win, and what the first one was to protect would go out in clear.
    """
    typed, _, given = command.make_parser(context).parse_args(args=list(arguments))
    seen: set[str] = set()
    for each in given:
        again = getattr(each, "multiple", False) or getattr(each, "count", False)
        if each.param_type_name != "option" or each.is_eager or again:
            continue
        if each.name in seen:
            flag = max(each.opts, key=len)
            context.fail(f"{flag} is given twice, and the first would be ignored; give it once")
        seen.add(each.name)
    if typed.get("text_field") and isinstance(source := typed.get("source"), str):
        from discreet.text.formats import refuse_field_of_lines

        refuse_field_of_lines(source, typed.get("format"))
    return parse(context, arguments)


def _format_options(command: Any, context: Any, formatter: Any) -> None:
    """The options that belong together under one heading."""
    for heading, some in by_section(command.get_params(context)).items():
        lines = [line for each in some if (line := each.get_help_record(context)) is not None]
        if lines:
            with formatter.section(heading):
                formatter.write_dl(lines)


def by_section(parameters: Iterable[Any]) -> dict[str, list[Any]]:
    """Arguments and options under the headings of the help, what most people need first."""
    sections: dict[str, list[Any]] = {heading: [] for heading in _FIRST}
    for each in parameters:
        argument = each.param_type_name == "argument"
        heading = "Arguments" if argument else getattr(each, "rich_help_panel", None) or "Options"
        sections.setdefault(heading, []).append(each)
    return {heading: some for heading, some in sections.items() if some}
