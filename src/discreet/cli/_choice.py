"""The options that choose a mechanism by name, the same for every command that takes them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from discreet import check
from discreet.cli._settings import Choice
from discreet.cli._terminal import progress_bar, say
from discreet.errors import InvalidValue, NotFound
from discreet.mechanisms.certificate import known_table
from discreet.mechanisms.registry import (
    DEFAULT_SPACE,
    DEFAULTS,
    default_space,
    family_settings,
    find,
    names,
)
from discreet.protocols import LabelMechanism, WordMechanism
from discreet.release.choice import chosen_mechanism
from discreet.settings import Declared, Setting, plain_type, settings_of
from discreet.spaces import EmbeddingSpace, load_space

NO_MECHANISM = "none"
_CERTIFIED = ("santext", "santext-plus")
# Spaces with more words take long to certify.
_LONG = 30_000


@dataclass(frozen=True)
class MechanismChoice(Choice):
    """A mechanism and its settings; None means not given."""

    heading: ClassVar[str] = "Mechanism"

    families: ClassVar[tuple[str, ...]]
    mechanism: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the mechanism, by the names of its parameters."""

    @classmethod
    def declared(cls) -> Iterable[Declared]:
        """The mechanism, what the class itself declares, and the settings of all mechanisms."""
        short = "-m" if not cls.prefix else None
        options = [
            Declared("mechanism", str | None, None, Setting(cls._listed(), short=short)),
            *settings_of(cls),
        ]
        return [cls._as_option(each) for each in (*options, *family_settings(*cls.families))]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """What was chosen, by the name of the option."""
        chosen = {name.removeprefix(cls.prefix): value for name, value in given.items()}
        own = {each.name: chosen.pop(each.name) for each in fields(cls) if each.name in chosen}
        return cls(**own, settings={k: v for k, v in chosen.items() if v is not None})

    @classmethod
    def flag(cls, parameter: str) -> str:
        """What the command line calls a parameter of the mechanism."""
        flags = {each.name: each.flag for each in cls.declared()}
        return flags.get(cls.prefix + parameter, parameter)

    @property
    def is_empty(self) -> bool:
        """True if nothing was chosen at all."""
        return self == type(self)()

    def name_in(self, family: str) -> str:
        """The mechanism; the family's default unless another was named."""
        return self.mechanism or DEFAULTS[family]

    @classmethod
    def _listed(cls) -> str:
        return " ".join(
            (f"For a {family}: " if len(cls.families) > 1 else "One of: ")
            + f"{', '.join(names(family))}; {DEFAULTS[family]} unless given."
            for family in cls.families
        )

    @classmethod
    def _as_option(cls, declared: Declared) -> Declared:
        if not cls.prefix:
            return declared
        # Several numbers are one option, with commas between them.
        kind = str | None if plain_type(declared.kind) == tuple[float, ...] else declared.kind
        setting = replace(declared.setting, short=None)
        return Declared(cls.prefix + declared.name, kind, declared.default, setting)


