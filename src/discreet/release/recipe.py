"""How a sanitizer is made, in names and numbers: what another process needs to make the same one.

No vectors, no index and no key travel. Whoever makes a sanitizer from a recipe loads the public
data where it is, and compares: with another version of discreet, other vectors or another list of
words the law would be another than the one that was stated, and nothing is released.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import InvalidValue
from discreet.files import file_sha256
from discreet.mechanisms.registry import described, find, made_with
from discreet.release.choice import chosen_mechanism
from discreet.release.settings import IdentifierSettings
from discreet.release.text import Sanitizer
from discreet.settings import Declared, plain_type
from discreet.spaces import load_space


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a :class:`discreet.Sanitizer` is made from.

    Args:
        mechanism: the name of a word mechanism.
        settings: of the mechanism, by the names of its parameters.
        space: what :func:`discreet.load_space` takes.
        max_words: of the space.
        layout: see :class:`discreet.Sanitizer`, as for the next four.
        repeat: how often an equal word is drawn.
        public: which words pass.
        polish: mend the released text.
        identifiers: what finds identifiers, by name.
        consistent: which surrogates are equal.
        surrogates: a file of public surrogates.
        fingerprint: of what it makes; empty as long as nothing was made.
        version: of discreet.

    >>> recipe = Recipe(mechanism="santext", settings={"epsilon": 8.0})
    >>> recipe.make().sanitize(["The doctor saw me."]).units
    5
    """

    mechanism: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    space: str = "starter"
    max_words: int | None = None
    layout: str = "tokens"
    repeat: str = "each"
    public: str | None = None
    polish: bool = False
    identifiers: str | None = None
    consistent: str = "none"
    surrogates: str | None = None
    fingerprint: str = ""
    version: str = __version__

    def make(self) -> Sanitizer:
        """The sanitizer; public data is loaded now.

        Raises:
            InvalidValue: This discreet, or what it finds, is not what the recipe was written with.
        """
        require_version(self.version)
        space = load_space(self.space, max_words=self.max_words)
        made = Sanitizer(
            chosen_mechanism(self.mechanism, space, self._typed_settings(), public=self.public),
            layout=self.layout,
            identifiers=IdentifierSettings(
                identifiers=self.identifiers,
                consistent=self.consistent,
                surrogates=None if self.surrogates is None else Path(self.surrogates),
            ).made(None),
            repeat=self.repeat,
            public=self.public,
            polish=self.polish,
        )
        fingerprint = self._fingerprint(made)
        if self.fingerprint not in ("", fingerprint):
            raise InvalidValue(
                f"the mechanism, the space {self.space} or a public list is not the same here as "
                "where the release began (their fingerprints differ); give all workers the same "
                "files"
            )
        made.recipe = replace(self, fingerprint=fingerprint)
        return made

    def to_json(self) -> str:
        """One line of JSON, the same for the same recipe."""
        values = {**asdict(self), "settings": {k: _plain(v) for k, v in self.settings.items()}}
        return json.dumps(values, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        """The inverse of :meth:`to_json`."""
        values = json.loads(text)
        return cls(**{each.name: values[each.name] for each in fields(cls) if each.name in values})

    def _typed_settings(self) -> dict[str, Any]:
        return with_paths(self.settings, find(self.mechanism, "word").settings)

    def _fingerprint(self, made: Sanitizer) -> str:
        """Of the law, and of what else decides what comes out."""
        certificate, sensitive = (
            getattr(made.mechanism, name, None) for name in ("certificate", "sensitive")
        )
        files = [value for value in self._typed_settings().values() if isinstance(value, Path)]
        files += [] if self.surrogates is None else [Path(self.surrogates)]
        decides = {
            "version": __version__,
            "mechanism": described(made.mechanism),
            "certificate": None if certificate is None else asdict(certificate),
            "space": made.mechanism.space.fingerprint,
            "about": dict(made.about),
            "polish": self.polish,
            "statement": made.statement.to_dict(),
            "files": [file_sha256(path) for path in files if path.is_file()],
            "sensitive": None if sensitive is None else hashlib.sha256(sensitive).hexdigest(),
        }
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def recipe_of(sanitizer: Sanitizer) -> Recipe | None:
    """How to make this sanitizer again; None if it holds what has no name, such as given arrays."""
    if sanitizer.recipe is not None:
        return sanitizer.recipe
    if sanitizer.ledger is not None:
        return None
    mechanism, identifiers = sanitizer.given, sanitizer.identifiers
    # Which words are spared follows from those that pass, and from nothing else.
    follows = ("spared",) if "public" in sanitizer.about else ()
    settings, source = made_with(mechanism, but=follows), mechanism.space.source
    named = None if identifiers is None else identifiers.made_with
    if settings is None or source is None or (identifiers is not None and named is None):
        return None
    finder, consistent, listed = named or (None, "none", None)
    kind, _, key = consistent.partition(":")
    recipe = Recipe(
        mechanism=mechanism.name,
        settings={name: _plain(value) for name, value in settings.items()},
        space=source[0],
        max_words=source[1],
        layout=str(sanitizer.about["layout"]),
        repeat=str(sanitizer.about["repeat"]),
        public=sanitizer.about.get("public"),
        polish=sanitizer.polish,
        identifiers=finder,
        consistent=f"{kind}:{Path(key).absolute()}" if key else kind,
        surrogates=None if listed is None else str(listed),
    )
    return replace(recipe, fingerprint=recipe._fingerprint(sanitizer))


def require_version(version: str) -> None:
    """Refuse to go on with what another version of discreet began."""
    if version != __version__:
        raise InvalidValue(
            f"this process has discreet {__version__} and the release began with discreet "
            f"{version}; install the same version everywhere"
        )


def with_paths(values: Mapping[str, Any], settings: Iterable[Declared]) -> dict[str, Any]:
    """Values that came as JSON, where a setting is a path as a path."""
    kinds = {each.name: plain_type(each.kind) for each in settings}
    return {
        name: Path(value) if kinds.get(name) is Path and value is not None else value
        for name, value in values.items()
    }


@lru_cache(maxsize=4)
def sanitizer_from(recipe: str) -> Sanitizer:
    """The sanitizer of a recipe in JSON, made once in each process."""
    return Recipe.from_json(recipe).make()


def _plain(value: Any) -> Any:
    # Another process may have another working directory.
    return str(value.absolute()) if isinstance(value, Path) else value
