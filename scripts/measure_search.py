"""How many nearest neighbours of public sentences survive ``discreet embed``: a table for the page.

    python scripts/measure_search.py FILE [FILE ...] --field text1 --texts 2000

FILE is JSON by line (plain or gzip). Each different text of the field is a sentence. For every
dimension and epsilon: recall@10 in the released vectors, of the neighbours by the encoder itself.
"""

import argparse
import gzip
import json
from pathlib import Path

import numpy as np

from discreet.encoders.encoder import load_encoder
from discreet.encoders.maps import PublicMap
from discreet.encoders.settings import DEFAULT
from discreet.mechanisms.sentence import Purkayastha, unit_rows
from discreet.release.search_quality import neighbours_kept

EPSILONS = (4, 8, 10, 20, 50, 100, 200, 400, 800)


def read(path: Path, field: str) -> list[str]:
    """The texts of a file."""
    data = path.read_bytes()
    plain = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line)[field] for line in plain.splitlines()]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--field", default="text")
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--encoder", default=DEFAULT)
    given = parser.parse_args()
    texts = list(dict.fromkeys(t for file in given.files for t in read(file, given.field)))
    encoder = load_encoder(given.encoder)
    vectors = encoder.encode(texts[: given.texts])
    truth, rng = unit_rows(vectors), np.random.default_rng(0)
    print(f"{len(vectors):,} sentences, encoder {encoder.name}")
    print("| dimensions | without noise | " + " | ".join(f"epsilon {e}" for e in EPSILONS) + " |")
    print("|---" * (len(EPSILONS) + 2) + "|")
    for dimension in (16, 64, encoder.dimension):
        mapped = truth
        if dimension < encoder.dimension:
            mapped = unit_rows(PublicMap.random(encoder.dimension, dimension).apply(vectors))
        cells = [neighbours_kept(truth, mapped)]
        for epsilon in EPSILONS:
            released = Purkayastha(dimension, epsilon=float(epsilon)).release(mapped, rng)
            cells.append(neighbours_kept(truth, released))
        print(f"| {dimension} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
