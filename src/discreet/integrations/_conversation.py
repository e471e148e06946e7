"""Messages of conversations, each released once however often the conversation is sent again.

A chat sends its whole history with every turn. Were every message drawn anew each time, its losses
would add up turn by turn. What was released for a message is therefore remembered, under a keyed
digest of the conversation up to there, and sent again as it is.
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
    "which messages of a conversation begin as those of an earlier request did: these are sent as "
    "they were released then"
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

    def released(self, texts: Sequence[str], conversation: str = "") -> list[str]:
        """The messages of a conversation, from its start, released."""
        bad = first_unusable(list(texts))
        if bad is not None:
            raise InputError(f"message {bad} (counted from 0) {UNUSABLE}")
        names, before = [], conversation.encode()
        for text in texts:
            before = hmac.digest(self._key, before + b"\0" + text.encode(), hashlib.sha256)
            names.append(before)
        with self._lock:
            new = [place for place, name in enumerate(names) if name not in self._kept]
            release = self._sanitizer.sanitize([texts[place] for place in new])
            self.units += release.units
            for place, value in zip(new, release.values, strict=True):
                self._kept[names[place]] = value
            out = []
            for name in names:
                self._kept.move_to_end(name)
                out.append(self._kept[name])
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return out
