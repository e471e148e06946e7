"""What recipes can be told: how the settings that they have in common are declared."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, get_args, get_origin

from discreet.devices import AUTO, DEVICE
from discreet.errors import InvalidValue, NotFound
from discreet.settings import Declared, Setting, Settings, declared_in

Numbers = tuple[float, ...]
Counts = tuple[int, ...]
Names = tuple[str, ...]
"""Lists: with commas on the command line."""
Pair = tuple[int, int]
Triple = tuple[int, int, int]
Shares = tuple[float, float, float]
"""As many numbers as there are things to say."""


NONE = "none"
"""In the place of a model: what needs one is left out."""


@dataclass(frozen=True)
class Model(Setting):
    """A model by its directory or name, or ``none``; that it is here is seen before any work."""

    language: bool = False
    """Whether it may be a GGUF file or ``smollm2``, as in ``train user-entity --model``."""


def file_of(help: str) -> Setting:
    """A file of the reader's own, or ``none``."""

    def refuse(name: str) -> None:
        if name not in ("", NONE) and not Path(name).is_file():
            raise NotFound(f"there is no file {name}")

    return Setting(help, refuse=refuse)


def words_of(help: str) -> Setting:
    """A space of words with vectors, or several."""
    return Setting(help, short="-s")


def positive(help: str, at_most: float | None = None) -> Setting:
    """A number above 0, such as an epsilon, or a list of them."""
    return Setting(help, above=0, at_most=at_most)


def count(help: str, at_least: int = 1) -> Setting:
    """A whole number, such as that of rows or epochs, or a list of them."""
    return Setting(help, at_least=at_least)


PACKAGED = "all-MiniLM-L6-v2"
"""The encoder that every recipe has where none is given, but for the paper's size."""
SentenceEncoder = Annotated[str, Model("Model that makes vectors of sentences.")]
Vocabulary = Annotated[int, count("Most words of a vocabulary, the first; 0 for all.", 0)]
Trials = Annotated[int, count("Repetitions over the noise.")]
"""Options of several recipes."""


@dataclass(frozen=True, kw_only=True)
class Options(Settings):
    """Everything a recipe can be told: its parts, its sizes, its lists of epsilons.

    A recipe declares its own, and three instances: quick, standard and paper. A field that is a
    tuple is a list with commas on the command line, or none; a text that is empty must be given
    there.
    """

    never_none: ClassVar[Names] = ()
    """Lists without which there is nothing to run."""
    later: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Options that came when records were kept already, with the value that these were made with:
    as long as an option has it, a part that is kept is not computed again."""
    device: Annotated[str, DEVICE] = AUTO

    def __post_init__(self) -> None:
        super().__post_init__()
        for declared in declared_in(type(self)):
            if member_of(declared) is not None:
                called = f"{declared.name} of {type(self).__name__}"
                checked_list(declared, getattr(self, declared.name), called)
            if declared.name in self.never_none and not getattr(self, declared.name):
                raise InvalidValue(f"{declared.flag} cannot be none")


def member_of(declared: Declared) -> Declared | None:
    """Of a setting that is a tuple: one member of it."""
    if get_origin(declared.kind) is not tuple:
        return None
    return replace(declared, kind=get_args(declared.kind)[0])


def checked_list(declared: Declared, given: tuple[Any, ...], called: str) -> tuple[Any, ...]:
    """The members of a list, each checked, if there are as many as its type says.

    >>> (pair,) = (each for each in declared_in(Options) if each.name == "device")
    >>> pair = replace(pair, kind=Pair, setting=count("Rows."))
    >>> checked_list(pair, (3,), "--rows")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: --rows must be 2 values with commas between them
    """
    kinds = get_args(declared.kind)
    if kinds[-1] is not ... and len(given) != len(kinds):
        raise InvalidValue(f"{called} must be {len(kinds)} values with commas between them")
    member = replace(declared, kind=kinds[0])
    return tuple(member.checked(value, f"each of {called}") for value in given)
