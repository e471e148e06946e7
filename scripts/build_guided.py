"""Measure near words with the n-gram guide on public texts: what settings are chosen by.

    python scripts/build_guided.py --space english TEXT...    writes src/discreet/data/guided/

TEXT is JSON by line (plain or gzip) with ``text``; it must be public, and not what figures are
reported on. For every size of the alphabet and every number of near words: what the guide's own
measure (weight times distance, minus log-likelihood) is on average for near outputs and for any
other, and how often the best guess of who knows the guide and what was released is right. Only
these means are kept. Twice: for all words, and where function words pass unchanged.
"""

import argparse
import gzip
import json
import time
from pathlib import Path

import numpy as np

from discreet.files import sealed_json
from discreet.guides.ngram import NGramGuide
from discreet.mechanisms.word import NearWords
from discreet.spaces import load_space
from discreet.spaces.exemplars import memo_of, replaced
from discreet.spaces.prior import rank_prior
from discreet.text.function_words import on_the_list
from discreet.text.tokens import tokenizer_for

WRITTEN = Path(__file__).parent.parent / "src" / "discreet" / "data" / "guided"
SIZES = tuple(round(2 ** (quarter / 4)) for quarter in (28, 30, 32, *range(34, 49), 52))
MOST_NEAR = 3
BEGINNINGS = 12
CONSIDERED = 20_000
# Near words always come out: what is far is measured apart.
ALWAYS = 40.0


def texts_of(path: Path, count: int) -> list[str]:
    """The first texts of a file."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        return [json.loads(line)["text"] for line, _ in zip(file, range(count), strict=False)]


def likelihoods(guide, released, offsets):
    """ln P of every word after those before it in its text."""
    scores = np.empty(len(released))
    lengths = np.diff(offsets)
    state = guide.begin(len(lengths))
    for step in range(lengths.max()):
        rows = np.flatnonzero(lengths > step)
        words = released[offsets[rows] + step]
        scores[offsets[rows] + step] = guide.scores(state, rows, words[:, None])[:, 0]
        guide.extend(state, rows, words)
    return scores


class Measure:
    """The figures of alphabets on some public texts."""

    def __init__(self, space, texts, spared):
        self.space, self.spared = space, spared
        self.guide = NGramGuide(space)
        batch = tokenizer_for(space.words, space.unknown, space.subwords).encode(texts)
        self.ids, self.offsets = batch.ids.astype(np.int64), np.asarray(batch.offsets)
        self.passed = np.zeros(len(self.ids), bool) if spared is None else spared[self.ids]
        self.words = replaced(space, spared)[:CONSIDERED]
        self.shares = rank_prior(space, spared)[self.words]
        self.shares /= self.shares.sum()
        self.vectors = space.vectors.astype(np.float64)

    def figures(self, size):
        """Means for near outputs, for any output, and what the best guess names."""
        near, named = [], []
        pools = None
        for count in range(MOST_NEAR, 0, -1):
            mechanism = NearWords(
                *(self.space, ALWAYS),
                near=count,
                outputs=size,
                guide=self.guide,
                spared=self.spared,
            )
            # The lists of the largest pools hold the others.
            sets = mechanism._sets
            pools = sets.pools if pools is None else pools
            sets.__dict__["pools"] = tuple(part[:, : mechanism.pool] for part in pools)
            rng = np.random.default_rng(count)
            released = mechanism.release(self.ids, rng, self.offsets, self.passed)
            near.append(self.cost(mechanism, released))
            named.append(self.named(mechanism, released, rng))
        rng = np.random.default_rng(0)
        anything = rng.choice(mechanism.words, len(self.ids))
        far = self.cost(mechanism, np.where(self.passed, self.ids, anything))
        return near[::-1], far, named[::-1]

    def cost(self, mechanism, released):
        """What the guide's measure is on average, over the words that were replaced."""
        drawn = ~self.passed & (self.ids != self.space.unknown)
        apart = self.vectors[self.ids[drawn]] - self.vectors[released[drawn]]
        typical = np.sqrt(2 * self.vectors.var(axis=0).sum())
        distance = np.sqrt((apart**2).sum(axis=1)).mean() / typical
        likely = likelihoods(self.guide, released, self.offsets)[drawn].mean()
        return float(mechanism.weight * distance - likely)

    def named(self, mechanism, released, rng):
        """As ``AlphabetFigures.named``, on average over released beginnings of texts."""
        places = rng.choice(np.flatnonzero(~self.passed), BEGINNINGS)
        starts = self.offsets[np.searchsorted(self.offsets, places, "right") - 1]
        sums = []
        for start, place in zip(starts, places, strict=True):
            sets = mechanism._sets.after(self.words, released[start:place])
            best = np.zeros(mechanism.outputs)
            np.maximum.at(best, sets.ravel(), np.repeat(self.shares, mechanism.near))
            sums.append(best.sum())
        return float(np.mean(sums))


def main() -> None:
    """Write a file for all words, and one without function words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--space", default="english")
    parser.add_argument("--texts", type=int, default=120, help="of each file")
    parser.add_argument("--sparing-only", action="store_true", help="not for all words")
    parser.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    space = load_space(given.space)
    texts = [text[:600] for file in given.files for text in texts_of(file, given.texts)]
    WRITTEN.mkdir(parents=True, exist_ok=True)
    listed = on_the_list(space.words)
    for spared in (listed,) if given.sparing_only else (listed, None):
        measure = Measure(space, texts, spared)
        memo = memo_of(space, spared)
        values = {"sizes": [], "near": [], "far": [], "named": []}
        for size in (size for size in SIZES if size < len(space)):
            begun = time.perf_counter()
            for name, value in zip(values, (size, *measure.figures(size)), strict=True):
                values[name].append(np.round(value, 4).tolist())
            took = time.perf_counter() - begun
            print(size, *(values[name][-1] for name in values), f"{took:.0f} s", flush=True)
        values["guide"] = measure.guide.fingerprint
        (WRITTEN / memo.path.name).write_text(sealed_json({**memo.key, **values}) + "\n")


if __name__ == "__main__":
    main()
