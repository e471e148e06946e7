"""What the playground can try: the word mechanisms that need nothing but an epsilon.

Everything here is public: mechanisms are made from a space and an epsilon, and what is known of an
attacker's success comes from public frequencies. No text comes in.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from discreet.arrays import Floats
from discreet.attacks.bayes import says_its_law
from discreet.errors import InvalidValue
from discreet.mechanisms import registry
from discreet.protocols import WordMechanism
from discreet.release.strength import best_guess, weakness
from discreet.release.text import LAYOUTS, Sanitizer
from discreet.spaces.loaders import load_space
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import PrivacyStatement
from discreet.text import function_words
from discreet.text.layout import Layout
from discreet.text.passing import Passing
from discreet.text.tokens import tokenizer_for

LEAST, MOST = 1.0, 16.0
"""The epsilons that can be tried."""
FRONTIER = (2.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 14.0, 16.0)
"""The epsilons of the picture."""

# What ships with the package: neighbours that respect grammar, and certificates for distances.
_NEAR_SPACE, _DISTANCE_SPACE = "english", "starter"
_PLAIN_NEAR = 4
_KEPT = 256
_SPREAD, _SPREAD_DRAWS = 128, 16

T = TypeVar("T")


@dataclass(frozen=True)
class Variant:
    """A mechanism with settings of its own, as the page offers it."""

    name: str
    mechanism: str
    title: str
    summary: str
    space: str
    epsilon: bool = True
    """Whether it has one."""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """What the page is told of it."""
        return {
            "name": self.name,
            "title": self.title,
            "summary": self.summary,
            "space": Path(self.space).stem,  # where a file lies is nobody's business
            "epsilon": self.epsilon,
        }


_NEAR: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    (
        "near-words-guided",
        "Near words, guided",
        "Each word becomes one of a few words near it, chosen to fit what was released before; now "
        "and then it becomes any other.",
        {"guide": "ngram"},
    ),
    (
        "near-words",
        "Near words, codebook",
        "Each word becomes one of the nearest words of a small public list; now and then it "
        "becomes any other word of the list.",
        {},
    ),
    (
        "near-words-plain",
        "Near words, plain",
        "Each word becomes one of the four words nearest to it (itself among them); now and then "
        "it becomes any word of the vocabulary.",
        {"near": _PLAIN_NEAR},
    ),
)


def variants(space: str | None = None) -> dict[str, Variant]:
    """What can be tried, by name; the first is what the page begins with.

    Args:
        space: the one for all; unless given, each has one whose public tables ship with it.

    >>> list(variants())[:4]
    ['near-words-guided', 'near-words', 'near-words-plain', 'cmp']
    """
    by_name = {
        name: Variant(
            name,
            "near-words",
            title,
            summary,
            space or (_DISTANCE_SPACE if "near" in settings else _NEAR_SPACE),
            settings=settings,
        )
        for name, title, summary, settings in _NEAR
    }
    for entry in registry.entries("word"):
        required = {setting.name for setting in entry.settings if setting.required}
        if entry.name not in by_name and required <= {"epsilon"}:
            by_name[entry.name] = Variant(
                entry.name,
                entry.name,
                entry.kind.__name__.replace("Plus", "+"),
                entry.summary.replace("``", ""),
                space or _DISTANCE_SPACE,
                epsilon="epsilon" in required,
            )
    return by_name


@dataclass(frozen=True)
class PageSetting:
    """What was chosen on the page."""

    variant: Variant
    epsilon: float
    layout: str = "public"
    public_words: bool = True
    identifiers: bool = True


@dataclass(frozen=True)
class Prepared:
    """A mechanism as a release with the setting would use it, and the guarantee for a word."""

    mechanism: Any
    statement: PrivacyStatement


class Workshop:
    """Makes mechanisms, and keeps the last ones: a slider comes back to where it was.

    Args:
        space: name or path of the one for all mechanisms; see :func:`variants`.
    """

    def __init__(self, space: str | None = None) -> None:
        self.variants = variants(space)
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Slot] = OrderedDict()

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made for a key; of public things only, and of the last ones."""
        with self._lock:
            slot = self._kept.setdefault(key, _Slot())
            self._kept.move_to_end(key)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        with slot.lock:  # others go on meanwhile
            if not slot.full:
                slot.value, slot.full = make(), True
            made: T = slot.value
            return made

    def variant(self, name: object) -> Variant:
        """The one of a name."""
        if not isinstance(name, str) or name not in self.variants:
            # What was sent is not repeated: it may be text that came into the wrong place.
            raise InvalidValue("mechanism must be one of " + ", ".join(self.variants))
        return self.variants[name]

    def space(self, variant: Variant) -> EmbeddingSpace:
        """Its public words."""
        return self.kept(("space", variant.space), lambda: load_space(variant.space).with_unknown())

    def prepared(self, setting: PageSetting) -> Prepared:
        """The mechanism of a setting, and what it guarantees."""
        return self.kept(("prepared", setting), lambda: self._prepared(setting))

    def _prepared(self, setting: PageSetting) -> Prepared:
        sanitizer = Sanitizer(
            self._mechanism(setting.variant, setting.epsilon),
            layout=setting.layout,
            identifiers="rules" if setting.identifiers else None,
            public=function_words.NAME if setting.public_words else None,
        )
        return Prepared(sanitizer.mechanism, sanitizer.statement)

    def _mechanism(self, variant: Variant, epsilon: float) -> WordMechanism:
        settings: dict[str, Any] = {**variant.settings, "space": self.space(variant)}
        if "near" in settings:
            settings["outputs"] = len(settings["space"])
        if variant.epsilon:
            settings["epsilon"] = epsilon
        key = (variant.name, settings.get("epsilon"))
        made: WordMechanism = self.kept(
            key, lambda: registry.mechanism(variant.mechanism, **settings)
        )
        return made

    def layout(self, setting: PageSetting) -> Layout:
        """How its text is cut and written."""
        space = self.space(setting.variant)
        return self.kept(
            ("layout", setting.variant.space, setting.layout),
            lambda: LAYOUTS[setting.layout](
                tokenizer_for(space.words, space.unknown, space.subwords)
            ),
        )

    def passing(self, variant: Variant) -> Passing:
        """Which words of its space are on the public list, and where they pass."""
        space = self.space(variant)
        return self.kept(("function words", variant.space), lambda: Passing(space.words))

    def prior(self, setting: PageSetting) -> Floats:
        """How often each word is expected among those that are replaced, by public frequencies."""
        spared = self.passing(setting.variant).listed if setting.public_words else None
        return rank_prior(self.space(setting.variant), spared)

    def guess_rate(self, setting: PageSetting) -> float | None:
        """How often the best guess is right; None where that takes too long to know.

        Where a guide reads along, on average over public texts if that was measured.
        """
        if not setting.variant.epsilon:  # nothing is learnt from what comes out
            return float(self.prior(setting).max())
        key = ("rate", setting.variant, setting.epsilon, setting.public_words)
        return self.kept(key, lambda: best_guess(self.prepared(setting).mechanism))

    def kept_rate(self, setting: PageSetting) -> float:
        """How often a word stays as it is: who guesses that it did is right as often.

        Over public words, spread evenly over the frequencies; by the law, or by seeded draws where
        it has no formula.
        """

        def rate() -> float:
            mechanism = self.prepared(setting).mechanism
            shares = (np.arange(_SPREAD) + 0.5) / _SPREAD
            ids = np.searchsorted(np.cumsum(self.prior(setting)), shares)
            if says_its_law(mechanism):
                law = mechanism.log_probabilities(ids)
                return float(np.exp(law[np.arange(_SPREAD), ids]).mean())
            many = np.repeat(ids, _SPREAD_DRAWS)
            return float((mechanism.release(many, np.random.default_rng(0)) == many).mean())

        return self.kept(("stays", setting.variant, setting.epsilon, setting.public_words), rate)

    def weakness(self, setting: PageSetting) -> str | None:
        """Why ``discreet sanitize`` would ask before it releases with this setting, if it would."""
        key = ("weak", setting.variant, setting.epsilon)
        return self.kept(key, lambda: weakness(self.prepared(setting).mechanism))

    def point(self, setting: PageSetting) -> dict[str, float | bool | None]:
        """What an attacker guesses at a setting, exactly or at least, and what stays near."""
        guess = self.guess_rate(setting)
        return {
            "guess": self.kept_rate(setting) if guess is None else guess,
            "least": guess is None,
            "near": getattr(self.prepared(setting).mechanism, "near_chance", None),
        }

    def frontier(self, setting: PageSetting) -> list[dict[str, float | bool | None]]:
        """The same at every epsilon of the picture; empty where there is none to choose."""
        if not setting.variant.epsilon:
            return []
        return self.kept(
            ("frontier", setting.variant, setting.public_words),
            lambda: [
                {"epsilon": each, **self.point(replace(setting, epsilon=each))} for each in FRONTIER
            ],
        )


class _Slot:
    """A place for one value, and a lock for whoever makes it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.full = False
        self.value: Any = None
