"""Options that several commands share, each defined once."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.devices import DEVICE

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
        rich_help_panel="Reading",
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
        rich_help_panel="Text",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Repeatable noise for experiments: NOT for release.", min=0),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.")]
Device = Annotated[str, typer.Option("--device", help=DEVICE.help)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
