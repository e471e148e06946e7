"""Options of a command, read off the settings classes that it takes."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ClassVar, get_type_hints

import typer

from discreet.errors import InvalidValue
from discreet.settings import Declared, Settings, as_typed, declared_as, settings_of

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


class Choice:
    """Options that are not the fields of a settings class, but found by looking around."""

    prefix: ClassVar[str] = ""
    """What the names of its options begin with."""

    @classmethod
    def declared(cls) -> Iterable[Declared]:
        """The options there are."""
        raise NotImplementedError

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Choice":
        """What was chosen, by the name of the option; None means not given."""
        raise NotImplementedError


def argument(metavar: str, help: str) -> Any:
    """What a command is given by its place, to annotate its parameter with."""
    return typer.Argument(metavar=metavar, help=help)


def takes_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its parameters: settings, or a choice of a mechanism.

    A parameter that is annotated with a :class:`discreet.settings.Setting` becomes an option. One
    whose type is a class of settings is replaced by an option for each of its fields, and the
    command is called with the finished object. A value that is refused, here or by what the
    command calls, is named as the command line names it. A setting with several values is an
    option that may be repeated.
    """
    if hasattr(command, "declared"):
        return command
    hints = get_type_hints(command, include_extras=True)
    own: list[inspect.Parameter] = []
    options: list[inspect.Parameter] = []
    alone: list[Declared] = []
    groups: dict[str, tuple[type[Any], list[Declared]]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if inspect.isclass(kind) and issubclass(kind, Settings | Choice):
            declared = list(kind.declared() if issubclass(kind, Choice) else settings_of(kind))
            groups[name] = (kind, declared)
            options += [_option(each, getattr(kind, "heading", None)) for each in declared]
        elif (one := declared_as(name, kind, parameter.default)) is not None:
            alone.append(one)
            own.append(_option(one, one.setting.heading))
        else:
            own.append(parameter.replace(kind=_KEYWORD, annotation=kind))
    parameters = [*own, *options]
    declared_here = [*alone, *(each for _, some in groups.values() for each in some)]
    flags = [(each.name, each.name, each.flag) for each in alone]
    for kind, declared in groups.values():
        prefix = kind.prefix if issubclass(kind, Choice) else ""
        flags += [(each.name, each.name.removeprefix(prefix), each.flag) for each in declared]

    @wraps(command)
    def with_options(**given: Any) -> None:
        typed = [(plain, flag, given[name]) for name, plain, flag in flags]
        try:
            given |= {each.name: _given(each, given[each.name]) for each in alone}
            for name, (kind, declared) in groups.items():
                values = {each.name: _given(each, given.pop(each.name)) for each in declared}
                given[name] = kind.of(values) if issubclass(kind, Choice) else kind(**values)
            command(**given)
        except InvalidValue as error:
            error.args = (as_typed(str(error), typed),)
            raise

    # The command line is read off the signature, so it gets the options written into it.
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in parameters}
    # The tables of the pages show which values each may take.
    with_options.declared = declared_here  # type: ignore[attr-defined]
    del with_options.__wrapped__
    return with_options


def _given(declared: Declared, value: Any) -> Any:
    if declared.several:
        return tuple(value) if value else declared.default
    return declared.checked(value, declared.flag)


def _option(declared: Declared, heading: str | None) -> inspect.Parameter:
    flag = declared.flag
    if declared.kind in (bool, bool | None) and declared.default is not False:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    names = [flag] if declared.setting.short is None else [flag, declared.setting.short]
    default, kind, help = declared.default, declared.kind, declared.setting.help
    if declared.required:
        default = ...
    elif declared.several:
        help = f"{help} Default: {default}." if default else help
        default, kind = None, list[str] | None
    option = typer.Option(
        default, *names, help=help, metavar=declared.setting.metavar, rich_help_panel=heading
    )
    return inspect.Parameter(declared.name, _KEYWORD, default=option, annotation=kind)
