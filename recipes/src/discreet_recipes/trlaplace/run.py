"""Huang et al. (2024), "Private Language Models via Truncated Laplacian Mechanism", run again."""

import math
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.evaluation.privacy import word_privacy
from discreet.protocols import WordMechanism
from discreet.spaces.space import EmbeddingSpace
from discreet.text.labelled import Labelled
from discreet.text.tokens import TokenBatch, Tokenizer, tokenizer_for
from discreet_recipes.ngrams import NGramModel, cross_entropy, fit_ngrams
from discreet_recipes.recipe import Say
from discreet_recipes.record import Record
from discreet_recipes.similarity import bert_score, bleu, rouge1, unchanged_words
from discreet_recipes.trlaplace import RECIPE
from discreet_recipes.trlaplace.classifier import Judge
from discreet_recipes.trlaplace.data import (
    DELTA,
    Task,
    build,
    read_spaces,
    read_tasks,
    settings_of_auto_encoder,
    settings_of_privacy,
)
from discreet_recipes.trlaplace.pages import Measured, add_auto_encoder, add_claims, add_tables
from discreet_recipes.trlaplace.setting import TrLaplaceSetting
from discreet_recipes.trlaplace.sizes import TrLaplaceOptions

_LISTS = (
    *("epsilons", "high_epsilons", "metric", "metric_epsilons", "santext_epsilons"),
    *("utility", "news_utility", "auto_epsilons", "tasks", "space"),
)

_TESTED = ("test", "sst2_test")
_JUDGED = ("format", "first space", "public", "train", *_TESTED, "agnews_train", "classifier")
_UTILITY = (*_JUDGED, "delta", "rewriter", "compared", "encoder", "epochs", "seeds")
_REWRITTEN = (
    *("format", "delta", "vocabulary", "public", *_TESTED, "compared", "encoder"),
    *("auto_texts", "auto_epochs", "auto_batch"),
)


def run(data: Path, folder: Path, options: TrLaplaceOptions, say: Say) -> Record:
    """Run the recipe and write its record."""
    from discreet.training.texts.rewriting import DEFAULTS

    spaces = read_spaces(options)
    (first, vocabulary), *_ = spaces.items()
    tasks = read_tasks(data, options)
    settings = {
        **asdict(options),
        "first space": vocabulary.fingerprint,
        "delta": DELTA,
        "rewriter": DEFAULTS,
        "format": 3,
    }
    record = Record.of(RECIPE, folder, settings, say, _details(vocabulary, options), lists=_LISTS)
    tokenizer = tokenizer_for(vocabulary.words, vocabulary.unknown, vocabulary.subwords)
    privacy: dict[str, dict[TrLaplaceSetting, Any]] = {}
    for name, space in spaces.items():
        own = tokenizer_for(space.words, space.unknown, space.subwords)
        sample = _words_of(own.encode(tasks[0].public), space, options.words)
        # Where the words' vectors say nothing, noise in their metric is of no interest.
        chosen = [s for s in settings_of_privacy(options) if name == first or s.canonical]
        privacy[name] = {
            s: record.part(
                f"privacy-{space.fingerprint[:8]}-{tasks[0].name}-{s.key}",
                partial(_privacy, s, space, sample, options),
                ("format", "delta", "vocabulary", "public", "words", "runs"),
            )
            for s in chosen
        }
    measured = Measured(privacy.pop(first), privacy, {}, {}, {})
    judge = Judge(options.classifier, vocabulary)
    for task in tasks:
        model = fit_ngrams(task.public, tokenizer)
        measured.plain[task.name] = record.part(
            f"{task.name}-original",
            partial(_plain, task, model, tokenizer, judge),
            _JUDGED,
        )
        texts = options.news_utility if task.name == "agnews" else options.utility
        measured.utility[task.name] = {
            s: record.part(
                f"{task.name}-{s.key}",
                partial(_utility, s, task, model, tokenizer, judge, options),
                _UTILITY,
            )
            for s in map(TrLaplaceSetting.of, texts)
        }
    # The paper's are of Yelp; where that is not run, the first.
    rewritten = next((task for task in tasks if task.name == "yelp"), tasks[0])
    for name, space in spaces.items():
        measured.auto_encoder[name] = {
            s: record.part(
                f"auto-encoder-{space.fingerprint[:8]}-{rewritten.name}-"
                f"{'none' if s is None else s.key}",
                partial(_auto_encoded, s, space, rewritten, options),
                _REWRITTEN,
            )
            for s in settings_of_auto_encoder(options)
        }
    add_tables(record, measured, options.seeds)
    add_auto_encoder(record, measured, rewritten.name, options)
    add_claims(record, measured, options.epsilons)
    return record.finish()


