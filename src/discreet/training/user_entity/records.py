"""JSON lines with a user, words and entities, read as sentences.

A line is one sentence: a user, its words (a list of tokens, or a text), and what says which of them
are sensitive entities: BIO tags, the list that ``discreet entities`` adds, or a list in a file.
Messages name lines and fields, never a value.
"""

import json
import re
from collections.abc import Container, Iterator, Sequence
from itertools import accumulate
from typing import Any

from discreet.errors import InputError
from discreet.models.language import AdaptedLanguageModel
from discreet.models.vocabulary import UNKNOWN, Vocabulary
from discreet.text.entities.found import Entity
from discreet.text.entities.gazetteer import Gazetteer, load_gazetteer
from discreet.text.entities.labels import BadTags, labelled
from discreet.text.formats import STANDARD_STREAM, input_format
from discreet.text.json_objects import read_objects, strings
from discreet.text.lines import display_name
from discreet.training.user_entity.settings import Records
from discreet.training.user_entity.users import Sentence, UserText, gather

Spans = list[tuple[int, int]]
WordNumbers = Vocabulary | AdaptedLanguageModel
"""Words as numbers: of a public list, or texts as they were written, with their spaces."""
_OTHER_KIND = (
    "marks entities of kinds that nobody named, which would not be protected; name all that are "
    "sensitive with --categories, or say --categories all"
)
_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


def read_users(
    source: str, records: Records, words: WordNumbers, *, masked: bool = False
) -> tuple[UserText, ...]:
    """The users of a file with their sentences.

    As :func:`read_sentences`; with ``masked`` every word of an entity becomes the unknown word.
    Where nobody named the categories, entities of others than the default ones are refused: they
    would not be protected, and nobody would know.
    """
    chosen, named = records.chosen, records.categories is not None
    listed = None
    if records.gazetteer is not None:
        listed, left_out = load_gazetteer(records.gazetteer, chosen)
        if left_out and not named:
            raise InputError(f"{records.gazetteer} {_OTHER_KIND}")
    return gather(
        read_sentences(
            source,
            records,
            words,
            categories=chosen,
            gazetteer=listed,
            masked=UNKNOWN if masked else None,
            refuse_others=not named,
        )
    )


def read_sentences(
    source: str,
    fields: Records,
    numbers: WordNumbers,
    *,
    categories: Container[str],
    gazetteer: Gazetteer | None = None,
    masked: str | None = None,
    refuse_others: bool = False,
) -> Iterator[Sentence]:
    """The sentences of a file.

    Args:
        source: JSON lines, also ``.gz``; ``-`` is standard input.
        fields: where what is.
        numbers: words as numbers; public.
        categories: of entities that are sensitive.
        gazetteer: a list of sensitive entities to look for.
        masked: the word to put in the place of every word of an entity (de-identification).
        refuse_others: refuse a line that marks an entity of another category.
    """
    classes = fields.classes
    base, compressed = input_format(source, "jsonl" if source == STANDARD_STREAM else None)
    if base != "jsonl":
        raise InputError(
            f"{display_name(source)} must be JSON lines (.jsonl or .jsonl.gz) and is {base}; "
            "'discreet entities' marks the entities of such a file and writes JSON lines"
        )
    for block, _, _ in read_objects(source, fields.words, compressed=compressed):
        cut = [_words(values, fields, at) for _, _, values, at in block]
        if gazetteer is not None:
            listed = gazetteer.find([text for text, _, _ in cut])
        for place, (_, _, values, at) in enumerate(block):
            text, words, spans = cut[place]
            if gazetteer is not None:
                entities = _by_words(spans, listed[place])
            else:
                entities, left_out = _given(words, spans, values, fields, categories, at)
                if left_out and refuse_others:
                    raise InputError(f"{at} {_OTHER_KIND}")
            within = {i for entity in entities for i in range(entity.start, entity.end)}
            if masked is not None:
                words = [masked if i in within else word for i, word in enumerate(words)]
            marks = [i in within for i in range(len(words))]
            as_written = masked is None and fields.tokens is None
            yield Sentence(
                _user(values, fields.user, at),
                numbers.encode_text(text)
                if as_written and isinstance(numbers, AdaptedLanguageModel)
                else numbers.encode(words),
                frozenset(entity.id for entity in entities),
                _label(values, fields.label, classes, at),
                marks if isinstance(numbers, Vocabulary) else None,
            )


