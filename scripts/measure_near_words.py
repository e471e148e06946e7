"""What near words are worth and what they give away: the table of the mechanism's page.

    python scripts/measure_near_words.py FOLDER -o PARTS [--minutes 4] [--tuning]
    python scripts/measure_near_words.py FOLDER -o PARTS --table

FOLDER has sst2-*.jsonl.gz and agnews-*.jsonl.gz (text, label). A classifier on words (logistic
regression) learns from released training texts and is tested on released test texts. The attackers
know the law and the training texts as they were written, which is more than they should: how
frequent words are there, and which follow each other. They attack whole test texts. Every setting
is released several times; intervals are 95 %, by drawing test texts anew with all their releases.

With --tuning all texts come from the public development parts, and no test text is looked at: that
is where settings may be chosen. Finished parts are kept; a run that was stopped, or that used up
its minutes, goes on when it is started again.
"""

import argparse
import gzip
import json
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from discreet.attacks.outcome import Estimate, bootstrapped
from discreet.attacks.word_attack import WordAttack
from discreet.evaluation.comparison.contenders import contenders
from discreet.evaluation.comparison.members import membership
from discreet.evaluation.comparison.parts import Parts
from discreet.guides.ngram import NGramGuide
from discreet.protocols import release_texts
from discreet.spaces import load_space
from discreet.text.function_words import on_the_list
from discreet.text.tokens import tokenizer_for

FINAL = {
    "sst2": (("train", 0, 20_000), ("test", 0, 872)),
    "agnews": (("dev", 0, 6_000), ("test", 0, 3_000)),
}
TUNING = {
    "sst2": (("dev", 0, 5_000), ("dev", 5_000, 6_735)),
    "agnews": (("dev", 0, 5_000), ("dev", 5_000, 8_000)),
}
# Mechanism, space, and whether function words pass.
ROWS = (
    (None, "english", False),
    ("near-words:epsilon=8/12", "english", False),
    ("santext:epsilon=8", "starter", False),
    ("near-words:guide=ngram:epsilon=8/12", "english", True),
    ("near-words:epsilon=8/12", "english", True),
    ("near-words:guide=ngram:epsilon=8/12", "english", False),
)
ATTACKED = 3_000


@dataclass(frozen=True)
class Data:
    """Training and test texts of one kind in one vocabulary."""

    folder: Path
    name: str
    space_name: str
    passing: bool
    tuning: bool

    @cached_property
    def space(self):
        """The vocabulary."""
        return load_space(self.space_name)

    @cached_property
    def rows(self):
        """Texts and labels of both parts."""
        out = []
        for part, start, end in (TUNING if self.tuning else FINAL)[self.name]:
            path = self.folder / f"{self.name}-{part}.jsonl.gz"
            with gzip.open(path, "rt") as file:
                out.append([json.loads(line) for line in file][start:end])
        return out

    @cached_property
    def batches(self):
        """Words of both parts."""
        cut = tokenizer_for(self.space.words, self.space.unknown, self.space.subwords)
        return [cut.encode([row["text"] for row in rows]) for rows in self.rows]

    @cached_property
    def labels(self):
        """Of both parts, as numbers."""
        names = sorted({row["label"] for row in self.rows[0]})
        return [np.array([names.index(row["label"]) for row in rows]) for rows in self.rows]

    @cached_property
    def listed(self):
        """Words that pass, if any do."""
        return on_the_list(self.space.words) if self.passing else None

    @cached_property
    def attack(self):
        """Attackers on enough of the test texts."""
        train, test = self.batches
        order = np.random.default_rng(1).permutation(len(test))
        enough = int(np.searchsorted(np.cumsum(np.diff(test.offsets)[order]), ATTACKED)) + 1
        chosen = np.sort(order[:enough])
        return chosen, WordAttack(self.space, test.only(chosen), train, self.listed)

    def released(self, mechanism, seed):
        """Both parts, released."""
        for number, batch in enumerate(self.batches):
            rng = np.random.default_rng([seed, number])
            passed = None if self.listed is None else self.listed[batch.ids]
            yield release_texts(mechanism, batch.ids, rng, batch.offsets, passed)

    def right(self, ids):
        """Which test texts a classifier gets right that learnt from the training texts."""
        bags = [
            csr_array(
                (np.ones(len(words)), words, batch.offsets), shape=(len(batch), len(self.space))
            )
            for words, batch in zip(ids, self.batches, strict=True)
        ]
        model = LogisticRegression(max_iter=300).fit(bags[0], self.labels[0])
        return model.predict(bags[1]) == self.labels[1]


