"""What identifiers look like: one regular expression for all types, and checks of what it finds.

The rules are meant to find too much rather than too little: what they take for a telephone number
is replaced by one. What they do not find goes to the word mechanism.
"""

import ipaddress
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from discreet.text.entities.found import trimmed
from discreet.text.identifiers.lists import FIRST_NAMES, MONTHS

TYPES = (
    "email",
    "url",
    "ip",
    "ipv6",
    "mac",
    "iban",
    "card",
    "ssn",
    "date",
    "time",
    "phone",
    "amount",
    "person",
    "organisation",
    "place",
    "code",
    "number",
)
"""``code``: ids, postcodes and other long numbers; ``number``: any other one."""
NAMES = ("person", "organisation", "place")


class Span(NamedTuple):
    """Characters ``start`` to ``end`` of a text, and what is there."""

    start: int
    end: int
    type: str


_CURRENCY = "$€£¥₹₽₩₺₫₴₦₿"
_MONEY = r"(?i:USD|EUR|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|INR|dollars?|euros?|pounds?|cents?)"
_SCALE = r"(?:\s?(?i:million|billion|thousand|bn|mn|k|m)\b)?"
_DOMAINS = (
    "com|org|net|edu|gov|mil|int|info|biz|io|co|ai|app|dev|eu|uk|us|de|fr|es|it|nl|be|ch|at|se|no|dk|fi|"
    "pl|cz|pt|ie|ru|cn|jp|in|au|nz|ca|br|mx|ar|za|uy|hu|gr|ro|tr|kr|il|cy|lu|sk|si|hr|ee|lv|lt|is"
)
_ANY_MONTH = (
    "(?i:" + "|".join(f"{m[:3]}(?:{m[3:]}|\\.)?" if m[3:] else m for m in MONTHS) + "|Sept)"
)
_NTH = r"\d{1,2}(?i:st|nd|rd|th)?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_NAME = r"[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’-]{0,40}\w"
# What may follow a given name: initials, particles and further names.
_REST = rf"(?: (?:[A-Z]\.? )?(?:(?:van|von|de|der|di|del|bin|al) ){{0,2}}{_NAME}){{0,2}}"
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Sir|Madam|Lady|Lord|Herr|Frau)\b\.? "


def _either_case(*words: str) -> str:
    """Words that may begin with a capital; spelt out, which is quicker than to ignore case."""
    return "|".join(f"[{word[0].upper()}{word[0]}]{word[1:]}" for word in words)


# What people write before a name, wherever the name comes from; after it the line or sentence ends.
_GREETING = rf"(?:(?:{_either_case('dear', 'hi', 'hello', 'hey', 'good morning', 'good day')}),? )"
_CLOSING = (
    f"(?:(?:{_either_case('regards', 'sincerely', 'faithfully', 'truly', 'cheers', 'greetings')}"
    f"|{_either_case('thanks', 'thank you', 'best wishes', 'best(?=,)')})"
    r"[,.!]?\s{1,3}[-–—]?\s?)"
)
_MY_NAME = rf"(?:(?:{_either_case('my name is', 'my name’s', 'name:')}) )".replace("’", "['’]")
_THIS_IS = rf"(?:{_either_case('this is')} )"
_HELLO_THIS_IS = (
    rf"(?:(?:{_either_case('hi', 'hello', 'hey', 'good morning', 'good day')})[,.!]? {_THIS_IS})"
)
_INTRODUCTION = rf"(?:{_HELLO_THIS_IS}|{_GREETING}|{_CLOSING}|{_MY_NAME}|{_THIS_IS})"
_NO_NAME = "(?:Team|All|Support|Sir|Sirs|Madam|There|Everyone|Everybody|Customer|Folks|Again|You)"
_STREET = (
    "(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Way|Court|Ct|Square|Sq|Terrace"
    "|Close|Crescent|Highway|Hwy|Parkway|Pkwy)"
)
_LEGAL = "(?:Ltd|Limited|Inc|Incorporated|LLC|LLP|PLC|Plc|GmbH|AG|SA|BV|NV|Corp|Corporation|Oy|AB)"

