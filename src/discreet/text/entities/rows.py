"""Rows of text or of tokens, each written again with the list of its entities added.

A row of JSON lines is kept as it stands, character by character; the list is put in before its
closing brace. Rows of other formats become JSON objects. Messages name lines, never a value.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Any

from discreet.errors import InputError
from discreet.text.blocks import LineBlocks, display_name, lines_of, open_bytes
from discreet.text.entities.found import Entity
from discreet.text.faults import listed_names, no_documents
from discreet.text.formats import STANDARD_STREAM, input_format
from discreet.text.readers import Batch, DocumentReader, open_documents

FIELD = "entities"
_LINE_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Row:
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
        found = []
        for entity in entities:
            touched = [
                i
                for i in range(len(ends))
                if starts[i] < entity.end and entity.start < max(ends[i], starts[i] + 1)
            ]
            found.append(entity._replace(start=touched[0], end=touched[-1] + 1))
        return found


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
) -> Iterator[tuple[list[Row], int, int]]:
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
        yield from _json_rows(source, compressed, fields, block)
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
                Row(batch.first_row + i, text, None, None, around)
                for i, (text, around) in enumerate(
                    zip(batch.texts, _as_objects(batch, reader), strict=True)
                )
            ]
            yield rows, reader.bytes_read, reader.total_bytes or 0


def _as_objects(batch: Batch, reader: DocumentReader) -> list[str]:
    """Each row of a table, or line of text, as a JSON object."""
    if reader.format == "txt":
        others: list[dict[str, Any]] = [{} for _ in batch.texts]
        name = "text"
    elif isinstance(batch.rows, list):
        header = reader.header or []
        names = [column for i, column in enumerate(header) if i != reader.text_index]
        others = [dict(zip(names, row, strict=True)) for row in batch.rows]
        name = reader.text_field or "text"
    else:
        others = batch.rows.to_pylist() if batch.rows is not None else [{} for _ in batch.texts]
        name = reader.text_field or "text"
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


def _json_rows(
    source: str, compressed: bool, fields: Fields, block: int
) -> Iterator[tuple[list[Row], int, int]]:
    file, total = open_bytes(source)
    name = display_name(source)
    try:
        blocks = LineBlocks(
            file, name, compressed=compressed, block_bytes=2**20, max_line_bytes=_LINE_BYTES
        )
        rows = (
            _json_row(number, line, fields, name)
            for first, text in blocks
            for number, line in enumerate(lines_of(text), first)
            if line.strip()
        )
        empty = True
        while part := list(islice(rows, block)):
            empty = False
            yield part, blocks.bytes_read, total or 0
        if empty:
            raise no_documents(name)
    finally:
        if source != STANDARD_STREAM:
            file.close()


def _json_row(number: int, line: str, fields: Fields, name: str) -> Row:
    problem = ""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        problem = "is not a JSON object; write one complete JSON object per line"
    elif FIELD in row:
        problem = f"has a field {FIELD} already; rename or drop it"
    elif fields.needed not in row:
        problem = f"has no field {fields.needed}; {listed_names(list(row), 'field')}"
    elif fields.tokens is None:
        text = row[fields.text]
        if isinstance(text, str):
            return Row(number, text, None, None, line)
        problem = f"has a {fields.text} that is not a string; make it one, or drop the line"
    else:
        tokens, tags = _strings(row, fields.tokens), _strings(row, fields.tags)
        if tokens is not None and (tags is not None or fields.tags is None):
            return Row(number, " ".join(tokens), tokens, tags, line)
        wrong = fields.tokens if tokens is None else fields.tags
        problem = f"has no list of strings in its field {wrong}; correct it"
    raise InputError(f"line {number} of {name} {problem}")


def _strings(row: dict[str, Any], name: str | None) -> tuple[str, ...] | None:
    values = None if name is None else row.get(name)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return None
    return tuple(values)
