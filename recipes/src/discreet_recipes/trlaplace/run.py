"""Huang et al. (2024), "Private Language Models via Truncated Laplacian Mechanism", run again."""

import math
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet import mechanism
from discreet.evaluation.privacy import word_privacy
from discreet.protocols import WordMechanism
from discreet.spaces import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.text.labelled import Labelled
from discreet.text.tokens import TokenBatch, Tokenizer, tokenizer_for
from discreet.training.scores import class_scores
from discreet.training.texts.bag_of_words import fit_bag_of_words
from discreet_recipes.ngrams import NGramModel, cross_entropy, fit_ngrams
from discreet_recipes.recipe import Say
from discreet_recipes.record import Record
from discreet_recipes.similarity import bert_score, bleu, rouge1, unchanged_words
from discreet_recipes.trlaplace import RECIPE, SpaceOptions
from discreet_recipes.trlaplace.data import (
    FULL,
    FULL_UTILITY,
    PRIVACY,
    QUICK,
    QUICK_NEWS,
    QUICK_UTILITY,
    Setting,
    Size,
    Task,
    read_tasks,
)
from discreet_recipes.trlaplace.pages import Measured, add_claims, add_tables

DELTA = 1e-5
"""Of the mechanisms that we calibrate; the paper's own delta is 4^-d."""


def run(data: Path, folder: Path, options: SpaceOptions, say: Say) -> Record:
    """Run the recipe and write its record."""
    from discreet.training.texts.rewriting import DEFAULTS

    quick = options.quick
    size = QUICK if quick else FULL
    vocabulary = load_space(options.space)
    tasks = read_tasks(data, size)
    settings = {
        "quick": quick,
        "space": vocabulary.fingerprint,
        "size": asdict(size),
        "delta": DELTA,
        "rewriter": DEFAULTS,
        "data": {t.name: [len(t.public), len(t.train), len(t.test)] for t in tasks},
    }
    record = Record.of(RECIPE, folder, settings, say, _details(vocabulary, size))
    tokenizer = tokenizer_for(vocabulary.words, vocabulary.unknown, vocabulary.subwords)
    sample = _words_of(tokenizer.encode(tasks[0].public), vocabulary, size.words)
    privacy = {
        s: record.part(f"privacy-{s.key}", partial(_privacy, s, vocabulary, sample, size))
        for s in PRIVACY
    }
    chosen = {
        "sst2": QUICK_UTILITY if quick else FULL_UTILITY,
        "agnews": QUICK_NEWS if quick else FULL_UTILITY,
    }
    measured = Measured(privacy, {}, {})
    for task in tasks:
        model = fit_ngrams(task.public, tokenizer)
        measured.plain[task.name] = record.part(
            f"{task.name}-original", partial(_plain, task, model, tokenizer)
        )
        measured.utility[task.name] = {
            s: record.part(
                f"{task.name}-{s.key}",
                partial(_utility, s, vocabulary, task, model, tokenizer, size),
            )
            for s in chosen[task.name]
        }
    add_tables(record, measured)
    add_claims(record, measured)
    return record.finish()


def _details(space: EmbeddingSpace, size: Size) -> str:
    return (
        f"The space is {space.name}: {len(space):,} words, {space.dimension} dimensions. At most "
        f"{size.public:,} texts of each set are public. Every figure stands beside the epsilon "
        f"and delta that hold: delta = {DELTA:g} where we calibrate, the true delta of the paper's "
        "box where it claims 4^-d. Epsilon of cmp and santext is per unit of distance (metric "
        f"notion) and does not compare with the others'. Seeds: {size.seeds}."
    )


def build(setting: Setting, space: EmbeddingSpace) -> WordMechanism:
    """The mechanism; noise of the clipped kind is clipped at the median length of a vector."""
    name = setting.mechanism
    settings: dict[str, Any] = {}
    if name in ("laplace", "gaussian", "truncated-laplace"):
        settings["clip"] = float(np.median(np.linalg.norm(space.vectors, axis=1)))
    if name in ("gaussian", "truncated-laplace"):
        settings["delta"] = DELTA
    if setting.calibration == "published":
        settings |= {
            "calibration": "published",
            "delta": max(4.0**-space.dimension, 1e-299),
            "dummy_dimensions": _dummies(setting.epsilon, space.dimension),
        }
    built: WordMechanism = mechanism(name, space=space, epsilon=setting.epsilon, **settings)
    return built


def _dummies(epsilon: float, dimension: int) -> int:
    """The paper's device for a large epsilon: its range is 2 delta^(1/d) sqrt(d)."""
    log_delta = math.log(max(4.0**-dimension, 1e-299))
    total = dimension
    while epsilon >= 2.0 * math.exp(log_delta / total) * math.sqrt(total):
        total += 1
    return total - dimension


def _words_of(batch: TokenBatch, space: EmbeddingSpace, count: int) -> Any:
    """Words of public text, each as likely as it is frequent."""
    ids = batch.ids[batch.ids != (-1 if space.unknown is None else space.unknown)]
    return np.random.default_rng(0).choice(ids.astype(np.int64), count, replace=False)


def _privacy(setting: Setting, space: EmbeddingSpace, words: Any, size: Size) -> dict[str, Any]:
    built = build(setting, space)
    rng = np.random.default_rng(0)
    found = word_privacy(built, words, runs=size.runs, rng=rng)
    return {
        "keep": float(found.keep.mean()),
        "options": float(np.median(found.options)),
        "exact": found.exact,
        **_stated(built),
    }


def _stated(built: WordMechanism) -> dict[str, Any]:
    statement = built.statement
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
    from discreet.training.texts.settings import RewriterTraining

    built = build(setting, space)
    words = WordRelease(built)
    measured: dict[str, list[float]] = {}
    for seed in range(size.seeds):
        training = RewriterTraining(epochs=size.epochs, seed=seed)
        rewriter = train_rewriter(built, task.public, training)
        rng = np.random.default_rng([seed, 7])
        texts: dict[str, list[list[str]]] = {"released": [], "rewritten": []}
        for rows in (task.train, task.test):
            batch = tokenizer.encode(rows.texts)
            released = words.release(batch, rng)
            for name, out in (("released", released), ("rewritten", rewriter.rewrite(released))):
                texts[name].append(tokenizer.decode(out.ids, out.offsets))
        original = _tokens(tokenizer, task.test)[: size.compared]
        tested = tokenizer.encode(task.test.texts)
        found = {"loss": measure_rewriter(rewriter, built, tested)["cross_entropy"]}
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
    return {**means, **spread, **_stated(built)}
