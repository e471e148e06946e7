"""What is remembered of a conversation, so that the same message gets the same release.

A chat sends its history again with every message, and clients try again. A message that was
released before is recognised by a keyed hash (HMAC-SHA256 with a key that lives in this process
alone) and gets the release that it had: nothing is drawn anew and nothing is charged again. That
the two are equal becomes visible, and the statement says so.

A conversation without a name is known by its messages, one after the other: two that begin alike
share what was released up to there, and nothing of what follows.

Nothing protected is kept: of a message its keyed hash and its release, of an identifier its keyed
hash and its surrogate, and where identifiers stood in a message. The values themselves are read off
the message when it comes again. Answers are kept as the upstream wrote them, which saw releases.
"""

import asyncio
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from discreet.arrays import Generator, offsets_of
from discreet.service.gateway.fields import ARGUMENTS, Slot, canonical
from discreet.service.policy import Profile
from discreet.service.releasing import Entry, IdentifierCutter, Job, Replaced
from discreet.text.identifiers import Identifiers, Surrogates
from discreet.text.identifiers.consistency import Consistency
from discreet.text.identifiers.finder import finder_of
from discreet.text.identifiers.replace import Cut
from discreet.text.identifiers.surrogates import WORDS

T = TypeVar("T")
_ROUNDS = 20
_OVERHEAD = 500
_SAME = Consistency("document")

