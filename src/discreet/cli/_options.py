"""Options that several commands share, each defined once."""

from pathlib import Path
from typing import Annotated

import typer

from discreet import check
from discreet.devices import DEVICE
from discreet.errors import InvalidValue

# Headings of the help, for options that belong together.
COLUMNS, READING, TEXT, RECEIPT = "Columns", "Reading", "Text", "Receipt"

Documents = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="txt (a document per line), csv, tsv, jsonl (each also .gz) or parquet; "
        "- is standard input.",
    ),
]
Output = Annotated[
    str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
]
TextField = Annotated[
    str, typer.Option("--text-field", help="Column or field that holds the text.")
]
TextFields = Annotated[
    list[str] | None,
    typer.Option(
        "--text-field",
        help="Column or field that holds a text; repeatable, and each is sanitised. Default: text.",
        rich_help_panel=COLUMNS,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        help="Write this column as it is; repeatable.",
        rich_help_panel=COLUMNS,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        help="Leave this column out; repeatable.",
        rich_help_panel=COLUMNS,
    ),
]
Surrogate = Annotated[
    list[str] | None,
    typer.Option(
        "--surrogate",
        metavar="COLUMN=TYPE",
        help="Replace the values of this column by surrogates of a type such as email, person or "
        "code, drawn without looking at them; repeatable.",
        rich_help_panel=COLUMNS,
    ),
]
KeepOthers = Annotated[
    bool,
    typer.Option(
        "--keep-others",
        help="Write every column that is not named as it is.",
        rich_help_panel=COLUMNS,
    ),
]
DropOthers = Annotated[
    bool,
    typer.Option(
        "--drop-others",
        help="Leave out every column that is not named.",
        rich_help_panel=COLUMNS,
    ),
]
YesWeak = Annotated[
    bool,
    typer.Option(
        "--yes-weak",
        help="Release even if the setting protects next to nothing. Without it, "
        "such a release is refused.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the input, if its name does not show it: txt, csv, tsv, jsonl, parquet, or "
        "with .gz.",
        rich_help_panel=READING,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        help="What separates the fields of csv, if not a comma: ';', '|' or tab. The output uses "
        "it too.",
        rich_help_panel=READING,
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        help="Character encoding of INPUT, such as cp1252 or utf-16. OUTPUT is UTF-8.",
        rich_help_panel=READING,
    ),
]
MaxDocumentMb = Annotated[
    float,
    typer.Option(
        "--max-document-mb",
        help="Refuse longer documents.",
        rich_help_panel=READING,
    ),
]
MaxWords = Annotated[
    int | None, typer.Option("--max-words", help="Use only the first N words of a vector file.")
]
SensitiveShare = Annotated[
    float | None,
    typer.Option(
        "--sensitive-share",
        help="santext-plus: this share of the least frequent words (by public frequencies) is "
        "sensitive; 0.9 unless given.",
    ),
]
SensitiveFile = Annotated[
    Path | None,
    typer.Option(
        "--sensitive-file", help="santext-plus: a public list of sensitive words, one per line."
    ),
]
Layout = Annotated[
    str,
    typer.Option(
        "--layout",
        help="tokens: released words joined by spaces; public: keep white space, punctuation and "
        "capitals of the input, which are then public.",
        rich_help_panel=TEXT,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Repeatable noise for experiments: NOT for release.", min=0),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.")]
Operator = Annotated[
    str | None,
    typer.Option(
        "--operator",
        help="Who releases this; written into the receipt.",
        rich_help_panel=RECEIPT,
    ),
]
Recipient = Annotated[
    str | None,
    typer.Option(
        "--recipient",
        help="Whom this is released for; written into the receipt.",
        rich_help_panel=RECEIPT,
    ),
]
Device = Annotated[str, typer.Option("--device", help=DEVICE.help)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def document_bytes(megabytes: float) -> int:
    """What --max-document-mb allows."""
    return max(1, round(check.positive(megabytes, "--max-document-mb") * 2**20))


def rest_of_columns(keep_others: bool, drop_others: bool) -> str | None:
    """What becomes of columns that are not named."""
    if keep_others and drop_others:
        raise InvalidValue("--keep-others and --drop-others exclude each other; choose one")
    return "keep" if keep_others else "drop" if drop_others else None


def surrogate_columns(given: list[str] | None) -> dict[str, str]:
    """The columns of --surrogate, each with its type."""
    found: dict[str, str] = {}
    for each in given or ():
        name, sign, kind = each.rpartition("=")
        if not sign or not name or name in found:
            from discreet.text.identifiers.patterns import TYPES  # slow to import

            raise InvalidValue(
                "--surrogate must be COLUMN=TYPE, once for a column, such as customer=person; the "
                f"types are {', '.join(TYPES)}"
            )
        found[name] = kind
    return found
