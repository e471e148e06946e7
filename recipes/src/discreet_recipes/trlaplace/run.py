"""Huang et al. (2024), "Private Language Models via Truncated Laplacian Mechanism", run again.

What the paper ran: word vectors of 300 dimensions (GloVe, fastText), 10,000 words, clipped;
Laplace, Gaussian and truncated Laplace noise at delta = 4^-d and epsilon from 0.05 to 20; the
nearest word; a BiLSTM auto-encoder that rewrites Yelp and Yahoo texts (loss, ROUGE-1, BLEU, N_w,
BERTScore), and classifiers on SST-2 and AG News.

What we run: the same noise on the words of the space given (by default the starter space: 20,000
words, 80 dimensions), on SST-2 and AG News; our rewriter, trained on public text; every figure
beside the epsilon and delta that hold. The paper's settings first, then settings at which words
survive.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.evaluation.privacy import word_privacy
from discreet.mechanisms.word import CMP, Gaussian, Laplace, SanText, TruncatedLaplace
from discreet.protocols import WordMechanism
from discreet.spaces import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.text.labelled import Labelled
from discreet.text.tokens import TokenBatch, Tokenizer, tokenizer_for
from discreet.training.texts.bag_of_words import fit_bag_of_words
from discreet_recipes.data_files import labelled_rows
from discreet_recipes.ngrams import NGramModel, class_scores, cross_entropy, fit_ngrams
from discreet_recipes.record import Record
from discreet_recipes.similarity import bert_score, bleu, rouge1, unchanged_words
from discreet_recipes.trlaplace.pages import (
    PAPER_EPSILONS,
    Measured,
    Setting,
    add_findings,
    add_tables,
)

DELTA = 1e-5
"""Of the mechanisms that we calibrate; the paper's own delta is 4^-d."""


@dataclass(frozen=True)
class Size:
    """How much is run."""

    public: int
    train: int
    test: int
    epochs: int
    compared: int
    """Test texts for ROUGE, BLEU and BERTScore."""
    words: int
    runs: int
    seeds: int


QUICK = Size(public=2500, train=2500, test=600, epochs=2, compared=200, words=150, runs=40, seeds=1)
FULL = Size(
    public=6735, train=12_000, test=4000, epochs=6, compared=872, words=500, runs=200, seeds=3
)


def build(setting: Setting, space: EmbeddingSpace) -> WordMechanism:
    """The mechanism; noise of the clipped kind is clipped at the median length of a vector."""
    clip = float(np.median(np.linalg.norm(space.vectors, axis=1)))
    if setting.mechanism == "santext":
        return SanText(space, setting.epsilon, calibration=setting.calibration)
    if setting.mechanism == "cmp":
        return CMP(space, setting.epsilon)
    if setting.mechanism == "laplace":
        return Laplace(space, setting.epsilon, clip=clip)
    if setting.mechanism == "gaussian":
        return Gaussian(space, setting.epsilon, delta=DELTA, clip=clip)
    if setting.calibration == "certified":
        return TruncatedLaplace(space, setting.epsilon, delta=DELTA, clip=clip)
    return TruncatedLaplace(
        space,
        setting.epsilon,
        delta=max(4.0**-space.dimension, 1e-299),
        clip=clip,
        calibration="published",
        dummy_dimensions=_dummies(setting.epsilon, space.dimension),
    )


def _dummies(epsilon: float, dimension: int) -> int:
    """The paper's device for a large epsilon: its range is 2 delta^(1/d) sqrt(d)."""
    log_delta = math.log(max(4.0**-dimension, 1e-299))
    total = dimension
    while epsilon >= 2.0 * math.exp(log_delta / total) * math.sqrt(total):
        total += 1
    return total - dimension


PRIVACY = tuple(
    Setting(name, epsilon, calibration)
    for name, calibration in (
        ("laplace", "certified"),
        ("gaussian", "certified"),
        ("truncated-laplace", "published"),
        ("truncated-laplace", "certified"),
    )
    for epsilon in (*PAPER_EPSILONS, 50.0, 100.0, 200.0)
    if not (calibration == "published" and epsilon > 20)
) + tuple(
    Setting(n, e) for n, es in (("cmp", (10, 20, 30, 40)), ("santext", (4, 6, 8, 10))) for e in es
)
QUICK_UTILITY = (
    Setting("truncated-laplace", 1.0, "published"),
    Setting("gaussian", 20.0),
    Setting("gaussian", 100.0),
    Setting("laplace", 100.0),
    Setting("truncated-laplace", 100.0),
    Setting("cmp", 40.0),
    Setting("santext", 8.0),
)
FULL_UTILITY = (
    *(Setting("truncated-laplace", e, "published") for e in (0.1, 1.0, 10.0)),
    *(Setting("gaussian", e) for e in (1.0, 20.0, 50.0, 100.0)),
    *(Setting("laplace", e) for e in (1.0, 50.0, 100.0)),
    *(Setting("truncated-laplace", e) for e in (1.0, 50.0, 100.0)),
    *(Setting("cmp", e) for e in (20.0, 30.0, 40.0)),
    *(Setting("santext", e) for e in (6.0, 7.0, 8.0)),
)


