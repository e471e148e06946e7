r"""How many nearest neighbours of public sentences a search among released vectors still finds.

    python scripts/measure_search.py FILE[:FIELD] [FILE[:FIELD] ...] [--texts 500] \
        [--dimensions 16 64 256] [--epsilons 10 50 200 500]

FILE is JSON by line (plain or gzip), FIELD the field of the texts. The table of the guide "Share
sentence vectors": for every sentence mechanism, dimension and epsilon the recall of the 10 nearest
neighbours in each file, and how often whoever has the texts says which one a vector is of.
"""

import argparse
from itertools import groupby

from discreet.encoders.settings import EncoderSettings
from discreet.evaluation.comparison.vectors import DIMENSIONS, EPSILONS, VectorRow, vector_rows
from discreet.text.labelled import read_labelled


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--dimensions", nargs="+", type=int, default=DIMENSIONS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    given = parser.parse_args()
    encoder = EncoderSettings().load()
    found = []
    for file in given.files:
        path, _, name = file.partition(":")
        texts = read_labelled(path, text_field=name or "text", label_field=None).texts
        different = list(dict.fromkeys(text for text in texts if text.strip()))
        tried = {"dimensions": given.dimensions, "epsilons": given.epsilons}
        found.append(vector_rows(encoder.encode, different[: given.texts], **tried))
    rows = sorted(zip(*found, strict=True), key=lambda each: (each[0].mechanism, each[0].dimension))
    for measure in ("recall", "recognised"):
        print(f"\n{measure}, among {given.texts:,} texts of each of {', '.join(given.files)}\n")
        epsilons = " | ".join(f"epsilon {epsilon:g}" for epsilon in given.epsilons)
        print(f"| mechanism | loss between any two | dimensions | without noise | {epsilons} |")
        print("|---" * (len(given.epsilons) + 4) + "|")
        for _, line in groupby(rows, lambda each: (each[0].mechanism, each[0].dimension)):
            print(_line(list(line), measure))


def _line(rows: list[tuple[VectorRow, ...]], measure: str) -> str:
    first = rows[0][0]
    cells = [_shown(row, measure) for row in rows]
    bare = _shown(rows[0], "without_noise") if measure == "recall" else ""
    loss = f"{first.any_two / first.epsilon:.3g} x epsilon"
    return f"| `{first.mechanism}` | {loss} | {first.dimension} | {bare} | {' | '.join(cells)} |"


def _shown(files: tuple[VectorRow, ...], measure: str) -> str:
    return " / ".join(f"{getattr(row, measure):.2f}" for row in files)


if __name__ == "__main__":
    main()
