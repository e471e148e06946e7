"""Pretrained transformers in the place of the paper's GPT-2 and BERT: adapters, or all weights."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.devices import array_of
from discreet.encoders.encoder import locate_model
from discreet.models.adapter_kinds import ALL, TRAINED
from discreet.models.language import AdaptedLanguageModel
from discreet.tensors import Arrays
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.trainer import UserEntityTrainer, quality
from discreet.wording import counted
from discreet_recipes.options import NONE
from discreet_recipes.record import Record
from discreet_recipes.uedp.data import (
    AG_NEWS,
    CONLL,
    Users,
    ag_news,
    ag_news_topics,
    as_users,
    conll,
    first_words,
    found_entities,
    sensitive_share,
    users_of_texts,
)
from discreet_recipes.uedp.pages import ResultRow
from discreet_recipes.uedp.pretrained_pages import (
    PretrainedRow,
    add_next_words,
    add_pretrained_topics,
)
from discreet_recipes.uedp.sizes import UeDPOptions, news_part
from discreet_recipes.uedp.start import device

PRIVATE = Rules(
    user_rate=0.25, entity_rate=1.0, cell_clip=0.25, holders=2, cells=1, optimizer="adam"
)
PLAIN = replace(PRIVATE, user_rate=0.1)
# The paper's norm, rates and noise for GPT-2 and BERT. Its Adam at 1e-5 has no place in its own
# Algorithm 1 but users' own steps, whose sum is clipped afterwards and added as it is: with a rate
# of 1 all are at the norm, the most that they can be.
PUBLISHED = replace(
    PRIVATE,
    algorithm="published-optimized",
    user_rate=0.05,
    entity_rate=0.5,
    clip=0.1,
    cell_clip=0.1,
    noise=2.5,
    learning_rate=1.0,
    optimizer="sgd",
)


@dataclass(frozen=True)
class Rates:
    """Learning rates of one kind of training, with noise and without."""

    private: float
    plain: float


# Chosen for smollm2 and all-MiniLM-L6-v2 on text that is neither learned from nor tested on.
NEXT_WORDS = {"core": Rates(0.03, 0.03), ALL: Rates(1e-3, 1e-3)}
TOPICS = {"core": Rates(0.1, 0.03), ALL: Rates(3e-3, 3e-4)}
_OTHERS = Rates(1e-3, 1e-3)
_RULES, _WORDS, _TOPICS = "pretrained-rules", "next-words", "pretrained-topics"


def settings() -> dict[str, Any]:
    """What the figures depend on beside the options: rules, and rates of each kind of training."""
    rules = {"private": PRIVATE, "plain": PLAIN, "published": PUBLISHED}
    rates = {
        _rates_of(task, kind): asdict(some.get(kind, _OTHERS))
        for task, some in ((_WORDS, NEXT_WORDS), (_TOPICS, TOPICS))
        for kind in TRAINED
    }
    return {_RULES: {name: asdict(some) for name, some in rules.items()}} | rates


def _rates_of(task: str, kind: str) -> str:
    return f"{task}-{kind}-rates"


def differences(size: UeDPOptions) -> list[str]:
    """Where pretrained models differ from the paper's, in paragraphs."""
    said = []
    if size.language_model != NONE:
        documents, sentences, tested = size.next_words
        said.append(
            f"Pretrained, next words: {Path(size.language_model).name} stands for GPT-2. It learns "
            f"from {documents:,} documents of CoNLL-2003, at most "
            f"{counted(sentences, 'sentence')} of each, drawn with a public seed, and is tested on "
            f"as many of {tested:,}."
        )
    if size.topic_model != NONE:
        texts, words, tested = size.pretrained_topics
        said.append(
            f"Pretrained, topics: {Path(size.topic_model).name} stands for BERT. It learns from "
            f"the first {words} words of {texts:,} texts of AG News, with entities found by "
            f"spaCy's en_core_web_md, and is tested on {tested:,}."
        )
    if said:
        first, second = size.pretrained_steps
        said.append(
            "Pretrained models are trained by adapters of rank 4 and by their own weights. "
            f"Certified and user-level training have {first} steps for next words and {second} "
            f"for topics with users at rate {PRIVATE.user_rate:g}, the others as many more as it "
            "takes to go through the text as often. Learning rates were chosen among a few values "
            "in runs with one seed, for smollm2 and all-MiniLM-L6-v2: for next words on the "
            "validation documents of CoNLL-2003, one quarter to measure and the others to learn "
            "from; for topics on 1,000 texts of AG News that are not learned from here, measured "
            "on 400 others, which are not tested on. Noise was made less there, as if there were "
            "947 and 267 users. Bounds on entities are those of the AWD-LSTM."
        )
        rate = size.pretrained_rate
        given = f" Here it has the rate {rate:g} in all of them." if rate else ""
        said.append(
            "The paper trains these with Adam at 1e-5. Ours is Adam too, in all training but the "
            f"published.{given} There the paper's Algorithm 1 has a rate in users' own gradient "
            "steps alone, whose sum is clipped and added as it is: it is "
            f"{PUBLISHED.learning_rate:g} here, so that every sum is as long as the norm allows."
        )
    return said


