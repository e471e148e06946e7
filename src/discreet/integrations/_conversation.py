"""Messages of conversations, each released once however often the conversation is sent again.

A chat sends its whole history with every turn. Were every message drawn anew each time, its losses
would add up turn by turn. What was released for a message is therefore remembered, under a keyed
digest of the conversation up to there, and sent again as it is. Whoever sends only the latest
messages begins the conversation elsewhere each time: a message with an id is known by that, too.
"""

import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from discreet.errors import InputError
from discreet.release.text import TextSanitizer
from discreet.statement import PrivacyStatement
from discreet.text.faults import UNUSABLE, first_unusable

REMEMBERED = (
    "which messages of a conversation begin as those of an earlier request did, or have the id and "
    "text of one of them: these are sent as they were released then"
)


class ReleasesMessages:
    """What releases messages by conversations says of its releases."""

    _conversations: "Conversations"

    @property
    def statement(self) -> PrivacyStatement:
        """What holds for each word of a message that is sent."""
        return self._conversations.statement

    @property
    def units(self) -> int:
        """Words that were released so far."""
        return self._conversations.units


class Conversations:
    """Releases messages, and remembers what was released and keyed digests, nothing of the texts.

    Args:
        sanitizer: for the texts.
        remembered: so many messages; of those that were used longest ago nothing is kept, and they
            would be drawn anew.
    """

    def __init__(self, sanitizer: TextSanitizer, remembered: int = 10_000) -> None:
        self._sanitizer, self._most = sanitizer, remembered
        self._key = secrets.token_bytes(32)
        self._kept: OrderedDict[bytes, str] = OrderedDict()
        self._lock = Lock()
        self.units = 0
        """Words that were released so far."""

    @property
    def statement(self) -> PrivacyStatement:
        """What holds for each word of a message."""
        return self._sanitizer.sanitize([]).statement.with_public(REMEMBERED)

    def released(
        self, texts: Sequence[str], conversation: str = "", ids: Sequence[str | None] | None = None
    ) -> list[str]:
        """The messages of a conversation, released.

        Args:
            texts: of the messages, from the start of the conversation or from later on.
            conversation: its name, if it has one.
            ids: of the texts, None for those that have none.
        """
        bad = first_unusable(list(texts))
        if bad is not None:
            raise InputError(f"message {bad} (counted from 0) {UNUSABLE}")
        names = self._names(texts, conversation, ids or [None] * len(texts))
        with self._lock:
            known = [self._first_kept(each) for each in names]
            new = [place for place, value in enumerate(known) if value is None]
            release = self._sanitizer.sanitize([texts[place] for place in new])
            self.units += release.units
            for place, value in zip(new, release.values, strict=True):
                known[place] = value
            out = [value for value in known if value is not None]
            for own, value in zip(names, out, strict=True):
                for name in own:
                    self._kept[name] = value
                    self._kept.move_to_end(name)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return out

    def _names(
        self, texts: Sequence[str], conversation: str, ids: Sequence[str | None]
    ) -> list[list[bytes]]:
        """What each text is known by: its id if it has one, and all that was said before it."""
        names, before = [], conversation.encode()
        for text, own in zip(texts, ids, strict=True):
            before = self._digest(b"after " + before + b"\0" + text.encode())
            said = f"id {len(conversation)} {conversation}{own}\0{text}"
            names.append([before] if own is None else [self._digest(said.encode()), before])
        return names

    def _digest(self, said: bytes) -> bytes:
        return hmac.digest(self._key, said, hashlib.sha256)

    def _first_kept(self, names: Sequence[bytes]) -> str | None:
        return next((self._kept[name] for name in names if name in self._kept), None)
