"""Long work in several parts, each with a label for people and its own progress."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from discreet.arrays import Progress

Announce = Callable[[str], AbstractContextManager[Progress]]
"""Called with the label of a part that begins; gives a function that takes (done, total)."""


def silently(_label: str) -> AbstractContextManager[Progress]:
    """Tell nobody."""
    return nullcontext(lambda _done, _total: None)
