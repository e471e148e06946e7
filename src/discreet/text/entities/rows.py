"""Rows of text or of tokens, each written again with the list of its entities added.

A row of JSON lines is kept as it stands, character by character; the list is put in before its
closing brace. Rows of other formats become JSON objects. Messages name lines, never a value.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from discreet.errors import InputError
from discreet.text.entities.found import Entity
from discreet.text.formats import input_format
from discreet.text.json_objects import read_objects, strings
from discreet.text.lines import display_name
from discreet.text.readers import Batch, DocumentReader, open_documents

FIELD = "entities"


@dataclass(frozen=True)
class TextRow:
    """One row: its text, and if it came as tokens, where they are in it."""

    number: int
    """Line or row, from 1."""
    text: str = field(repr=False)
    tokens: tuple[str, ...] | None = field(repr=False)
    tags: tuple[str, ...] | None = field(repr=False)
    around: str = field(repr=False)
    """The whole row as a JSON object."""

    def written(self, entities: Sequence[Entity]) -> str:
        """The row with its entities, as a line of JSON without its end."""
        listed = [
            {"start": e.start, "end": e.end, "category": e.category, "id": e.id} for e in entities
        ]
        body = self.around.rstrip()[:-1].rstrip()
        comma = "" if body.endswith("{") else ", "
        return f'{body}{comma}"{FIELD}": {json.dumps(listed)}}}'

    def by_tokens(self, entities: Sequence[Entity]) -> list[Entity]:
        """Entities by characters as entities by tokens: all tokens that they touch."""
        if self.tokens is None:
            return list(entities)
        starts = list(accumulate((len(token) + 1 for token in self.tokens), initial=0))
        ends = [start + len(token) for start, token in zip(starts, self.tokens, strict=False)]
        in_tokens = []
        for entity in entities:
            touched = [
                i
                for i in range(len(ends))
                if starts[i] < entity.end and entity.start < max(ends[i], starts[i] + 1)
            ]
            in_tokens.append(entity._replace(start=touched[0], end=touched[-1] + 1))
        return in_tokens


@dataclass(frozen=True)
class Fields:
    """Where a row has what is needed: a text, or tokens and perhaps their tags."""

    text: str = "text"
    tokens: str | None = None
    tags: str | None = None

    @property
    def needed(self) -> str:
        """The field without which there is nothing to look at."""
        return self.text if self.tokens is None else self.tokens


def read_rows(
    source: str, fields: Fields, *, format: str | None = None, block: int = 1024
) -> Iterator[tuple[list[TextRow], int, int]]:
    """Blocks of rows, each with the bytes read so far and the bytes in all (0: unknown).

    Args:
        source: A path, or ``-``; txt, csv, tsv, jsonl (each also ``.gz``) or parquet. Tokens are
            read from jsonl only.
        fields: What to look for.
        format: Of the source, if its name does not tell.
        block: How many rows go together.
    """
    base, compressed = input_format(source, format)
    if base == "jsonl":
        for lines, read, total in read_objects(
            source, fields.needed, compressed=compressed, block=block
        ):
            yield [_json_row(*line, fields) for line in lines], read, total
        return
    if fields.tokens is not None:
        raise InputError(
            f"tokens are read from jsonl, and {display_name(source)} is {base}; convert it"
        )
    with open_documents(
        source, format=format, text_field=fields.text, batch_documents=block
    ) as reader:
        for batch in reader:
            rows = [
                TextRow(batch.first_row + i, text, None, None, around)
                for i, (text, around) in enumerate(
                    zip(batch.texts, _as_objects(batch, reader), strict=True)
                )
            ]
            yield rows, reader.bytes_read, reader.total_bytes or 0


def _as_objects(batch: Batch, reader: DocumentReader) -> list[str]:
    """Each row of a table, or line of text, as a JSON object."""
    name = reader.text_field or "text"
    others: list[dict[str, Any]] = []
    if isinstance(batch.rows, list):
        header = reader.header or []
        names = [column for i, column in enumerate(header) if i != reader.text_index]
        others = [dict(zip(names, row, strict=True)) for row in batch.rows]
    elif batch.rows is not None:
        others = batch.rows.to_pylist()
    others = others or [{} for _ in batch.texts]
    if others and FIELD in others[0]:
        raise InputError(f"{reader.name} has a column {FIELD} already; rename or drop it")
    try:
        return [
            json.dumps({name: text} | other, ensure_ascii=False)
            for text, other in zip(batch.texts, others, strict=True)
        ]
    except TypeError:
        problem = f"{reader.name} has a column that JSON has no place for; drop or convert it"
    raise InputError(problem)


def _json_row(number: int, line: str, values: dict[str, Any], at: str, fields: Fields) -> TextRow:
    if FIELD in values:
        problem = f"has a field {FIELD} already; rename or drop it"
    elif fields.tokens is None:
        text = values[fields.text]
        if isinstance(text, str):
            return TextRow(number, text, None, None, line)
        problem = f"has a {fields.text} that is not a string; make it one, or drop the line"
    else:
        tokens, tags = strings(values, fields.tokens), strings(values, fields.tags)
        if tokens is not None and (tags is not None or fields.tags is None):
            return TextRow(number, " ".join(tokens), tokens, tags, line)
        wrong = fields.tokens if tokens is None else fields.tags
        problem = f"has no list of strings in its field {wrong}; correct it"
    raise InputError(f"{at} {problem}")
