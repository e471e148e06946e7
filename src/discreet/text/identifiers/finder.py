"""What finds identifiers: rules, or rules together with a spaCy pipeline or Presidio.

No finder finds everything. What it does find, and where, counts as public; what it misses is
treated as words.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from discreet import check
from discreet.errors import DiscreetError, InvalidValue
from discreet.text.entities import recognisers
from discreet.text.identifiers.patterns import (
    NAMES,
    Span,
    identifiers_of,
    named_span,
    rest_of_name,
)

FINDERS = ("rules", "spacy", "presidio")
# Labels of recognisers, and our types. Others of spaCy are not taken: a day of the week or a
# nationality is a word. Dates are left to the rules for the same reason.
_NAMES = {
    "PERSON": "person",
    "PER": "person",
    "ORG": "organisation",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
}
_PRESIDIO: dict[str, str | None] = {
    "PERSON": "person",
    "ORGANIZATION": "organisation",
    "LOCATION": "place",
    "EMAIL_ADDRESS": "email",
    "URL": "url",
    "PHONE_NUMBER": "phone",
    "IP_ADDRESS": "ip",
    "MAC_ADDRESS": "mac",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "US_SSN": "ssn",
    "DATE_TIME": None,
    "NRP": None,
}
_WORD = re.compile(r"[^\W\d_]+")
# Rules that are surer than a recogniser; the others only fill what it leaves.
_UNSURE = (*NAMES, "code", "number")


class Finder(Protocol):
    """Something that finds identifiers in texts."""

    name: str

    def find(self, texts: Sequence[str]) -> list[list[Span]]:
        """The identifiers of each text, in order and without overlap."""
        ...


class RuleFinder:
    """Identifiers by their patterns: no model, no list but one of common given names.

    >>> spans = RuleFinder().find(["write to a@b.example before 5 pm"])
    >>> [span.type for span in spans[0]]
    ['email', 'time']
    """

    name = "rules"

    def find(self, texts: Sequence[str]) -> list[list[Span]]:
        """The identifiers of each text, in order and without overlap."""
        return [with_mentions(text, identifiers_of(text)) for text in texts]


class RecognisingFinder:
    """Rules, and a recogniser for what they are not sure of.

    Args:
        recogniser: see :mod:`discreet.text.entities.recognisers`.
        types: our type for each label; what has none is left to the rules and the words.
        other: the type of every label that is not among them.
    """

    def __init__(
        self,
        recogniser: recognisers.Recogniser,
        types: Mapping[str, str | None],
        other: str | None = None,
    ) -> None:
        self.name = f"rules and {recogniser.name}"
        self._recogniser = recogniser
        self._types, self._other = types, other

    def find(self, texts: Sequence[str]) -> list[list[Span]]:
        """The identifiers of each text, in order and without overlap."""
        try:
            recognised = self._recogniser.spans(texts)
        except DiscreetError:
            raise
        except Exception as error:  # it may quote the text, so nothing of it is passed on
            raise InvalidValue(
                f"{self._recogniser.name} failed on a text of this batch ({type(error).__name__}); "
                "nothing was released"
            ) from None
        return [
            with_mentions(text, self._together(text, identifiers_of(text), spans))
            for text, spans in zip(texts, recognised, strict=True)
        ]

    def _together(
        self, text: str, by_rules: list[Span], labelled: Sequence[tuple[int, int, str]]
    ) -> list[Span]:
        named = [
            named_span(text, start, end, kind)
            for start, end, label in labelled
            if (kind := self._types.get(label, self._other)) is not None
        ]
        if not named:
            return by_rules
        unsure = [span for span in by_rules if span.type in _UNSURE]
        sure = [span for span in by_rules if span.type not in _UNSURE]
        return _painted(
            text, [*unsure, *sorted(named, key=lambda span: span.end - span.start), *sure]
        )


def with_mentions(text: str, spans: list[Span]) -> list[Span]:
    """Spans, and the words of every name of a person wherever else they stand in the text.

    A name that was found once, after a title or at the end of a letter, is a name in the middle of
    a sentence too, and the capitalised words right after it belong to it. Capitals must be the
    same: "mark" is not "Mark".

    >>> text = "This is Wanjiku Mwangi. Please call Mrs Mwangi back. Thanks, Wanjiku"
    >>> [text[span.start : span.end] for span in with_mentions(text, identifiers_of(text))]
    ['Wanjiku Mwangi', 'Mwangi', 'Wanjiku']
    """
    names = _names(text, spans)
    if not names:
        return spans
    mentions = _mentions(text, names)
    whole = _mentions(text, names | _names(text, mentions))  # a surname may stand alone, too
    return _painted(text, [*whole, *spans])


def _names(text: str, spans: Sequence[Span]) -> set[str]:
    persons = (text[span.start : span.end] for span in spans if span.type == "person")
    words = (word for name in persons for word in _WORD.findall(name))
    return {word for word in words if len(word) > 1 and word[0].isupper()}


def _mentions(text: str, names: set[str]) -> list[Span]:
    """Where the words stand, each with the capitalised words right after it."""
    spans, place = list[Span](), 0
    for word in _WORD.finditer(text):
        if word.start() >= place and word.group() in names:
            place = rest_of_name(text, word.end())
            spans.append(named_span(text, word.start(), place, "person"))
    return spans


def _painted(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans without overlap: a later one takes its place from those before, which keep the rest."""
    owner = np.full(len(text) + 1, -1, np.int32)
    for number, span in enumerate(spans):
        owner[span.start : span.end] = number
    edges = np.flatnonzero(np.diff(owner, prepend=-1)).tolist()
    pieces = []
    for start, end in pairwise(edges):
        number, piece = int(owner[start]), text[start:end]
        if number >= 0 and any(map(str.isalnum, piece)):
            start += len(piece) - len(piece.lstrip())
            pieces.append(Span(start, start + len(piece.strip()), spans[number].type))
    return pieces


def finder_of(choice: str) -> Finder:
    """The finder of a name: ``rules``, ``spacy`` or ``presidio``.

    After a colon the last two take the name or the path of a spaCy pipeline; without one it is
    en_core_web_md.
    """
    name, _, model = choice.partition(":")
    check.one_of(name, FINDERS, "identifiers")
    if name == "rules":
        if model:
            raise InvalidValue("identifiers rules takes no pipeline; leave out what follows it")
        return RuleFinder()
    pipeline = recognisers.load_pipeline(model or recognisers.PACKAGED)
    if name == "spacy":
        return RecognisingFinder(recognisers.SpacyEntities(pipeline, frozenset()), _NAMES)
    presidio = recognisers.PresidioEntities(pipeline, frozenset())
    return RecognisingFinder(presidio, _PRESIDIO, other="code")
