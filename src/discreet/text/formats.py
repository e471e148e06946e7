"""The file formats documents come in, and how a file name says which one it is."""

import codecs
from pathlib import Path

from discreet.check import one_of
from discreet.errors import InputError, InvalidValue, NotFound

BASES = ("txt", "csv", "tsv", "jsonl", "parquet")
FORMATS = (*BASES, "txt.gz", "csv.gz", "tsv.gz", "jsonl.gz")
DELIMITERS = {"csv": ",", "tsv": "\t"}
STANDARD_STREAM = "-"

UTF_8 = "utf-8"
_TABS = ("tab", "\\t")  # as they are typed in a shell
_SUFFIXES = ".txt, .csv, .tsv, .jsonl (each also with .gz) and .parquet"


def format_of_name(name: str) -> tuple[str | None, bool]:
    """The format a file name's suffix says, if it is a known one, and whether ``.gz`` follows it.

    >>> format_of_name("reviews.CSV.gz"), format_of_name("notes.doc")
    (('csv', True), (None, False))
    """
    suffix = suffix_of(name)
    return (suffix if suffix in BASES else None), name.lower().endswith(".gz")


def suffix_of(name: str) -> str:
    """What follows the last dot of a name, but for ``.gz``, in small letters.

    >>> suffix_of("reviews.CSV.gz"), suffix_of("notes")
    ('csv', '')
    """
    _, dot, suffix = name.lower().removesuffix(".gz").rpartition(".")
    return suffix if dot else ""


def input_format(name: str, given: str | None) -> tuple[str, bool]:
    """The format of an input and whether it is compressed; what is given wins over the suffix."""
    base, compressed = format_of_name(name)
    if given is not None:
        base, _, gz = one_of(given, FORMATS, "format").partition(".")
        compressed = compressed or bool(gz)
    elif name == STANDARD_STREAM:
        base = "txt"
    if base is None:
        if not Path(name).exists():
            raise NotFound(f"there is no file or folder {name}; check the path")
        raise InputError(
            f"{name} has no suffix that says its format; the known ones are {_SUFFIXES}, "
            f"or say the format: {', '.join(BASES)}"
        )
    if base == "parquet" and compressed:
        raise InputError(
            f"{name} is Parquet inside gzip, which cannot be read; decompress it first"
        )
    return base, compressed


def refuse_field_of_lines(name: str, given: str | None) -> None:
    """Refuse an input of plain lines, where somebody named a field of it: it has none.

    Taken in silence, a csv file on standard input would be read with its header and its commas.
    """
    base = given or format_of_name(name)[0] or ("txt" if name == STANDARD_STREAM else "")
    if base.partition(".")[0] == "txt":
        raise InvalidValue(
            "the input is read as plain text, which has no fields: say what it is (--format csv, "
            "tsv or jsonl, or a file with such a name), or leave out --text-field"
        )


def delimiter_of(base: str, given: str | None) -> str:
    """What stands between the fields of csv and tsv; only csv may have another than its own.

    >>> delimiter_of("csv", None), delimiter_of("csv", "tab"), delimiter_of("tsv", None)
    (',', '\\t', '\\t')
    """
    if given is None:
        return DELIMITERS.get(base, "")
    if base != "csv":
        raise InvalidValue(f"a delimiter is for csv, and the input is {base}; leave it out")
    character = "\t" if given in _TABS else given
    if len(character) != 1 or character.isalnum() or character in '"\r\n\0':
        raise InvalidValue(
            "the delimiter must be a single character such as ; or | (or the word tab), and not a "
            "letter, a digit or a quote"
        )
    return character


def encoding_of(base: str, given: str) -> str:
    """How the characters of a file are written: the name that Python has for it.

    >>> encoding_of("csv", "Latin-1"), encoding_of("txt", "UTF8")
    ('iso8859-1', 'utf-8')
    """
    try:
        name = codecs.lookup(given).name
        "".encode(name)  # base64 and the like turn bytes into bytes
    except (LookupError, ValueError):
        name = ""
    if not name:
        raise InvalidValue(
            "the encoding must be one that Python knows, such as utf-8, cp1252 or utf-16"
        )
    if base == "parquet" and name != UTF_8:
        raise InvalidValue("Parquet says itself how its text is encoded; leave the encoding out")
    return name
