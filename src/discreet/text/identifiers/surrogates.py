"""Surrogates: strings of a type, made from random numbers and public lists and from nothing else.

A maker turns rows of 64-bit random numbers into surrogates. It never sees the value that is
replaced, its length or its format, so the law of a surrogate depends on the type alone. A number is
reduced by its remainder, which is uniform to within 2**-30.

What is made belongs to nobody: addresses in the ranges that RFC 2606, 3849, 5737 and 7042 set aside
for examples, telephone numbers that are reserved for fiction, social security numbers that are not
issued, and accounts at banks that do not exist.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, InvalidValue
from discreet.text.identifiers import lists
from discreet.text.identifiers.patterns import TYPES
from discreet.text.lines import numbered_lines

Words = NDArray[np.uint64]
WORDS = 4
"""Random numbers that a surrogate is made from."""
Maker = Callable[[Words], list[str]]
_FIRST_DAY, _DAYS = date(1950, 1, 1), 29_220  # to the end of 2029
_LONGEST = 200


class Surrogates:
    """A maker for each type.

    Args:
        listed: public lists to draw from in place of the built-in formats, by type. They must not
            come from the text that is protected.
        source: the file that they are from, if they are.

    >>> made = Surrogates().made("ip", np.zeros((1, WORDS), np.uint64))
    >>> made
    ['192.0.2.1']
    """

    def __init__(
        self, listed: Mapping[str, Sequence[str]] | None = None, source: Path | None = None
    ) -> None:
        self.source = source
        self.listed = {kind: _checked(kind, some) for kind, some in sorted((listed or {}).items())}

    def made(self, kind: str, words: Words) -> list[str]:
        """One surrogate for each row of random numbers."""
        if kind in self.listed:
            return _picked(self.listed[kind], words[:, 0])
        return _MAKERS[kind](words)


def load_surrogates(path: Path) -> Surrogates:
    """Surrogates with public lists from a file: on each line an entry, a tab and its type."""
    listed: dict[str, list[str]] = {}
    for number, line in numbered_lines(path):
        entry, tab, kind = line.partition("\t")
        if not tab or kind not in TYPES:
            raise InputError(
                f"line {number} of {path} is not a surrogate, a tab and its type; types are "
                f"{', '.join(TYPES)}"
            )
        listed.setdefault(kind, []).append(entry)
    return Surrogates(listed, path.absolute())


def _checked(kind: str, entries: Sequence[str]) -> tuple[str, ...]:
    if kind not in TYPES:
        raise InvalidValue(
            f"a list of surrogates is for one of the types {', '.join(TYPES)}; got {kind!r}"
        )
    plain = tuple(dict.fromkeys(entries))
    if len(plain) < 2:
        raise InvalidValue(
            f"the list of surrogates for {kind} needs at least 2 different entries: with one, all "
            "of them would look alike"
        )
    if any(entry != entry.strip() or not entry.isprintable() or not entry for entry in plain):
        raise InvalidValue(f"a surrogate for {kind} is blank or has white space around it")
    if max(map(len, plain)) > _LONGEST:
        raise InvalidValue(f"a surrogate for {kind} is longer than {_LONGEST} characters")
    return plain


def _below(words: Words, limit: int) -> NDArray[np.int64]:
    return (words % np.uint64(limit)).astype(np.int64)


def _picked(entries: Sequence[Any], words: Words) -> list[Any]:
    return [entries[i] for i in _below(words, len(entries)).tolist()]


def _filled(form: str, *parts: Sequence[Any]) -> Maker:
    """A form whose places are filled from lists or ranges, each by a random number of its own."""

    def make(words: Words) -> list[str]:
        columns = [_picked(part, words[:, i]) for i, part in enumerate(parts)]
        return [form.format(*row) for row in zip(*columns, strict=True)]

    return make


def _small(maker: Maker) -> Maker:
    return lambda words: [made.lower() for made in maker(words)]


def _iban(words: Words) -> list[str]:
    banks = _picked(("GBFAKE", "NLFAKE", "DE00000000"), words[:, 0])
    made = []
    for bank, low, high in zip(
        banks, _below(words[:, 1], 10**8).tolist(), _below(words[:, 2], 10**6).tolist(), strict=True
    ):
        country, digits = bank[:2], {"G": 14, "N": 10, "D": 10}[bank[0]]
        account = bank[2:] + f"{low:08d}{high:06d}"[:digits]
        number = int("".join(str(int(c, 36)) for c in f"{account}{country}00"))
        made.append(f"{country}{98 - number % 97:02d}{account}")
    return made


def _card(words: Words) -> list[str]:
    digits = np.empty((len(words), 16), np.int64)
    digits[:, :6] = [4, 2, 4, 2, 4, 2]  # cards for tests begin so
    digits[:, 6:15] = _below(words[:, 0], 10**9)[:, None] // 10 ** np.arange(9) % 10
    doubled = 2 * digits[:, 0:15:2]
    total = (doubled - 9 * (doubled > 9)).sum(axis=1) + digits[:, 1:15:2].sum(axis=1)
    digits[:, 15] = -total % 10
    return ["{}{}{}{} {}{}{}{} {}{}{}{} {}{}{}{}".format(*row) for row in digits.tolist()]


def _date(words: Words) -> list[str]:
    days = [_FIRST_DAY + timedelta(number) for number in _below(words[:, 0], _DAYS).tolist()]
    return [f"{day.day} {lists.MONTHS[day.month - 1]} {day.year}" for day in days]


_PERSON, _PLACE = (lists.FIRST_NAMES, lists.SURNAMES), (lists.PLACE_STEMS, lists.PLACE_ENDINGS)
_NETS = ("192.0.2", "198.51.100", "203.0.113")
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_MAKERS: dict[str, Maker] = {
    "email": _small(_filled("{}.{}@example.{}", *_PERSON, ("com", "org", "net"))),
    "url": _small(_filled("https://www.example.com/{}{}/{}", *_PLACE, range(1000, 10_000))),
    "ip": _filled("{}.{}", _NETS, range(1, 255)),
    "ipv6": _filled("2001:db8:{:x}:{:x}::{:x}", *[range(1, 0x10000)] * 3),
    "mac": _filled("00:00:5E:00:53:{:02X}", range(256)),
    "iban": _iban,
    "card": _card,
    "ssn": _filled("{}-{:02d}-{:04d}", range(900, 1000), range(1, 50), range(1, 10_000)),
    "date": _date,
    "time": _filled("{:02d}:{:02d}", range(24), range(60)),
    "phone": _filled("({}) 555-01{:02d}", lists.AREA_CODES, range(100)),
    "amount": _filled("${:,}.{:02d}", range(1, 10_000), range(100)),
    "person": _filled("{} {}", *_PERSON),
    "organisation": _filled("{} {}", lists.ORGANISATION_STEMS, lists.ORGANISATION_KINDS),
    "place": _filled("{}{}", *_PLACE),
    "code": _filled("{}{}-{:06d}", _LETTERS, _LETTERS, range(10**6)),
    "number": _filled("{}", range(1, 1000)),
}
