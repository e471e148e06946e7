"""Values put back where their surrogates stand, in whole texts and in streams.

A stream may cut a surrogate in two. Whatever could still become one is held back until it is clear.
In JSON, as of a tool call's arguments, a value is written as JSON writes it.

An answer is the upstream's: a picture in it may lie on a server of its own, and whoever shows the
answer asks that server for it. Within an address a surrogate therefore stays as it is.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_LETTER = r"[^\W_]"
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_ADDRESS = re.compile(r"https?:|//|\\\\|www\.", re.IGNORECASE)  # browsers take both slashes
_LONGEST_BEGINNING = 5  # of what an address is known by
_ENDS_WORD = re.compile(r"""[\s<>"]|\\[nrt]""")
_ENDS_BRACKET = re.compile(r"[>\n]")


class Restorer:
    """Puts values back.

    Args:
        values: what each surrogate stands for.

    >>> restorer = Restorer({"Sven Okafor": "Jane Roe"})
    >>> restorer.text("Dear Sven Okafor, dear Sven Okafors,")
    'Dear Jane Roe, dear Sven Okafors,'
    >>> restorer.text("![](<https://other.example/? Sven Okafor>)")
    '![](<https://other.example/? Sven Okafor>)'
    >>> stream = restorer.stream()
    >>> [stream.feed(part) for part in ("Dear Sv", "en Oka", "for", ",")], stream.finish()
    (['Dear ', '', '', 'Jane Roe,'], '')
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = dict(values)
        longest = sorted(filter(None, self.values), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_standing, longest))) if longest else None
        self._longest = len(longest[0]) if longest else 0

    def text(self, text: str) -> str:
        """A text with its values."""
        return self.stream().finish(text)

    def json(self, text: str) -> str:
        """A text that is JSON, with its values."""
        return self.stream(as_json=True).finish(text)

    def stream(self, *, as_json: bool = False) -> "RestoringStream":
        """For a text that comes in parts."""
        return RestoringStream(self, as_json=as_json)

    def walked(self, values: Any, is_json: Callable[[str], bool]) -> Any:
        """Plain values with every text restored.

        Args:
            values: such as the body of an answer.
            is_json: whether the text under this name is JSON.
        """
        if self._pattern is None:
            return values
        return self._walked(values, "", is_json)

    def _walked(self, values: Any, name: str, is_json: Callable[[str], bool]) -> Any:
        if isinstance(values, str):
            return self.json(values) if is_json(name) else self.text(values)
        if isinstance(values, list):
            return [self._walked(each, name, is_json) for each in values]
        if isinstance(values, dict):
            return {key: self._walked(each, key, is_json) for key, each in values.items()}
        return values

    def next_match(self, text: str, start: int) -> re.Match[str] | None:
        """The first surrogate from there on."""
        return None if self._pattern is None else self._pattern.search(text, start)

    def unclear_from(self, text: str, start: int) -> int:
        """From where on the end of a text may be the beginning of a surrogate."""
        for place in range(max(start, len(text) - self._longest), len(text)):
            end = text[place:]
            if any(surrogate.startswith(end) for surrogate in self.values):
                return place
        return len(text)


class RestoringStream:
    """A text that comes in parts, restored as far as it is clear."""

    def __init__(self, restorer: Restorer, *, as_json: bool) -> None:
        self._restorer, self._json = restorer, as_json
        self._held = ""
        self._before = ""
        self._inside = self._escaped = False
        self._word = self._bracket = ""

    def feed(self, part: str) -> str:
        """Add a part; what is clear by now."""
        return self._emitted(part, last=False)

    def finish(self, part: str = "") -> str:
        """What was held back, and a last part: nothing follows."""
        return self._emitted(part, last=True)

    def _emitted(self, part: str, *, last: bool) -> str:
        # One character that is gone already stays in front: a surrogate begins after no letter.
        text = self._before + self._held + part
        place = len(self._before)
        out = []
        while True:
            clear = len(text) if last else self._restorer.unclear_from(text, place)
            match = self._restorer.next_match(text, place)
            if match is None or match.start() >= clear:
                out.append(self._passed(text[place:clear]))
                break
            out.append(self._passed(text[place : match.start()]))
            value = match.group() if self._in_address else self._value(match.group())
            self._passed(match.group())
            out.append(value)
            place = match.end()
        clear = max(clear, place)
        self._before, self._held = text[max(0, clear - 1) : clear], text[clear:]
        return "".join(out)

    def _passed(self, text: str) -> str:
        """Text as it was: it says where what follows stands, in a string of JSON or an address."""
        self._word = _told(_ENDS_WORD.split(self._word + text)[-1])
        _, bracket, rest = _ENDS_BRACKET.split(self._bracket + text)[-1].partition("<")
        self._bracket = bracket + _told(rest)
        if self._json:
            for character in text:
                if self._escaped:
                    self._escaped = False
                elif character == "\\":
                    self._escaped = self._inside
                elif character == '"':
                    self._inside = not self._inside
        return text

    @property
    def _in_address(self) -> bool:
        """By the word, or by what stands in angle brackets, where an address may have spaces."""
        return any(map(_ADDRESS.search, (self._word, self._bracket)))

    def _value(self, surrogate: str) -> str:
        value = self._restorer.values[surrogate]
        if not self._json:
            return value
        if self._inside:
            return json.dumps(value)[1:-1]
        # A bare number can only become another: anything else would break the JSON.
        return value if _NUMBER.fullmatch(value) else surrogate


def _told(text: str) -> str:
    """What must be known of a text to see an address in it and what follows."""
    known = _ADDRESS.search(text)
    if known is None:
        return text[-_LONGEST_BEGINNING:]
    return known.group() + "\\" * text.endswith("\\")


def _standing(surrogate: str) -> str:
    """A surrogate that is not a part of something longer."""
    before = f"(?<!{_LETTER})" if surrogate[0].isalnum() else ""
    after = f"(?!{_LETTER})" if surrogate[-1].isalnum() else ""
    return before + re.escape(surrogate) + after