def _details(space: EmbeddingSpace, size: TrLaplaceOptions) -> str:
    return (
        f"The space is {space.name}: {len(space):,} words, {space.dimension} dimensions. At most "
        f"{size.public:,} texts of each set are public. Every figure stands beside the epsilon "
        f"and delta that hold: delta = {DELTA:g} where we calibrate, the true delta of the paper's "
        "box where it claims 4^-d. Epsilon of cmp and santext is per unit of distance (metric "
        f"notion) and does not compare with the others'. Seeds: {size.seeds}."
    )


def _words_of(batch: TokenBatch, space: EmbeddingSpace, count: int) -> Any:
    """Words of public text, each as likely as it is frequent."""
    ids = batch.ids[batch.ids != (-1 if space.unknown is None else space.unknown)]
    return np.random.default_rng(0).choice(ids.astype(np.int64), count, replace=False)


def _privacy(
    setting: TrLaplaceSetting, space: EmbeddingSpace, words: Any, size: TrLaplaceOptions
) -> dict[str, Any]:
    built = build(setting, space)
    rng = np.random.default_rng(0)
    privacy = word_privacy(built, words, runs=size.runs, rng=rng)
    return {
        "keep": float(privacy.keep.mean()),
        "options": float(np.median(privacy.options)),
        "exact": privacy.exact,
        **_stated(built),
    }


def _stated(built: WordMechanism) -> dict[str, Any]:
    statement = built.statement
    return {
        "notion": statement.notion.value,
        "true_epsilon": statement.epsilon if math.isfinite(statement.epsilon) else None,
        "true_delta": statement.delta,
    }


def _plain(task: Task, model: NGramModel, tokenizer: Tokenizer, judge: Judge) -> dict[str, float]:
    """The texts as they are, once through the tokeniser: what no mechanism can exceed."""
    train, test = (_tokens(tokenizer, part) for part in (task.train, task.test))
    accuracy = _accuracy(judge, task, train, test)
    return {"accuracy": accuracy, "cross_entropy": cross_entropy(model, test)}


def _tokens(tokenizer: Tokenizer, rows: Labelled) -> list[str]:
    batch = tokenizer.encode(rows.texts)
    return tokenizer.decode(batch.ids, batch.offsets)


def _accuracy(judge: Judge, task: Task, train: list[str], test: list[str]) -> float:
    return judge.accuracy(train, task.train.labels or [], test, task.test.labels or [])


def _auto_encoded(
    setting: TrLaplaceSetting | None, space: EmbeddingSpace, task: Task, size: TrLaplaceOptions
) -> dict[str, Any]:
    """The paper's figures of rewriting; None is its column without noise."""
    from discreet_recipes.trlaplace.auto_encoder import TextAutoEncoder

    tokenizer = tokenizer_for(space.words, space.unknown, space.subwords)
    mechanism = None if setting is None else build(setting, space)
    public = tokenizer.encode(task.public[: size.auto_texts])
    trained = TextAutoEncoder(
        space, public, mechanism, epochs=size.auto_epochs, batch=size.auto_batch
    )
    tested = tokenizer.encode(task.test.texts[: size.compared])
    rewriting = trained.measured(tested, np.random.default_rng(7))
    original, written = (
        tokenizer.decode(batch.ids, batch.offsets) for batch in (tested, rewriting["texts"])
    )
    return {
        "loss": rewriting["loss"],
        "ROUGE-1": 100 * rouge1(original, written),
        "BLEU": bleu(original, written),
        "N_w": unchanged_words(original, written),
        "BERTScore": bert_score(original, written, model=size.encoder),
        **trained.seconds,
        **({} if mechanism is None else _stated(mechanism)),
    }


def _utility(
    setting: TrLaplaceSetting,
    task: Task,
    model: NGramModel,
    tokenizer: Tokenizer,
    judge: Judge,
    size: TrLaplaceOptions,
) -> dict[str, Any]:
    from discreet.training.texts.rewriting import WordRelease, measure_rewriter, train_rewriter
    from discreet.training.texts.settings import RewriterTraining

    built = build(setting, judge.space)
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
        figures = {"loss": measure_rewriter(rewriter, built, tested)["cross_entropy"]}
        for name, (train, test) in texts.items():
            some = test[: size.compared]
            figures |= {
                f"{name} N_w": unchanged_words(original, some),
                f"{name} ROUGE-1": 100 * rouge1(original, some),
                f"{name} BLEU": bleu(original, some),
                f"{name} BERTScore": bert_score(original, some, model=size.encoder),
                f"{name} fluency": cross_entropy(model, test),
                f"{name} accuracy": _accuracy(judge, task, train, test),
            }
        for name, value in figures.items():
            measured.setdefault(name, []).append(value)
    means = {name: float(np.mean(values)) for name, values in measured.items()}
    spread = {f"{name} sd": float(np.std(values)) for name, values in measured.items()}
    return {**means, **spread, **_stated(built)}
