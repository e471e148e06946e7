"""Lai et al. (2022), "User-Entity Differential Privacy in Learning Natural Language Models"."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.accounting.user_entity import UserEntityTraining
from discreet.models.awd_lstm import AwdLstm
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.settings import PUBLISHED
from discreet.training.user_entity.trainer import Quality, UserEntityTrainer, quality
from discreet.training.user_entity.users import UserText
from discreet_recipes.options import NONE
from discreet_recipes.recipe import Say
from discreet_recipes.record import Record
from discreet_recipes.uedp import RECIPE, canaries, pretrained, start
from discreet_recipes.uedp.accounting import (
    DELTA,
    HOLDERS,
    add_accounting,
    paper_curves,
    paper_figures,
)
from discreet_recipes.uedp.appendices import add_appendices, appendix_losses
from discreet_recipes.uedp.data import (
    Corpus,
    Users,
    ag_news_corpus,
    conll_corpus,
    sensitive_share,
    topics_corpus,
)
from discreet_recipes.uedp.pages import (
    ResultRow,
    add_attack,
    add_claims,
    add_data_set,
    add_topics,
    add_vocabularies,
)
from discreet_recipes.uedp.reach import Reach, add_reach, reach_of, weights_of
from discreet_recipes.uedp.sizes import UeDPOptions

_LISTS = (
    "epsilons",
    "published_noises",
    "sentence_rates",
    "vocabularies",
    "categories",
    "adapters",
)
# The settings that the public start depends on, and those that noise and figures do.
_START = ("space", "model", "embedding", "layers", "units", "dropouts", "public_steps")
_BUDGET = ("steps", "private")
_PER_SEED = ("perplexity", "error_rate", "entities", "others")
_TIMED_STEPS = 500
# Algorithms that draw sentences without an entity by themselves.
_TOLD_APART = ("certified", "published-optimized")
# Chosen on every fourth validation document of CoNLL-2003; nothing was tried on AG News.
_PRIVATE = Rules(
    user_rate=0.25,
    entity_rate=1.0,
    cell_clip=0.25,
    holders=2,
    cells=1,
    learning_rate=0.01,
    optimizer="adam",
)
_PLAIN = replace(_PRIVATE, user_rate=0.1, learning_rate=0.005)
# As the paper has them for the AWD-LSTM.
_PUBLISHED = replace(
    _PRIVATE,
    user_rate=0.05,
    entity_rate=0.5,
    clip=0.1,
    cell_clip=0.1,
    learning_rate=1.0,
    optimizer="sgd",
)


def run(data: Path, folder: Path, options: UeDPOptions, say: Say) -> Record:
    """Run the recipe and write its record; the public start is kept in the folder too."""
    size = options
    rules = {"private": _PRIVATE, "plain": _PLAIN, "published": _PUBLISHED}
    settings = {**asdict(size), **{name: asdict(some) for name, some in rules.items()}}
    settings |= pretrained.settings()
    about = _differences(size) if size.model != NONE else []
    about += pretrained.differences(size)
    record = Record.of(RECIPE, folder, settings, say, *about, lists=_LISTS)
    if size.model != NONE:
        _own_network(record, data, size)
    pretrained.add_pretrained(record, data, size)
    return record.finish()


def _own_network(record: Record, data: Path, size: UeDPOptions) -> None:
    """All that is about the AWD-LSTM, and the paper's accounting."""
    main = _Bench(record, conll_corpus(data, size.words, size), size)
    rows = _data_set(main, size)
    add_data_set(record, "conll2003", "CoNLL-2003", rows)
    others = [_Bench(record, conll_corpus(data, words, size), size) for words in size.vocabularies]
    add_vocabularies(record, [row for bench in (*others, main) for row in _compared(bench, size)])
    if size.ag_news:
        news = _data_set(_Bench(record, ag_news_corpus(record, data, size), size), size)
        add_data_set(record, "agnews", "AG News", news)
    if size.topics:
        add_topics(record, _topics(_Bench(record, topics_corpus(record, data, size), size), size))
    record.add_key_figure(
        "speed",
        f"exact accounting of {_TIMED_STEPS} steps for a user and an entity together",
        f"{record.part('accounting-seconds', _accounting_seconds, ()):.1f} s",
    )
    figures = record.part("accounting", paper_figures, ())
    add_accounting(record, figures, record.part("budget-curves", paper_curves, ()))
    add_appendices(record, record.part("appendices", appendix_losses, ()))
    add_claims(record, rows, size.steps)
    add_reach(record, [main.reach(rules) for rules in _published(2.0)], rows)
    certified = main.at(_rules_for(main)[0], size.epsilons[0])
    attacks = canaries.attacks(certified, size.steps, size.canaries)
    uses = ("canaries", "steps", "private")
    attacked = [record.part(f"attack-{name}", attack, uses) for name, attack in attacks.items()]
    add_attack(record, [row for some in attacked for row in some])


