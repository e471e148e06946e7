"""Users, sentences and entities of the two data sets of the UeDP recipe."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from discreet.models.vocabulary import UNKNOWN, Vocabulary
from discreet.text.labelled import read_labelled
from discreet.training.user_entity.build import PublicWords
from discreet.training.user_entity.records import WordNumbers, read_sentences
from discreet.training.user_entity.settings import Records
from discreet.training.user_entity.users import Sentence, UserText, gather
from discreet_recipes.data_files import data_file
from discreet_recipes.record import Record
from discreet_recipes.uedp.sizes import UeDPOptions, news_part

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
# Where a sentence of AG News ends: a stop before a capital, or the dash after the agency's name.
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]*[A-Z])|\s--?\s")
_PUBLIC_TEXTS = 10_001

Users = tuple[UserText, ...]


@dataclass(frozen=True)
class Corpus:
    """One data set: how its users are read for given categories, and what is tested on."""

    name: str
    words: PublicWords
    categories: dict[str, tuple[str, ...]]
    users: Callable[[str, bool], Users]
    """Of a category; with entities masked or not."""
    test: Callable[[], Users]
    public: Callable[[], list[tuple[Users, int]]]
    """Public text, and for how many steps it is trained on."""
    population: int
    rows: tuple[str, ...] = ()
    """The options that say how much text is taken."""
    classes: int | None = None
    """Of a sentence, where classes are predicted and not next words."""


def public_words(space: str, most: int, embedding: int = 0) -> PublicWords:
    """The first so many words of a space, which are the most frequent ones.

    Their vectors are those of the space, or of so many numbers drawn as the paper does.
    """
    words = PublicWords.of_space(space, most)
    if not embedding or words.vectors is None:
        return words
    size = (len(words.vectors), embedding)
    drawn = np.random.default_rng(0).uniform(-0.1, 0.1, size).astype(np.float32)
    return PublicWords(words.vocabulary, drawn)


def conll(
    data: Path, part: str, words: WordNumbers, categories: Iterable[str], *, masked: bool = False
) -> Users:
    """Documents of CoNLL-2003 as users; with ``masked`` every entity is the unknown word."""
    return gather(
        read_sentences(
            str(data_file(data, f"conll2003-{part}")),
            Records(tokens="tokens", tags="tags"),
            words,
            categories=frozenset(categories),
            masked=UNKNOWN if masked else None,
        )
    )


def public_conll(data: Path, words: WordNumbers) -> Users:
    """Three of four validation documents of CoNLL-2003, which play public text.

    The others are what learning rates and bounds were chosen on.
    """
    documents = conll(data, "valid", words, ())
    return tuple(user for place, user in enumerate(documents) if place % 4)


def ag_news_texts(data: Path, part: str, most: int) -> list[str]:
    """The first texts of a part of AG News."""
    texts = read_labelled(data_file(data, f"agnews-{part}"), label_field=None).texts
    return [_mended(text) for text in islice(filter(_WORD.search, texts), most)]


def ag_news_topics(data: Path, part: str, most: int) -> tuple[list[str], list[int]]:
    """The same texts, and the number of the topic of each."""
    rows = read_labelled(data_file(data, f"agnews-{part}"))
    places = {topic: place for place, topic in enumerate(sorted(set(rows.labels or ())))}
    topics = [places[topic] for topic in rows.labels or ()]
    worded = (pair for pair in zip(rows.texts, topics, strict=True) if _WORD.search(pair[0]))
    texts, own = zip(*islice(worded, most), strict=True)
    return [_mended(text) for text in texts], list(own)


def first_words(text: str, most: int) -> str:
    """A text up to its so many first words; punctuation counts as a word.

    >>> first_words("It is tea, and more.", 4)
    'It is tea,'
    """
    ends = [match.end() for match in islice(_WORD.finditer(text), most)]
    return text[: ends[-1]]


def _mended(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1])), text)


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


def as_users(
    texts: Sequence[str], words: WordNumbers, topics: Sequence[int] | None = None
) -> Users:
    """Texts without entities, each a user: to test on, or public ones to train on."""
    return ag_news(texts, [[] for _ in texts], range(len(texts)), words, (), topics=topics)


def ag_news(
    texts: Sequence[str],
    entities: Sequence[Sequence[Sequence[Any]]],
    owners: Sequence[int],
    words: WordNumbers,
    categories: Iterable[str],
    *,
    masked: bool = False,
    by_sentence: bool = False,
    topics: Sequence[int] | None = None,
) -> Users:
    """AG News as users: a text is one sentence, or with ``by_sentence`` is cut into its own."""
    chosen = frozenset(categories)

    def sentences(place: int) -> Iterator[Sentence]:
        text = texts[place]
        own = [entity for entity in entities[place] if entity[2] in chosen]
        for first, last in _cut(text, own) if by_sentence else [(0, len(text))]:
            here = [e for e in own if e[0] < last and first < e[1]]
            spans = [match.span() for match in _WORD.finditer(text, first, last)]
            marked = [any(e[0] < end and start < e[1] for e in here) for start, end in spans]
            tokens = [
                UNKNOWN if masked and named else text[start:end]
                for (start, end), named in zip(spans, marked, strict=True)
            ]
            ids = words.encode(tokens)
            yield Sentence(
                f"user {owners[place]}",
                ids,
                frozenset(e[3] for e in here),
                label=None if topics is None else topics[place],
                marked=marked if isinstance(words, Vocabulary) else None,
            )

    return gather(sentence for place in range(len(texts)) for sentence in sentences(place))


def _cut(text: str, entities: Sequence[Sequence[Any]]) -> list[tuple[int, int]]:
    """Where the sentences of a text begin and end; an entity is never cut."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    inside = [end for end in ends if not any(e[0] < end < e[1] for e in entities)]
    return list(pairwise([0, *inside, len(text)]))