def add_pretrained(record: Record, data: Path, size: UeDPOptions) -> None:
    """Tables and claims of the pretrained models that are asked for."""
    if size.language_model != NONE:
        task = next_words(data, size)
        rows = measured_rows(record, task, size)
        add_next_words(record, rows, Path(size.language_model).name, task.last_blocks)
    if size.topic_model != NONE:
        task = topics(record, data, size)
        rows = measured_rows(record, task, size)
        add_pretrained_topics(record, rows, Path(size.topic_model).name, task.last_blocks)


@dataclass(frozen=True)
class Task:
    """What a pretrained model learns: from whom, and on what it is tested.

    Attributes:
        name: Of the parts of a record.
        model: As :meth:`AdaptedLanguageModel.load` takes it.
        last_blocks: In which it is trained; None for all.
        classes: Of a text, where topics are predicted and not next words.
        steps: Of certified training.
        rates: Learning rates by what is trained.
        rate: In the place of all of these, if it is not 0.
        users: Of a model's tokens, with entities masked or not.
        tested: On whom it is tested.
        population: How many users there are.
        uses: The options that its figures depend on.
    """

    name: str
    model: str
    last_blocks: int | None
    classes: int | None
    steps: int
    rates: dict[str, Rates]
    rate: float
    users: Callable[[AdaptedLanguageModel, bool], Users] = field(repr=False)
    tested: Callable[[AdaptedLanguageModel], Users] = field(repr=False)
    population: int
    uses: tuple[str, ...]

    def rules(self, kind: str) -> tuple[Rules, Rules]:
        """Certified and plain ones, for a kind of training."""
        rates = self.rates.get(kind, _OTHERS)
        if self.rate:
            rates = Rates(self.rate, self.rate)
        return (
            replace(PRIVATE, population=self.population, learning_rate=rates.private),
            replace(PLAIN, population=self.population, learning_rate=rates.plain),
        )

    def load(self, kind: str) -> AdaptedLanguageModel:
        """The model before its first step."""
        return AdaptedLanguageModel.load(
            self.model,
            adapters=kind,
            last_blocks=self.last_blocks,
            classes=self.classes,
            device=device(),
        )


def next_words(data: Path, size: UeDPOptions) -> Task:
    """Next words of CoNLL-2003: a document is a user."""
    documents, sentences, tested = size.next_words

    def read(part: str, most: int, model: AdaptedLanguageModel, masked: bool = False) -> Users:
        return some_sentences(
            conll(data, part, model, CONLL["all"], masked=masked)[:most], sentences
        )

    return Task(
        _WORDS,
        size.language_model,
        size.last_blocks[0] or None,
        None,
        size.pretrained_steps[0],
        NEXT_WORDS,
        size.pretrained_rate,
        users=lambda model, masked: read("train", documents, model, masked),
        tested=partial(read, "test", tested),
        population=documents,
        uses=("language_model", "last_blocks", "pretrained_steps", "pretrained_rate", "next_words"),
    )


def topics(record: Record, data: Path, size: UeDPOptions) -> Task:
    """Topics of AG News, whose users are made at random as in the paper."""
    most, words, tests = size.pretrained_topics
    (texts, own), (asked, right) = (
        ag_news_topics(data, part, count)
        for part, count in ((news_part(most), most), ("test", tests))
    )
    short = [first_words(text, words) for text in texts]
    owners = users_of_texts(len(texts), seed=0)

    def users(model: AdaptedLanguageModel, masked: bool) -> Users:
        found = record.part(
            "pretrained-topics-entities", lambda: found_entities(texts), ("pretrained_topics",)
        )
        here = [
            [entity for entity in some if entity[0] < len(text)]
            for text, some in zip(short, found, strict=True)
        ]
        return ag_news(short, here, owners, model, AG_NEWS["all"], masked=masked, topics=own)

    return Task(
        _TOPICS,
        str(locate_model(size.topic_model)[0]),
        size.last_blocks[1] or None,
        len(set(own)),
        size.pretrained_steps[1],
        TOPICS,
        size.pretrained_rate,
        users=users,
        tested=lambda model: as_users([first_words(text, words) for text in asked], model, right),
        population=max(owners) + 1,
        uses=(
            "topic_model",
            "last_blocks",
            "pretrained_steps",
            "pretrained_rate",
            "pretrained_topics",
        ),
    )