def _differences(size: UeDPOptions) -> list[str]:
    news = (
        f"AG News: {size.ag_news:,} texts to train on, entities found by spaCy's en_core_web_md; "
        f"its public text is three of four validation documents of CoNLL-2003, "
        f"{size.public_steps[1]} steps."
        if size.ag_news
        else "AG News needs a recogniser of entities and is left to the full run."
    )
    vectors = "the space's vectors"
    if size.embedding:
        vectors = f"random vectors of {size.embedding} numbers"
    return [
        f"Where we differ: the vocabulary is public, the first {size.words:,} words of the space "
        f"{size.space}, where the paper counts words in the protected text; all other words are "
        "one unknown word, which is predicted too, so perplexities do not compare with the paper's "
        f"but with each other. Certified and user-level training have {size.steps} steps; the "
        "others, with smaller rates of users, have as many more as it takes to go through the "
        f"text as often: {_steps(_PLAIN, size)} without noise, {_steps(_PUBLISHED, size)} as "
        f"published. Runs on CoNLL-2003 begin with one network, {vectors} and then "
        f"{size.public_steps[0]} steps on AG News, which plays public text. "
        "Learning rates, optimisers, norms and bounds of certified and of de-identified training "
        "were chosen among a few values, in runs with one seed, on a quarter of the validation "
        "documents of CoNLL-2003. "
        "SEC contracts are not to be had. " + news,
        "Certified: users are drawn with rate "
        f"{_PRIVATE.user_rate:g}, entities with {_PRIVATE.entity_rate:g}; an entity counts with at "
        f"most {_PRIVATE.holders} users and in {_PRIVATE.cells} cell of each; delta is "
        f"{_PRIVATE.delta:g}. The guarantee is for the data after sentences beyond these bounds "
        "were dropped. Draws and noise have seeds, so that the run can be repeated: these models "
        "are for measuring, not for release.",
    ]


def _accounting_seconds() -> float:
    run = UserEntityTraining(
        user_rate=0.05, entity_rate=0.5, noise=2.5, steps=_TIMED_STEPS, holders=HOLDERS
    )
    started = time.perf_counter()
    run.joint_epsilon(DELTA)
    return time.perf_counter() - started


def _data_set(bench: "_Bench", size: UeDPOptions) -> list[ResultRow]:
    """All runs on one data set."""
    certified, plain = _rules_for(bench)
    user_level = replace(certified, algorithm="user-level")
    rows = [*_compared(bench, size), bench.measured(replace(plain, algorithm="noiseless"), "all")]
    for epsilon in size.epsilons:
        if epsilon != size.epsilons[0]:
            rows.append(bench.measured(bench.at(certified, epsilon), "all"))
        rows.append(bench.measured(bench.at(user_level, epsilon), "all"))
    for noise in size.published_noises:
        rows += [bench.measured(rules, "all") for rules in _published(noise)]
    at_target = bench.at(certified, size.epsilons[0])
    rows += [
        bench.measured(replace(at_target, sentence_rate=rate), "all")
        for rate in size.sentence_rates
    ]
    for category in bench.corpus.categories:
        if category != "all" and category in size.categories:
            rows.append(bench.measured(at_target, category))
            rows.append(bench.measured(replace(plain, algorithm="de-identified"), category))
            optimized = replace(_PUBLISHED, algorithm="published-optimized", noise=2.0)
            rows.append(bench.claimed(optimized, category))
    return rows


