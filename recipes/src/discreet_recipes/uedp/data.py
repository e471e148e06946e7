"""Users, sentences and entities of CoNLL-2003 and AG News for the UeDP recipe."""

import gzip
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.models.vocabulary import UNKNOWN, Vocabulary
from discreet.spaces.loaders import load_space
from discreet.training.user_entity.records import RecordFields, read_sentences
from discreet.training.user_entity.trainer import Sentence, UserText, gather
from discreet_recipes.data_files import data_file

CONLL = {
    "person": ("person",),
    "org": ("org",),
    "loc": ("loc",),
    "misc": ("misc",),
    "all": ("person", "org", "loc", "misc"),
}
AG_NEWS = {
    "org": ("org",),
    "loc": ("loc",),
    "gpe": ("gpe",),
    "pii": ("person", "loc"),
    "all": ("person", "org", "loc", "gpe"),
}
"""Categories of sensitive entities by the paper's names; its PII is person and location."""

# Texts of one AG News user: the paper draws their number from this normal law.
_TEXTS_MEAN, _TEXTS_DEVIATION = 15.0, 2.0
# What is left of escapes of HTML in AG News: " #39;" is an apostrophe.
_ESCAPE = re.compile(r" ?#(\d{2,4});")
_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class Words:
    """A public vocabulary and the vectors that a model begins with."""

    vocabulary: Vocabulary
    vectors: np.ndarray


def public_words(most: int) -> Words:
    """The first so many words of the starter space, which are the most frequent ones of English."""
    space = load_space("starter", max_words=most)
    kept = [place for place in range(len(space)) if place != space.unknown]
    vocabulary = Vocabulary(space.words[place] for place in kept)
    vectors = np.asarray(space.vectors)[kept]
    return Words(vocabulary, vectors[len(kept) - (len(vocabulary) - 2) :])


def conll(
    data: Path,
    part: str,
    words: Words,
    categories: Iterable[str],
    *,
    masked: bool = False,
    every: int = 1,
) -> tuple[UserText, ...]:
    """Documents of CoNLL-2003 as users; with ``masked`` every entity is the unknown word."""
    users = gather(
        read_sentences(
            str(data_file(data, f"conll2003-{part}")),
            RecordFields(tags="tags"),
            words.vocabulary,
            categories=frozenset(categories),
            masked=UNKNOWN if masked else None,
        )
    )
    return users[::every]


def public_conll(data: Path, words: Words) -> tuple[UserText, ...]:
    """Three of four validation documents of CoNLL-2003, which play public text of the same kind.

    The others are what learning rates and bounds were chosen on.
    """
    documents = conll(data, "valid", words, ())
    return tuple(user for place, user in enumerate(documents) if place % 4)


def ag_news_texts(data: Path, part: str, most: int) -> list[str]:
    """The first texts of a part of AG News."""
    path = data_file(data, f"agnews-{part}")
    texts: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if len(texts) == most:
                break
            try:
                text = json.loads(line)["text"]
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"line {number} of {path.name} has no text; give JSON lines with the field text"
                ) from error
            if isinstance(text, str) and _WORD.search(text):
                texts.append(_ESCAPE.sub(lambda found: chr(int(found[1])), text))
    return texts


def found_entities(texts: Sequence[str]) -> list[list[list[Any]]]:
    """What spaCy finds in each text: where an entity begins and ends, its category, its id."""
    from discreet.text.entities.recognisers import PACKAGED, SpacyEntities, load_pipeline

    source = SpacyEntities(load_pipeline(PACKAGED), frozenset(AG_NEWS["all"]))
    return [[list(entity) for entity in some] for some in source.find(texts)]


def users_of_texts(count: int, seed: int) -> list[int]:
    """A user for each text at random; their numbers of texts are normal, as in the paper.

    >>> sizes = np.bincount(users_of_texts(3000, 1))
    >>> 190 <= len(sizes) <= 210, bool(14 <= sizes[:-1].mean() <= 16)
    (True, True)
    """
    rng = np.random.default_rng(seed)
    owner: list[int] = []
    user = 0
    while len(owner) < count:
        owner += [user] * max(1, round(rng.normal(_TEXTS_MEAN, _TEXTS_DEVIATION)))
        user += 1
    return [owner[place] for place in rng.permutation(count)]


def as_users(texts: Sequence[str], words: Words) -> tuple[UserText, ...]:
    """Texts without entities, each a user: to test on, or public ones to train on."""
    return ag_news(texts, [[] for _ in texts], range(len(texts)), words, ())


def ag_news(
    texts: Sequence[str],
    entities: Sequence[Sequence[Sequence[Any]]],
    owners: Sequence[int],
    words: Words,
    categories: Iterable[str],
    *,
    masked: bool = False,
) -> tuple[UserText, ...]:
    """AG News as users: a text is a sentence."""
    chosen = frozenset(categories)

    def sentence(place: int) -> Sentence:
        spans = [match.span() for match in _WORD.finditer(texts[place])]
        tokens = [texts[place][start:end] for start, end in spans]
        own = [entity for entity in entities[place] if entity[2] in chosen]
        if masked:
            tokens = [
                UNKNOWN if any(e[0] < end and start < e[1] for e in own) else token
                for token, (start, end) in zip(tokens, spans, strict=True)
            ]
        ids = words.vocabulary.encode(tokens)
        return Sentence(f"user {owners[place]}", ids, frozenset(e[3] for e in own))

    return gather(sentence(place) for place in range(len(texts)))


def sensitive_share(users: Sequence[UserText]) -> float:
    """Share of sentences that hold a sensitive entity."""
    sensitive = sum(int((user.cell >= 0).sum()) for user in users)
    return sensitive / sum(map(len, users))