QUICK_NEWS = tuple(QUICK_UTILITY[i] for i in (0, 2, 6))
"""News are long: few settings for them in a quick run, the published box first."""


@dataclass(frozen=True)
class Task:
    """Texts of one data set: public ones, and ones that are protected."""

    name: str
    public: list[str]
    train: Labelled
    test: Labelled


def run(
    data: Path,
    folder: Path,
    *,
    quick: bool = False,
    space: str = "starter",
    say: Callable[[str], None] = lambda _line: None,
) -> Record:
    """Run the recipe and write its record.

    Args:
        data: A folder with ``sst2-{train,dev,test}.jsonl.gz`` and ``agnews-{dev,test}.jsonl.gz``.
        folder: Where the record goes; finished parts in it are taken over.
        quick: Fewer settings and texts: minutes.
        space: The vocabulary.
        say: Called with a line for people at each part.
    """
    from discreet.training.texts.rewriting import DEFAULTS

    size = QUICK if quick else FULL
    vocabulary = load_space(space)
    tasks = read_tasks(data, size)
    settings = {
        "quick": quick,
        "space": vocabulary.fingerprint,
        "size": asdict(size),
        "delta": DELTA,
        "rewriter": DEFAULTS,
        "data": {t.name: [len(t.public), len(t.train), len(t.test)] for t in tasks},
    }
    record = Record(folder, "trlaplace", settings, say)
    record.title = "Truncated Laplace noise on words, and what rewriting makes of it"
    record.introduction = _introduction(vocabulary, size)
    tokenizer = tokenizer_for(vocabulary.words, vocabulary.unknown, vocabulary.subwords)
    sample = _words_of(tokenizer.encode(tasks[0].public), vocabulary, size.words)
    privacy = [
        record.part(f"privacy-{s.key}", partial(_privacy, s, vocabulary, sample, size))
        for s in PRIVACY
    ]
    chosen = {
        "sst2": QUICK_UTILITY if quick else FULL_UTILITY,
        "agnews": QUICK_NEWS if quick else FULL_UTILITY,
    }
    utility: dict[str, list[dict[str, Any]]] = {}
    plain: dict[str, dict[str, float]] = {}
    for task in tasks:
        model = fit_ngrams(task.public, tokenizer)
        plain[task.name] = record.part(
            f"{task.name}-original", partial(_plain, task, model, tokenizer)
        )
        utility[task.name] = [
            record.part(
                f"{task.name}-{s.key}",
                partial(_utility, s, vocabulary, task, model, tokenizer, size),
            )
            for s in chosen[task.name]
        ]
    measured = Measured(PRIVACY, privacy, chosen, utility, plain)
    add_tables(record, measured)
    add_findings(record, measured)
    record.finish()
    return record