def numbered(text: str, numbers: WordNumbers) -> list[int]:
    """A text in numbers, as one of a file is read."""
    if isinstance(numbers, AdaptedLanguageModel):
        return numbers.encode_text(text)
    return numbers.encode(_WORD.findall(text))


def _words(values: dict[str, Any], fields: Records, at: str) -> tuple[str, list[str], Spans]:
    """The text of a line, its words, and where they are in the text."""
    if fields.tokens is not None:
        tokens = _strings(values, fields.tokens, at)
        starts = accumulate((len(token) + 1 for token in tokens), initial=0)
        spans = [(start, start + max(1, len(t))) for start, t in zip(starts, tokens, strict=False)]
        return " ".join(tokens), tokens, spans
    text = values[fields.text]
    if not isinstance(text, str):
        raise InputError(f"{at} has a {fields.text} that is not a string; make it one")
    matches = list(_WORD.finditer(text))
    return text, [match.group() for match in matches], [match.span() for match in matches]


def _strings(values: dict[str, Any], field: str, at: str) -> list[str]:
    listed = strings(values, field)
    if listed is None:
        raise InputError(f"{at} has no list of strings in its field {field}; correct it")
    return list(listed)


def _by_words(spans: Spans, entities: Sequence[Entity]) -> list[Entity]:
    """Entities by characters as entities by words."""
    by_words = []
    for entity in entities:
        touched = [
            i for i, (start, end) in enumerate(spans) if start < entity.end and entity.start < end
        ]
        if touched:
            by_words.append(entity._replace(start=touched[0], end=touched[-1] + 1))
    return by_words


def _given(
    words: list[str],
    spans: Spans,
    values: dict[str, Any],
    fields: Records,
    categories: Container[str],
    at: str,
) -> tuple[list[Entity], int]:
    """The entities that the line itself marks, and how many are of categories not chosen."""
    if fields.tags is not None:
        tags = _strings(values, fields.tags, at)
        problem = "has tags but no tokens; give --tokens-field"
        if fields.tokens is not None:
            try:
                return labelled(words, tags, categories)
            except BadTags as error:
                problem = str(error)
        raise InputError(f"{at} {problem}")
    if fields.entities is None:
        return [], 0
    listed = values.get(fields.entities)
    problem = f"has no list of entities in its field {fields.entities}; see 'discreet entities'"
    if isinstance(listed, list):
        try:
            entities = [Entity(e["start"], e["end"], e["category"], e["id"]) for e in listed]
        except (TypeError, KeyError):
            entities = None
        if entities is not None and all(_sound(entity) for entity in entities):
            chosen = [entity for entity in entities if entity.category in categories]
            by_words = chosen if fields.tokens is not None else _by_words(spans, chosen)
            return by_words, len(entities) - len(chosen)
    raise InputError(f"{at} {problem}")


def _sound(entity: Entity) -> bool:
    places = isinstance(entity.start, int) and isinstance(entity.end, int)
    return places and isinstance(entity.category, str) and isinstance(entity.id, str)


def _user(values: dict[str, Any], field: str, at: str) -> str:
    user = values.get(field)
    if isinstance(user, bool) or not isinstance(user, str | int):
        raise InputError(f"{at} has no user in its field {field}; give it a string or a number")
    return str(user)


def _label(
    values: dict[str, Any], field: str | None, classes: Sequence[str], at: str
) -> int | None:
    if field is None:
        return None
    label = values.get(field)
    name = label if isinstance(label, str) else json.dumps(label)
    if name not in classes:
        raise InputError(f"{at} has a {field} that is none of the labels; see --labels")
    return list(classes).index(name)
