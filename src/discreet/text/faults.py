"""What can be wrong with a file of documents, each in one sentence without a word of the file."""

import re
from collections.abc import Sequence

from discreet.errors import InputError

UNUSABLE = "has a text with NUL or half a surrogate pair in it; remove the character"
_PLAIN_NAME = re.compile(r"[^\W\d][\w.:/-]{0,39}")
_MOST_NAMES = 30


def too_large(what: str, limit: int) -> InputError:
    """The error for a line, record or document above the limit."""
    return InputError(
        f"{what} is longer than {size_in_words(limit)}; split it, or raise --max-document-mb where "
        "the command has it"
    )


def no_documents(name: str) -> InputError:
    """The error for a source with nothing in it."""
    return InputError(f"{name} holds no documents; check that it is the file you meant")


def column_index(names: Sequence[str], wanted: str, name: str) -> int:
    """Where the wanted column is, in a table whose columns all have different names."""
    seen: dict[str, int] = {}
    for position, column in enumerate(names):
        if column in seen:
            raise InputError(
                f"columns {seen[column] + 1} and {position + 1} of {name} have the same name; "
                "rename one of them"
            )
        seen[column] = position
    if wanted not in seen:
        raise InputError(f"{name} has no column {wanted}; {listed_names(names, 'column')}")
    return seen[wanted]


def first_unusable(texts: Sequence[str]) -> int | None:
    """The position of the first text that holds NUL or cannot be encoded, if there is one."""

    def usable(text: str) -> bool:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return False
        return "\0" not in text

    if usable("".join(texts)):
        return None
    return next((i for i, text in enumerate(texts) if not usable(text)), None)


def listed_names(names: Sequence[str], kind: str) -> str:
    """A clause that lists column names, unless they may be text.

    The first line of a file without a header is a document, so one name that does not look like a
    name is reason enough to show none of them.
    """
    if not names:
        return f"there are no {kind}s"
    if not all(_PLAIN_NAME.fullmatch(name) for name in names):
        return (
            f"its {len(names)} {kind} name{'s are' if len(names) > 1 else ' is'} not shown, "
            "being perhaps text rather than names"
        )
    shown = ", ".join(names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"its {kind}s are {shown}{more}"


def size_in_words(size: int) -> str:
    """A limit as a person would say it.

    >>> size_in_words(4 * 2**20), size_in_words(100)
    ('4 MB', '100 bytes')
    """
    whole, rest = divmod(size, 2**20)
    return f"{size} bytes" if rest else f"{whole} MB"