def _topics(bench: "_Bench", size: UeDPOptions) -> list[ResultRow]:
    """Every algorithm once, at the first epsilon and the largest noise of the published ones."""
    certified, plain = _rules_for(bench)
    private = [certified, replace(certified, algorithm="user-level")]
    published = _published(max(size.published_noises))
    runs = (
        *(replace(plain, algorithm=name) for name in ("noiseless", "de-identified")),
        *(bench.at(rules, size.epsilons[0]) for rules in private),
        *published,
    )
    return [
        bench.untrained(),
        *(
            bench.measured(replace(rules, sentence_rate=rate), "all")
            for rules in runs
            for rate in [size.topics_sentence_rate if rules.algorithm in _TOLD_APART else 1.0]
        ),
    ]


def _compared(bench: "_Bench", size: UeDPOptions) -> list[ResultRow]:
    """The public start, de-identified training, and certified training at the first epsilon."""
    certified, plain = _rules_for(bench)
    masked = replace(plain, algorithm="de-identified")
    return [
        bench.untrained(),
        bench.measured(masked, "all", seeds=size.seeds),
        bench.measured(bench.at(certified, size.epsilons[0]), "all", seeds=size.seeds),
    ]


def _published(noise: float) -> list[Rules]:
    """Both estimators of the paper."""
    return [replace(_PUBLISHED, algorithm=name, noise=noise) for name in PUBLISHED]


def _steps(rules: Rules, size: UeDPOptions) -> int:
    """How many steps go through the text as often as all steps of certified training do."""
    return round(size.steps * _PRIVATE.user_rate / rules.user_rate)


def _rules_for(bench: "_Bench") -> tuple[Rules, Rules]:
    population = bench.corpus.population
    return replace(_PRIVATE, population=population), replace(_PLAIN, population=population)


