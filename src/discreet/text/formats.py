"""The file formats documents come in, and how a file name says which one it is."""

from discreet.check import one_of
from discreet.errors import InputError

BASES = ("txt", "csv", "tsv", "jsonl", "parquet")
FORMATS = (*BASES, "txt.gz", "csv.gz", "tsv.gz", "jsonl.gz")
DELIMITERS = {"csv": ",", "tsv": "\t"}
STANDARD_STREAM = "-"

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
        raise InputError(
            f"{name} has no suffix that says its format; the known ones are {_SUFFIXES}, "
            f"or say the format: {', '.join(BASES)}"
        )
    if base == "parquet" and compressed:
        raise InputError(
            f"{name} is Parquet inside gzip, which cannot be read; decompress it first"
        )
    return base, compressed
