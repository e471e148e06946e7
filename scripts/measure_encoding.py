"""Measure how fast sentences are encoded, each way in turns within one process.

    python scripts/measure_encoding.py TEXTS [--rounds 2]

TEXTS has a text a line. Compared are blocks of many texts, each text alone (where a library's
places all differ), and padded batches of sentence-transformers, in which a vector depends on its
company. Rates are texts a second of the clock, and of processor time, which a busy machine disturbs
less.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.encoders.bert import bert_encoder
from discreet.spaces.encoder_space import find_encoder


def padded(directory: Path) -> Callable[[list[str]], Any]:
    """Batches of 64, sorted by length, as the library makes them."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(directory), device="cpu", local_files_only=True)
    return lambda texts: model.encode(texts, batch_size=64, show_progress_bar=False)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    texts = [line for line in given.texts.read_text("utf-8").splitlines() if line.strip()]
    directory = find_encoder().directory
    if directory is None:
        raise SystemExit("the default encoder is not installed")
    blocks, alone = (bert_encoder(directory, None) for _ in range(2))
    if blocks is None or alone is None:
        raise SystemExit("the default encoder is no plain BERT")
    alone._places_in_blocks = None
    ways = {"blocks": blocks.encode, "alone": alone.encode, "padded": padded(directory)}
    best: dict[str, tuple[float, float]] = dict.fromkeys(ways, (0.0, 0.0))
    vectors = {}
    for _ in range(given.rounds):
        for name, encode in ways.items():
            clock, processor = time.perf_counter(), time.process_time()
            vectors[name] = encode(texts)
            rates = (
                len(texts) / (time.perf_counter() - clock),
                len(texts) / (time.process_time() - processor),
            )
            best[name] = (max(best[name][0], rates[0]), max(best[name][1], rates[1]))
    for name, (clock, processor) in best.items():
        apart = float(np.abs(vectors[name] - vectors["padded"]).max())
        nearest = (neighbours(vectors[name]) == neighbours(vectors["padded"])).mean()
        print(
            f"{name}: {clock:.1f} texts/s, {processor:.1f} a second of processor time; at most "
            f"{apart:.1e} from the library's vectors, the same nearest text for {nearest:.2%}"
        )


def neighbours(vectors: Any) -> Any:
    """The nearest other text of each."""
    near = vectors @ vectors.T
    np.fill_diagonal(near, -2)
    return near.argmax(axis=1)


if __name__ == "__main__":
    main()
