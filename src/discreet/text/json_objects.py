"""JSON lines as objects, block by block, for those who need more of a line than its text.

Messages name lines and fields, never a value.
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from discreet.errors import InputError
from discreet.text.faults import no_documents, told_names
from discreet.text.formats import STANDARD_STREAM
from discreet.text.lines import LineBlocks, display_name, lines_of, open_bytes

_LINE_BYTES = 4 * 2**20


class JsonLine(NamedTuple):
    """A line as it stands and the object that it says."""

    number: int
    """From 1."""
    line: str
    values: dict[str, Any]
    at: str
    """Where it is, for messages."""


def read_objects(
    source: str, needed: str, *, compressed: bool, block: int = 1024
) -> Iterator[tuple[list[JsonLine], int, int]]:
    """Blocks of lines, each with the bytes read so far and the bytes in all (0: unknown).

    Args:
        source: a path of JSON lines, or ``-``.
        needed: the field that every object must have.
        compressed: whether it is gzipped.
        block: how many lines go together.
    """
    file, total = open_bytes(source)
    name = display_name(source)
    try:
        blocks = LineBlocks(
            file, name, compressed=compressed, block_bytes=2**20, max_line_bytes=_LINE_BYTES
        )
        lines = (
            _parsed(number, line, needed, f"line {number} of {name}")
            for first, text in blocks
            for number, line in enumerate(lines_of(text), first)
            if line.strip()
        )
        empty = True
        while part := list(islice(lines, block)):
            empty = False
            yield part, blocks.bytes_read, total or 0
        if empty:
            raise no_documents(name)
    finally:
        if source != STANDARD_STREAM:
            file.close()


def strings(values: dict[str, Any], field: str | None) -> tuple[str, ...] | None:
    """The list of strings in a field, or None if there is none."""
    listed = None if field is None else values.get(field)
    if not isinstance(listed, list) or not all(isinstance(value, str) for value in listed):
        return None
    return tuple(listed)


def _parsed(number: int, line: str, needed: str, at: str) -> JsonLine:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        problem = "is not a JSON object; write one complete JSON object per line"
    elif needed not in values:
        told = told_names(list(values), needed, "field")
        problem = f"has no field {needed}; {told}"
    else:
        return JsonLine(number, line, values, at)
    raise InputError(f"{at} {problem}")
