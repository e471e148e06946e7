"""UeDP ("User-Entity Differential Privacy in Learning Natural Language Models"), run again.

What the paper ran: next-word prediction on CoNLL-2003 (a document is a user), AG News (users made
at random, 15 texts each on average) and SEC contracts with a three-layer AWD-LSTM of 1,150 units
and GPT-2; UeDP-Alg with two estimators beside user-level privacy, de-identification and training
without noise; perplexity against epsilon, against categories of entities and against the rate of
sentences without an entity.

What we run: the same on CoNLL-2003 and AG News with an AWD-LSTM of one layer that two cores can
train; the published algorithm with the figure that it claims and with a lower bound of what holds,
and the certified algorithm, whose figure is proven.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
from discreet.reproduce import _uedp_data as corpora
from discreet.reproduce._uedp_pages import Row, add_accounting, add_data_set, add_findings
from discreet.reproduce.record import Record
from discreet.training.user_entity import (
    Rules,
    UserEntityTrainer,
    UserText,
    quality,
)

Say = Callable[[str], None]
Users = tuple[UserText, ...]


@dataclass(frozen=True)
class Size:
    """How much is run.

    Args:
        words: of the vocabulary.
        steps: of every run.
        noises: of the algorithms with a guarantee; the first, at which categories and rates are
            compared, keeps the joint epsilon below 8.
        published_noises: of the published algorithms, in their own unit.
        sentence_rates: of sentences without an entity.
        seeds: runs of each setting.
        evaluated_every: one of so many test documents is evaluated.
        ag_news: texts of AG News to train on; 0 leaves it out.
        ag_news_test: texts to test on.
    """

    words: int
    steps: int
    noises: tuple[float, ...]
    published_noises: tuple[float, ...]
    sentence_rates: tuple[float, ...]
    seeds: int = 1
    evaluated_every: int = 1
    ag_news: int = 0
    ag_news_test: int = 0


QUICK = Size(
    words=2000,
    steps=20,
    noises=(1.15, 2.0, 4.0),
    published_noises=(2.0,),
    sentence_rates=(0.0,),
)
FULL = Size(
    words=20_000,
    steps=100,
    noises=(2.05, 3.0, 5.0, 10.0),
    published_noises=(0.5, 1.0, 2.0, 2.5),
    sentence_rates=(0.0, 0.2, 0.4, 0.6, 0.8),
    seeds=3,
    ag_news=10_001,
    ag_news_test=2000,
)

# Rates of users and of learning were chosen on an eighth of CoNLL-2003's validation documents,
# which play the public text; norms, rate of entities and bounds were not tuned.
_PRIVATE = Rules(
    user_rate=0.2,
    entity_rate=0.5,
    clip=1.0,
    cell_clip=0.1,
    holders=10,
    cells=1,
    learning_rate=1.5,
    optimizer="sgd",
)
_PLAIN = replace(_PRIVATE, learning_rate=0.02, optimizer="adam")
# As the paper has them for the AWD-LSTM.
_PUBLISHED = replace(_PRIVATE, user_rate=0.05, clip=0.1, learning_rate=1.0, optimizer="sgd")


@dataclass(frozen=True)
class Corpus:
    """One data set: how its users are read for given categories, and what is tested on."""

    name: str
    categories: dict[str, tuple[str, ...]]
    users: Callable[[str, bool], Users]
    """Of a category; with entities masked or not."""
    test: Callable[[], Users]
    population: int


def run(
    data: Path,
    folder: Path,
    *,
    quick: bool = False,
    size: Size | None = None,
    say: Say = lambda _line: None,
) -> Record:
    """Run the recipe and write its record.

    Args:
        data: A folder with ``conll2003-{train,test}.jsonl.gz`` and, for the full run,
            ``agnews-{dev,test}.jsonl.gz``.
        folder: Where the record goes; finished parts in it are taken over.
        quick: A small vocabulary, few steps, CoNLL-2003 alone.
        size: Another size than these two.
        say: Called with a line for people at each part.
    """
    size = size or (QUICK if quick else FULL)
    rules = {"private": _PRIVATE, "plain": _PLAIN, "published": _PUBLISHED}
    settings = {**asdict(size), **{name: asdict(some) for name, some in rules.items()}}
    record = Record(folder, "uedp", settings, say)
    record.title = "Training with privacy for users and entities"
    record.introduction = _introduction(size)
    words = corpora.public_words(size.words)
    rows = _data_set(record, _conll(data, words, size), words, size)
    add_data_set(record, "conll2003", "CoNLL-2003", rows)
    if size.ag_news:
        news = _data_set(record, _ag_news(record, data, words, size), words, size)
        add_data_set(record, "agnews", "AG News", news)
    add_accounting(record)
    add_findings(record, rows, size.steps)
    record.finish()
    return record


def _conll(data: Path, words: corpora.Words, size: Size) -> Corpus:
    def users(category: str, masked: bool) -> Users:
        return corpora.conll(data, "train", words, corpora.CONLL[category], masked=masked)

    def test() -> Users:
        all_of_them = corpora.CONLL["all"]
        return corpora.conll(data, "test", words, all_of_them, every=size.evaluated_every)

    return Corpus("conll2003", corpora.CONLL, users, test, population=947)


def _ag_news(record: Record, data: Path, words: corpora.Words, size: Size) -> Corpus:
    texts = corpora.ag_news_texts(data, "dev", size.ag_news)
    entities = record.part("agnews-entities", lambda: corpora.found_entities(texts))
    owners = corpora.users_of_texts(len(texts), seed=0)

    def users(category: str, masked: bool) -> Users:
        chosen = corpora.AG_NEWS[category]
        return corpora.ag_news(texts, entities, owners, words, chosen, masked=masked)

    def test() -> Users:
        others = corpora.ag_news_texts(data, "test", size.ag_news_test)
        nothing: list[list[Any]] = [[] for _ in others]
        return corpora.ag_news(others, nothing, range(len(others)), words, ())

    return Corpus("agnews", corpora.AG_NEWS, users, test, population=max(owners) + 1)


def _data_set(record: Record, corpus: Corpus, words: corpora.Words, size: Size) -> list[Row]:
    """All runs on one data set."""
    bench = _Bench(record, corpus, words, size)
    certified = replace(_PRIVATE, population=corpus.population)
    user_level = replace(certified, algorithm="user-level")
    plain = replace(_PLAIN, population=corpus.population)
    rows = [
        bench.untrained(),
        bench.measured(replace(plain, algorithm="noiseless"), "all"),
        bench.measured(replace(plain, algorithm="de-identified"), "all"),
    ]
    for noise in size.noises:
        rows.append(bench.measured(certified.with_noise(noise), "all"))
        rows.append(bench.measured(user_level.with_noise(noise), "all"))
    for algorithm in ("published", "published-optimized"):
        for noise in size.published_noises:
            published = replace(_PUBLISHED, algorithm=algorithm, noise=noise)
            rows.append(bench.measured(published, "all"))
    at_target = certified.with_noise(size.noises[0])
    rows += [
        bench.measured(replace(at_target, sentence_rate=rate), "all")
        for rate in size.sentence_rates
    ]
    for category in corpus.categories:
        if category != "all":
            rows.append(bench.measured(at_target, category))
            rows.append(bench.measured(replace(plain, algorithm="de-identified"), category))
            optimized = replace(_PUBLISHED, algorithm="published-optimized", noise=2.0)
            rows.append(bench.claimed(optimized, category))
    return rows


class _Bench:
    """Runs on one data set; text is read only when some part is still to be computed."""

    def __init__(self, record: Record, corpus: Corpus, words: corpora.Words, size: Size) -> None:
        self._record, self._corpus, self._words, self._size = record, corpus, words, size
        self._read: dict[tuple[str, bool], Users] = {}
        self._test: Users | None = None

    def untrained(self) -> Row:
        """The model before its first step."""

        def compute() -> dict[str, Any]:
            found = quality(self._model(0), self._tested())
            return {"perplexity": [found.perplexity], "error_rate": [found.error_rate]}

        return Row("untrained", "all", **self._record.part(f"{self._corpus.name}-start", compute))

    def measured(self, rules: Rules, category: str) -> Row:
        """Train with each seed and test."""
        key = "-".join(
            (
                self._corpus.name,
                rules.algorithm,
                category,
                f"z{rules.noise:.4g}" if rules.noisy else "plain",
                f"s{rules.sentence_rate:g}",
            )
        )
        values = self._record.part(key, lambda: self._trained(rules, category))
        return Row(
            rules.algorithm,
            category,
            sentence_rate=rules.sentence_rate,
            noise=rules.noise if rules.noisy else None,
            **values,
            **self._figures(rules),
        )

    def claimed(self, rules: Rules, category: str) -> Row:
        """The published figure of a category, without training."""
        key = f"{self._corpus.name}-claim-{rules.algorithm}-{category}-z{rules.noise:g}"
        values = self._record.part(
            key, lambda: self._published(rules, self._users(category, masked=False))
        )
        return Row(rules.algorithm, category, noise=rules.noise, **values)

    def _trained(self, rules: Rules, category: str) -> dict[str, Any]:
        users = self._users(category, masked=rules.algorithm == "de-identified")
        out: dict[str, Any] = {"perplexity": [], "error_rate": []}
        for seed in range(1, self._size.seeds + 1):
            model = self._model(seed)
            trainer = UserEntityTrainer(rules, users, model, seed=seed)
            for step in range(self._size.steps):
                trainer.step(step)
            found = quality(model, self._tested())
            out["perplexity"].append(found.perplexity)
            out["error_rate"].append(found.error_rate)
        if rules.algorithm == "certified":
            out["dropped"] = trainer.dropped.sentences / sum(map(len, users))
        if rules.algorithm.startswith("published"):
            out |= self._published(rules, users)
        return out | {"sensitive": corpora.sensitive_share(users)}

    def _figures(self, rules: Rules) -> dict[str, Any]:
        """What holds: the same for all text, so computed once."""

        def compute() -> dict[str, float]:
            loss = rules.loss(self._size.steps)
            figures = {} if loss is None else asdict(loss)
            return {name: value for name, value in figures.items() if value < math.inf}

        if not rules.private:
            return {}
        key = f"epsilon-{rules.algorithm}-z{rules.noise:g}"
        return dict(self._record.part(key, compute))

    def _published(self, rules: Rules, users: Users) -> dict[str, Any]:
        share = corpora.sensitive_share(users)
        figures = rules.published(self._size.steps, share)
        return {
            "claimed": figures.claimed,
            "at_least": figures.at_true_rate,
            "sensitive": share,
        }

    def _model(self, seed: int) -> AwdLstm:
        vocabulary, vectors = self._words.vocabulary, self._words.vectors
        shape = AwdLstmShape(
            words=len(vocabulary), boundary=vocabulary.boundary, embedding=vectors.shape[1]
        )
        model = AwdLstm(shape, seed=seed, vectors=vectors)
        # Zipf's law: the space lists frequent words first, so their ranks are public frequencies.
        ranks = torch.arange(1, len(vectors) + 1)
        model.trainable()["output.bias"][-len(vectors) :] = math.log(10) - torch.log(ranks + 2.7)
        return model

    def _users(self, category: str, *, masked: bool) -> Users:
        if (category, masked) not in self._read:
            self._read = {(category, masked): self._corpus.users(category, masked)} | (
                {key: users for key, users in self._read.items() if key[0] == "all"}
            )
        return self._read[category, masked]

    def _tested(self) -> Sequence[UserText]:
        if self._test is None:
            self._test = self._corpus.test()
        return self._test


def _introduction(size: Size) -> list[str]:
    paper, ours = ((__doc__ or "\n\n\n\n").split("\n\n"))[1:3]
    news = (
        f"AG News: {size.ag_news:,} texts to train on, entities found by spaCy's en_core_web_md."
        if size.ag_news
        else "AG News needs a recogniser of entities and is left to the full run."
    )
    return [
        paper.replace("\n", " "),
        ours.strip().replace("\n", " "),
        f"Where we differ: the vocabulary is public, the first {size.words:,} words of the starter "
        "space, where the paper counts words in the protected text; all other words are one "
        "unknown word, which is predicted too, so perplexities do not compare with the paper's but "
        f"with each other. Every run has {size.steps} steps and begins with the starter space's "
        "vectors and, as first bias of a word, with Zipf's law of its public rank. "
        "Learning rates, optimisers and the rate of users were chosen among a few values, in short "
        "runs with one seed, on an eighth of the validation documents of "
        "CoNLL-2003, which play the public text. SEC contracts are not to be had. " + news,
        "Certified: users are drawn with rate "
        f"{_PRIVATE.user_rate:g}, entities with {_PRIVATE.entity_rate:g}; an entity counts with at "
        f"most {_PRIVATE.holders} users and in {_PRIVATE.cells} cell of each; delta is "
        f"{_PRIVATE.delta:g}. The guarantee is for the data after sentences beyond these bounds "
        "were dropped. Draws and noise have seeds, so that the run can be repeated: these models "
        "are for measuring, not for release.",
    ]
