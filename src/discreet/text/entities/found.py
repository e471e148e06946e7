"""An entity that was found: its place, its category, and the key that makes two of them one.

What counts as one entity decides what the guarantee of training protects. Two mentions are one
entity if their keys are equal, whatever their category: a recogniser that calls a name once a
person and once a place must not split it into two entities with half the protection each.
"""

import hashlib
import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple, Protocol

from discreet.errors import InvalidValue

# Labels of data sets and recognisers, and what we call them; the categories of UeDP's Table 3 and
# those of Presidio that are no names or places, which are all ``pii``.
_LABELS = {
    "person": ("PER", "PERSON"),
    "org": ("ORG", "ORGANIZATION", "ORGANISATION"),
    "loc": ("LOC", "LOCATION"),
    "gpe": ("GPE",),
    "misc": ("MISC",),
    "norp": ("NORP", "NRP"),
    "fac": ("FAC", "FACILITY"),
    "date": ("DATE", "DATE_TIME"),
    "pii": (),
    "product": ("PRODUCT",),
    "event": ("EVENT",),
    "law": ("LAW",),
    "language": ("LANGUAGE",),
    "work_of_art": ("WORK_OF_ART",),
    "time": ("TIME",),
    "percent": ("PERCENT",),
    "money": ("MONEY",),
    "quantity": ("QUANTITY",),
    "ordinal": ("ORDINAL",),
    "cardinal": ("CARDINAL",),
}
CATEGORIES = tuple(_LABELS)
# What names somebody or some place, or can be traced to them.
DEFAULT_CATEGORIES = ("person", "org", "loc", "gpe", "misc", "norp", "fac", "pii")
_CATEGORY_OF = {label: category for category, labels in _LABELS.items() for label in labels}
_PLAIN = re.compile(r"[a-z][a-z0-9_-]{0,30}")

_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u0060\u00b4"), "'")
_AROUND_MARKS = re.compile(r"\s*([^\w\s])\s*")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_TRAILING = re.compile(r"[^\w\s']+$")
_POSSESSIVE = re.compile(r"'s?$")
_ARTICLE = re.compile(r"^the (?=\S)")
_BEFORE = re.compile(r"\s*(?:the\s+(?=\S))?", re.IGNORECASE)
_AFTER = re.compile(r"(?:\s*['\u2019]\s*s)?\s*$", re.IGNORECASE)


class Entity(NamedTuple):
    """A mention: characters ``start`` to ``end`` of a text, or tokens of a row of tokens."""

    start: int
    end: int
    category: str
    id: str
    """Of its key: see :func:`entity_id`."""


class Source(Protocol):
    """Something that finds entities in texts."""

    name: str
    categories: frozenset[str]
    """The categories chosen that it can find."""

    def find(self, texts: Sequence[str]) -> list[list[Entity]]:
        """The entities of each text, by characters."""
        ...


def category_of(label: str) -> str:
    """What we call a label of a data set or a recogniser; an unknown one is itself, in lower case.

    >>> category_of("PER"), category_of("GPE"), category_of("Disease")
    ('person', 'gpe', 'disease')
    """
    return _CATEGORY_OF.get(label.upper(), label.lower())


class _Every:
    """Holds every category, also those that only the data or a list knows."""

    def __contains__(self, _category: object) -> bool:
        return True


EVERY: Container[str] = _Every()
"""What ``all`` asks for."""


def chosen_categories(names: Iterable[str] | None) -> Container[str]:
    """The categories asked for, a set; without any, the default ones; ``all`` is :data:`EVERY`.

    A name outside :data:`CATEGORIES` is allowed: labels of the data and lists have their own.
    """
    if names is None:
        return frozenset(DEFAULT_CATEGORIES)
    chosen: set[str] = set()
    every = False
    for name in names:
        if name == "all":
            every = True
        elif _PLAIN.fullmatch(name):
            chosen.add(category_of(name))
        else:
            raise InvalidValue(
                f"a category is a short name in lower case such as {', '.join(CATEGORIES[:5])}, "
                f"or all; got {name!r}"
            )
    if not chosen and not every:
        raise InvalidValue("no category was chosen; name at least one, or all")
    return EVERY if every else frozenset(chosen)


def is_category(name: str) -> bool:
    """True for a name that a category may have."""
    return _PLAIN.fullmatch(name) is not None


def entity_key(mention: str) -> str:
    """What makes two mentions one entity: the mention without case, spacing, marks and possessive.

    Unicode is normalised (NFKC), dashes and apostrophes are made alike, white space around marks
    and the marks at both ends are dropped, a possessive ``'s`` and a leading ``the`` too. The key
    is protected text: keep it in memory.

    >>> [entity_key(mention) for mention in ("The  Hague's", "the hague", "THE HAGUE,")]
    ['hague', 'hague', 'hague']
    >>> entity_key("O\u2019 Brien"), entity_key("U . S ."), entity_key("Ｂonn")
    ("o'brien", 'u.s', 'bonn')
    """
    text = unicodedata.normalize("NFKC", mention).translate(_QUOTES).translate(_DASHES)
    # Folding can undo the normal form, so the form is taken once more (as Unicode advises).
    text = unicodedata.normalize("NFKC", text.casefold())
    whole = " ".join(text.split())
    text, before = _AROUND_MARKS.sub(r"\1", whole), ""
    while text != before:  # what is taken off one end may lay bare another possessive
        before = text
        text = _POSSESSIVE.sub("", _TRAILING.sub("", text))
        text = _ARTICLE.sub("", _EDGES.sub("", text))
    return text or whole  # nothing but marks: then the marks are the entity


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A mention without the article before it and the possessive after it, which its key drops too.

    >>> trimmed("In the Hague's port", 3, 14)
    (7, 12)
    """
    mention = text[start:end]
    before, after = _BEFORE.match(mention), _AFTER.search(mention)
    return start + (before.end() if before else 0), start + (after.start() if after else end)


def entity_id(mention: str) -> str:
    """Sixteen hexadecimal digits for the key, the same in every file and on every client.

    They only make equal what is equal. They hide nothing: who guesses the mention can compute them.

    >>> entity_id("Bonn's") == entity_id("BONN") != entity_id("Cologne")
    True
    """
    return hashlib.sha256(entity_key(mention).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def merged(by_source: Iterable[Sequence[Entity]]) -> list[Entity]:
    """What several sources found in one text, in order; the first to name a place wins it.

    Mentions that overlap without being equal are all kept: each was asked for, and a sentence that
    holds two entities counts as holding both.
    """
    places: dict[tuple[int, int], Entity] = {}
    for entities in by_source:
        for entity in entities:
            places.setdefault((entity.start, entity.end), entity)
    return sorted(places.values(), key=lambda entity: (entity.start, entity.end))
