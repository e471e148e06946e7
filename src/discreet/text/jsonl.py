"""JSON lines, cut around the one value that is to be replaced.

Parsing and writing JSON again would turn ``1.00`` into ``1.0`` and lose digits of large numbers. So
the line is kept as it is, except for the exact span of the text field's value.
"""

import json.decoder
import re
from collections.abc import Callable, Iterator
from json import JSONDecodeError, JSONDecoder
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from discreet.errors import InputError
from discreet.text.faults import UNUSABLE, first_unusable, told_names
from discreet.text.lines import LineBlocks, lines_of

_NO_OBJECT = "is not a JSON object; write one complete JSON object per line"
_INVALID = "is not valid JSON; write one complete JSON object per line"
_S = r"[ \t\r]*"
_CHARACTERS = r'[^"\\\x00-\x1f]*'
_STRING = rf'"{_CHARACTERS}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_CHARACTERS})*"'
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_SCALAR = rf"(?:{_STRING}|{_NUMBER}|true|false|null)"
_first_key = re.compile(rf"{_S}\{{{_S}({_STRING}){_S}:{_S}").match
_next_key = re.compile(rf"{_S},{_S}({_STRING}){_S}:{_S}").match
_opening = re.compile(rf"{_S}\{{").match
_closing = re.compile(rf"{_S}\}}{_S}").fullmatch
_empty = re.compile(rf"{_S}\{{{_S}\}}{_S}").fullmatch

# The two steps of the standard decoder, which its type stubs leave out. Values of other fields are
# only stepped over, so numbers need not become numbers and may have any length.
_skip: Callable[[str, int], tuple[object, int]]
_skip = JSONDecoder(parse_float=str, parse_int=str).scan_once  # type: ignore[attr-defined]
_string: Callable[[str, int, bool], tuple[str, int]]
_string = json.decoder.scanstring  # type: ignore[attr-defined]


class BadLine(Exception):
    """Why a line cannot be used, as the end of a sentence that begins with where it is."""


class FieldCutter:
    """Cuts lines around the value of one top-level field."""

    def __init__(self, field: str) -> None:
        self._field = field
        # Most lines hold nothing but scalars under keys without escapes: two matches step over
        # all that stands before and after the text. Any other line is walked key by key.
        wanted = re.escape(quoted(field))
        other = rf'(?!{wanted})"{_CHARACTERS}"{_S}:{_S}{_SCALAR}{_S}'
        before = rf'{_S}\{{{_S}(?:{other},{_S})*{wanted}{_S}:{_S}(?=")'
        self._before = re.compile(before).match
        self._after = re.compile(rf"{_S}(?:,{_S}{other})*\}}{_S}").fullmatch

    def cut(self, line: str) -> tuple[str, str, str]:
        """What stands before the value of the field, that value as text, and what stands after.

        >>> FieldCutter("text").cut('{"id": 1.00, "text": "caf\\\\u00e9", "ok": true}')
        ('{"id": 1.00, "text": ', 'café', ', "ok": true}')
        """
        try:
            if before := self._before(line):
                start = before.end()
                text, end = _string(line, start + 1, True)
                if self._after(line, end):
                    return line[:start], text, line[end:]
            return self.walk(line)
        except (JSONDecodeError, StopIteration):
            problem = _INVALID
        except RecursionError:
            problem = "is nested too deeply; flatten it"
        raise BadLine(problem)

    def walk(self, line: str) -> tuple[str, str, str]:
        """As :meth:`cut`, slower, for any line; the decoder's own errors come through."""
        field = self._field
        names = []
        text = None
        start = end = position = 0
        key = _first_key(line)
        while key:
            name, _ = _string(line, key.start(1) + 1, True)
            position = key.end()
            if name != field:
                names.append(name)
                _, position = _skip(line, position)
            elif text is not None:
                raise BadLine(f"has the field {field} twice; keep one of them")
            elif line.startswith('"', position):
                start = position
                text, end = _string(line, position + 1, True)
                position = end
            else:
                raise BadLine(f"has a {field} that is not a string; make it one, or drop the line")
            key = _next_key(line, position)
        if not (_closing(line, position) or _empty(line)):
            raise BadLine(_INVALID if _opening(line) else _NO_OBJECT)
        if text is None:
            raise BadLine(f"has no field {field}; {told_names(names, field, 'field')}")
        return line[:start], text, line[end:]


class Member(NamedTuple):
    """A top-level field of a line."""

    name: str
    start: int
    """Where its name begins, with the quotation mark."""
    value: int
    """Where its value begins."""
    end: int


def members(line: str) -> list[Member]:
    """The fields of a line that :class:`FieldCutter` has cut, in order.

    >>> [(each.name, each.value, each.end) for each in members('{"id": 1.00, "text": ""}')]
    [('id', 7, 11), ('text', 21, 23)]
    """
    fields = []
    key = _first_key(line)
    while key:
        name, _ = _string(line, key.start(1) + 1, True)
        _, end = _skip(line, key.end())
        fields.append(Member(name, key.start(1), key.end(), end))
        key = _next_key(line, end)
    return fields


def string_at(line: str, start: int) -> str | None:
    """The string that begins there, if it is one."""
    return _string(line, start + 1, True)[0] if line.startswith('"', start) else None


def pieces(
    blocks: LineBlocks, name: str, field: str
) -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
    """The texts, and what stands before and after each, a block at a time."""
    cut = FieldCutter(field).cut
    blank = 0  # the first of the blank lines, which are allowed only at the end
    for first_line, block in blocks:
        texts: list[str] = []
        around: list[tuple[str, str]] = []
        bad, problem = 0, ""
        for number, line in enumerate(lines_of(block), first_line):
            if not line or line.isspace():
                blank = blank or number
                continue
            if blank:
                bad, problem = blank, "is blank; remove it"
                break
            try:
                before, text, after = cut(line)
            except BadLine as error:
                bad, problem = number, str(error)
                break
            texts.append(text)
            around.append((before, after))
        # Only an escape can bring in what has no place in UTF-8 text. No blank line stands before
        # a text, so its position is its line.
        if not problem and (position := first_unusable(texts)) is not None:
            bad, problem = first_line + position, UNUSABLE
        if problem:
            raise InputError(f"line {bad} of {name} {problem}")
        yield texts, around