# In the order in which they are tried, and only where no word goes on from before. Those of the
# first group may begin with any character, those of the second with a digit or a sign before one,
# those of the third with a capital.
_NAMES_OF_ONE = rf"(?!{_NO_NAME}\b){_NAME}(?: {_NAME}){{0,2}}"
_ANYWHERE = {
    "introduced": r"(?=[DdHhGgRrSsFfTtCcBbMmNn])"
    rf"(?:(?:{_HELLO_THIS_IS}|{_GREETING}|{_CLOSING})(?:{_TITLE})?{_NAMES_OF_ONE}(?=\s*(?:[,.!:;)\n]|$))"
    rf"|{_MY_NAME}(?:{_TITLE})?{_NAMES_OF_ONE}(?!\w)"
    rf"|{_THIS_IS}(?:{_TITLE})?{_NAMES_OF_ONE} (?=(?:from|calling|speaking|writing|here|again)\b))",
    "url": r"(?i:https?|ftp)://\S*[^\s.,;:!?)\]}>\"'»”]|(?i:www)\.\S*[^\s.,;:!?)\]}>\"'»”]",
    "email": r"(?<![!#$%&*+/=?^`{|}~.'-])[\w!#$%&*+/=?^`{|}~.'-]++[@＠][^\W_](?:[.-]*\w+)*+",
    # "London.No" is two sentences that lack a space; where a path follows, case does not matter.
    "domain": r"(?<![.-])(?:[A-Za-z0-9-]{1,63}\.){1,8}"
    rf"(?:(?:{_DOMAINS}|{_DOMAINS.upper()})(?!\w)|(?i:{_DOMAINS})(?=/[^\s.,;:!?)\]}}]))"
    r"(?:/\S*[^\s.,;:!?)\]}])?",
}
_WITH_DIGITS = {
    "mac": r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?!\w)",
    "ip": r"(?:\d{1,3}\.){3}\d{1,3}(?:[:/]\d{1,5})?(?!\w)",
    "iban": r"[A-Z]{2}\d{2}(?:[ -]?[A-Z\d]{4}){2,7}(?:[ -]?[A-Z\d]{1,4})?(?!\w)"
    r"|(?i:[A-Z]{2}\d{2}[A-Z\d]{11,30})(?!\w)",
    "date": rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:T{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])"
    r"|\d{1,2}(?P<_mark>[-/.])\d{1,2}(?P=_mark)(?:\d{4}|\d{2})(?![\w]|[-/.]\d)"
    rf"|{_NTH}[ -](?:of )?{_ANY_MONTH}(?!\w)(?:[ ,-]{{1,2}}\d{{4}}(?!\w))?",
    "time": rf"{_CLOCK}(?:\s?(?i:[ap]\.?m)\b)?(?![\w:])|\d{{1,2}}\s?(?i:[ap]\.?m)\b",
    "ipv6": r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:(?:\.\d{1,3}){3})?(?!\w)",
    "ssn": r"\d{3}(?P<_gap>[- ])\d{2}(?P=_gap)\d{4}(?![\w-])",
    "card": r"(?:\d{12,19}|(?:\d{4}[ -]){3}\d{1,7}|\d{4}[ -]\d{6}[ -]\d{4,5})(?![\w-])",
    "amount": rf"[A-Z]{{0,3}}[{_CURRENCY}]\s?\d+(?:[.,]\d+){{0,8}}{_SCALE}"
    rf"|\d++(?:[.,]\d+){{0,8}}{_SCALE}\s?(?:[{_CURRENCY}]|{_MONEY}\b)",
    "phone": r"(?:\+\d[\d ./()-]{4,18}\d|\(\+?\d{1,5}\)[ .-]?\d[\d ./-]{3,13}\d"
    r"|0\d{1,4}[ ./-]\d[\d ./-]{3,13}\d|\d{2,4}(?:[.-]\d{2,4}){2,4}|\d{3}[ .-]\d{3}[ .-]?\d{4}"
    r"|\d{3}-\d{4})(?:\s?(?i:x|ext\.?)\s?\d{1,5})?(?![\w-])",
    "place": rf"\d{{1,5}}[A-Za-z]?(?: {_NAME}){{1,3}} {_STREET}(?!\w)"
    r"|(?:[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d)(?!\w)",
    "decimal": r"\d{1,4}(?:[.,]\d{3}){0,8}[.,]\d+(?![\w]|[.,/-]\w)",
    "code": r"(?=(?:[^\W\d]*+[./-]?\d){5}|[A-Z-]*(?:[A-Z]\d|\d[A-Z])[A-Z-]*\d)\w++(?:[./-]\w++)*+",
    "number": r"\d+(?!\w)",
}
_WITH_CAPITALS = {
    "month": rf"{_ANY_MONTH} (?:{_NTH}(?!\w)(?:,? \d{{4}}(?!\w))?|\d{{4}}(?!\w))",
    "organisation": rf"(?:{_NAME},?(?: &| and)? ){{1,4}}{_LEGAL}(?!\w)",
    "person": rf"{_TITLE}(?:{_NAME}|[A-Z]\.)(?: (?:{_NAME}|[A-Z]\.)){{0,2}}"
    rf"|(?:{'|'.join(FIRST_NAMES)})(?!\w)(?:-{_NAME})?{_REST}",
}
_ALIASES = {"domain": "url", "month": "date", "decimal": "number", "introduced": "person"}