def some_sentences(users: Sequence[Any], most: int) -> Users:
    """So many sentences of each user, drawn with a public seed: the same of masked text."""
    rng = np.random.default_rng(0)
    drawn = [np.sort(rng.permutation(len(user))[:most]) for user in users]
    return tuple(user.take(places) for user, places in zip(users, drawn, strict=True))


def measured_rows(record: Record, task: Task, size: UeDPOptions) -> list[PretrainedRow]:
    """Every algorithm with every kind of training."""
    return [row for kind in size.adapters for row in _Bench(record, task, kind).rows(size)]


class _Bench:
    """Runs of one kind of training; the model is loaded only if some part is to be computed."""

    def __init__(self, record: Record, task: Task, kind: str) -> None:
        self._record, self._task, self._kind = record, task, kind
        self._users = cache(lambda masked: task.users(self._model, masked))

    def rows(self, size: UeDPOptions) -> Iterator[PretrainedRow]:
        """The public start, and every algorithm."""
        private, plain = self._task.rules(self._kind)
        first = size.epsilons[0]
        yield self._row(ResultRow("public start", "all", **self._part("start", self._started)))
        for name in ("noiseless", "de-identified"):
            yield self._measured(replace(plain, algorithm=name))
        for epsilon in size.epsilons:
            yield self._measured(self._at(private, epsilon))
        yield self._measured(self._at(replace(private, algorithm="user-level"), first))
        yield self._measured(PUBLISHED)
        if self._kind == size.adapters[0]:
            for rate in size.sentence_rates:
                yield self._measured(replace(self._at(private, first), sentence_rate=rate))

    def _measured(self, rules: Rules) -> PretrainedRow:
        noise = f"z{rules.noise:.4g}" if rules.noisy else "plain"
        key = f"{rules.algorithm}-{noise}-s{rules.sentence_rate:g}"
        values = self._part(key, partial(self._trained, rules))
        return self._row(
            ResultRow(
                rules.algorithm,
                "all",
                sentence_rate=rules.sentence_rate,
                noise=rules.noise if rules.noisy else None,
                **values,
            )
        )

    def _row(self, row: ResultRow) -> PretrainedRow:
        return PretrainedRow(self._kind, self._part("numbers", self._numbers), row)

    def _part(self, key: str, compute: Callable[[], Any]) -> Any:
        name = f"{self._task.name}-{self._kind}-{key}"
        beside = (_RULES, _rates_of(self._task.name, self._kind))
        return self._record.part(name, compute, (*self._task.uses, *beside))

    def _at(self, rules: Rules, epsilon: float) -> Rules:
        """The rules with the noise that all steps need for this epsilon."""
        found = self._record.part(
            f"{self._task.name}-noise-{rules.algorithm}-{epsilon:g}",
            lambda: rules.calibrated(self._task.steps, epsilon).noise,
            ("pretrained_steps", _RULES),
        )
        return rules.with_noise(found)

    @cached_property
    def _model(self) -> AdaptedLanguageModel:
        """One for all runs: what lies below the trained blocks is computed once."""
        return self._task.load(self._kind)

    @cached_property
    def _begun(self) -> Arrays:
        return {name: array_of(value).copy() for name, value in self._model.weights().items()}

    @cached_property
    def _tested(self) -> Users:
        return self._task.tested(self._model)

    def _numbers(self) -> int:
        return sum(value.numel() for value in self._model.trainable().values())

    def _started(self) -> dict[str, Any]:
        self._model.put(self._begun)
        return self._columns()

    def _trained(self, rules: Rules) -> dict[str, Any]:
        users = self._users(rules.algorithm == "de-identified")
        self._model.put(self._begun)
        trainer = UserEntityTrainer(rules, users, self._model, seed=1)
        steps = steps_of(rules, self._task.steps)
        for step in range(steps):
            trainer.step(step)
        out = self._columns()
        if rules.private:
            loss = rules.loss(steps)
            held = {} if loss is None else asdict(loss)
            out |= {name: value for name, value in held.items() if value < math.inf}
        if rules.algorithm == "certified":
            out["dropped"] = trainer.dropped.sentences / sum(map(len, users))
        if rules.algorithm.startswith("published"):
            figures = rules.published(steps, sensitive_share(users))
            out |= {"claimed": figures.claimed, "at_least": figures.at_true_rate}
        return out

    def _columns(self) -> dict[str, Any]:
        tested = quality(self._model, self._tested)
        return {"perplexity": [tested.perplexity], "error_rate": [tested.error_rate]}


def steps_of(rules: Rules, certified: int) -> int:
    """How many steps go through the text as often as all steps of certified training do."""
    return round(certified * PRIVATE.user_rate / rules.user_rate)