def sensitive_share(users: Sequence[UserText]) -> float:
    """Share of sentences that hold a sensitive entity."""
    sensitive = sum(int((user.cell >= 0).sum()) for user in users)
    return sensitive / sum(map(len, users))


def conll_corpus(data: Path, most: int, size: UeDPOptions) -> Corpus:
    """CoNLL-2003 with so many words; its public text is other news."""
    words = public_words(size.space, most, size.embedding)
    known = words.vocabulary
    return Corpus(
        "conll2003",
        words,
        CONLL,
        users=lambda category, masked: conll(data, "train", known, CONLL[category], masked=masked),
        test=lambda: conll(data, "test", known, CONLL["all"]),
        public=lambda: [
            (as_users(ag_news_texts(data, "dev", _PUBLIC_TEXTS), known), size.public_steps[0])
        ],
        population=947,
    )


def ag_news_corpus(record: Record, data: Path, size: UeDPOptions) -> Corpus:
    """AG News; entities are found once for the folder. Its own texts are no public ones here."""
    words = public_words(size.space, size.words, size.embedding)
    known = words.vocabulary
    texts = ag_news_texts(data, news_part(size.ag_news), size.ag_news)
    entities = record.part("agnews-entities", lambda: found_entities(texts), ("ag_news",))
    owners = users_of_texts(len(texts), seed=0)
    return Corpus(
        "agnews",
        words,
        AG_NEWS,
        users=lambda category, masked: ag_news(
            texts, entities, owners, known, AG_NEWS[category], masked=masked
        ),
        test=lambda: as_users(ag_news_texts(data, "test", size.ag_news_test), known),
        public=lambda: [(public_conll(data, known), size.public_steps[1])],
        population=max(owners) + 1,
        rows=("ag_news", "ag_news_test"),
    )


def topics_corpus(record: Record, data: Path, size: UeDPOptions) -> Corpus:
    """AG News by topic. There is no public text with topics: the network begins untrained."""
    words = public_words(size.space, size.words, size.embedding)
    known = words.vocabulary
    (texts, topics), tested = (
        ag_news_topics(data, part, most)
        for part, most in zip((news_part(size.topics[0]), "test"), size.topics, strict=True)
    )
    entities = record.part("topics-entities", lambda: found_entities(texts), ("topics",))
    owners = users_of_texts(len(texts), seed=0)
    return Corpus(
        "topics",
        words,
        AG_NEWS,
        users=lambda category, masked: ag_news(
            texts, entities, owners, known, AG_NEWS[category], masked=masked, topics=topics
        ),
        test=lambda: as_users(tested[0], known, tested[1]),
        public=list,
        population=max(owners) + 1,
        rows=("topics",),
        classes=len(set(topics)),
    )
