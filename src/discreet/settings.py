"""A setting, declared once: what it means, which values it may take, and its default.

A settings class is a frozen dataclass whose fields say it all::

    @dataclass(frozen=True, kw_only=True)
    class Schedule(Settings):
        epochs: int = Setting("Passes over the rows.", at_least=1).default(2)
        rate: Annotated[float, Setting("Size of a step.", above=0)]

One without a default is an annotation, as are the parameters of a command, whatever they have. The
class refuses what is out of range. The command line and the pages' tables of options are read
off the same fields, and so are the keywords of a function that takes such a class
(:func:`fields_as_keywords`).
"""

import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from discreet import check

R = TypeVar("R")
T = TypeVar("T")
_SETTING = "setting"
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
# How a class names what it was given: "epsilon of SanText+ must be".
_OF_A_CLASS = re.compile(r"(\w+) of [A-Z][\w+]*(?= )")


@dataclass(frozen=True)
class Setting:
    """What a setting means and which values it may take."""

    help: str
    above: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    flag: str | None = None
    """What the command line calls it, where that is not the field's name."""
    short: str | None = None
    """A one-letter name on the command line, such as -e."""
    metavar: str | None = None
    """What the help of the command line has in place of a value."""
    heading: str | None = None
    """Under which heading the help has it, where it is not in a class that has one."""
    option: bool = True
    """Whether the command line has it; if not, it is for Python alone."""
    refuse: Callable[[Any], object] | None = None
    """Raises an error for a value that this machine cannot serve."""

    def default(self, value: T) -> T:
        """The field of a settings class that is this setting, with its default."""
        return field(default=value, metadata={_SETTING: self})


@dataclass(frozen=True)
class Declared:
    """A setting under its name, with its type and its default."""

    name: str
    kind: Any
    default: Any
    setting: Setting

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return self.setting.flag or "--" + self.name.replace("_", "-")

    @property
    def required(self) -> bool:
        """True if there is no default."""
        return self.default is inspect.Parameter.empty

    @property
    def several(self) -> bool:
        """True if it may have several values."""
        return any(get_origin(each) is Sequence for each in (self.kind, *get_args(self.kind)))

    def checked(self, value: Any, name: str) -> Any:
        """The value, if it is of the right kind and in range; an error that names it otherwise."""
        plain = plain_type(self.kind)
        if value is None or plain not in (int, float, str):
            return value
        if plain is str:
            choices = self.setting.choices
            value = check.one_of(value, choices, name) if choices else value
            if self.setting.refuse is not None:
                self.setting.refuse(value)
            return value
        if plain is int:
            value = check.whole(value, name, at_least=int(self.setting.at_least or 0))
        return check.in_range(
            value,
            name,
            above=self.setting.above,
            at_least=self.setting.at_least,
            at_most=self.setting.at_most,
            below=self.setting.below,
        )


class Settings:
    """Base of settings classes: whatever is out of range is refused when one is made."""

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for declared in declared_in(type(self)):
            declared.checked(getattr(self, declared.name), f"{declared.name} of {owner}")


def settings_of(kind: type[Any]) -> Iterator[Declared]:
    """The settings of a class that are options of a command, in their order."""
    return (declared for declared in declared_in(kind) if declared.setting.option)


def declared_in(kind: type[Any]) -> Iterator[Declared]:
    """All settings that a class declares, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    fields = getattr(kind, "__dataclass_fields__", {})
    for name, parameter in inspect.signature(kind).parameters.items():
        hint, own = hints.get(name), fields[name].metadata if name in fields else {}
        if (told := own.get(_SETTING)) is not None:
            yield Declared(name, hint, parameter.default, told)
        elif (declared := declared_as(name, hint, parameter.default)) is not None:
            yield declared


def declared_as(name: str, hint: Any, default: Any) -> Declared | None:
    """The setting that a field or a parameter is annotated with, if it is."""
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else [hint]
    settings = (note for note in notes if isinstance(note, Setting))
    return next((Declared(name, kind, default, each) for each in settings), None)


def said(settings: Settings) -> dict[str, Declared]:
    """The settings that are not what they are by default, by their names."""
    return {
        each.name: each
        for each in settings_of(type(settings))
        if getattr(settings, each.name) != each.default
    }


def fields_as_keywords(function: Callable[..., R]) -> Callable[..., R]:
    """Let a function that takes settings be called with their fields as keyword arguments.

    A parameter whose type is a class of settings is made from those keywords that are its fields;
    whoever has the object already gives that instead.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Schedule(Settings):
    ...     epochs: int = Setting("Passes over the rows.", at_least=1).default(2)
    >>> @fields_as_keywords
    ... def fit(rows: int, *, schedule: Schedule) -> int:
    ...     return rows * schedule.epochs
    >>> fit(10), fit(10, epochs=3), fit(10, schedule=Schedule(epochs=5))
    (20, 30, 50)
    >>> list(inspect.signature(fit).parameters)
    ['rows', 'schedule', 'epochs']
    """
    signature, hints = inspect.signature(function), get_type_hints(function)
    groups = {
        name: (kind, list(declared_in(kind)))
        for name, kind in hints.items()
        if inspect.isclass(kind) and issubclass(kind, Settings)
    }

    @wraps(function)
    def with_keywords(*args: Any, **given: Any) -> R:
        for name, (kind, declared) in groups.items():
            fields = {each.name: given.pop(each.name) for each in declared if each.name in given}
            if given.get(name) is None:
                given[name] = kind(**fields)
            elif fields:
                raise TypeError(f"{', '.join(fields)} is said in {name} already; leave it out")
        return function(*args, **given)

    fields = [
        inspect.Parameter(each.name, _KEYWORD, default=each.default, annotation=each.kind)
        for _, declared in groups.values()
        for each in declared
    ]
    own = [
        p.replace(default=None) if p.name in groups else p for p in signature.parameters.values()
    ]
    # What help() and editors show.
    with_keywords.__signature__ = signature.replace(parameters=[*own, *fields])  # type: ignore[attr-defined]
    return with_keywords


def as_typed(message: str, typed: Iterable[tuple[str, str, Any]]) -> str:
    """The message with the option in place of a class's name for it, where there is just one.

    Two mechanisms of one command may have a parameter of the same name; of two options that are
    given, the value tells which is meant.

    Args:
        message: what a class said.
        typed: for each option the parameter, the flag and the value; None means not given.
    """
    if (named := _OF_A_CLASS.match(message)) is None:
        return message
    meant = [(flag, value) for name, flag, value in typed if name == named[1] and value is not None]
    if len(meant) > 1:
        meant = [(flag, value) for flag, value in meant if message.endswith(f"; got {value!r}")]
    return meant[0][0] + message[named.end() :] if len(meant) == 1 else message


def plain_type(kind: Any) -> Any:
    """``float`` of ``float | None``; of a union with ``str`` that, which a command can be given."""
    if get_origin(kind) in (Union, types.UnionType):
        kinds = [each for each in get_args(kind) if each is not type(None)]
        if len(kinds) == 1:
            return kinds[0]
        return str if str in kinds else kind
    return kind