@dataclass(frozen=True)
class WordChoice(MechanismChoice):
    """A word mechanism and the space it works in."""

    families: ClassVar[tuple[str, ...]] = ("word",)

    space: str | None = Setting(
        "Public vocabulary with a vector for each word: starter, english, encoder (all three "
        f"English), or a file of word2vec, GloVe or fastText; {DEFAULT_SPACE} for "
        f"{DEFAULTS['word']} and {default_space('')} for others unless given.",
        short="-s",
    ).default(None)
    max_words: int | None = Setting(
        "Use only the first N words of a vector file.", at_least=0
    ).default(None)

    @property
    def name(self) -> str:
        """The mechanism."""
        return self.name_in("word")

    @property
    def epsilon(self) -> float | None:
        """The privacy loss allowed, if one was given."""
        return self.settings.get("epsilon")

    def at(self, epsilon: float) -> "WordChoice":
        """The same choice at another epsilon."""
        return replace(self, settings={**self.settings, "epsilon": epsilon})

    def vocabulary(self) -> EmbeddingSpace:
        """Load the space."""
        with progress_bar("reading the space") as show:
            name = self.space or default_space(self.name)
            return load_space(name, max_words=self.max_words, progress=show)

    def needs_epsilon(self) -> bool:
        """Whether the mechanism takes an epsilon, and none was given."""
        entry = find(self.name, "word", what="--mechanism")
        epsilon = next((each for each in entry.settings if each.name == "epsilon"), None)
        return self.epsilon is None and epsilon is not None and epsilon.required

    def build(
        self, vocabulary: EmbeddingSpace, public: str | None = None, *, readable: bool = False
    ) -> WordMechanism:
        """Make the mechanism.

        Args:
            vocabulary: the space.
            public: the public list of words that pass, if there is one.
            readable: with the guide for text that people read, unless another was given.
        """
        published = self.settings.get("calibration") == "published"
        new = len(vocabulary) > _LONG and known_table(vocabulary) is None
        if self.name in _CERTIFIED and new and not published:
            say(
                f"Certifying {len(vocabulary):,} words for {self.name}, once: every pair is looked "
                "at, which takes many minutes. near-words and --space starter need no wait."
            )
        with progress_bar("certifying the space, once") as show:
            return chosen_mechanism(
                self.name,
                vocabulary,
                self.settings,
                readable=readable,
                public=public,
                progress=show,
                called=self.flag,
            )

    def to_json(self) -> dict[str, Any]:
        """What was chosen, for a file that must say how its mechanism is made."""
        where = {"mechanism": self.name, "space": self.space or default_space(self.name)}
        given = where if self.max_words is None else where | {"max_words": self.max_words}
        plain = {k: str(v) if isinstance(v, Path) else v for k, v in self.settings.items()}
        return {**given, **plain}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "WordChoice":
        """The choice that :meth:`to_json` described.

        Files of early versions leave out what was the default then.
        """
        kinds = {each.name: plain_type(each.kind) for each in cls.declared()}
        told = {"mechanism": "santext", "space": "starter", **values}
        return cls.of({name: kinds[name](value) for name, value in told.items()})


def check_typed(words: Iterable[str], vocabulary: EmbeddingSpace) -> None:
    """Refuse a word that the space does not have; typed, not protected, it may be repeated."""
    for word in words:
        if word not in vocabulary:
            small = word.lower()
            how = f"its words are in small letters: {small!r}" if small in vocabulary else ""
            raise NotFound(
                f"{word!r} is not among the {len(vocabulary):,} words of {vocabulary.name}; "
                f"{how or 'try another'}"
            )


class SentenceChoice(MechanismChoice):
    """A mechanism for the vectors of sentences."""

    families: ClassVar[tuple[str, ...]] = ("sentence",)


class VectorChoice(MechanismChoice):
    """A mechanism for the vectors of sentences, or of documents."""

    families: ClassVar[tuple[str, ...]] = ("sentence", "document")


class LabelChoice(MechanismChoice):
    """A mechanism for the labels that are released beside something else, or none."""

    heading: ClassVar[str] = "Labels"

    families: ClassVar[tuple[str, ...]] = ("label",)
    prefix = "label_"

    @classmethod
    def _listed(cls) -> str:
        return f"{super()._listed()} {NO_MECHANISM} releases true labels."

    def given(self) -> dict[str, Any]:
        """The settings that were given, several numbers as numbers."""
        kinds = {each.name: plain_type(each.kind) for each in family_settings("label")}
        return {
            key: check.numbers(value, self.flag(key)) if kinds[key] == tuple[float, ...] else value
            for key, value in self.settings.items()
        }

    def build(self, labels: Sequence[str]) -> LabelMechanism | None:
        """Make the mechanism for these possible labels; None releases labels as they are."""
        if self.mechanism == NO_MECHANISM:
            for name in self.settings:
                raise InvalidValue(
                    f"{self.flag(name)} has no use with --label-mechanism {NO_MECHANISM}; leave it "
                    "out"
                )
            return None
        name = check.one_of(
            self.name_in("label"), (*names("label"), NO_MECHANISM), "--label-mechanism"
        )
        given = {"labels": labels, **self.given()}
        built: LabelMechanism = find(name, "label").build(given, called=self.flag)
        return built