def measured(data, entry, epsilon, seeds):
    """All figures of one setting, as sums by text."""
    mechanism = None if entry is None else entry.build(data.space, epsilon)
    if mechanism is not None and data.listed is not None:
        mechanism = mechanism.sparing(data.listed)
    right, attacks, releases, seconds = [], {}, [], 0.0
    chosen, attack = data.attack
    places, _ = data.batches[1].places(chosen)
    for seed in range(1 if mechanism is None else seeds):
        start = time.perf_counter()
        ids = (
            [batch.ids.astype(np.int64) for batch in data.batches]
            if mechanism is None
            else list(data.released(mechanism, seed))
        )
        seconds += time.perf_counter() - start
        right.append(data.right(ids))
        releases.append(ids[1])
        for name, columns in attack.named(mechanism, ids[1][places], seed):
            attacks.setdefault(name, []).append(columns)
    out = {
        "right": np.mean(right, axis=0).round(4).tolist(),
        "attackers": {
            name: [np.sum([each[side] for each in parts], axis=0).tolist() for side in range(2)]
            for name, parts in attacks.items()
        },
        "words": attack.words,
        "seconds": seconds,
    }
    again = None
    if mechanism is not None:
        rng = np.random.default_rng(9)

        def again(texts):
            passed = None if data.listed is None else data.listed[texts.ids]
            return release_texts(mechanism, texts.ids, rng, texts.offsets, passed)

    found = membership(data.batches[1], releases[0], again, data.labels[1], len(data.space))
    out["membership"] = [found.value, found.low, found.high]
    if mechanism is not None:
        drawn = np.ones(len(releases[0]), bool)
        truth = data.batches[1].ids.astype(np.int64)
        if data.listed is not None:
            drawn &= ~data.listed[truth]
        if data.space.unknown is not None:
            drawn &= truth != data.space.unknown
        vectors = data.space.vectors.astype(np.float64)
        apart = vectors[truth[drawn]] - vectors[releases[0][drawn]]
        typical = np.sqrt(2 * vectors.var(axis=0).sum())
        scores = NGramGuide(data.space).text_scores(releases[0], data.batches[1].offsets)
        out |= {
            "outputs": getattr(mechanism, "outputs", None),
            "near": getattr(mechanism, "near", None),
            "bound": attack.bound(mechanism),
            "loss": mechanism.statement.epsilon,
            "distance": float(np.sqrt((apart**2).sum(axis=1)).mean() / typical),
            "kept": float((releases[0] == truth)[drawn].mean()),
            "ngram": float(np.exp(-np.mean(scores))),
            "again": float((releases[0] == releases[-1])[drawn].mean()) if seeds > 1 else None,
        }
    return out


def jobs_of(given):
    """Everything that is to be measured: data, contender, epsilon, name."""
    rows = ROWS
    if given.mechanisms:
        rows = [(each, given.space, given.function_words) for each in given.mechanisms]
    spaces = {}
    for text, space, passing in rows:
        for name in given.data:
            place = name, space, passing
            data = spaces.setdefault(place, Data(given.folder, *place, given.tuning))
            (entry,) = (None,) if text is None else contenders([text], [], len(data.space))
            for epsilon in (None,) if entry is None else entry.epsilons:
                label = "none" if entry is None else f"{entry.label}, epsilon {epsilon:g}"
                passes = ", function words pass" if passing else ""
                yield data, entry, epsilon, f"{name}: {label}, {space}{passes}"


def table(given, parts):
    """Print what is done, with intervals, and differences by text to the first row of each."""
    rng, first = np.random.default_rng(0), {}
    for data, _, _, name in jobs_of(given):
        if not parts.has(name):
            print(f"{name}: not done")
            continue
        found = parts.get(name, dict)
        right = np.array(found["right"])
        first.setdefault(data.name, right)
        ones, less = np.ones(len(right)), right - first[data.name]
        told = [
            f"accuracy {bootstrapped((right, ones), lambda a, b: a / b, rng)}",
            f"minus first {bootstrapped((less, ones), lambda a, b: a / b, rng)}",
        ]
        told += [
            f"{each} {bootstrapped(list(map(np.array, sums)), lambda a, b: a / b, rng)}"
            for each, sums in found["attackers"].items()
        ]
        told.append(f"membership {Estimate(*found['membership'])}")
        told += [
            f"{key} {found[key]:.4g}"
            for key in ("outputs", "near", "bound", "distance", "kept", "ngram", "again")
            if found.get(key) is not None
        ]
        print(f"{name}\n    " + "; ".join(told) + f"; {found['words']} words attacked")


def main() -> None:
    """Measure what is not done, or print what is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--data", nargs="+", default=["sst2", "agnews"])
    parser.add_argument("--mechanisms", nargs="+", help="as of 'discreet compare'")
    parser.add_argument("--space", default="english")
    parser.add_argument("--function-words", action="store_true")
    parser.add_argument("--tuning", action="store_true")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    parts = Parts(given.output, {"tuning": given.tuning, "seeds": given.seeds})
    if given.table:
        return table(given, parts)
    begun = time.monotonic()
    for data, entry, epsilon, name in jobs_of(given):
        if parts.has(name):
            continue
        if time.monotonic() - begun > 60 * given.minutes:
            print("more to do: start again")
            raise SystemExit(75)
        start = time.monotonic()
        parts.get(name, lambda d=data, e=entry, x=epsilon: measured(d, e, x, given.seeds))
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    return None


if __name__ == "__main__":
    main()
