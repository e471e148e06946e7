"""The one door to every mechanism: found, described and built by its name.

A mechanism is a module of its family's folder, named like it, with a class that has that ``name``.
What it is made from beside its settings is the public material of its family: a space of words, the
dimension of vectors, a store of public documents, the possible labels. Where the constructor wants
something else, a class method ``from_space``, ``from_store`` or ``from_labels`` takes the material.
Its other parameters are the settings; what they mean is read off the docstring.

>>> from discreet.spaces.space import EmbeddingSpace
>>> space = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [5.0]])
>>> mechanism("santext", space=space, epsilon=2.0).statement.epsilon
2.0
>>> names("label")
['prior-response', 'randomized-response']
"""

import inspect
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from discreet import check
from discreet.arrays import Progress
from discreet.errors import InvalidValue
from discreet.settings import Declared, Setting, plain_type

MATERIAL = {"word": "space", "sentence": "dimension", "document": "store", "label": "labels"}
"""The four families, and what the mechanisms of each are made from."""
FAMILIES = tuple(MATERIAL)
DEFAULTS = {
    "word": "near-words",
    "sentence": "purkayastha",
    "document": "sentence-votes",
    "label": "randomized-response",
}
"""What a command takes unless a mechanism is named."""
DEFAULT_SPACE = "english"
"""The space of the default word mechanism, unless one is named."""
_PAPERS_SPACE = "starter"

_SIMPLE = (int, float, str, bool, Path, tuple[float, ...])
# The seed of a public matrix is as public as the matrix; a command has a seed of its own.
_NOT_SETTINGS = ("progress", "seed")
_FLAGS = {"dimension": "--dim"}
_SHORT = {"epsilon": "-e"}
# What to begin with, where somebody asks: vectors of the packaged spaces are about 1 long.
_PROPOSED = {"delta": "1e-6", "clip": "1", "dimension": "16"}
_IN_PYTHON = {
    "space": 'space=load_space("english")',
    "store": "store=CandidateStore.load(folder)",
    "labels": 'labels=["yes", "no"]',
}
"""What a command never lacks."""


def names(family: str | None = None) -> list[str]:
    """The mechanisms there are, of one family or of all."""
    return [entry.name for entry in entries(family)]


def entries(family: str | None = None) -> "list[MechanismEntry]":
    """What there is of one family, or of all."""
    families = FAMILIES if family is None else (check.one_of(family, FAMILIES, "family"),)
    return [
        MechanismEntry(module.name.replace("_", "-"), each)
        for each in families
        for module in pkgutil.iter_modules([str(Path(__file__).parent / each)])
        if not module.name.startswith("_")
    ]


def default_space(name: str = DEFAULTS["word"]) -> str:
    """The space that a word mechanism works in unless one is named.

    Distances of ``starter`` are what the papers' mechanisms were certified and measured with.

    >>> default_space(), default_space("santext")
    ('english', 'starter')
    """
    return DEFAULT_SPACE if name == DEFAULTS["word"] else _PAPERS_SPACE


def find(name: str, family: str | None = None, *, what: str = "mechanism") -> "MechanismEntry":
    """What is known of a mechanism; an unknown name is an error that lists the known ones.

    Args:
        name: of the mechanism.
        family: the only one to look in, if given.
        what: how messages call the name.
    """
    for entry in entries():
        if entry.name == name and family in (None, entry.family):
            return entry
        if entry.name == name:
            alike = [other for other in names(family) if other.endswith(f"-{name}")]
            raise InvalidValue(
                f"{what} must be one for a {family}, {', '.join(names(family))}; "
                f"{name} is for a {entry.family}"
                + "".join(f", for a {family} it is {other}" for other in alike)
            )
    raise check.fail(what, "one of " + ", ".join(names(family)), name)


def mechanism(name: str, *, progress: Progress | None = None, **given: Any) -> Any:
    """Build any mechanism by its name.

    Args:
        name: such as ``"santext"``; ``discreet.mechanisms.registry.names()`` lists all.
        progress: called with (done, total) by those that certify a space on first use.
        given: the family's public material (``space``, ``dimension``, ``store`` or ``labels``) and
            the mechanism's own settings, by the names of their parameters.
    """
    return find(name).build(given, progress=progress)


