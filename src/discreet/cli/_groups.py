"""Groups of commands: listed by name, and imported only when one of them is called.

So the list of commands needs no array library, and a command may import what it works with at the
top of its module like any other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
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

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
            listed = [(name, help) for name, (_, help) in commands.items()]
            listed += [(n, each.get_short_help_str(88)) for n, each in self._own.items()]
            with formatter.section("Commands"):
                formatter.write_dl(listed)

        def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
            """Names that begin so; none of the commands is imported for it."""
            # Of the click that typer uses, wherever its version keeps it.
            package = typer.BadParameter.__mro__[1].__module__.rpartition(".")[0]
            item = import_module(f"{package}.shell_completion").CompletionItem
            if incomplete.startswith("-"):
                return super().shell_complete(ctx, incomplete)
            named = [(name, help) for name, (_, help) in commands.items()]
            named += [(name, each.get_short_help_str(88)) for name, each in self._own.items()]
            return [item(n, help=h) for n, h in named if n.startswith(incomplete)]

    return Group


class _Commands(MutableMapping[str, Any]):
    """Commands by name; one that is elsewhere is imported when it is taken."""

    def __init__(self, elsewhere: Mapping[str, tuple[str, str]], own: dict[str, Any]) -> None:
        self._elsewhere, self._own = elsewhere, own
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            place = self._elsewhere.get(name)
            command = self._own[name] if place is None else _imported(name, *place)
            self._loaded[name] = _in_sections(_each_option_once(command))
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._own[name] = command

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._elsewhere, *self._own])

    def __len__(self) -> int:
        return len(self._elsewhere) + len(self._own)


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


def _each_option_once(command: Any) -> Any:
    """The same command, which now refuses an option that is given twice.

    Of two values the last would win, and what the first one was to protect would go out in clear.
    """
    parse = command.parse_args
    if isinstance(inner := getattr(command, "commands", None), dict):
        inner.update((name, _each_option_once(each)) for name, each in inner.items())

    def parse_args(context: Any, arguments: list[str]) -> Any:
        _, _, given = command.make_parser(context).parse_args(args=list(arguments))
        seen: set[str] = set()
        for each in given:
            again = getattr(each, "multiple", False) or getattr(each, "count", False)
            if each.param_type_name != "option" or each.is_eager or again:
                continue
            if each.name in seen:
                flag = max(each.opts, key=len)
                context.fail(f"{flag} is given twice, and the first would be ignored; give it once")
            seen.add(each.name)
        return parse(context, arguments)

    command.parse_args = parse_args
    return command


def _in_sections(command: Any) -> Any:
    """The same command, whose help has the options that belong together under one heading."""
    inner = getattr(command, "commands", None)
    if isinstance(inner, dict):
        inner.update((name, _in_sections(each)) for name, each in inner.items())
    if inner is not None:  # a group, whose help is the list of its commands
        return command

    def format_options(context: Any, formatter: Any) -> None:
        for heading, some in by_section(command.get_params(context)).items():
            lines = [line for each in some if (line := each.get_help_record(context)) is not None]
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)

    command.format_options = format_options
    return command


def by_section(parameters: Iterable[Any]) -> dict[str, list[Any]]:
    """Arguments and options under the headings of the help, what most people need first."""
    sections: dict[str, list[Any]] = {heading: [] for heading in _FIRST}
    for each in parameters:
        argument = each.param_type_name == "argument"
        heading = "Arguments" if argument else getattr(each, "rich_help_panel", None) or "Options"
        sections.setdefault(heading, []).append(each)
    return {heading: some for heading, some in sections.items() if some}
