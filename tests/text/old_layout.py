"""A rule that says more than is named, once ours: kept as a fault that tests must catch."""

import pytest

from discreet.text import layout as module
from discreet.text.chunk_table import string_array
from discreet.text.layout import PublicLayout, public_characters


def with_the_old_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """What :class:`OldLayout` needs."""
    monkeypatch.setattr(module, "_PATTERNS", 4)
    monkeypatch.setattr(module, "capitals", old_capitals)


def old_capitals(text: str) -> int:
    """What is neither lower, Title nor UPPER was written as released: a fourth class, not named."""
    if text.islower():
        return module.LOWER
    letters = "".join(filter(str.isalpha, text))
    if letters[:1].isupper() and (len(letters) == 1 or letters[1:].islower()):
        return module.TITLE
    return module.UPPER if text.isupper() else 3


class OldLayout(PublicLayout):
    """As :func:`old_capitals` wants it."""

    @property
    def _strings(self):  # type: ignore[no-untyped-def]
        words = self.tokenizer.words
        forms = [f(w) for f in (str.lower, str.capitalize, str.upper, str) for w in words]
        return string_array(["", *public_characters(), *forms])