def read_tasks(data: Path, size: Size) -> list[Task]:
    """SST-2 with GLUE's validation set as test; AG News with half of ``dev`` public."""
    names = ("sst2-train", "sst2-dev", "sst2-test", "agnews-dev", "agnews-test")
    read = {name: labelled_rows(data, name) for name in names}
    news = read["agnews-dev"]
    half = len(news) // 2
    return [
        Task(
            "sst2",
            read["sst2-dev"].texts[: size.public],
            _first(read["sst2-train"], size.train),
            _first(read["sst2-test"], size.test),
        ),
        Task(
            "agnews",
            # News are four times as long as phrases of reviews: fewer of them for the same work.
            news.texts[: min(half, size.public // 3)],
            news.part(range(half, min(len(news), half + size.train // 2))),
            _first(read["agnews-test"], size.test),
        ),
    ]


def _first(rows: Labelled, count: int) -> Labelled:
    return rows.part(range(min(count, len(rows))))


def _words_of(batch: TokenBatch, space: EmbeddingSpace, count: int) -> Any:
    """Words of public text, each as likely as it is frequent."""
    ids = batch.ids[batch.ids != (-1 if space.unknown is None else space.unknown)]
    return np.random.default_rng(0).choice(ids.astype(np.int64), count, replace=False)


def _privacy(setting: Setting, space: EmbeddingSpace, words: Any, size: Size) -> dict[str, Any]:
    mechanism = build(setting, space)
    rng = np.random.default_rng(0)
    found = word_privacy(mechanism, words, runs=size.runs, rng=rng)
    return {
        "keep": float(found.keep.mean()),
        "options": float(np.median(found.options)),
        "exact": found.exact,
        **_stated(mechanism),
    }


def _stated(mechanism: WordMechanism) -> dict[str, Any]:
    statement = mechanism.statement
    return {
        "notion": statement.notion.value,
        "true_epsilon": statement.epsilon if math.isfinite(statement.epsilon) else None,
        "true_delta": statement.delta,
    }


def _plain(task: Task, model: NGramModel, tokenizer: Tokenizer) -> dict[str, float]:
    """The texts as they are, once through the tokeniser: what no mechanism can exceed."""
    train, test = (_tokens(tokenizer, part) for part in (task.train, task.test))
    accuracy = _accuracy(task, train, test)
    return {"accuracy": accuracy, "cross_entropy": cross_entropy(model, test)}


def _tokens(tokenizer: Tokenizer, rows: Labelled) -> list[str]:
    batch = tokenizer.encode(rows.texts)
    return tokenizer.decode(batch.ids, batch.offsets)


def _accuracy(task: Task, train: list[str], test: list[str]) -> float:
    model = fit_bag_of_words(Labelled(train, None, task.train.labels))
    guessed = [str(label) for label in model.predict(test)]
    return class_scores(task.test.labels or [], guessed)["accuracy"]


def _utility(
    setting: Setting,
    space: EmbeddingSpace,
    task: Task,
    model: NGramModel,
    tokenizer: Tokenizer,
    size: Size,
) -> dict[str, Any]:
    from discreet.training.texts.rewriting import WordRelease, measure_rewriter, train_rewriter

    mechanism = build(setting, space)
    words = WordRelease(mechanism)
    measured: dict[str, list[float]] = {}
    for seed in range(size.seeds):
        rewriter = train_rewriter(mechanism, task.public, epochs=size.epochs, seed=seed)
        rng = np.random.default_rng([seed, 7])
        texts: dict[str, list[list[str]]] = {"released": [], "rewritten": []}
        for rows in (task.train, task.test):
            batch = tokenizer.encode(rows.texts)
            released = words.release(batch, rng)
            for name, out in (("released", released), ("rewritten", rewriter.rewrite(released))):
                texts[name].append(tokenizer.decode(out.ids, out.offsets))
        original = _tokens(tokenizer, task.test)[: size.compared]
        tested = tokenizer.encode(task.test.texts)
        found = {"loss": measure_rewriter(rewriter, mechanism, tested)["cross_entropy"]}
        for name, (train, test) in texts.items():
            some = test[: size.compared]
            found |= {
                f"{name} N_w": unchanged_words(original, some),
                f"{name} ROUGE-1": 100 * rouge1(original, some),
                f"{name} BLEU": bleu(original, some),
                f"{name} BERTScore": bert_score(original, some),
                f"{name} fluency": cross_entropy(model, test),
                f"{name} accuracy": _accuracy(task, train, test),
            }
        for name, value in found.items():
            measured.setdefault(name, []).append(value)
    means = {name: float(np.mean(values)) for name, values in measured.items()}
    spread = {f"{name} sd": float(np.std(values)) for name, values in measured.items()}
    return {**means, **spread, **_stated(mechanism)}


def _introduction(space: EmbeddingSpace, size: Size) -> list[str]:
    return [
        "The paper puts truncated Laplace noise on clipped word vectors, takes the nearest word, "
        "and reports that texts rewritten from it at epsilon = 0.05 are as good as unprotected "
        "ones.",
        f"We put the same noise on the {len(space):,} words of the space {space.name} "
        f"({space.dimension} dimensions; the paper: 10,000 words, 300 dimensions), on SST-2 and "
        "AG News (Yelp and Yahoo cannot be had). The rewriter reads released words only and is "
        f"trained on at most {size.public:,} public texts of each set, kept apart. Classifiers are "
        "a bag of words trained and tested on sanitised text. BERTScore is that of "
        "all-MiniLM-L6-v2, so only its differences compare with the paper's. Fluency is the "
        "cross-entropy, in nats a word, of an interpolated Kneser-Ney model of the public text; "
        "loss is the rewriter's own cross-entropy of the original word.",
        "Every figure stands beside the epsilon and delta that hold: delta = "
        f"{DELTA:g} where we calibrate, the true delta of the paper's box where it claims 4^-d. "
        "Epsilon of cmp and santext is per unit of distance (metric notion) and does not compare "
        f"with the others'. Seeds: {size.seeds}.",
    ]
