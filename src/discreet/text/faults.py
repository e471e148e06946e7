"""What can be wrong with a file of documents, each in one sentence without a word of the file."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from discreet.errors import InputError

# One that is called "column 2" would be taken for the second.
NAME = re.compile(r"(?!column \d)[A-Za-z_][A-Za-z0-9_ -]{0,30}")
_CLOSE = 0.75
UNUSABLE = "has a text with NUL or half a surrogate pair in it; remove the character"


def too_large(what: str, limit: int) -> InputError:
    """The error for a line, record or document above the limit."""
    return InputError(
        f"{what} is longer than {size_in_words(limit)}; split it, or raise --max-document-mb where "
        "the command has it"
    )


def no_documents(name: str) -> InputError:
    """The error for a source with nothing in it."""
    return InputError(f"{name} holds no documents; check that it is the file you meant")


def column_index(names: Sequence[str], wanted: str, name: str, *, sure: bool = False) -> int:
    """Where the wanted column is, in a table whose columns all have different names.

    Args:
        names: of all columns.
        wanted: one of them.
        name: what the table is called.
        sure: whether these are names, and not the first row of data: see :func:`told_names`.
    """
    seen: dict[str, int] = {}
    for position, column in enumerate(names):
        if column in seen:
            raise InputError(
                f"columns {seen[column] + 1} and {position + 1} of {name} have the same name; "
                "rename one of them"
            )
        seen[column] = position
    if wanted not in seen:
        told = told_names(names, wanted, "column", sure=sure)
        raise InputError(f"{name} has no column {wanted}; {told}")
    return seen[wanted]


def refuse_other_delimiter(header: Sequence[str], wanted: str, name: str) -> None:
    """Say which delimiter a table has, where the wanted column is found with it alone.

    >>> refuse_other_delimiter(["id;text"], "text", "in.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.errors.InputError: in.csv has ; between its fields; add --delimiter ';' ...
    """
    if len(header) != 1:
        return
    for sign, typed in ((";", "';'"), ("\t", "tab"), ("|", "'|'")):
        if wanted in (part.strip('"') for part in header[0].split(sign)) and sign in header[0]:
            called = "tabs" if sign == "\t" else sign
            raise InputError(
                f"{name} has {called} between its fields; add --delimiter {typed} (if the "
                "command has it), or write commas"
            )


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


def shown_name(name: str, place: int) -> str:
    """A column's name if it surely is a name, else where it is.

    >>> shown_name("customer", 2), shown_name("jane@roe.example", 3)
    ('customer', 'column 3')
    """
    return name if NAME.fullmatch(name) else f"column {place}"


def told_names(names: Sequence[str], wanted: str, kind: str, *, sure: bool = False) -> str:
    """A clause that helps to find a name among others.

    The first line of a table without a header is a document, and nothing in a file tells the two
    apart: unless the caller is sure, only the name that the user gave is known to be a name, and no
    other is repeated.

    Args:
        names: all there are.
        wanted: what is not among them.
        kind: what they are names of.
        sure: whether they are names because the format says so, as in Parquet. Even so only what
            looks like a name is repeated.

    >>> told_names(["id", "date"], "day", "column", sure=True)
    'its columns: id, date'
    >>> told_names(["id", "review"], "reveiw", "column")
    'column 2 of its 2 is spelt nearly so'
    >>> told_names(["id", "Text "], "text", "column")
    'column 2 of its 2 differs only in capitals or spaces'
    >>> told_names(["id", "date"], "id,date", "column")
    'commas do not separate names: give the option once for each column'
    """
    if not names:
        return f"there are no {kind}s"
    parts = wanted.split(",")
    if len(parts) > 1 and {part.strip() for part in parts} <= set(names):
        return f"commas do not separate names: give the option once for each {kind}"
    alike = [place for place, name in enumerate(names, 1) if _alike(name) == _alike(wanted)]
    if alike:
        return f"{kind} {alike[0]} of its {len(names)} differs only in capitals or spaces"
    if sure:
        return f"its {kind}s: {', '.join(shown_name(name, i) for i, name in enumerate(names, 1))}"
    if close := get_close_matches(wanted, names, 1, _CLOSE):
        return f"{kind} {list(names).index(close[0]) + 1} of its {len(names)} is spelt nearly so"
    count = f"{len(names)} {kind}" + "s" * (len(names) > 1)
    return (
        f"it has {count}, not named here because a name may be text; check the spelling, or "
        "name it with its option (--text-field for the text)"
    )


def _alike(name: str) -> str:
    return "".join(name.casefold().split()).removeprefix("\ufeff")


def size_in_words(size: int) -> str:
    """A limit as a person would say it.

    >>> size_in_words(4 * 2**20), size_in_words(100)
    ('4 MB', '100 bytes')
    """
    whole, rest = divmod(size, 2**20)
    return f"{size} bytes" if rest else f"{whole} MB"