@dataclass(frozen=True)
class MechanismEntry:
    """A mechanism by name, before it is built."""

    name: str
    family: str

    @cached_property
    def kind(self) -> type[Any]:
        """Its class; only its own module is imported."""
        module = import_module(f"discreet.mechanisms.{self.family}.{self.name.replace('-', '_')}")
        classes = inspect.getmembers(module, inspect.isclass)
        return next(kind for _, kind in classes if getattr(kind, "name", None) == self.name)

    @property
    def summary(self) -> str:
        """What it does, in one sentence."""
        return (inspect.getdoc(self.kind) or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def settings(self) -> tuple[Declared, ...]:
        """What can be chosen, beside the family's material."""
        return tuple(
            Declared(
                name,
                kind,
                parameter.default,
                Setting(self._meaning(name), flag=_FLAGS.get(name), short=_SHORT.get(name)),
            )
            for name, (kind, parameter) in self._parameters(self._builder).items()
            if name != MATERIAL[self.family] and name not in _NOT_SETTINGS
            if plain_type(kind) in _SIMPLE
        )

    def build(
        self,
        given: Mapping[str, Any],
        *,
        progress: Progress | None = None,
        called: Callable[[str], str] = str,
    ) -> Any:
        """Make it from its family's material and settings; None means not given.

        Args:
            given: by the names of parameters.
            progress: for those that certify a space on first use.
            called: how messages call a parameter.
        """
        chosen = {key: value for key, value in given.items() if value is not None}
        builder = self._builder
        # Whoever has more than the family's material, such as trained weights, has the constructor.
        if not set(chosen) <= set(self._parameters(builder)) and builder is not self.kind:
            constructor = set(self._parameters(self.kind))
            builder = self.kind if set(chosen) <= constructor else builder
        accepted = self._parameters(builder)
        for key in chosen:
            if key not in accepted:
                options = ", ".join(called(one.name) for one in self.settings) or "none"
                raise InvalidValue(
                    f"{called(key)} is not an option of {self.name}; its options: {options}"
                )
        missing = [
            key
            for key, (_, parameter) in accepted.items()
            if parameter.default is parameter.empty and key not in chosen
        ]
        if missing:
            raise InvalidValue(self._asked_for(missing, chosen, called))
        if "progress" in accepted:
            chosen["progress"] = progress
        built = builder(**chosen)
        with suppress(AttributeError):  # of a frozen one, which then cannot tell
            beside = (MATERIAL[self.family], "progress")
            built.made_with = {k: v for k, v in chosen.items() if k not in beside}
        return built

    def _asked_for(
        self, missing: list[str], chosen: Mapping[str, Any], called: Callable[[str], str]
    ) -> str:
        """Everything that is still needed, in one sentence, with values to begin with."""
        *most, last = map(called, missing)
        text = f"{self.name} needs {', '.join(most) + ' and ' if most else ''}{last}"
        text += "".join(f", such as {_IN_PYTHON[key]}" for key in missing if key in _IN_PYTHON)
        proposed = {called(key): _PROPOSED[key] for key in missing if key in _PROPOSED}
        if proposed:
            begins = " and ".join(f"{name} {value}" for name, value in proposed.items())
            text += f"; {begins} will do to begin with"
        if "epsilon" in missing and self.family == "word":
            flags = {each.name: each.flag for each in self.settings}
            given = {key: chosen[key] for key in flags if key in chosen}
            others = given | {key: _PROPOSED[key] for key in missing if key in _PROPOSED}
            options = "".join(f" {flags[key]} {value}" for key, value in others.items())
            ask = f"discreet explain -m {self.name}{options}"
            # Of near words hardly one stays, at any epsilon: there is nothing to be found by that.
            if self.takes("near"):
                text += f"; '{ask} --epsilon 8' says what one means"
            else:
                text += f"; '{ask} --find keep=0.5' finds an epsilon"
        return text

    def takes(self, parameter: str) -> bool:
        """Whether it has this parameter, be it a setting or not."""
        return parameter in self._parameters(self._builder)

    @property
    def _builder(self) -> Callable[..., Any]:
        return getattr(self.kind, f"from_{MATERIAL[self.family]}", self.kind)

    def _parameters(self, builder: Callable[..., Any]) -> dict[str, tuple[Any, inspect.Parameter]]:
        hints = get_type_hints(builder.__init__ if inspect.isclass(builder) else builder)
        return {
            name: (hints[name], parameter)
            for name, parameter in inspect.signature(builder).parameters.items()
        }

    def _meaning(self, parameter: str) -> str:
        """What the docstrings say of a parameter."""
        for documented in (self._builder, self.kind):
            arguments = (inspect.getdoc(documented) or "").partition("Args:\n")[2]
            said = re.search(rf"^    {parameter}: (.*(?:\n {{8}}.*)*)", arguments, re.MULTILINE)
            if said:
                return " ".join(said[1].split()).replace("``", "").rstrip(".")
        return ""


def family_settings(*families: str) -> tuple[Declared, ...]:
    """The settings of all mechanisms of some families, each with who has it and what it means.

    None of them has a default here: what is not given is left to the mechanism.
    """
    together: dict[str, dict[str, list[str]]] = {}
    first: dict[str, Declared] = {}
    of_families = [entry for family in families for entry in entries(family)]
    for entry in of_families:
        for declared in entry.settings:
            first.setdefault(declared.name, declared)
            said = declared.setting.help
            if not declared.required and declared.default is not None:
                said += f"; {declared.default} unless given"
            together.setdefault(declared.name, {}).setdefault(said, []).append(entry.name)
    return tuple(
        Declared(
            name,
            plain_type(first[name].kind) | None,
            None,
            Setting(
                _joined(meanings, len(of_families)),
                flag=first[name].setting.flag,
                short=first[name].setting.short,
            ),
        )
        for name, meanings in together.items()
    )


def _joined(meanings: Mapping[str, Iterable[str]], count: int) -> str:
    parts = [
        text if len(list(who)) == count else f"{', '.join(who)}: {text}"
        for text, who in meanings.items()
    ]
    return "; ".join(parts) + "."


def made_with(built: Any, but: Collection[str] = ()) -> dict[str, Any] | None:
    """The settings that make a mechanism again from its family's material; None if not known.

    They are known of what was built here, and of a class whose parameters are all plain and kept
    as attributes; not where an array or another object was given.

    Args:
        built: the mechanism.
        but: parameters that are left out.
    """
    given = getattr(built, "made_with", None)
    if given is None:
        beside = (*MATERIAL.values(), "progress")
        wanted = [name for name in inspect.signature(type(built)).parameters if name not in beside]
        if not all(hasattr(built, name) for name in wanted):
            return None
        given = {name: getattr(built, name) for name in wanted}
    given = {key: value for key, value in given.items() if key not in but}
    plain = all(isinstance(value, str | int | float | Path | None) for value in given.values())
    return {key: value for key, value in given.items() if value is not None} if plain else None


def described(built: Any) -> dict[str, Any]:
    """A mechanism's name and its parameters, ready for JSON."""
    return {"name": built.name, **parameters_of(built)}


def parameters_of(built: Any) -> dict[str, Any]:
    """A mechanism's own numbers and words, by attribute; kappa and counts included."""
    wanted = [*inspect.signature(type(built)).parameters, "kappa"]
    values = {key: getattr(built, key, None) for key in wanted}
    plain = {key: value for key, value in values.items() if isinstance(value, int | float | str)}
    guide, sensitive = getattr(built, "guide", None), getattr(built, "sensitive", None)
    if guide is not None:
        plain |= {"guide": guide.name, "guide_fingerprint": guide.fingerprint}
    return plain | ({} if sensitive is None else {"sensitive_words": len(sensitive)})