EQUAL_MESSAGES = (
    "which messages of a conversation are equal: the same message gets the same release; "
    "conversations of one key that have no names are one for as long as their messages are equal"
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
    """One conversation, or what it is up to one of its messages, known by nothing but hashes.

    Args:
        key: of its hashes.
        home: where it is remembered.
        before: the same conversation up to the message before.
    """

    def __init__(
        self,
        key: bytes,
        home: "RememberedConversations | None" = None,
        before: "Conversation | None" = None,
    ) -> None:
        self.key, self.home, self._before = key, home, before
        self.used = time.monotonic()
        self.size = 0
        self.grow(0)
        self.releases: dict[bytes, asyncio.Future[Remembered]] = {}
        """Of messages that came first here."""
        self._answers: dict[bytes, str] = {}
        self._surrogates: dict[bytes, str] = {}

    def grow(self, characters: int) -> None:
        """Say that something more is kept, of so many characters."""
        self.size += characters + _OVERHEAD
        if self.home is not None:
            self.home.total += characters + _OVERHEAD

    def print_of(self, *parts: str) -> bytes:
        """The keyed hash of some text."""
        return _print(self.key, *parts)

    def released(self, name: bytes) -> "asyncio.Future[Remembered] | None":
        """The release of a message, here or before."""
        return _first(name, (each.releases for each in self._from_here_back()))

    def surrogate(self, kind: str, value: str, rng: Generator, made: Surrogates) -> str:
        """The surrogate of a value in this conversation, drawn when it is first seen.

        The value decides only whether it is seen first; no draw depends on it.
        """
        same = self.print_of("identifier", *map(str, _SAME.group(0, 0, kind, value)))
        known = [each._surrogates for each in self._from_here_back()]
        if (before := _first(same, known)) is not None:
            return before
        drawn = ""
        for _ in range(_ROUNDS):
            drawn = made.made(kind, rng.integers(0, 2**64, (1, WORDS), np.uint64))[0]
            if not any(drawn in some.values() for some in known):
                break
        self._surrogates[same] = drawn
        self.grow(len(drawn))
        return drawn

    def _from_here_back(self) -> "Iterator[Conversation]":
        each: Conversation | None = self
        while each is not None:
            yield each
            each = each._before

    def keep_answer(self, form: str, restored: str, original: str) -> None:
        """Keep what the upstream wrote, under what the client was given for it."""
        self._answers[self._spelling(form, restored)] = original
        self.grow(len(original))

    def answer_as_written(self, form: str, restored: str) -> str | None:
        """What the upstream wrote, if the client was given this for it."""
        return _first(
            self._spelling(form, restored), (each._answers for each in self._from_here_back())
        )

    def _spelling(self, form: str, text: str) -> bytes:
        return self.print_of(form, canonical(text) if form == ARGUMENTS else text)


def _print(key: bytes, *parts: str) -> bytes:
    framed = b"".join(
        len(raw).to_bytes(8, "big") + raw
        for raw in (part.encode("utf-8", "surrogatepass") for part in parts)
    )
    return hmac.digest(key, framed, "sha256")


def _first(name: bytes, kept: Iterable[Mapping[bytes, T]]) -> T | None:
    return next((some[name] for some in kept if name in some), None)


class RememberedConversations:
    """The conversations that are remembered: the latest ones, in bounded memory.

    Args:
        most_bytes: that all of them together may take.
        seconds: after its last message that one is forgotten.
    """

    def __init__(self, most_bytes: int, seconds: float) -> None:
        self._key = secrets.token_bytes(32)
        self._most, self._seconds = most_bytes, seconds
        self._known: OrderedDict[bytes, Conversation] = OrderedDict()
        self.total = 0
        """What those that are known take."""

    def __len__(self) -> int:
        return len(self._known)

    def of(self, *name: str) -> Conversation:
        """The conversation of a name, remembered or new."""
        return self._at([_print(self._key, *name)])[0]

    def along(self, key: str, slots: Sequence[Slot]) -> list[Conversation]:
        """What conversations that begin with these messages have in common, up to each of them."""
        names, name = [], _print(self._key, "begins", key)
        for slot in slots:
            said = canonical(slot.text) if slot.form == ARGUMENTS else slot.text
            name = _print(self._key, "then", name.hex(), slot.role, said)
            names.append(name)
        return self._at(names)

    def _at(self, names: Sequence[bytes]) -> list[Conversation]:
        """Remembered or new, each the beginning of the next."""
        path = list[Conversation]()
        for name in names:
            before = path[-1] if path else None
            key = before.key if before else hmac.digest(self._key, name, "sha256")
            path.append(self._known.get(name) or Conversation(key, self, before))
        now = time.monotonic()
        # The end first: what others may go on from is forgotten last.
        for name, conversation in zip(reversed(names), reversed(path), strict=True):
            self._known.pop(name, None)
            self._known[name] = conversation
            conversation.used = now
        self.forget(spared=len(path))
        return path

    def fresh(self) -> Conversation:
        """One that nobody will ask for again."""
        return Conversation(secrets.token_bytes(32))

    def forget(self, *, spared: int = 0) -> None:
        """Let go of what is too old or too much, the oldest first.

        Args:
            spared: how many of the latest stay in any case.
        """
        now = time.monotonic()
        while len(self._known) > spared:
            oldest = next(iter(self._known.values()))
            if self.total <= self._most and now - oldest.used <= self._seconds:
                return
            self._known.popitem(last=False)
            self.total -= oldest.size
            oldest.home = None  # somebody may still be at it


class ConversationCutter(IdentifierCutter):
    """Replaces identifiers by surrogates that stay the same through a conversation."""

    def __init__(self, profile: Profile) -> None:
        self._finder = finder_of(profile.identifiers or "rules")
        self._surrogates = Surrogates()
        plain = Identifiers(self._finder, consistent="document")
        self.public = (*plain.public, EQUAL_IDENTIFIERS)
        self.caveats = plain.caveats
        self.about = plain.about | {"consistent": "conversation"}

    def cut_jobs(self, jobs: Sequence[Job], rng: Generator) -> tuple[Cut, list[Replaced]]:
        """All texts without their identifiers; of each, its surrogate and where it stood."""
        segments, surrogates, types = list[str](), list[str](), list[str]()
        lengths, replaced = list[int](), list[Replaced]()
        spans_of = iter(self._finder.find([text for job in jobs for text in job.texts]))
        for job in jobs:
            alone = Conversation(secrets.token_bytes(32))
            scopes = [alone] * len(job.texts) if job.scope is None else job.scope
            counts, entries = dict[str, int](), list[Entry]()
            for document, text in enumerate(job.texts):
                end, spans = 0, next(spans_of)
                for start, last, kind in spans:
                    segments.append(text[end:start])
                    made = scopes[document].surrogate(kind, text[start:last], rng, self._surrogates)
                    surrogates.append(made)
                    types.append(kind)
                    counts[kind] = counts.get(kind, 0) + 1
                    entries.append((document, made, (start, last)))
                    end = last
                segments.append(text[end:])
                lengths.append(len(spans) + 1)
            replaced.append((counts, entries))
        return Cut(segments, offsets_of(lengths), surrogates, types), replaced
