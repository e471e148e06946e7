"""Options that several commands share, each defined once."""

from pathlib import Path
from typing import Annotated

from discreet.cli._settings import argument
from discreet.devices import DEVICE
from discreet.settings import Setting

Documents = Annotated[
    str,
    argument(
        "INPUT",
        "txt (a document per line), csv, tsv, jsonl (each also .gz) or parquet; "
        "- is standard input.",
    ),
]
Output = Annotated[str, Setting("Where to write; - is standard output.", short="-o")]
TextField = Annotated[str, Setting("Column or field that holds the text.")]
YesWeak = Annotated[
    bool,
    Setting(
        "Release even if the setting protects next to nothing. Without it, "
        "such a release is refused."
    ),
]
Format = Annotated[
    str | None,
    Setting(
        "Format of the input, if its name does not show it: txt, csv, tsv, jsonl, parquet, or "
        "with .gz.",
        heading="Reading",
    ),
]
MaxWords = Annotated[int | None, Setting("Use only the first N words of a vector file.")]
SensitiveShare = Annotated[
    float | None,
    Setting(
        "santext-plus: this share of the least frequent words (by public frequencies) is "
        "sensitive; 0.9 unless given."
    ),
]
SensitiveFile = Annotated[
    Path | None, Setting("santext-plus: a public list of sensitive words, one per line.")
]
Seed = Annotated[
    int | None, Setting("Repeatable noise for experiments: NOT for release.", at_least=0)
]
Force = Annotated[bool, Setting("Replace an output that exists.")]
Device = Annotated[str, DEVICE]
Json = Annotated[bool, Setting("Print JSON for programs.", flag="--json")]
