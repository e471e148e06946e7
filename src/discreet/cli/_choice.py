"""The options that choose a word mechanism, the same for every command that takes them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.cli._settings import Choice
from discreet.cli._terminal import progress_bar
from discreet.mechanisms.registry import DEFAULTS, family_settings, find, names
from discreet.protocols import WordMechanism
from discreet.settings import Declared, Setting, plain_type
from discreet.spaces import EmbeddingSpace, load_space

_WHERE = (
    Declared(
        "mechanism",
        str | None,
        None,
        Setting(
            f"One of: {', '.join(names('word'))}; {DEFAULTS['word']} unless given.", short="-m"
        ),
    ),
    Declared(
        "space",
        str,
        "starter",
        Setting(
            "Public vocabulary with a vector for each word: starter, encoder, or a file of "
            "word2vec, GloVe or fastText.",
            short="-s",
        ),
    ),
    Declared(
        "max_words",
        int | None,
        None,
        Setting("Use only the first N words of a vector file.", at_least=0),
    ),
)


@dataclass(frozen=True)
class WordChoice(Choice):
    """The mechanism and the space that a command line asks for; None means not given."""

    mechanism: str | None = None
    space: str = "starter"
    max_words: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the mechanism, by the names of its parameters."""

    @classmethod
    def declared(cls) -> Iterable[Declared]:
        """Where the mechanism and the words come from, and the settings of all mechanisms."""
        return [*_WHERE, *family_settings("word")]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "WordChoice":
        """What was chosen, by the name of the option."""
        where = {each.name: given[each.name] for each in _WHERE}
        rest = {name: value for name, value in given.items() if name not in where}
        return cls(**where, settings={k: v for k, v in rest.items() if v is not None})

    @property
    def name(self) -> str:
        """The mechanism; the family's default unless another was named."""
        return self.mechanism or DEFAULTS["word"]

    @property
    def epsilon(self) -> float | None:
        """The privacy loss allowed, if one was given."""
        return self.settings.get("epsilon")

    @property
    def is_empty(self) -> bool:
        """True if nothing was chosen at all."""
        return self == WordChoice()

    def at(self, epsilon: float) -> "WordChoice":
        """The same choice at another epsilon."""
        return replace(self, settings={**self.settings, "epsilon": epsilon})

    def vocabulary(self) -> EmbeddingSpace:
        """Load the space."""
        with progress_bar("reading the space") as show:
            return load_space(self.space, max_words=self.max_words, progress=show)

    def build(self, vocabulary: EmbeddingSpace) -> WordMechanism:
        """Make the mechanism."""
        entry = find(self.name, "word", what="--mechanism")
        flags = {each.name: each.flag for each in self.declared()}
        given = {"space": vocabulary, **self.settings}
        with progress_bar("certifying the space, once") as show:
            built: WordMechanism = entry.build(
                given, progress=show, called=lambda key: flags.get(key, key)
            )
        return built

    def to_json(self) -> dict[str, Any]:
        """What was chosen, for a file that must say how its mechanism is made."""
        where = {each.name: getattr(self, each.name) for each in _WHERE}
        given = {name: value for name, value in where.items() if value is not None}
        plain = {k: str(v) if isinstance(v, Path) else v for k, v in self.settings.items()}
        return {**given, **plain}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "WordChoice":
        """The choice that :meth:`to_json` described."""
        kinds = {each.name: plain_type(each.kind) for each in cls.declared()}
        given = {name: kinds[name](value) for name, value in values.items()}
        return cls.of({each.name: given.get(each.name, each.default) for each in _WHERE} | given)
