"""What is remembered of a conversation, so that the same message gets the same release.

A chat sends its history again with every message, and clients try again. A message that was
released before is recognised by a keyed hash (HMAC-SHA256 with a key that lives in this process
alone) and gets the release that it had: nothing is drawn anew and nothing is charged again. That
the two are equal becomes visible, and the statement says so.

Nothing protected is kept: of a message its keyed hash and its release, of an identifier its keyed
hash and its surrogate, and where identifiers stood in a message. The values themselves are read off
the message when it comes again. Answers are kept as the upstream wrote them, which saw releases.
"""

import asyncio
import hmac
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import Generator, offsets_of
from discreet.service.policy import Profile
from discreet.service.releasing import Entry
from discreet.text.identifiers import Identifiers, Surrogates
from discreet.text.identifiers.consistency import Consistency
from discreet.text.identifiers.finder import finder_of
from discreet.text.identifiers.replace import Cut
from discreet.text.identifiers.surrogates import WORDS

_ROUNDS = 20
_OVERHEAD = 200
_LOOK = 64  # requests from one look for what may be forgotten to the next
_SAME = Consistency("document")

EQUAL_MESSAGES = (
    "which messages of a conversation are equal: the same message gets the same release"
)
EQUAL_IDENTIFIERS = "which identifiers of a conversation are equal"


@dataclass(frozen=True)
class Remembered:
    """The release of a message, and where its identifiers stood."""

    text: str = field(repr=False)
    words: int
    places: tuple[tuple[str, int, int], ...] = field(repr=False)
    """A surrogate, and from where to where the value stands in the message itself."""


class Conversation:
    """One conversation, known by nothing but hashes."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.used = time.monotonic()
        self.size = _OVERHEAD
        self.releases: dict[bytes, asyncio.Future[Remembered]] = {}
        self.answers: dict[bytes, str] = {}
        self.surrogates: dict[bytes, str] = {}
        self.taken: set[str] = set()

    def print_of(self, *parts: str) -> bytes:
        """The keyed hash of some text."""
        framed = b"".join(
            len(raw).to_bytes(8, "big") + raw
            for raw in (part.encode("utf-8", "surrogatepass") for part in parts)
        )
        return hmac.digest(self._key, framed, "sha256")

    def surrogate(self, kind: str, value: str, rng: Generator, made: Surrogates) -> str:
        """The surrogate of a value in this conversation, drawn when it is first seen.

        The value decides only whether it is seen first; no draw depends on it.
        """
        same = self.print_of("identifier", *map(str, _SAME.group(0, 0, kind, value)))
        if same not in self.surrogates:
            drawn = ""
            for _ in range(_ROUNDS):
                drawn = made.made(kind, rng.integers(0, 2**64, (1, WORDS), np.uint64))[0]
                if drawn not in self.taken:
                    break
            self.taken.add(drawn)
            self.surrogates[same] = drawn
            self.size += len(drawn) + _OVERHEAD
        return self.surrogates[same]

    def keep_answer(self, form: str, restored: str, original: str) -> None:
        """Keep what the upstream wrote, under what the client was given for it."""
        self.answers[self.print_of(form, restored)] = original
        self.size += len(original) + _OVERHEAD


class Conversations:
    """The conversations that are remembered: the latest ones, in bounded memory.

    Args:
        most_bytes: that all of them together may take.
        seconds: after its last message that one is forgotten.
    """

    def __init__(self, most_bytes: int, seconds: float) -> None:
        self._key = secrets.token_bytes(32)
        self._most, self._seconds = most_bytes, seconds
        self._known: OrderedDict[bytes, Conversation] = OrderedDict()
        self._asked = 0

    def __len__(self) -> int:
        return len(self._known)

    def of(self, *name: str) -> Conversation:
        """The conversation of a name, remembered or new."""
        named = Conversation(self._key).print_of(*name)
        found = self._known.pop(named, None) or Conversation(
            hmac.digest(self._key, named, "sha256")
        )
        found.used = time.monotonic()
        self._known[named] = found
        self._forget(found.used)
        return found

    def fresh(self) -> Conversation:
        """One that nobody will ask for again."""
        return Conversation(secrets.token_bytes(32))

    def _forget(self, now: float) -> None:
        total = sum(each.size for each in self._known.values())
        while len(self._known) > 1:
            oldest = next(iter(self._known.values()))
            if total <= self._most and now - oldest.used <= self._seconds:
                return
            total -= oldest.size
            self._known.popitem(last=False)


class ConversationCutter:
    """Replaces identifiers by surrogates that stay the same through a conversation."""

    def __init__(self, profile: Profile) -> None:
        self._finder = finder_of(profile.identifiers or "rules")
        self._surrogates = Surrogates()
        plain = Identifiers(self._finder, consistent="document")
        self.public = (*plain.public, EQUAL_IDENTIFIERS)
        self.caveats = plain.caveats
        self.about: dict[str, Any] = plain.about | {"consistent": "conversation"}

    def cut(
        self, texts: Sequence[str], rng: Generator, scope: Conversation | None
    ) -> tuple[Cut, list[Entry]]:
        """The texts without their identifiers; of each, its surrogate and where it stood."""
        within = Conversation(secrets.token_bytes(32)) if scope is None else scope
        segments, surrogates, kinds = list[str](), list[str](), list[str]()
        entries: list[Entry] = []
        found = self._finder.find(texts)
        for document, (text, spans) in enumerate(zip(texts, found, strict=True)):
            end = 0
            for start, last, kind in spans:
                segments.append(text[end:start])
                made = within.surrogate(kind, text[start:last], rng, self._surrogates)
                surrogates.append(made)
                kinds.append(kind)
                entries.append((document, made, (start, last)))
                end = last
            segments.append(text[end:])
        bounds = offsets_of([len(spans) + 1 for spans in found])
        return Cut(segments, bounds, surrogates, Counter(kinds)), entries
