"""How fast near words are, beside SanText and beside a guide's own model: nothing else may run.

    python scripts/measure_guide_speed.py [--files SST2-TRAIN.jsonl.gz] [--smollm2 TEXT.jsonl.gz]

File to file and warm: a first file is sanitised to fill every cache, then the whole file is timed,
the best of three rounds. Guided by SmolLM2, the words of 16 texts are drawn in memory, and compared
with the model's own passes over the tokens that came out: word by word with what it remembers, as
any guide must read, and all at once, which needs the words beforehand.
"""

import argparse
import gzip
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from discreet import Sanitizer, load_space
from discreet.guides import load_guide
from discreet.mechanisms.registry import default_space
from discreet.mechanisms.word import NearWords, SanText
from discreet.release.text_files import sanitize_file
from discreet.text.tokens import tokenizer_for

ROUNDS = 3
DOCUMENTS = 16


def sanitizers():
    """What is timed, each under its name."""
    near, papers = load_space(default_space()), load_space(default_space("santext"))
    yield "santext, epsilon 8", Sanitizer(SanText(papers, 8.0))
    yield "near-words, epsilon 8", Sanitizer(NearWords(near, 8.0))
    yield "near-words, all words", Sanitizer(NearWords(near, 12.0, near=1, outputs=len(near)))
    guided = NearWords(near, 12.0, guide="ngram")
    yield "near-words, n-gram guide", Sanitizer(guided)
    yield "near-words --readable", Sanitizer(guided, public="function-words")


def by_file(path: Path) -> None:
    """Words per second from file to file."""
    with tempfile.TemporaryDirectory() as folder, gzip.open(path, "rt", encoding="utf-8") as file:
        whole, some = Path(folder) / "whole.txt", Path(folder) / "some.txt"
        texts = [" ".join(json.loads(line)["text"].split()) for line in file]
        whole.write_text("\n".join(texts), "utf-8")
        some.write_text("\n".join(texts[:2000]), "utf-8")
        first = None
        for name, made in sanitizers():
            sanitize_file(some, Path(folder) / "out.txt", made, force=True)
            taken = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                sanitize_file(whole, Path(folder) / "out.txt", made, force=True)
                taken.append(time.perf_counter() - start)
            rate = sum(len(text.split()) for text in texts) / min(taken)
            first = first or rate
            print(f"{name}: {rate:,.0f} words/s ({rate / first:.2f} of SanText)", flush=True)


def by_model(path: Path) -> None:
    """A causal model as a guide, and its own passes."""
    import torch

    space = load_space(default_space())
    guide = load_guide("smollm2", space)
    mechanism = NearWords(space, 12.0, guide=guide)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line, _ in zip(file, range(DOCUMENTS), strict=False)]
    batch = tokenizer_for(space.words, space.unknown, space.subwords).encode(texts)
    ids, offsets = batch.ids.astype(np.int64), np.asarray(batch.offsets)
    lengths = np.diff(offsets)

    def guided():
        return mechanism.release(ids, np.random.default_rng(0), offsets)

    released = guided()
    tokens = guide._tokens[released]

    def stepping() -> None:
        """The model reads each text token by token, texts side by side, and forgets ended ones."""
        rows, cache = np.arange(len(lengths)), None
        read = np.full(len(rows), guide._first)
        with torch.inference_mode():
            for step in range(int(lengths.max())):
                alive = lengths[rows] > step
                if not alive.all():
                    cache.batch_select_indices(torch.from_numpy(np.flatnonzero(alive)))
                    rows, read = rows[alive], read[alive]
                out = guide._model(
                    input_ids=torch.from_numpy(read[:, None]), past_key_values=cache, use_cache=True
                )
                out.logits[:, -1].float().log_softmax(dim=1)
                cache, read = out.past_key_values, tokens[offsets[rows] + step]

    def at_once():
        guide.text_scores(released, offsets)

    figures = {}
    for name, call in (("guided", guided), ("by word", stepping), ("at once", at_once)):
        taken = []
        for _ in range(2):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
        figures[name] = min(taken)
        print(f"SmolLM2, {name}: {len(ids) / min(taken):,.0f} words/s", flush=True)
    for name in ("by word", "at once"):
        print(f"guided takes {figures['guided'] / figures[name]:.2f} times as long as {name}")


def main() -> None:
    """Print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=Path)
    parser.add_argument("--smollm2", type=Path)
    given = parser.parse_args()
    if given.files is not None:
        by_file(given.files)
    if given.smollm2 is not None:
        by_model(given.smollm2)


if __name__ == "__main__":
    main()
