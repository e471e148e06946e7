"""Options that several commands share, each defined once."""

from pathlib import Path
from typing import Annotated

import typer

from discreet import check
from discreet.cli._mechanisms import word_mechanism_names

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
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the input if its name does not tell it: txt, csv, tsv, jsonl, parquet, or "
        "with .gz.",
    ),
]
MaxDocumentMb = Annotated[float, typer.Option("--max-document-mb", help="Refuse longer documents.")]
Mechanism = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        "-m",
        help="One of: " + ", ".join(word_mechanism_names()) + "; santext unless given.",
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        help="Privacy loss allowed: the smaller, the more is hidden; no default. For santext, "
        "santext-plus, cmp, mahalanobis and random-projection it is per unit of distance in the "
        "space; 'discreet explain' says what a value means.",
    ),
]
Space = Annotated[
    str,
    typer.Option(
        "--space",
        "-s",
        help="Public vocabulary with a vector for each word: starter, encoder, or a file of "
        "word2vec, GloVe or fastText.",
    ),
]
MaxWords = Annotated[
    int | None, typer.Option("--max-words", help="Use only the first N words of a vector file.")
]
Calibration = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        help="certified: the sharpest law proven to meet epsilon (default); "
        "published: as in the mechanism's paper.",
    ),
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
        "--sensitive-file", help="santext-plus: a public list of sensitive words, one a line."
    ),
]
P = Annotated[
    float | None,
    typer.Option(
        "--p",
        help="santext-plus: probability that an unsensitive word is replaced; 0.3 unless given.",
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        help="gaussian, truncated-laplace: failure probability, such as 1e-5; no default.",
    ),
]
Clip = Annotated[
    float | None,
    typer.Option(
        "--clip",
        help="laplace, gaussian, truncated-laplace: clip vectors to this norm; no default.",
    ),
]
Sensitivity = Annotated[
    str | None,
    typer.Option(
        "--sensitivity",
        help="laplace, gaussian, truncated-laplace: exact for the vocabulary (default) or general.",
    ),
]
Shrinkage = Annotated[
    float | None,
    typer.Option("--shrinkage", help="mahalanobis: weight of the covariance; 0.2 unless given."),
]
Dimension = Annotated[
    int | None,
    typer.Option("--dim", help="random-projection: dimensions to project to; no default."),
]
DummyDimensions = Annotated[
    int | None,
    typer.Option(
        "--dummy-dimensions",
        help="truncated-laplace, published: dimensions to add; 0 unless given.",
    ),
]
Layout = Annotated[
    str,
    typer.Option(
        "--layout",
        help="tokens: released words joined by spaces; public: keep white space, punctuation and "
        "capitals of the input, which are then public.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Repeatable noise for experiments: NOT for release.", min=0),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def document_bytes(megabytes: float) -> int:
    """What --max-document-mb allows."""
    return max(1, round(check.positive(megabytes, "--max-document-mb") * 2**20))