_BEFORE_NAME = re.compile(rf"(?:{_INTRODUCTION})?(?:{_TITLE})?")
_REST_OF_NAME = re.compile(_REST)


@cache
def _pattern() -> re.Pattern[str]:
    def branches(patterns: dict[str, str]) -> str:
        return "|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns.items())

    return re.compile(
        rf"(?<!\w)(?:{branches(_ANYWHERE)}|(?=[^\W\d]*+[./-]?\d|[+({_CURRENCY}]|[\dA-Fa-f]{{0,4}}:[\dA-Fa-f:])"
        rf"(?:{branches(_WITH_DIGITS)})"
        rf"|(?=[^\W\da-z])(?:{branches(_WITH_CAPITALS)}))"
    )


def identifiers_of(text: str) -> list[Span]:
    """The identifiers of a text that the rules find, in order and without overlap.

    >>> [span.type for span in identifiers_of("Dr. Jane Roe, 020 7946 0018, jane@roe.example")]
    ['person', 'phone', 'email']
    """
    search, spans, place = _pattern().search, list[Span](), 0
    while match := search(text, place):
        start, name = match.start(), match.lastgroup or ""
        kind, value = _ALIASES.get(name, name), match.group()
        length = _CHECKS[kind](value) if kind in _CHECKS else len(value)
        if not length:  # not what it looked like: the first part of it is some number, or nothing
            chunk = value.split(maxsplit=1)[0]
            kind, length = "code" if sum(map(str.isdigit, chunk)) > 4 else "number", len(chunk)
            if not any(map(str.isdigit, chunk)):
                place = start + length
                continue
        place = start + length
        title = re.match(_BEFORE_NAME, value) if kind == "person" else None
        spans.append(named_span(text, start + title.end() if title else start, place, kind))
    return spans


def rest_of_name(text: str, place: int) -> int:
    """Where a name ends of which the first word ends at ``place``.

    >>> rest_of_name("Wanjiku van der Berg called", 7)
    20
    """
    match = _REST_OF_NAME.match(text, place)
    return match.end() if match else place


def named_span(text: str, start: int, end: int, kind: str) -> Span:
    """A span; of a name without the article before it and the possessive after it."""
    return Span(*(trimmed(text, start, end) if kind in NAMES else (start, end)), kind)


def _digits(value: str) -> list[int]:
    return [int(character) for character in value if character.isdecimal()]


def is_card(value: str) -> bool:
    """Luhn's check over the 12 to 19 digits of a card number."""
    digits = _digits(value)[::-1]
    doubled = [2 * d - 9 * (d > 4) for d in digits[1::2]]
    return 12 <= len(digits) <= 19 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def is_iban(value: str) -> bool:
    """The check of an account number by ISO 7064, modulo 97."""
    plain = "".join(filter(str.isalnum, value)).upper()
    if not (15 <= len(plain) <= 34 and plain.isascii()):
        return False
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


def _is_ip(value: str) -> bool:
    return all(int(part) < 256 for part in re.split("[:/]", value)[0].split("."))


def _is_ipv6(value: str) -> bool:
    try:
        ipaddress.IPv6Address(value)
    except ValueError:
        return False
    return any(character.isalnum() for character in value)


def _is_date(value: str) -> bool:
    parts = [int(part) for part in re.findall(r"\d+", value.partition("T")[0])]
    if len(parts) < 3 or any(character.isalpha() for character in value.partition("T")[0]):
        return True
    day_and_month = parts[1:] if parts[0] > 31 else parts[:2]
    return 1 <= min(day_and_month) <= 12 and max(day_and_month) <= 31


def _as_far_as(accepts: Callable[[str], bool]) -> Callable[[str], int]:
    """How much of a value passes: all of it, or all but its last groups."""

    def length(value: str) -> int:
        ends = [len(value), *(m.start() for m in reversed([*re.finditer("[ -]", value)]))]
        return next((end for end in ends if accepts(value[:end])), 0)

    return length


_CHECKS: dict[str, Callable[[str], int]] = {
    "card": _as_far_as(is_card),
    "iban": _as_far_as(is_iban),
    "ip": lambda value: len(value) * _is_ip(value),
    "ipv6": lambda value: len(value) * _is_ipv6(value),
    "date": lambda value: len(value) * _is_date(value),
    "phone": lambda value: len(value) * (6 <= len(_digits(value)) <= 20),
}