class _Bench:
    """Runs on one data set; text is read only when some part is still to be computed."""

    def __init__(self, record: Record, corpus: Corpus, size: UeDPOptions) -> None:
        self.corpus = corpus
        self._record, self._size = record, size
        self._name = f"{corpus.name}-{len(corpus.words.vocabulary)}"
        self._read: dict[tuple[str, bool], Users] = {}

    def at(self, rules: Rules, epsilon: float) -> Rules:
        """The rules with the noise that all steps need for this epsilon."""

        def compute() -> float:
            return rules.calibrated(self._size.steps, epsilon).noise

        key = f"noise-{rules.algorithm}-{epsilon:g}"
        return rules.with_noise(self._record.part(key, compute, _BUDGET))

    def untrained(self) -> ResultRow:
        """The model before its first step on protected text."""
        values = self._record.part(
            f"{self._name}-start",
            lambda: _columns(quality(self._model(), self._tested)),
            self._uses,
        )
        return ResultRow("public start", "all", words=self._words, **values)

    def measured(self, rules: Rules, category: str, *, seeds: int = 1) -> ResultRow:
        """Train with each seed and test."""
        key = "-".join(
            (
                self._name,
                rules.algorithm,
                category,
                f"z{rules.noise:.4g}" if rules.noisy else "plain",
                f"s{rules.sentence_rate:g}",
            )
        )
        by_seed = [
            self._record.part(
                f"{key}-seed{seed}", partial(self._trained, rules, category, seed), self._uses
            )
            for seed in range(1, seeds + 1)
        ]
        values = by_seed[0] | {
            name: [value for one in by_seed for value in one[name]] for name in _PER_SEED
        }
        return ResultRow(
            rules.algorithm,
            category,
            words=self._words,
            sentence_rate=rules.sentence_rate,
            noise=rules.noise if rules.noisy else None,
            **values,
            **self._figures(rules),
        )

    def claimed(self, rules: Rules, category: str) -> ResultRow:
        """The published figure of a category, without training."""
        key = f"{self._name}-claim-{rules.algorithm}-{category}-z{rules.noise:g}"
        values = self._record.part(
            key, lambda: self._published(rules, self._users(category, masked=False)), self._uses
        )
        return ResultRow(rules.algorithm, category, noise=rules.noise, **values)

    def reach(self, rules: Rules) -> Reach:
        """How far a published algorithm can come in as many steps as the paper makes."""
        values = self._record.part(
            f"{self._name}-reach-{rules.algorithm}-z{rules.noise:g}",
            lambda: asdict(reach_of(rules, self._users("all", masked=False))),
            self._uses,
        )
        return Reach(**values)

    def _trained(self, rules: Rules, category: str, seed: int) -> dict[str, Any]:
        users = self._users(category, masked=rules.algorithm == "de-identified")
        model = self._model()
        begun = weights_of(model)
        trainer = UserEntityTrainer(rules, users, model, seed=seed)
        for step in range(_steps(rules, self._size)):
            trainer.step(step)
        out = _columns(quality(model, self._tested))
        out["moved"] = float(np.linalg.norm(weights_of(model) - begun))
        if rules.algorithm == "certified":
            out["dropped"] = trainer.dropped.sentences / sum(map(len, users))
        if rules.algorithm.startswith("published"):
            out |= self._published(rules, users)
        return out | {"sensitive": sensitive_share(users)}

    def _figures(self, rules: Rules) -> dict[str, Any]:
        """What holds: the same for all text, so computed once."""

        def compute() -> dict[str, float]:
            loss = rules.loss(self._size.steps)
            figures = {} if loss is None else asdict(loss)
            return {name: value for name, value in figures.items() if value < math.inf}

        if not rules.private:
            return {}
        key = f"epsilon-{rules.algorithm}-z{rules.noise:.6g}"
        return dict(self._record.part(key, compute, _BUDGET))

    def _published(self, rules: Rules, users: Users) -> dict[str, Any]:
        share = sensitive_share(users)
        figures = rules.published(_steps(rules, self._size), share)
        return {
            "claimed": figures.claimed,
            "at_least": figures.at_true_rate,
            "sensitive": share,
        }

    def _model(self) -> AwdLstm:
        sizes = start.sizes_of(self._size)
        if self.corpus.classes is not None:
            classes = self.corpus.classes
            return self.corpus.words.network(sizes, classes=classes, device=start.device())
        name = f"{self._name}-start-{self._record.digest_of(_START)}.safetensors"
        path = self._record.folder / "parts" / name
        if not path.is_file():
            self._record.say(f"{self._record.recipe}: {self._name}, training on public text")
            start.trained_on_public(path, self.corpus.words, sizes, self.corpus.public())
        return start.network(path, self.corpus.words, sizes)

    @property
    def _uses(self) -> tuple[str, ...]:
        return (*_START, *_BUDGET, "plain", "published", *self.corpus.rows)

    @property
    def _words(self) -> int:
        return len(self.corpus.words.vocabulary) - 2

    def _users(self, category: str, *, masked: bool) -> Users:
        if (category, masked) not in self._read:
            self._read = {(category, masked): self.corpus.users(category, masked)} | (
                {key: users for key, users in self._read.items() if key[0] == "all"}
            )
        return self._read[category, masked]

    @cached_property
    def _tested(self) -> Sequence[UserText]:
        return self.corpus.test()


def _columns(tested: Quality) -> dict[str, Any]:
    """Lists of one, for runs with other seeds to be joined."""
    figures = asdict(tested)
    return {name: [] if figures[name] is None else [figures[name]] for name in _PER_SEED}
