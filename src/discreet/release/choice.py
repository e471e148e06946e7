"""A sanitizer from a few words: what a command takes as options, as arguments in Python."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from discreet.arrays import Progress
from discreet.errors import InvalidValue
from discreet.guides.ngram import NGramGuide
from discreet.mechanisms.registry import DEFAULTS, default_space, find
from discreet.protocols import WordMechanism
from discreet.release.strength import refuse_weak_words
from discreet.release.text import READABLE, Sanitizer, TextSanitizer
from discreet.spaces import EmbeddingSpace, load_space
from discreet.text.function_words import on_the_list
from discreet.text.identifiers import Identifiers

PYTHON = "give accept_weak=True"
"""How one says in Python that a weak setting is meant."""


def chosen_sanitizer(
    *,
    epsilon: float | None = None,
    mechanism: str | WordMechanism | None = None,
    space: str | Path | EmbeddingSpace | None = None,
    readable: bool = False,
    layout: str = "tokens",
    identifiers: str | Identifiers | None = None,
    consistent: str = "none",
    repeat: str = "each",
    public: str | None = None,
    polish: bool = False,
    accept_weak: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Sanitizer:
    """The sanitizer that ``discreet sanitize`` would use with these options.

    Args:
        epsilon: the privacy loss allowed.
        mechanism: a word mechanism by its name, or one that is made already; that of the command
            line unless given.
        space: the public vocabulary, by its name or made already; that of the command line unless
            given.
        readable: for text that people read: the layout, the words that pass and the guide of
            ``discreet sanitize --readable``.
        layout: and what follows: see :class:`discreet.Sanitizer`.
        identifiers: as there.
        consistent: as there.
        repeat: as there.
        public: as there.
        polish: as there.
        accept_weak: take a setting even if it protects next to nothing.
        progress: called with (done, total) while a space is certified, the first time it is used.
        settings: other settings of the mechanism, by the names of its parameters.

    >>> chosen_sanitizer(epsilon=8).mechanism.name
    'near-words'
    """
    shown: Mapping[str, Any] = {"layout": layout, "public": public, "polish": polish}
    if readable:
        shown = READABLE
    if mechanism is None or isinstance(mechanism, str):
        name = DEFAULTS["word"] if mechanism is None else mechanism
        if not isinstance(space, EmbeddingSpace):
            space = load_space(default_space(name) if space is None else space)
        given = {"epsilon": epsilon, **settings}
        built = chosen_mechanism(
            name, space, given, readable=readable, public=shown["public"], progress=progress
        )
    else:
        spoken = {"epsilon": epsilon, "space": space, **settings}
        for parameter, value in spoken.items():
            if value is not None:
                raise InvalidValue(
                    f"{parameter} belongs to a mechanism that is given by its name; this one is "
                    "made already: leave it out"
                )
        built = mechanism
    made = Sanitizer(built, identifiers=identifiers, consistent=consistent, repeat=repeat, **shown)
    if not accept_weak:
        refuse_weak_words(made, PYTHON)
    return made


def given_or_chosen(sanitizer: TextSanitizer | None, options: Mapping[str, Any]) -> TextSanitizer:
    """A sanitizer that is made already, unless its setting is weak; or one made from options.

    Args:
        sanitizer: made already, or None.
        options: what :func:`chosen_sanitizer` takes; beside a sanitizer ``accept_weak`` alone.
    """
    if sanitizer is None:
        return chosen_sanitizer(**options)
    if options.keys() - {"accept_weak"}:
        raise InvalidValue("give a sanitizer, or what it is made from, and not both")
    if not options.get("accept_weak"):
        refuse_weak_words(sanitizer, PYTHON)
    return sanitizer


def chosen_mechanism(
    name: str,
    space: EmbeddingSpace,
    settings: Mapping[str, Any],
    *,
    readable: bool = False,
    public: str | None = None,
    progress: Progress | None = None,
    called: Callable[[str], str] = str,
) -> WordMechanism:
    """The mechanism of a sanitizer with these options.

    Args:
        name: of the word mechanism.
        space: the public vocabulary.
        settings: by the names of the mechanism's parameters.
        readable: with the guide for text that people read, if it takes one and none is given.
        public: the public list of words that pass, if there is one.
        progress: of certifying the space.
        called: says what a message calls a parameter.
    """
    entry = find(name, "word", what=called("mechanism"))
    given: dict[str, Any] = {"space": space, **settings}
    if readable and entry.takes("guide"):
        given.setdefault("guide", NGramGuide.name)
    if public is not None and entry.takes("spared"):
        given["spared"] = on_the_list(space.words)
    built: WordMechanism = entry.build(given, progress=progress, called=called)
    return built
